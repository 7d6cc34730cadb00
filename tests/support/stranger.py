"""A dialect that the package does not know: its own loop, choices, view, call, and operations on storage.

It is written with what a user has: `tx8ir.core`, and `Evaluate` of the interpreter. That the passes get programs with
it right shows that they understand operations by their interfaces.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tx8ir.analysis.constants import splat_value
from tx8ir.core import (
    Attribute,
    Block,
    Builder,
    CallLike,
    Compute,
    DenseAttr,
    Dialect,
    EffectKind,
    InferTypes,
    Inplace,
    InPlaceUpdate,
    LoopLike,
    MemoryEffect,
    MemoryEffects,
    Model,
    Op,
    Operand,
    Operation,
    Pure,
    RankedTensor,
    RecursiveEffects,
    Region,
    RegionBranch,
    RegionEdge,
    Result,
    SymbolRefAttr,
    SymbolUser,
    TensorType,
    Terminator,
    Type,
    Value,
    VariadicOperand,
    VariadicResult,
    VerifyError,
    ViewLike,
    VTensorType,
    attribute,
    i32,
    operand,
    region,
    result,
    variadic_operand,
    variadic_result,
    verify_forwarding,
)
from tx8ir.dialects import pd
from tx8ir.interpreter.interfaces import Asking, Enter, Evaluate, Evaluator, RuntimeValue
from tx8ir.interpreter.storage import array_of

INDEX = VTensorType((), i32)


class CountOp(Op, RegionBranch, LoopLike, name="stranger.count", traits=(RecursiveEffects,)):
    """Runs its body for 0, 1, … below `bound`, with that number and what it carries, which are its results at last."""

    bound: Operand = operand(doc="a scalar of i32, a tensor or vtensor")
    inits: VariadicOperand = variadic_operand()
    body: Region = region(doc="one block, ended by stranger.next")
    outputs: VariadicResult = variadic_result()

    @classmethod
    def build(cls, bound: Value, inits: Sequence[Value], body: Callable[..., Sequence[Any]]) -> CountOp:
        block = Block([INDEX, *(v.type for v in inits)])
        with Builder.at_end(block):
            NextOp(body(*block.args))
        return cls(bound, inits, body=Region([block]), outputs=[v.type for v in inits])

    def region_edges(self, source: Region | None) -> Sequence[RegionEdge]:
        arguments, results = self.body.block.args, self.results
        first = 1 if source is None else 0  # the bound is not forwarded
        forwarded = range(first, first + len(results))
        return [RegionEdge(self.body, forwarded, arguments[1:]), RegionEdge(None, forwarded, results)]

    def possible_edges(self, source: Region | None, operands: Sequence[Attribute | None]) -> Sequence[RegionEdge]:
        edges = self.region_edges(source)
        bound = operands[0] if source is None else None
        return [edges[0 if bound.value.item() > 0 else 1]] if isinstance(bound, DenseAttr) else edges

    def trip_count(self) -> int | None:
        bound = splat_value(self.bound)
        return max(0, int(bound)) if bound is not None else None

    def always_ends(self) -> bool:
        return True

    def verify_op(self) -> None:
        if len(self.body) != 1 or not self.body.block.args:
            raise VerifyError("the body of stranger.count takes a number", self)
        verify_forwarding(self)


class SwitchOp(Op, RegionBranch, name="stranger.switch", traits=(RecursiveEffects,)):
    """Runs the first, second or third region as `index` is 0, 1, or anything else; they see the values around them."""

    index: Operand = operand(doc="a scalar of i32, a tensor or vtensor")
    first: Region = region()
    second: Region = region()
    third: Region = region()
    outputs: VariadicResult = variadic_result()

    @classmethod
    def build(cls, index: Value, *sides: Callable[[], Sequence[Any]]) -> SwitchOp:
        blocks = [Block() for _ in range(3)]
        types: list[Type] = []
        for block, side in zip(blocks, sides, strict=True):
            with Builder.at_end(block):
                types = [v.type for v in NextOp(side()).operands]
        first, second, third = (Region([block]) for block in blocks)
        return cls(index, first=first, second=second, third=third, outputs=types)

    def region_edges(self, source: Region | None) -> Sequence[RegionEdge]:
        if source is None:
            return [RegionEdge(region) for region in self.regions]
        return [RegionEdge(None, range(len(self.results)), self.results)]

    def possible_edges(self, source: Region | None, operands: Sequence[Attribute | None]) -> Sequence[RegionEdge]:
        edges = self.region_edges(source)
        index = operands[0] if source is None else None
        return [edges[_side(index.value.item())]] if isinstance(index, DenseAttr) else edges

    def verify_op(self) -> None:
        verify_forwarding(self)


def _side(index: int) -> int:
    return index if index in (0, 1) else 2


class UnlessOp(Op, RegionBranch, name="stranger.unless", traits=(RecursiveEffects,)):
    """Gives `otherwise` as it is when `index` is 0, else what its region gives, which sees the values around it."""

    index: Operand = operand(doc="a scalar of i32, a tensor or vtensor")
    otherwise: VariadicOperand = variadic_operand()
    body: Region = region()
    outputs: VariadicResult = variadic_result()

    @classmethod
    def build(cls, index: Value, otherwise: Sequence[Value], body: Callable[[], Sequence[Any]]) -> UnlessOp:
        block = Block()
        with Builder.at_end(block):
            NextOp(body())
        return cls(index, otherwise, body=Region([block]), outputs=[v.type for v in otherwise])

    def region_edges(self, source: Region | None) -> Sequence[RegionEdge]:
        results = self.results
        if source is None:
            return [RegionEdge(self.body), RegionEdge(None, range(1, 1 + len(results)), results)]
        return [RegionEdge(None, range(len(results)), results)]

    def verify_op(self) -> None:
        verify_forwarding(self)


class NextOp(Op, name="stranger.next", traits=(Terminator,)):
    """Ends a region of these operations."""

    values: VariadicOperand = variadic_operand()


class ReverseOp(Op, Compute, InferTypes, ViewLike, name="stranger.reverse", traits=(Pure,)):
    """The elements of `x` along its first axis, the last one first."""

    x: Operand = operand((RankedTensor,))
    out: Result = result()

    def infer_types(self) -> tuple[Type, ...]:
        return (self.x.type,)

    def compute(self, x: NDArray[Any]) -> NDArray[Any]:
        return x[::-1] if x.ndim else x

    def forward(self, base: Value) -> Sequence[Value]:
        return ReverseOp(base).results

    def inverse(self, base: Value, index: int, value: Value) -> Value:
        return ReverseOp(value).out


class DoubleInPlaceOp(Op, Compute, InferTypes, InPlaceUpdate, name="stranger.double_", traits=(Inplace,)):
    """Adds a tensor to itself, in its storage."""

    x: Operand = operand((TensorType,))
    out: Result = result()

    def infer_types(self) -> tuple[Type, ...]:
        return (self.x.type,)

    def compute(self, x: NDArray[Any]) -> NDArray[Any]:
        return x + x

    def new_content(self, operands: Sequence[Value]) -> Operation:
        type = operands[0].type
        return pd.AddOp.create([operands[0], operands[0]], [type], location=self.location)


class PeekOp(Op, Compute, InferTypes, MemoryEffects, name="stranger.peek"):
    """What a tensor holds now, as a vtensor."""

    x: Operand = operand((RankedTensor,))
    out: Result = result()

    def infer_types(self) -> tuple[Type, ...]:
        assert isinstance(self.x.type, RankedTensor)
        return (self.x.type.to_vtensor(),)

    def compute(self, x: NDArray[Any]) -> NDArray[Any]:
        return np.array(x)

    def memory_effects(self) -> Sequence[MemoryEffect]:
        return [MemoryEffect(EffectKind.READ, self.x)]


class InvokeOp(Op, CallLike, SymbolUser, name="stranger.invoke"):
    """Runs `callee` on `inputs`; `tag` is read."""

    tag: Operand = operand()
    inputs: VariadicOperand = variadic_operand()
    callee: SymbolRefAttr = attribute()
    outputs: VariadicResult = variadic_result()

    def callee_symbol(self) -> str:
        return self.callee.value

    def call_arguments(self) -> Sequence[Value]:
        return self.inputs

    def verify_symbols(self, symbols: Mapping[str, Operation]) -> None:
        if self.callee.value not in symbols:
            raise VerifyError(f"stranger.invoke calls {self.callee}, which is not there", self)


DIALECT = Dialect("stranger", [CountOp, SwitchOp, UnlessOp, NextOp, ReverseOp, DoubleInPlaceOp, PeekOp, InvokeOp])


# -- how the interpreter runs them ------------------------------------------------------------------------------------


@Evaluate.implement(CountOp)
class CountEvaluate(Model[CountOp], Evaluate):
    def evaluate(self, evaluator: Evaluator, operands: Sequence[RuntimeValue]) -> Asking:
        bound, *carried = operands
        for number in range(int(array_of(bound).item())):
            carried = list((yield Enter(self.op.body.block, [np.array(number, np.int32), *carried])))
        return carried


@Evaluate.implement(SwitchOp)
class SwitchEvaluate(Model[SwitchOp], Evaluate):
    def evaluate(self, evaluator: Evaluator, operands: Sequence[RuntimeValue]) -> Asking:
        return (yield Enter(self.op.regions[_side(int(array_of(operands[0]).item()))].block, ()))


@Evaluate.implement(UnlessOp)
class UnlessEvaluate(Model[UnlessOp], Evaluate):
    def evaluate(self, evaluator: Evaluator, operands: Sequence[RuntimeValue]) -> Asking:
        index, *otherwise = operands
        return (yield Enter(self.op.body.block, ())) if array_of(index).item() else otherwise


@Evaluate.implement(InvokeOp)
class InvokeEvaluate(Model[InvokeOp], Evaluate):
    def evaluate(self, evaluator: Evaluator, operands: Sequence[RuntimeValue]) -> Asking:
        function = evaluator.resolve(self.op, self.op.callee)
        assert function is not None
        return (yield Enter(function.regions[0].block, operands[1:]))
