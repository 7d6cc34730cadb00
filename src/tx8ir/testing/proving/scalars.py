"""Programs of element-wise operations as functions of numbers: one element of each input, one of each result.

What an element-wise operation does to one element it does to all, so shapes are taken out: all inputs have the shape
`()` while a rule is applied, and one dynamic extent while both programs are evaluated on many numbers at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from tx8ir.core import (
    DYNAMIC,
    DenseAttr,
    ElementwiseMappable,
    FunctionType,
    InferTypes,
    IrError,
    Operation,
    Program,
    Pure,
    RankedTensor,
    Value,
    VTensorType,
)
from tx8ir.dialects import builtin, func, pd
from tx8ir.target.formats import F64, Format


class ProofError(IrError):
    """What cannot be proved at all: not made of element-wise operations, or a rule that nothing fits."""


def is_elementwise(kind: type[Operation]) -> bool:
    """Whether each element of the results depends on one element of each operand, and on nothing else."""
    return ElementwiseMappable in kind.info.traits and Pure in kind.info.traits


def is_constant(kind: type[Operation]) -> bool:
    """Whether it makes a tensor of numbers that the program has written in it."""
    return issubclass(kind, pd.FullOp | builtin.ConstantOp)


def on_scalars(program: Program) -> Program:
    """A copy of `program` on tensors of shape `()`.

    Raises:
        ProofError: see `check_elementwise`.
    """
    check_elementwise(program)
    return _with_shape(program, ())


def on_vectors(program: Program) -> Program:
    """A copy of a program `on_scalars`, on tensors with one extent, which is dynamic; constants stay scalars."""
    return _with_shape(program, (DYNAMIC,))


def operations(program: Program) -> list[Operation]:
    """The operations of `main` but the return, in order."""
    return [op for op in program.main.body.block if not isinstance(op, func.ReturnOp)]


def input_formats(program: Program) -> dict[str, Format]:
    """The number format of each input, by name. Raises ProofError for f64, whose rounding nothing here can check."""
    formats = {name: kind.element.format for name, kind in program.inputs.items() if isinstance(kind, RankedTensor)}
    for name, format in formats.items():
        if format is F64:
            raise ProofError(f"input {name!r} is of f64; proofs are about f32 and narrower formats", program.main)
    return formats


def check_elementwise(program: Program, made_by: str = "") -> None:
    """Raises `ProofError` when `main` is not one block of element-wise operations and constants of one number.

    made_by: what has made the program; "" for the one before.
    """
    where = f"{made_by} leaves" if made_by else "the program has"
    main = program.main
    if len(main.body.blocks) != 1:
        raise ProofError(f"{where} several blocks; prove takes a program without control flow", main)
    for kind in program.inputs.values():
        if not isinstance(kind, RankedTensor):
            raise ProofError(f"{where} an input of type {kind}; prove takes tensors", main)
    for op in operations(program):
        if is_constant(op.__class__):
            if isinstance(op, builtin.ConstantOp) and not _is_splat(op.attributes["value"]):
                raise ProofError(f"{where} a constant of different numbers; prove takes one number for all places", op)
        elif not is_elementwise(op.__class__):
            raise ProofError(
                f"{where} {op.name}, which is not element-wise: its result depends on shapes, on other elements or on "
                "what was written; prove takes element-wise operations, fuzz takes all",
                op,
            )


def _is_splat(value: object) -> bool:
    if not isinstance(value, DenseAttr) or not value.value.size:
        return False
    flat = value.value.reshape(-1)
    return flat.tobytes() == flat[:1].tobytes() * flat.size


def _with_shape(program: Program, shape: tuple[int, ...]) -> Program:
    clone = program.clone()
    main = clone.main
    block = main.body.block
    for argument in block.args:
        argument.type = VTensorType(shape, argument.type.element)
    for op in block:
        if isinstance(op, pd.FullOp):
            op.set_attribute("shape", ())
        elif isinstance(op, builtin.ConstantOp):
            number = np.asarray(op.value.value.reshape(-1)[0])
            op.set_attribute("value", DenseAttr(number, VTensorType((), op.out.type.element)))  # pyright: ignore
        infers = op.interface(InferTypes)
        if infers is not None:
            for result, kind in zip(op.results, infers.infer_types(), strict=True):
                result.type = kind
    returned = block.terminator
    assert returned is not None
    main.set_attribute("function_type", FunctionType([a.type for a in block.args], [v.type for v in returned.operands]))
    clone.verify()
    return clone


def formula(program: Program, constant: str = "") -> str:
    """What the program computes, in one line: ``add(x, -0.0)``; with a name for what is used twice or gets long.

    Operations without a use are left out. O(operations).

    constant: what to write for all constants; "": their numbers.
    """
    names: dict[Value, str] = dict(zip(program.main.body.block.args, program.inputs, strict=True))
    returned = _returned(program)
    uses = Counter(returned)
    kept = [op for op in reversed(operations(program)) if _count_uses(op, uses)]
    statements: list[str] = []
    for op in reversed(kept):
        if is_constant(op.__class__):
            names[op.results[0]] = constant or _literal(op)
            continue
        attributes = [f"{key}={value}" for key, value in op.attributes.items()]
        call = f"{op.name.partition('.')[2]}({', '.join([*(names[v] for v in op.operands), *attributes])})"
        if uses[op.results[0]] > 1 or len(call) > _LONG:
            statements.append(f"t{len(statements)} = {call}")
            call = f"t{len(statements) - 1}"
        names[op.results[0]] = call
    return "; ".join([*statements, ", ".join(names[v] for v in returned)])


_LONG = 60
"""What is written with more characters gets a name."""


def _count_uses(op: Operation, uses: Counter[Value]) -> bool:
    """Counts the uses of its operands, if its own result has one."""
    if not any(uses[r] for r in op.results):
        return False
    uses.update(op.operands)
    return True


def _returned(program: Program) -> Sequence[Value]:
    terminator = program.main.body.block.terminator
    return () if terminator is None else terminator.operands


def _literal(op: Operation) -> str:
    if isinstance(op, pd.FullOp):
        return f"{op.value}"
    assert isinstance(op, builtin.ConstantOp)
    return f"{op.value.value.reshape(-1)[0]}"
