"""A user's file: builds programs, writes a pass, runs both. Type checkers see every name and signature."""

from __future__ import annotations

from typing import ClassVar

import attrs
import numpy as np

import tx8ir
from tx8ir import viz
from tx8ir.core import Builder, FunctionType, Op, Operand, Program, Result, Value, VTensorType, attribute, f32, operand, result
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


class TwiceOp(Op, name="mine.twice"):
    """Twice x."""

    x: Operand = operand(doc="[...]")
    times: int = attribute(default=2)
    out: Result = result()


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
    program = layer.program(x, np.ones((64, 10)))
    PassManager([AddItself()]).run(program)
    assert program["main"].sym_name == "main"
    assert "digraph" in str(viz.dot(program))


if __name__ == "__main__":
    main()
