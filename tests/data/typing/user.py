"""A user's file: builds programs, defines operations, writes a pass. Type checkers see every name and signature."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, assert_type

import attrs
import numpy as np
from numpy.typing import NDArray

import tx8ir
from tx8ir import viz
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
from tx8ir.dialects import builtin, func, pd
from tx8ir.interpreter import evaluate
from tx8ir.passes import Pass, PassManager, register_pass
from tx8ir.rewriting import Rewriter, pattern, rewrite_greedily


@tx8ir.function
def layer(x: tx8ir.Tensor, w: tx8ir.Tensor) -> tx8ir.Tensor:
    hidden = (x @ w + 1.0).relu()
    scaled = 2 * hidden / hidden.sum(axis=-1, keepdim=True)
    first = scaled[0, 1:]
    return (scaled - first.max()).softmax(-1).reshape(8, -1).T.astype("f32")


def by_hand() -> Program:
    program = Program.empty()
    program.weights.add("w", np.ones((64, 10), np.float32))
    x_type, out_type = VTensorType((8, 64), f32), VTensorType((8, 10), f32)
    with Builder.at_end(program.body):
        main = func.func(
            sym_name="main",
            function_type=FunctionType((x_type,), (out_type,)),
            arg_names=("x",),
            result_names=("y",),
        )
    with Builder.at_end(main.body.block):
        (x,) = main.body.block.args
        w = builtin.get_parameter(parameter="w", out=VTensorType((64, 10), f32))
        product = pd.matmul(x, w, transpose_x=False)
        shifted = pd.add(product, 1.0)
        bent = pd.maximum(shifted, np.zeros(10, np.float32))
        inplace: pd.Relu_Op = pd.relu_(builtin.to_tensor(bent))
        plain = builtin.to_vtensor(inplace)
        func.return_([pd.softmax(plain, axis=-1).out])
    return program


class BlendOp(Op, Compute, InferTypes, name="mine.blend", traits=(Pure,)):
    """`a x + (1 - a) y`."""

    x: Operand = operand(doc="[...]")
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


def accessors(x: Value, y: Value) -> Value:
    blended = BlendOp(x, y, a=0.25)
    total = SumOp([blended.out, pd.relu(x)], label="total", out=x.type)
    product = pd.matmul(pd.add(x, total.out), y, transpose_y=True)
    assert_type(blended.x, Value)
    assert_type(blended.out, OpResult)
    assert_type(blended.a, float)
    assert_type(total.terms, tuple[Value, ...])
    assert_type(product.transpose_y, bool)
    return product.out


@pattern(pd.AddOp)
def add_itself(op: pd.AddOp, rewriter: Rewriter) -> bool:
    if op.x is not op.y:
        return False
    rewriter.replace(op, pd.scale(op.x, scale=2.0))
    return True


@register_pass
@attrs.frozen
class AddItself(Pass):
    """Turns x + x into 2 * x."""

    name: ClassVar[str] = "user-add-itself"

    def run(self, program: Program) -> None:
        rewrite_greedily(program.module, [add_itself])


def shapes(value: Value) -> tuple[tuple[int, ...], int, str]:
    users = [user.name for user in value.users]
    return value.shape, value.rank + len(users), str(value.dtype)


def main() -> None:
    x = np.ones((8, 64), np.float32)
    outputs: dict[str, np.ndarray] = evaluate(by_hand(), {"x": x})
    executable = tx8ir.compile(by_hand(), options=tx8ir.CompileOptions(dtype="bf16"))
    assert executable.run(x)["y"].shape == outputs["y"].shape
    assert executable(x=x).shape == (8, 10)
    square = VTensorType((3, 3), f32)
    block = Program.empty()
    with Builder.at_end(block.body):
        mixed = func.FuncOp(sym_name="main", function_type=FunctionType([square, square], [square]))
    with Builder.at_end(mixed.body.block):
        func.ReturnOp([accessors(*mixed.body.block.args)])
    block.verify()
    program = layer.program(x, np.ones((64, 10)))
    PassManager([AddItself()]).run(program)
    assert program["main"].sym_name == "main"
    assert "digraph" in str(viz.dot(program))


if __name__ == "__main__":
    main()
