"""What a user writes, for type checkers alone: `make lint` has pyright read it.

mypy accepts it too, beside an installed tx8ir: `mypy --strict --follow-imports=silent tests/data/typed/user.py`. That is
not part of `make lint`, because it takes longer than all else there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

from tx8ir.core import (
    Builder,
    Compute,
    FunctionType,
    InferTypes,
    Op,
    Operand,
    OpResult,
    Program,
    Pure,
    Result,
    Type,
    Value,
    VariadicOperand,
    VTensorType,
    attribute,
    f32,
    operand,
    result,
    variadic_operand,
)
from tx8ir.dialects import func, pd


class BlendOp(Op, Compute, InferTypes, name="mine.blend", traits=(Pure,)):
    """`a x + (1 - a) y`."""

    x: Operand = operand()
    y: Operand = operand()
    a: float = attribute(default=0.5)
    out: Result = result()

    def infer_types(self) -> Sequence[Type]:
        return (self.x.type,)

    def compute(self, x: NDArray[Any], y: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(self.a * x + (1 - self.a) * y)


class SumOp(Op, name="mine.sum", traits=(Pure,)):
    """The sum of all."""

    terms: VariadicOperand = variadic_operand()
    label: str = attribute()
    scale: float = attribute(default=1.0)
    out: Result = result()


T = VTensorType((2, 3), f32)
program = Program.empty()
with Builder.at_end(program.body):
    main = func.FuncOp(sym_name="main", function_type=FunctionType([T, T], [T]))
x, y = main.body.block.args
with Builder.at_end(main.body.block):
    blended = BlendOp(x, y, a=0.25)
    total = SumOp([blended.out, pd.relu(x)], label="total", out=T)
    product = pd.matmul(pd.add(x, total.out), y, transpose_y=True)
    func.ReturnOp([product.out])

assert_type(blended.x, Value)
assert_type(blended.out, OpResult)
assert_type(blended.a, float)
assert_type(total.terms, tuple[Value, ...])
assert_type(product.transpose_y, bool)

BlendOp(x)  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
BlendOp(x, "y")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
BlendOp(x, y, a="1")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
SumOp([x])  # type: ignore[call-arg]  # pyright: ignore[reportCallIssue]
