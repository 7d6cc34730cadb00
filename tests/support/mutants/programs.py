"""Writing witnesses: small programs with their inputs, and what the mutants ask of a graph."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from tx8ir.core import (
    Block,
    Builder,
    DenseAttr,
    FunctionType,
    Operation,
    Program,
    RankedTensor,
    SymbolRefAttr,
    TensorType,
    Type,
    Value,
    VTensorType,
    scalar_type_of,
)
from tx8ir.dialects import builtin, func

from .mutant import Case

Array = NDArray[Any]
INF, NAN = float("inf"), float("nan")


def f32(*numbers: Any) -> Array:
    """A vector of f32."""
    return np.array(numbers, np.float32)


def bf16(*numbers: Any) -> Array:
    """A vector of bf16."""
    return np.array(numbers, np.float32).astype(ml_dtypes.bfloat16)


def ints(dtype: str, *numbers: int) -> Array:
    """A vector of integers: `ints("int8", 1, 2)`."""
    return np.array(numbers, dtype)


def bools(*numbers: Any) -> Array:
    """A vector of i1."""
    return np.array(numbers, np.bool_)


def count(*shape: int, start: float = 1.0) -> Array:
    """1, 2, 3, … in f32, in a shape."""
    return (np.arange(np.prod(shape), dtype=np.float32) + np.float32(start)).reshape(shape)


def constant(array: Any, dtype: Any = np.float32) -> Value:
    """A `builtin.constant`."""
    data = array if isinstance(array, np.ndarray) else np.array(array, dtype)
    return builtin.ConstantOp(value=DenseAttr(data)).out


def ranked(value: Value) -> RankedTensor:
    """The type of a value that is a tensor."""
    assert isinstance(value.type, RankedTensor)
    return value.type


def values(given: Any) -> list[Value]:
    """What a body gives, one or several values or operations, as values."""
    items = [given] if isinstance(given, Value | Operation) else list(given)
    return [item if isinstance(item, Value) else item.result for item in items]


def define(name: str, body: Callable[..., Any], *types: Type, arg_names: Sequence[str] | None = None) -> func.FuncOp:
    """A function where the builder is.

    `body` takes the arguments and returns what the function returns; or None, when it has made blocks of which the last
    one returns.
    """
    made = func.FuncOp(
        sym_name=name, function_type=FunctionType(types, ()), arg_names=None if arg_names is None else tuple(arg_names)
    )
    with Builder.at_end(made.body.block):
        given = body(*made.body.block.args)
        if given is not None:
            func.ReturnOp(values(given))
    returned = made.body.blocks[-1].terminator
    assert isinstance(returned, func.ReturnOp)
    made.set_attribute("function_type", FunctionType(types, [v.type for v in returned.operands]))
    return made


def call(name: str, *operands: Any, out: Sequence[Type]) -> func.CallOp:
    """A call of a function by its name."""
    return func.CallOp(values(operands), callee=SymbolRefAttr(name), outputs=list(out))


def case(
    body: Callable[..., Any],
    *,
    functions: Callable[[], object] | None = None,
    weights: Mapping[str, Array] | None = None,
    mutable: Sequence[str] = (),
    storage: Sequence[str] = (),
    **inputs: Array,
) -> Case:
    """A program and its inputs.

    Args:
        body: makes `main` of its arguments, which have the names and types of `inputs`.
        functions: makes other functions.
        weights: the variables of the store.
        mutable: which of them programs may write.
        storage: names of inputs that are tensors, which the program may write; the others are values.
        inputs: in the order of the arguments.
    """
    made = Program.empty()
    for name, data in (weights or {}).items():
        made.weights.add(name, data, is_mutable=name in mutable)
    types: list[Type] = []
    for name, array in inputs.items():
        kind = TensorType if name in storage else VTensorType
        types.append(kind(array.shape, scalar_type_of(array.dtype)))
    assert list(inspect.signature(body).parameters) == list(inputs), "the body takes the inputs by their names"
    with Builder.at_end(made.body):
        if functions is not None:
            functions()
        define("main", body, *types, arg_names=tuple(inputs))
    made.verify()
    return made, inputs


def operations(program: Program, *kinds: type[Any]) -> Iterator[Any]:
    """The operations of these classes, those in regions and functions too; safe when the one given is erased."""
    found = [op for op in program.module.walk() if isinstance(op, kinds)]
    return (op for op in found if op.parent is not None)


def on_values(op: Operation) -> bool:
    """Whether an operation reads values alone, and so may be done later: nothing writes them, as it does storage."""
    return all(isinstance(v.type, VTensorType) for v in op.operands)


def parameter(name: str, like: Array, kind: type[TensorType | VTensorType] = VTensorType) -> Value:
    """A `builtin.get_parameter`."""
    return builtin.GetParameterOp(parameter=name, out=kind(like.shape, scalar_type_of(like.dtype))).out


def inline(block: Block, anchor: Any, arguments: Sequence[Value]) -> list[Value]:
    """Copies a block before `anchor`; the values that its terminator gives, the condition first where there is one."""
    mapping: dict[Value, Value] = dict(zip(block.args, arguments, strict=True))
    for op in block:
        if op is not block.terminator:
            anchor.parent.insert_before(op.clone(mapping), anchor)
    return [mapping.get(v, v) for v in block.terminator.operands]


def is_inside(value: Value, loop: Any) -> bool:
    """Whether a value is defined inside an operation."""
    owner = value.parent_block.parent_op if value.parent_block is not None else None
    return owner is loop or (owner is not None and loop in owner.ancestors())
