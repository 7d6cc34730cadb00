"""Ops that carry values through the graph: interface, constants, loads and stores, groups."""

from __future__ import annotations

from tx8ir.core import (
    Compute,
    InferTypes,
    IsolatedFromAbove,
    NoneType,
    Operand,
    Pure,
    ReadOnly,
    Region,
    Result,
    Terminator,
    TupleType,
    Type,
    VariadicOperand,
    VariadicResult,
    VerifyError,
    attribute,
    operand,
    region,
    result,
    variadic_operand,
    variadic_result,
)

from .attributes import MemScope, RegionAttr
from .base import Array, BackendOp, require, same_type


class InputOp(BackendOp, Compute, InferTypes, name="tx8be.Input", traits=(Pure,)):
    """A program input as it arrives in memory: `y = x`, dense in `mem_scope`."""

    x: Operand = operand(doc="a function argument")
    mem_scope: MemScope = attribute(default=MemScope.DDR)
    y: Result = result()

    def infer_types(self) -> tuple[Type, ...]:
        return same_type(self.x, "input")

    def compute(self, x: Array) -> Array:
        return x


class OutputOp(BackendOp, Compute, InferTypes, name="tx8be.Output", traits=(Pure,)):
    """The program's results, a tuple, as they leave in `mem_scope`: `y = x`."""

    x: Operand = operand(doc="the tuple of results")
    mem_scope: MemScope = attribute(default=MemScope.DDR)
    y: Result = result()

    def infer_types(self) -> tuple[Type, ...]:
        require(isinstance(self.x.type, TupleType), f"operand has type {self.x.type}; expected a tuple")
        return (self.x.type,)

    def compute(self, x: tuple[Array, ...]) -> tuple[Array, ...]:
        return x


class TupleOp(BackendOp, Compute, InferTypes, name="tx8be.Tuple", traits=(Pure,)):
    """Collects `input_nums` values into one tuple."""

    xs: VariadicOperand = variadic_operand()
    input_nums: int | None = attribute(default=None)
    y: Result = result()

    def infer_types(self) -> tuple[Type, ...]:
        if self.input_nums is not None:
            require(
                self.input_nums == len(self.xs),
                f"input_nums is {self.input_nums} but there are {len(self.xs)} operands",
            )
        return (TupleType(tuple(x.type for x in self.xs)),)

    def compute(self, *xs: Array) -> tuple[Array, ...]:
        return xs


class NoneOp(BackendOp, Compute, InferTypes, name="tx8be.None", traits=(Pure,)):
    """The absent operand (no bias, no partial sum, a scalar instead of a tensor)."""

    y: Result = result()

    def infer_types(self) -> tuple[Type, ...]:
        return (NoneType(),)

    def compute(self) -> None:
        return None


class ConstantOp(BackendOp, name="tx8be.Constant", traits=(ReadOnly,)):
    """The immutable variable `name` of the program's weight store.

    `dev_info`, when present, gives the layout the constant is stored in: alignment costs nothing at run time.
    """

    parameter: str = attribute(name="name", doc="variable name in the weight store")
    y: Result = result()


class LoadConstOp(BackendOp, name="tx8be.LoadConst", traits=(ReadOnly,)):
    """One load of constant number `id` (variable `name`), stored in the layout of `dev_info`.

    `bypasscodegen` marks a constant whose user addresses it in DDR by itself, so that no load is generated.
    """

    parameter: str = attribute(name="name", doc="variable name in the weight store")
    id: int = attribute(doc="position of the constant in the DDR image")
    bypasscodegen: bool = attribute(default=False)
    y: Result = result()


class LoadVarOp(BackendOp, Compute, InferTypes, name="tx8be.LoadVar", traits=(Pure,)):
    """Brings a group's input from DDR to SPM: `y = x`."""

    x: Operand = operand()
    y: Result = result()

    def infer_types(self) -> tuple[Type, ...]:
        return same_type(self.x, "operand")

    def compute(self, x: Array) -> Array:
        return x


class StoreVarOp(BackendOp, Compute, InferTypes, name="tx8be.StoreVar", traits=(Pure,)):
    """Writes a group's result from SPM to DDR: `y = x`."""

    x: Operand = operand()
    y: Result = result()

    def infer_types(self) -> tuple[Type, ...]:
        return same_type(self.x, "operand")

    def compute(self, x: Array) -> Array:
        return x


class ReturnOp(BackendOp, name="tx8be.Return", traits=(Terminator, Pure)):
    """Ends a group's body with the group's results."""

    xs: VariadicOperand = variadic_operand()


class GroupOp(BackendOp, name="tx8be.Group", traits=(IsolatedFromAbove,)):
    """A run of ops whose intermediates stay in SPM.

    The body is one block; its arguments are the operands, in order, and its `Return` gives the results.
    `group_tag`: 0 is searched (sharding and split), 1 splits only over N, H and T, 2 needs no load or store (an alias
    in DDR). `need_barrier`: tiles synchronise after the group. `group_id` numbers groups in program order;
    `template_id` names the equal group whose search result is reused (-1: none).
    """

    inputs: VariadicOperand = variadic_operand()
    group_tag: int | None = attribute(default=None)
    need_barrier: bool = attribute(default=True)
    dev_region: RegionAttr | None = attribute(default=None)
    spm_alloc_size: int | None = attribute(default=None)
    group_id: int = attribute(default=-1)
    template_id: int = attribute(default=-1)
    layer: int | None = attribute(default=None)
    pipeline_parallel: bool = attribute(default=False)
    sp_stage_num: int = attribute(default=1)
    outs: VariadicResult = variadic_result()
    body: Region = region()

    def verify_op(self) -> None:
        if self.group_tag is not None:
            require(self.group_tag in (0, 1, 2), f"group_tag is {self.group_tag}; expected 0, 1 or 2")
        if len(self.body.blocks) != 1:
            raise VerifyError(f"body has {len(self.body.blocks)} blocks; expected 1")
        block = self.body.block
        given, expected = [a.type for a in block.args], [v.type for v in self.inputs]
        require(given == expected, f"body takes {_list(given)} but the operands are {_list(expected)}")
        terminator = block.last_op
        if not isinstance(terminator, ReturnOp):
            raise VerifyError("body must end with tx8be.Return")
        given, expected = [v.type for v in terminator.xs], [v.type for v in self.outs]
        require(given == expected, f"body returns {_list(given)} but the results are {_list(expected)}")


def _list(types: list[Type]) -> str:
    return "(" + ", ".join(str(t) for t in types) + ")"
