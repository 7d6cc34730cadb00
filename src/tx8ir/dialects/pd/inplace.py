"""In-place operations: `foo_` writes what `foo` computes into the storage of its first operand, a `!pd.tensor`.

`foo_` has the operands and attributes of `foo`, its `counterpart`; its result is another name of the first operand.
A class with `has_inplace_form` has one, which `inplace` derives from it, so that the two cannot differ.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, ClassVar, TypeVar, cast

import attrs
import numpy as np
from numpy.typing import NDArray

from tx8ir.core import (
    Compute,
    HasValueSemantics,
    InferTypes,
    Inplace,
    InPlaceForm,
    InPlaceUpdate,
    Model,
    Op,
    Operand,
    Operation,
    Pure,
    RankedTensor,
    Result,
    TensorType,
    Type,
    Value,
    attribute,
    default_context,
    operand,
    result,
)
from tx8ir.core.ir.operation import as_if
from tx8ir.dialects.domains import ANYTHING, Domain, OperandDomains
from tx8ir.dialects.samples import SHAPES, Sample, Sampled, case, each, samples_of

from .creation import AssignOp
from .inference import extents_match, fail, make_type, number_of, same_element, tensor_operand

OpT = TypeVar("OpT", bound=Op)


class FillOp(Op, Compute, InferTypes, Sampled, name="pd.fill", traits=(Pure, HasValueSemantics)):
    """A tensor like `x` whose elements are all `value`."""

    x: Operand = operand(doc="[...]")
    value: float = attribute(default=0.0)
    out: Result = result(doc="the type of `x`")

    has_inplace_form = True
    accepts = "number"
    cases = each(SHAPES)

    def infer_types(self) -> tuple[Type, ...]:
        x = tensor_operand(self, self.x, "x", kind="number")
        number_of(self, "value", self.value, x)
        return (x,)

    def compute(self, x: NDArray[Any]) -> NDArray[Any]:
        return np.full_like(x, self.value)


class SgdOp(Op, Compute, InferTypes, Sampled, name="pd.sgd", traits=(Pure, HasValueSemantics)):
    """One step of gradient descent: out = param - learning_rate * grad."""

    param: Operand = operand(doc="[...], floating-point")
    learning_rate: Operand = operand(doc="[1] or []")
    grad: Operand = operand(doc="the shape of `param`")
    out: Result = result(doc="the type of `param`")

    has_inplace_form = True
    accepts = "float"
    cases = tuple(case(shape, rate, shape) for shape in SHAPES for rate in ((1,), ()))

    def infer_types(self) -> tuple[Type, ...]:
        param = tensor_operand(self, self.param, "param", kind="float")
        rate = tensor_operand(self, self.learning_rate, "learning_rate", kind="float")
        grad = tensor_operand(self, self.grad, "grad", kind="float")
        same_element(self, param=param, learning_rate=rate, grad=grad)
        if rate.shape not in ((), (1,)):
            raise fail(self, f"operand `learning_rate` has type {rate}; expected one element, of shape [1] or []")
        if grad.rank != param.rank or not all(map(extents_match, grad.shape, param.shape)):
            raise fail(self, f"operand `grad` has type {grad}; expected the shape of `param` {param}")
        return (make_type((param, rate, grad), param.shape, param.element),)

    def compute(self, param: NDArray[Any], learning_rate: NDArray[Any], grad: NDArray[Any]) -> NDArray[Any]:
        return param - learning_rate.reshape(()) * grad  # [1] would stretch a scalar


class InplaceOp(Op, Compute, InferTypes, InPlaceUpdate, OperandDomains, Sampled, traits=(Inplace,)):
    """Base of the in-place operations.

    The first operand is a `!pd.tensor`. `compute` gives its new content; the result is an alias of the operand.
    """

    counterpart: ClassVar[type[Op]]
    """The operation without effect that computes the new content."""

    def value_operands(self, operands: Sequence[Value]) -> Sequence[Value]:
        """The operands of the counterpart, from values that stand for the operands of this operation."""
        return operands

    def new_content(self, operands: Sequence[Value]) -> Value | Operation:
        given = self.value_operands(operands)
        found = self.results[0].type
        assert isinstance(found, TensorType)  # infer_types
        return self.counterpart.create(given, [found.to_vtensor()], attributes=self.attributes, location=self.location)

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        """Those of the counterpart that compute a tensor of the type of their first operand, which is storage here."""
        for sample in samples_of(cls.counterpart):
            first, *others = sample.types
            if sample.result_types == (first,):
                yield attrs.evolve(sample, op=cls).with_types([_stored(first), *others])

    def operand_domains(self) -> Sequence[Domain]:
        says: OperandDomains | None = self.counterpart.info.interfaces.get(OperandDomains) and self._twin()
        return [ANYTHING] * len(self.operands) if says is None else says.operand_domains()

    def _twin(self) -> Any:
        """The counterpart on the slots of this operation: to be asked, not to be changed or kept."""
        return as_if(self, self.counterpart)

    def infer_types(self) -> tuple[Type, ...]:
        storage = self.operands[0].type
        if not isinstance(storage, TensorType):
            raise fail(self, f"operand 0 has type {storage}; expected a !pd.tensor, whose storage is written")
        inferred = self._twin().infer_types()
        if inferred[0] is not storage:
            raise fail(self, f"{self.counterpart.name} gives {inferred[0]}; expected the type of operand 0, {storage}")
        return (storage,)

    def compute(self, *args: Any, **kwargs: Any) -> Any:
        return self._twin().compute(*args, **kwargs)


def _stored(type_: Type) -> TensorType:
    assert isinstance(type_, RankedTensor)  # samples are of tensors
    return type_.to_tensor()


def inplace(counterpart: type[OpT]) -> type[OpT]:
    """The in-place form of an op class with one result: `pd.relu_` of `pd.relu`.

    To a type checker it looks like the counterpart, whose constructor it has; at run time it is an `InplaceOp`.
    """
    definition = counterpart.definition
    fields = [*definition.operands, *definition.attributes, *definition.results]
    namespace: dict[str, Any] = {field.name: copy.copy(field) for field in fields}
    first = definition.operands[0].name
    namespace |= {
        "__doc__": f"`{counterpart.name}` written into the storage of `{first}`, which the result is an alias of.",
        "__module__": counterpart.__module__,  # where the annotations of the fields are read
        "__qualname__": counterpart.__name__.removesuffix("Op") + "_Op",
        "__annotations__": {field.name: field.annotation for field in fields},
        "counterpart": counterpart,
    }
    metaclass: Any = type(Op)
    made = metaclass(namespace["__qualname__"], (InplaceOp,), namespace, name=f"{counterpart.name}_", traits=())
    InPlaceForm.attach(counterpart, _InPlaceTwin)
    return cast("type[OpT]", made)


class _InPlaceTwin(Model[Op], InPlaceForm):
    """The in-place operation of a counterpart."""

    def in_place(self, operands: Sequence[Value]) -> Operation:
        made = inplace_form(type(self.op))
        assert made is not None, "attached by `inplace`"
        return made.create(operands, [operands[0].type], attributes=self.op.attributes, location=self.op.location)


class Assign_Op(InplaceOp, name="pd.assign_"):
    """Makes `value` the content of the storage of `x`."""

    counterpart = AssignOp

    x: Operand = operand(doc="[...], a !pd.tensor")
    value: Operand = operand(doc="[...], of the shape and element type of `x`")
    out: Result = result(doc="an alias of `x`")

    @classmethod
    def samples(cls) -> Iterator[Sample]:
        for sample in samples_of(AssignOp):
            (x,) = sample.types
            yield Sample(cls, (_stored(x), x), {})

    def value_operands(self, operands: Sequence[Value]) -> Sequence[Value]:
        return operands[1:]

    def new_content(self, operands: Sequence[Value]) -> Value:
        return operands[1]

    def stored(self) -> Value:
        return self.value

    def infer_types(self) -> tuple[Type, ...]:
        x, value = tensor_operand(self, self.x, "x"), tensor_operand(self, self.value, "value")
        if not isinstance(x, TensorType):
            raise fail(self, f"operand `x` has type {x}; expected a !pd.tensor, whose storage is written")
        if value.to_tensor() is not x:
            raise fail(self, f"operand `value` has type {value}; expected the shape and element type of `x`, {x}")
        return (x,)

    def compute(self, x: NDArray[Any], value: NDArray[Any]) -> NDArray[Any]:
        return value


def inplace_forms(op_classes: Iterable[type[Operation]]) -> list[type[Op]]:
    """The in-place forms of those operations that say that they have one."""
    return [
        inplace(op_class)
        for op_class in op_classes
        if issubclass(op_class, Op) and getattr(op_class, "has_inplace_form", False)
    ]


def inplace_form(op_class: type[Operation]) -> type[Op] | None:
    """The operation `foo_` that a dialect has beside `op_class`, `foo`, derived by `inplace`; None without one."""
    if not getattr(op_class, "has_inplace_form", False):
        return None
    found = default_context().op_class(f"{op_class.name}_")
    return found if found is not None and issubclass(found, InplaceOp) else None
