"""What the lowering rules share: values already lowered, constants, scalars, broadcasting, and the rule table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import attrs
import numpy as np

from tx8ir.analysis.constants import evaluate_constants
from tx8ir.core import (
    DYNAMIC,
    Block,
    Operation,
    RankedTensor,
    ScalarType,
    TensorType,
    Value,
    Variable,
    VTensorType,
    WeightStore,
    f32,
    f64,
    i1,
)
from tx8ir.dialects import builtin, pd, tx8be

Array = np.ndarray[Any, np.dtype[Any]]

MAX_BYTES = 1 << 26
"""Results of more bytes are not evaluated at compile time."""

#: Element types no backend op computes in, and the pass that replaces them.
UNSUPPORTED = ("f64", "i64", "ui64")


class LoweringError(Exception):
    """A rule's answer that this op cannot be lowered; the message says why."""


Rule = Callable[["Lowering", Any], Sequence[Value]]
RULES: dict[type[Operation], Rule] = {}
OpT = TypeVar("OpT", bound=Operation)


NO_LOWERING = "there is no lowering for this op"


def rule_of(kind: type[Operation]) -> Rule | None:
    """The rule of an op class: its own, or that of the nearest base that has one."""
    return next((RULES[base] for base in kind.__mro__ if base in RULES), None)


def lower(ctx: Lowering, op: Operation) -> Sequence[Value]:
    """The results of an op by its rule. Raises `LoweringError` when it has none, or the rule says so."""
    rule = rule_of(type(op))
    if rule is None:
        raise LoweringError(NO_LOWERING)
    return rule(ctx, op)


def lowers(*kinds: type[Operation]) -> Callable[[Callable[[Lowering, Any], Sequence[Value]]], Rule]:
    """Register the decorated function as the rule of these op classes, and of those derived from them that have none.

    A rule takes the context and the op, appends backend ops through the active builder, and returns one value per
    result, or raises `LoweringError`.
    """

    def register(rule: Rule) -> Rule:
        for kind in kinds:
            RULES[kind] = rule
        return rule

    return register


@attrs.define(eq=False)
class Lowering:
    """The state of one run of `lower-to-tx8be`.

    `values` maps each lowered value to its backend value (a bool value to a value mask, 1.0/0.0, in the format it was
    compared in, f32 for arguments and constants). A tensor without elements has none. `fusable` maps a value to the
    `Gemm` or `Conv` that makes it, while it can still take a bias or an activation. Variables made at compile time wait
    in `new_variables` until the whole program has been lowered.
    """

    weights: WeightStore
    block: Block
    values: dict[Value, Value] = attrs.field(factory=dict[Value, Value])
    fusable: dict[Value, tx8be.GemmOp | tx8be.ConvOp] = attrs.field(factory=dict[Value, tx8be.GemmOp | tx8be.ConvOp])
    new_variables: dict[str, Variable] = attrs.field(factory=dict[str, Variable])
    constants: list[tx8be.ConstantOp] = attrs.field(factory=list[tx8be.ConstantOp])
    _by_name: dict[str, Value] = attrs.field(factory=dict[str, Value])
    _numbers: Counter[str] = attrs.field(factory=Counter[str])
    _derived: dict[tuple[object, object], str] = attrs.field(factory=dict[tuple[object, object], str])

    # -- values ------------------------------------------------------------------------------------------------------

    def get(self, value: Value) -> Value:
        """The backend value of a lowered value; a constant is brought into the graph at its first use."""
        found = self.values.get(value)
        if found is None:
            found = self.values[value] = self.constant_value(value)
        return found

    def shape(self, value: Value) -> tuple[int, ...]:
        """The shape of a tensor value of the source program. Raises `LoweringError` for another type or a dynamic
        shape.
        """
        return ranked_type(value).shape

    def element(self, value: Value) -> ScalarType:
        """The element type of the backend value: for a bool value, the format of its mask."""
        return tx8be.ranked(self.get(value), "operand").element

    def none(self) -> Value:
        """A new absent operand."""
        return tx8be.NoneOp().y

    # -- constants ---------------------------------------------------------------------------------------------------

    def is_constant(self, value: Value) -> bool:
        """True when the value is known at compile time: a constant, a filled tensor, or an immutable parameter."""
        op = value.defining_op
        if isinstance(op, builtin.GetParameterOp):
            return not self.variable(op).is_mutable
        return isinstance(op, builtin.ConstantOp | pd.FullOp)

    def variable(self, op: builtin.GetParameterOp) -> Variable:
        """The variable a `get_parameter` reads."""
        if op.parameter not in self.weights:
            raise LoweringError(f"there is no variable {op.parameter!r} in the program's weight store")
        return self.weights[op.parameter]

    def array(self, value: Value) -> Array:
        """The data of a constant, in the dtype of its element type."""
        op = value.defining_op
        if isinstance(op, builtin.GetParameterOp):
            return self.variable(op).numpy()
        if isinstance(op, pd.FullOp):
            return op.compute()
        if isinstance(op, builtin.ConstantOp):
            return np.asarray(op.value.value)
        raise LoweringError("the value is not known at compile time")

    def scalar(self, value: Value) -> float | None:
        """The number of a constant with one element that is not a bool, else None."""
        return self.splat(value) if ranked_type(value).num_elements == 1 else None

    def splat(self, value: Value) -> float | None:
        """The number that all elements of a constant are that is not a bool, else None. O(elements)."""
        t = ranked_type(value)
        if not t.num_elements or t.element is i1 or not self.is_constant(value):
            return None
        flat = self.array(value).reshape(-1)
        return float(flat[0]) if bool((flat == flat[0]).all()) or flat.size == 1 else None

    def constant_value(self, value: Value) -> Value:
        """A `Constant` for a source constant; parameters keep their variable, others and masks get a new one."""
        op = value.defining_op
        if ranked_type(value).element is i1 and self.is_constant(value):
            return self.derived(value, "mask", lambda a: a)
        if isinstance(op, builtin.GetParameterOp):
            variable = self.variable(op)
            if variable.is_mutable:
                raise LoweringError(
                    f"parameter {op.parameter!r} is mutable: its weight store says so, or a program attached to it may "
                    "write it: run lift-state before"
                )
            return self._constant(op.parameter, ranked_type(value).to_vtensor())
        if not self.is_constant(value):
            raise LoweringError("an operand is made by no op that was lowered")
        return self.new_constant("constant", self.array(value), ranked_type(value).element)

    def new_constant(self, hint: str, array: Array, element: ScalarType) -> Value:
        """A `Constant` of a new variable with this data; its name is made of `hint` and a number.

        Truth values become a mask in f32.
        """
        element = f32 if element is i1 else element
        name = hint
        while name in self.weights or name in self.new_variables:
            self._numbers[hint] += 1
            name = f"{hint}.{self._numbers[hint]}"
        t = VTensorType(array.shape, element)
        self.new_variables[name] = Variable(
            TensorType(array.shape, element), np.asarray(array, element.dtype, order="C")
        )
        return self._constant(name, t)

    def filled(self, number: float, shape: Sequence[int], element: ScalarType) -> Value:
        """A `Constant` whose elements are all `number`; equal ones are one variable."""
        shape = tuple(shape)
        key = ("full", (np.float64(number).tobytes(), shape, element))
        name = self._derived.get(key)
        if name is not None:
            return self._constant(name, VTensorType(shape, element))
        made = self.new_constant("constant", np.full(shape, number), element)
        self._derived[key] = self.constants[-1].parameter
        return made

    def derived(
        self, value: Value, key: object, array: Callable[[Array], Array], element: ScalarType | None = None
    ) -> Value:
        """A `Constant` computed from the source constant `value`; equal keys of one constant give the same variable.

        `element` is its format, by default that of `value`.
        """
        op = value.defining_op
        parameter = op.parameter if isinstance(op, builtin.GetParameterOp) else None
        source = (value if parameter is None else parameter, key)
        name = self._derived.get(source)
        element = ranked_type(value).element if element is None else element
        if name is not None:
            return self._constant(name, self.new_variables[name].type.to_vtensor())
        made = self.new_constant("constant" if parameter is None else parameter, array(self.array(value)), element)
        self._derived[source] = self.constants[-1].parameter
        return made

    def _constant(self, name: str, t: VTensorType) -> Value:
        """The `Constant` of a variable, made once."""
        found = self._by_name.get(name)
        if found is None:
            check_type(t)
            op = tx8be.ConstantOp(parameter=name, y=t)
            self.constants.append(op)
            found = self._by_name[name] = op.y
        return found

    def of_nothing(self, op: Operation) -> list[Value]:
        """The results, known at compile time, of an op whose operands have no elements (a sum of none, say); none for
        another op.
        """
        if not op.operands or not all(is_empty(value) for value in op.operands):
            return []
        types = [ranked_type(result) for result in op.results]
        nothing = [np.empty(t.shape, t.element.dtype) for v in op.operands if isinstance(t := v.type, RankedTensor)]
        with np.errstate(invalid="ignore", divide="ignore"):
            arrays = evaluate_constants(op, nothing, max_bytes=MAX_BYTES)
        if arrays is None:
            raise LoweringError(f"its results, of operands without elements, take more than {MAX_BYTES} bytes")
        made = zip(arrays, types, strict=True)
        return [self.new_constant("constant", np.asarray(array), t.element) for array, t in made]

    # -- shapes ------------------------------------------------------------------------------------------------------

    def reshape(self, value: Value, shape: Sequence[int]) -> Value:
        """A backend value under another shape; nothing is inserted when it has that shape."""
        t = tx8be.ranked(value, "operand")
        return value if t.shape == tuple(shape) else tx8be.ReshapeOp(value, y=t.with_shape(shape)).y

    def reshaped(self, value: Value, shape: Sequence[int]) -> Value:
        """A source value under another shape; a constant is reshaped at compile time."""
        shape = tuple(shape)
        if self.is_constant(value) and self.shape(value) != shape:
            return self.derived(value, ("reshape", shape), lambda a: a.reshape(shape))
        return self.reshape(self.get(value), shape)

    def broadcast(self, value: Value, shape: Sequence[int]) -> Value:
        """A source value broadcast to `shape`: a constant expanded at compile time, another through `Broadcast`."""
        shape = tuple(shape)
        own = self.shape(value)
        if own == shape:
            return self.get(value)
        if np.prod(own, dtype=np.int64) == np.prod(shape, dtype=np.int64):
            return self.reshaped(value, shape)
        if self.is_constant(value):
            return self.derived(value, ("broadcast", shape), lambda a: np.broadcast_to(a, shape))
        lowered = self.get(value)
        return tx8be.BroadcastOp(lowered, y=tx8be.ranked(lowered, "operand").with_shape(shape)).y

    def transposed(self, value: Value, perm: Sequence[int]) -> Value:
        """A source value with its axes permuted; moving only axes of extent 1 is a reshape."""
        perm = tuple(perm)
        own = self.shape(value)
        shape = tuple(own[axis] for axis in perm)
        moved = [axis for axis in perm if own[axis] != 1]
        if moved == sorted(moved):
            return self.reshaped(value, shape)
        if self.is_constant(value):
            return self.derived(value, ("transpose", perm), lambda a: a.transpose(perm))
        return tx8be.TransposeOp(self.get(value), perm=perm).y

    def sliced(self, value: Value, starts: Sequence[int], ends: Sequence[int]) -> Value:
        """A box of a source value; of a constant at compile time."""
        starts, ends = tuple(starts), tuple(ends)
        own = self.shape(value)
        if all(s == 0 for s in starts) and ends == own:
            return self.get(value)
        if self.is_constant(value):
            box = tuple(slice(s, e) for s, e in zip(starts, ends, strict=True))
            return self.derived(value, ("slice", starts, ends), lambda a: a[box])
        return tx8be.SliceOp(self.get(value), starts=starts, ends=ends).y

    def vector(self, value: Value) -> Value:
        """A source value of one axis longer than 1 (or of one element) as rank 1."""
        return self.reshaped(value, (ranked_type(value).num_elements,))

    def mask_format(self, *values: Value) -> ScalarType:
        """The format to compute these values together in: the element type of the first that is not bool, else that of
        the first mask that is computed, else f32.
        """
        elements = [ranked_type(value).element for value in values]
        computed = [self.element(value) for value in values if not self.is_constant(value)]
        return next((element for element in (*elements, *computed) if element is not i1), f32)

    def mask(self, value: Value, shape: Sequence[int], element: ScalarType) -> Value:
        """The value mask (1.0/0.0) of a bool source value, broadcast to `shape`, in the given format."""
        shape = tuple(shape)
        if self.is_constant(value):
            return self.derived(value, ("mask", shape, element), lambda a: np.broadcast_to(a, shape), element)
        return self.in_format(self.broadcast(value, shape), element)

    def in_format(self, value: Value, element: ScalarType) -> Value:
        """A backend value in the given format, through `Cast` where it has another."""
        t = tx8be.ranked(value, "operand")
        return value if t.element is element else tx8be.CastOp(value, y=t.with_element(element)).y


def ranked_type(value: Value) -> RankedTensor:
    """The tensor type of a source value. Raises `LoweringError` for another type or an extent that is dynamic or 0."""
    t = value.type
    if not isinstance(t, RankedTensor):
        raise LoweringError(f"a value has type {t}; expected a tensor")
    if DYNAMIC in t.shape:
        raise LoweringError(f"{t} has a dynamic extent; the backend compiles static shapes")
    if 0 in t.shape:
        raise LoweringError(f"{t} has no elements, which this op is not lowered for beside operands that have")
    return t


def is_empty(value: Value) -> bool:
    """True for a tensor without elements: nothing is stored or computed of it."""
    return isinstance(value.type, RankedTensor) and value.type.is_static and 0 in value.type.shape


def check_type(t: RankedTensor) -> None:
    """Raise `LoweringError` when no backend op computes in the element type."""
    if t.element.format.name in UNSUPPORTED:
        how = "convert-dtype"
        if t.element is f64:
            how += '{dtype=f32}, which is CompileOptions(dtype="f32")'
        raise LoweringError(f"element type {t.element} is not computed by the TX8; run {how}")
    if t.element.format.is_packed and t.element is not i1:  # of truth values there are masks
        raise LoweringError(
            f"element type {t.element} packs several elements into a byte, which no DMA moves; cast it to i8"
        )
