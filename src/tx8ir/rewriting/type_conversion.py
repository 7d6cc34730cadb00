"""Casts between element types, where converted and unconverted values meet.

    converter = ElementTypeConverter({bf16: f32})
    casts = Casts(program, count)
    target = ConversionTarget().legal(Operation, when=lambda op: op.name != "pd.exp" or converter.is_legal(op))
    convert(program.module, [ComputeBetweenCasts(lambda op: converter, casts)], target)
    casts.drop_unused()

A cast is a `pd.cast`, made once for a value and a type, next to the value, and left out where it would take back an
exact one. What other types become, and how, is said with a `TypeConverter` of one's own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tx8ir.analysis.constants import splat_value
from tx8ir.analysis.effects import mutable_parameters
from tx8ir.core import (
    Compute,
    DenseAttr,
    HasValueSemantics,
    InferTypes,
    Inplace,
    IrError,
    Location,
    Operation,
    Program,
    RankedTensor,
    ScalarType,
    UnsupportedError,
    Value,
    VerifyError,
    ViewLike,
    VTensorType,
)
from tx8ir.core.ir.operation import ErasedOperation
from tx8ir.dialects import builtin, pd
from tx8ir.target.formats import Format
from tx8ir.target.rounding import convert

from .provenance import derived_location
from .rewriter import RewritePattern, Rewriter
from .type_converter import ElementTypeConverter

# --- numbers ---------------------------------------------------------------------------------------------------------


def convert_floats(array: NDArray[Any], source: Format, target: Format) -> tuple[NDArray[Any], int]:
    """`array` rounded to nearest even, in the dtype of `target`, and how many numbers were cut.

    A finite number beyond the range of `target` becomes the largest finite one of its sign: a mask of -3.4e38 must not
    become -inf.
    """
    result = convert(array, source, target)
    wide = result.astype(np.float64)
    overflowed = np.isinf(wide) & np.isfinite(array.astype(np.float64))
    cut = int(np.count_nonzero(overflowed))
    if cut:
        result = np.where(overflowed, np.copysign(target.limits[1], wide), wide).astype(target.dtype)
    return result, cut


def convert_integers(array: NDArray[Any], target: ScalarType, what: str, op: Operation) -> NDArray[Any]:
    """`array` of integers in the dtype of `target`. Raises `UnsupportedError` that shows the first one that does not
    fit.

    what: what `array` is the content of; op: the operation to blame.
    """
    low, high = target.format.limits
    outside = (array < low) | (array > high)
    if outside.any():
        place = np.argwhere(outside)[0].tolist()
        raise UnsupportedError(
            f"{what} holds {array[tuple(place)]} at {place}, which does not fit in {target} ({low} to {high})",
            op,
        )
    return array.astype(target.dtype)


class ConvertedParameters:
    """Immutable variables in other element types, each made once: `w` in bf16 is a new variable `w.bf16`.

    The old one stays, since other programs may share the store.

    Args:
        program: whose store it is.
        count: told of each new variable (`parameters`) and of numbers that were cut (`saturated`).
    """

    def __init__(self, program: Program, count: Callable[[str, int], None]) -> None:
        self.program = program
        self.count = count
        self.mutable = mutable_parameters(program)
        self._made: dict[tuple[str, ScalarType], str] = {}

    def array(
        self, array: NDArray[Any], source: ScalarType, target: ScalarType, what: str, op: Operation
    ) -> NDArray[Any]:
        """Numbers of format `source` in `target`; see `convert_floats` and `convert_integers`."""
        if not target.is_float:
            return convert_integers(array, target, what, op)
        result, cut = convert_floats(array, source.format, target.format)
        self.count("saturated", cut)
        return result

    def name(self, name: str, element: ScalarType, op: Operation) -> str:
        """The variable that holds what the variable `name`, which `op` reads, holds in another element type."""
        if name not in self.program.weights:
            raise IrError(f"the parameter {name!r} is not in the weight store", op)
        variable = self.program.weights[name]
        if variable.type.element is element:
            return name
        key = (name, element)
        if key not in self._made:
            new = self.program.weights.unique_name(f"{name}.{element}")
            array = self.array(variable.numpy(), variable.type.element, element, f"parameter {name!r}", op)
            self.program.weights.add(new, array, variable.type.with_element(element), alignment=variable.alignment)
            self._made[key] = new
            self.count("parameters", 1)
        return self._made[key]


# --- casts -----------------------------------------------------------------------------------------------------------


class Casts:
    """Values in other element types: one cast for each value and type.

    A cast of a vtensor stands right after the value, so that it is shared by all users and in no loop that the value
    is not in; one of a tensor, which may be written, stands where it is used. A cast of what an exact cast made is one
    of its operand instead: a cast to f32 and back to bf16 is not a cast. A float constant or immutable parameter is
    converted right away; finite numbers stay finite (see `convert_floats`).

    Args:
        program: what is changed.
        count: told of converted `parameters`, `constants`, and `saturated` numbers; in the end of `casts`.
        constants: whether to convert constants; otherwise they are cast as other values.
    """

    def __init__(self, program: Program, count: Callable[[str, int], None], *, constants: bool = True) -> None:
        self.count = count
        self.constants = constants
        self.parameters = ConvertedParameters(program, count)
        self._known: dict[tuple[Value, ScalarType], Operation] = {}
        self._made: list[Operation] = []

    def cast(self, value: Value, element: ScalarType, user: Operation, rewriter: Rewriter) -> Value:
        """`value`, a tensor, in that element type, for `user`, an operation that it dominates."""
        if tensor_type(value).element is element:
            return value
        value = _source(value)
        kind = tensor_type(value)
        if kind.element is element:
            return value
        if not isinstance(kind, VTensorType):
            return rewriter.insert_before(self._new(value, element, user.location, rewriter.by), user).out
        made = self._known.get((value, element))
        if made is None or made.__class__ is ErasedOperation:
            definition = value.defining_op
            location = (definition or user).location
            made = self._constant(value, element) or self._new(value, element, location, rewriter.by)
            self._known[value, element] = made
            if definition is not None:
                rewriter.insert_after(made, definition)
            else:
                block = value.parent_block
                first = None if block is None else block.first_op
                assert first is not None  # the value has a user
                rewriter.insert_before(made, first)
        return made.results[0]

    def restore(self, value: Value, kind: RankedTensor, user: Operation, rewriter: Rewriter) -> Value:
        """`value` in the type `kind`, cast right before `user`, which it replaces."""
        if value.type is kind:
            return value
        return rewriter.insert_before(self._new(value, kind.element, user.location, rewriter.by), user).out

    def drop_unused(self, by: str) -> None:
        """Erases the casts that nobody uses, and counts the others."""
        for op in reversed(self._made):
            if op.__class__ is ErasedOperation:
                continue
            if op.results[0].has_uses:
                self.count("casts", 1)
            else:
                op.erase(by)
        self._made.clear()

    def _new(self, value: Value, element: ScalarType, location: Location, by: str) -> pd.CastOp:
        made = pd.CastOp(value, dtype=element)
        made.location = derived_location((location,), by)
        self._made.append(made)
        return made

    def _constant(self, value: Value, element: ScalarType) -> Operation | None:
        """A converted constant or read, when `value` is one and both element types are floating-point."""
        op, kind = value.defining_op, tensor_type(value)
        if op is None or not (self.constants and kind.element.is_float and element.is_float):
            return None
        new = kind.with_element(element)
        if isinstance(op, builtin.GetParameterOp):
            if op.parameter in self.parameters.mutable:
                return None
            return at(op, builtin.GetParameterOp(parameter=self.parameters.name(op.parameter, element, op), out=new))
        if isinstance(op, pd.FullOp) and (splat := splat_value(value)) is not None:
            number = np.asarray(splat, kind.element.dtype)
            number = self.parameters.array(number, kind.element, element, "the constant", op)
            made: Operation = pd.FullOp(shape=op.shape, value=float(number), dtype=element)
        elif isinstance(op, builtin.ConstantOp) and isinstance(attribute := op.attributes["value"], DenseAttr):
            array = self.parameters.array(attribute.value, kind.element, element, "the constant", op)
            made = builtin.ConstantOp(value=DenseAttr(array, new), out=new)
        else:
            return None
        self.count("constants", 1)
        return at(op, made)


def at(op: Operation, made: Operation) -> Operation:
    """`made`, with the location of `op`."""
    made.location = op.location
    return made


def tensor_type(value: Value) -> RankedTensor:
    """Its type, a tensor: casts are between tensors."""
    assert isinstance(value.type, RankedTensor)
    return value.type


def _source(value: Value) -> Value:
    """What `value` was made of by exact casts of vtensors."""
    while isinstance(op := value.defining_op, pd.CastOp):
        inner, outer = tensor_type(op.x), tensor_type(value)
        if not (isinstance(inner, VTensorType) and inner.element.format.fits_in(outer.element.format)):
            break
        value = op.x
    return value


class ComputeBetweenCasts(RewritePattern[Operation]):
    """Lets an operation compute in other element types: operands are cast before it, results back after it.

    The operation keeps its attributes, but for types in them, which are converted. What another operation of the kind
    uses in turn is not cast back and forth, if that is exact (see `Casts`).

    Args:
        converter: for an operation, what to convert; None to leave it as it is.
        casts: which to use.
    """

    name = "compute-between-casts"
    roots = (Operation,)

    def __init__(self, converter: Callable[[Operation], ElementTypeConverter | None], casts: Casts) -> None:
        self.converter = converter
        self.casts = casts

    def match_and_rewrite(self, op: Operation, rewriter: Rewriter) -> bool:
        converter = self.converter(op)
        if converter is None or converter.is_legal(op) or not can_compute_between_casts(op):
            return False
        operands = [
            self.casts.cast(value, converter.element(tensor_type(value).element), op, rewriter) for value in op.operands
        ]
        made = _remade(op, operands, converter)
        if made is None:
            return False
        rewriter.insert(made)
        results = [
            self.casts.restore(new, tensor_type(old), op, rewriter)
            for old, new in zip(op.results, made.results, strict=True)
        ]
        rewriter.replace(op, results)
        return True


def can_compute_between_casts(op: Operation) -> bool:
    """Whether `op` computes new tensors from tensors, so that other formats change nothing but precision.

    In-place operations do not, nor casts, whose formats are their meaning, nor views of storage.
    """
    info = op.info
    if Compute not in info.interfaces or Inplace in info.traits or op.regions or isinstance(op, pd.CastOp):
        return False
    if not all(isinstance(value.type, RankedTensor) for value in (*op.operands, *op.results)):
        return False
    if ViewLike in info.interfaces:
        return all(isinstance(value.type, VTensorType) for value in op.operands)
    return HasValueSemantics in info.traits


def _remade(op: Operation, operands: Sequence[Value], converter: ElementTypeConverter) -> Operation | None:
    """`op` on other operands, detached; None when it does not compute in their types."""
    attributes = converter.attributes(op)
    made: Operation = type(op).create(
        operands, [converter.of(r.type) for r in op.results], attributes, location=op.location
    )
    model = made.interface(InferTypes)
    if model is None:
        return made
    try:
        inferred = tuple(model.infer_types())
    except VerifyError:
        made.erase()
        return None
    if inferred == tuple(r.type for r in made.results):
        return made
    made.erase()
    return type(op).create(operands, inferred, attributes, location=op.location)
