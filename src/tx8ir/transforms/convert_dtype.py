"""One floating-point format for the whole program, and 32-bit integers in place of 64-bit ones."""

from __future__ import annotations

import enum
from typing import Any, ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from tx8ir.core import (
    Attribute,
    DenseAttr,
    DictType,
    FunctionType,
    IrError,
    ListType,
    Operation,
    Program,
    RankedTensor,
    ScalarType,
    TensorType,
    TupleType,
    Type,
    TypeAttr,
    VTensorType,
    i1,
    i32,
    i64,
    ui32,
    ui64,
)
from tx8ir.dialects import builtin, pd
from tx8ir.target.formats import Format
from tx8ir.target.rounding import convert

from .effects import mutable_parameters
from .pass_manager import Pass, register_pass


class Dtype(enum.Enum):
    """The floating-point formats that a program can be computed in."""

    F32 = "f32"
    BF16 = "bf16"
    F16 = "f16"


_NARROW = {i64: i32, ui64: ui32}


@register_pass
@attrs.frozen
class ConvertDtype(Pass):
    """Gives every floating-point value the format `dtype`, and every 64-bit integer 32 bits.

    All types change, those of function arguments and results too: whoever runs the compiled program converts at its
    border. Constants and immutable parameters are converted once, rounded to nearest even; a converted parameter is a
    new variable (`w` becomes `w.bf16`), since other programs may share the store. A finite number beyond the range of
    `dtype` becomes the largest finite one of its sign (a mask of -3.4e38 must not become -inf). A mutable parameter
    keeps its format, with casts behind `get_parameter` and in front of `set_parameter`.

    Assumes: computed integers fit in 32 bits; integers of constants and parameters are checked, those of inputs must
    be by the caller. Guarantees: no value has another float format than `dtype` (if given), none is i64 or ui64,
    except what mutable parameters hold. Raises `IrError` naming the first integer that does not fit. Idempotent.
    Cost: O(operations + elements converted).
    Statistics: `values`, `constants` and `parameters` converted, `saturated` (numbers cut to the largest finite one).

    dtype: f32, bf16 or f16; none keeps float formats.
    """

    name: ClassVar[str] = "convert-dtype"

    dtype: Dtype | None = None

    def run(self, program: Program) -> None:
        mapping = _Mapping(None if self.dtype is None else ScalarType.of(self.dtype.value))
        mutable = mutable_parameters(program)
        converted: dict[str, str] = {}
        for op in list(program.module.walk()):
            for region in op.regions:
                for block in region.blocks:
                    for argument in block.args:
                        argument.type = self._mapped(argument.type, mapping)
            if isinstance(op, builtin.ConstantOp):
                self._convert_constant(op, mapping)
            elif isinstance(op, builtin.GetParameterOp):
                if op.parameter in mutable:
                    self._cast_read(op, mapping)
                else:
                    self._convert_parameter(op, program, mapping, converted)
            elif isinstance(op, builtin.SetParameterOp):
                self._cast_write(op, program)
            elif not _is_cast_for_write(op, program):
                _convert_attributes(op, mapping)
                for result in op.results:
                    result.type = self._mapped(result.type, mapping)

    def _mapped(self, kind: Type, mapping: _Mapping) -> Type:
        new = mapping.of(kind)
        if new is not kind:
            self.count("values")
        return new

    def _convert_constant(self, op: builtin.ConstantOp, mapping: _Mapping) -> None:
        attribute = op.attributes["value"]
        if not isinstance(attribute, DenseAttr):
            return
        kind = mapping.of(attribute.type)
        if kind is attribute.type or not isinstance(kind, RankedTensor):
            return
        array = self._converted(attribute.value, attribute.type.element, kind.element, "the constant", op)
        op.set_attribute("value", DenseAttr(array, kind))
        op.results[0].type = self._mapped(op.results[0].type, mapping)
        self.count("constants")

    def _convert_parameter(
        self, op: builtin.GetParameterOp, program: Program, mapping: _Mapping, converted: dict[str, str]
    ) -> None:
        old = op.parameter
        if old not in program.weights:
            raise IrError(f"the parameter {old!r} is not in the weight store", op)
        variable = program.weights[old]
        kind = mapping.of(variable.type)
        op.results[0].type = self._mapped(op.results[0].type, mapping)
        if kind is variable.type or not isinstance(kind, (TensorType, VTensorType)):
            return
        if old not in converted:
            new = program.weights.unique_name(f"{old}.{kind.element}")
            array = self._converted(variable.numpy(), variable.type.element, kind.element, f"parameter {old!r}", op)
            program.weights.add(new, array, kind, alignment=variable.alignment)
            converted[old] = new
            self.count("parameters")
        op.set_attribute("name", converted[old])

    def _cast_read(self, op: builtin.GetParameterOp, mapping: _Mapping) -> None:
        result = op.results[0]
        kind = mapping.of(result.type)
        if kind is result.type or not isinstance(kind, RankedTensor):
            return
        if kind.__class__ is TensorType:
            raise IrError(
                f"mutable parameter {op.parameter!r} is read as {result.type}, an alias, which cannot change its "
                "format; convert the program to value semantics first",
                op,
            )
        uses = [use for use in result.uses if not _is_cast_to(use.owner, kind.element)]
        if not uses:
            return
        cast = pd.CastOp(result, dtype=kind.element)
        cast.location = op.location
        assert op.parent is not None  # it was found inside the module
        op.parent.insert_after(cast, op)
        for use in uses:
            use.set(cast.out)
        self.count("values")

    def _cast_write(self, op: builtin.SetParameterOp, program: Program) -> None:
        if op.parameter not in program.weights:
            return
        stored, given = program.weights[op.parameter].type.element, op.operands[0].type
        if not isinstance(given, RankedTensor) or given.element is stored:
            return
        cast = pd.CastOp(op.operands[0], dtype=stored)
        cast.location = op.location
        assert op.parent is not None  # it was found inside the module
        op.parent.insert_before(cast, op)
        op.set_operand(0, cast.out)

    def _converted(
        self, array: NDArray[Any], source: ScalarType, target: ScalarType, what: str, op: Operation
    ) -> NDArray[Any]:
        if target.is_float:
            return self._converted_floats(array, source.format, target.format)
        limits = np.iinfo(target.dtype)
        outside = (array < limits.min) | (array > limits.max)
        if outside.any():
            place = np.argwhere(outside)[0].tolist()
            raise IrError(
                f"{what} holds {array[tuple(place)]} at {place}, which does not fit in {target} "
                f"({limits.min} to {limits.max}); the chip computes integers in 32 bits",
                op,
            )
        return array.astype(target.dtype)

    def _converted_floats(self, array: NDArray[Any], source: Format, target: Format) -> NDArray[Any]:
        result = convert(array, source, target)
        wide = result.astype(np.float64)
        overflowed = np.isinf(wide) & np.isfinite(array.astype(np.float64))
        n = int(np.count_nonzero(overflowed))
        if n:
            self.count("saturated", n)
            result = np.where(overflowed, np.copysign(largest_finite(target), wide), wide).astype(target.dtype)
        return result


def largest_finite(fmt: Format) -> float:
    """The largest finite number of a floating-point format with IEEE encoding."""
    bias = (1 << (fmt.exponent_bits - 1)) - 1
    return float((2.0 - 2.0**-fmt.mantissa_bits) * 2.0**bias)


class _Mapping:
    """Old types to new ones, remembered: floats to `element` (if given), 64-bit integers to 32 bits."""

    def __init__(self, element: ScalarType | None) -> None:
        self.element = element
        self._known: dict[Type, Type] = {}

    def of(self, kind: Type) -> Type:
        """`kind` with every scalar in it converted."""
        new = self._known.get(kind)
        if new is None:
            new = self._known[kind] = self._convert(kind)
        return new

    def scalar(self, kind: ScalarType) -> ScalarType:
        """The scalar that `kind` becomes."""
        if kind.is_float:
            return kind if self.element is None else self.element
        return _NARROW.get(kind, kind)

    def _convert(self, kind: Type) -> Type:
        if isinstance(kind, ScalarType):
            return self.scalar(kind)
        if isinstance(kind, RankedTensor):
            return kind.with_element(self.scalar(kind.element))
        if isinstance(kind, (ListType, TupleType)):
            return type(kind)(self.of(element) for element in kind.elements)
        if isinstance(kind, FunctionType):
            return FunctionType([self.of(t) for t in kind.inputs], [self.of(t) for t in kind.results])
        if isinstance(kind, DictType):
            return DictType({key: self.of(t) for key, t in zip(kind.keys, kind.values, strict=True)})
        return kind


def _is_cast_to(op: Operation, element: ScalarType) -> bool:
    return isinstance(op, pd.CastOp) and op.dtype is element


def _is_cast_for_write(op: Operation, program: Program) -> bool:
    """True for a cast that only gives values to `set_parameter`s, in the formats that their parameters have."""
    if not isinstance(op, pd.CastOp) or not op.out.has_uses:
        return False
    return all(
        isinstance(user, builtin.SetParameterOp)
        and user.parameter in program.weights
        and program.weights[user.parameter].type.element is op.dtype
        for user in op.out.users
    )


def _convert_attributes(op: Operation, mapping: _Mapping) -> None:
    """Converts the types in the attributes of `op`, and says outright what would be inferred from 32-bit integers."""
    changed: dict[str, Attribute | Type] = {}
    for name, attribute in op.attributes.items():
        if isinstance(attribute, TypeAttr):
            new = mapping.of(attribute.value)
            if new is not attribute.value:
                changed[name] = new
    if isinstance(op, pd.SumOp) and op.dtype is None:
        kind = op.x.type
        if isinstance(kind, RankedTensor) and kind.element in (i1, i32):
            changed["dtype"] = i32  # inferred, it would be i64
    if changed:
        op.set_attributes({**op.attributes, **changed})
