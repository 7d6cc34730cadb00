"""Several elementwise operations as one."""

from __future__ import annotations

from collections.abc import Sequence

from tx8ir.core import (
    IsolatedFromAbove,
    Op,
    ParameterAccess,
    Pure,
    Region,
    RegionBranch,
    RegionEdge,
    Terminator,
    VariadicOperand,
    VariadicResult,
    VerifyError,
    VTensorType,
    attribute,
    region,
    variadic_operand,
    variadic_result,
)

KINDS = ("vertical", "horizontal")


class FusionOp(Op, RegionBranch, name="pd.fusion", traits=(Pure, IsolatedFromAbove)):
    """Operations to be computed together: each element of what they give from elements of `inputs`, at one go.

    It means what the operations inside mean, each rounded as by itself; what lies between need not be stored. Made by
    the pass `fuse-elementwise`, taken apart by `inline-fusions`.
    """

    inputs: VariadicOperand = variadic_operand(doc="vtensors; the arguments of the body")
    kind: str = attribute(doc='"vertical": what is inside hangs together; "horizontal": it has independent parts')
    body: Region = region(doc="one block of operations without effects, ended by pd.fusion_yield")
    outputs: VariadicResult = variadic_result(doc="what the body yields, at least one vtensor")

    def region_edges(self, source: Region | None) -> Sequence[RegionEdge]:
        target, values = (self.body, self.body.block.args) if source is None else (None, self.results)
        return [RegionEdge(target, range(len(values)), values)]

    def verify_op(self) -> None:
        if self.kind not in KINDS:
            raise VerifyError(f"pd.fusion: attribute `kind` is {self.kind!r}; expected one of {', '.join(KINDS)}", self)
        for value in (*self.operands, *self.results):
            if not isinstance(value.type, VTensorType):
                raise VerifyError(f"pd.fusion takes and gives vtensors, not {value.type}", self)
        if not self.results:
            raise VerifyError("pd.fusion without results computes nothing", self)
        if len(self.body) != 1:
            raise VerifyError(f"the body of pd.fusion has {len(self.body)} blocks, expected one", self)
        taken, given = (tuple(v.type for v in values) for values in (self.body.block.args, self.operands))
        if taken != given:
            shown = ", ".join(map(str, taken))
            raise VerifyError(f"the body of pd.fusion takes ({shown}), not the types of its operands", self)
        last = self.body.block.last_op
        for op in self.body.block:
            if op is last and op.has_trait(Terminator):
                if not isinstance(op, FusionYieldOp):
                    raise VerifyError(f"the body of pd.fusion ends in {op.name}, expected pd.fusion_yield", self)
            elif op.regions or not (op.has_trait(Pure) or _only_reads(op.interface(ParameterAccess))):
                raise VerifyError(f"{op.name} is inside pd.fusion; expected operations without effects or regions", op)


def _only_reads(access: ParameterAccess | None) -> bool:
    return access is not None and not access.parameter_writes()


class FusionYieldOp(Op, name="pd.fusion_yield", traits=(Terminator,)):
    """Ends the body of `pd.fusion`, giving its results."""

    values: VariadicOperand = variadic_operand()

    def verify_op(self) -> None:
        parent = self.parent_op
        if parent is None:
            return  # detached, or in a block that no operation holds yet
        if not isinstance(parent, FusionOp):
            raise VerifyError(f"pd.fusion_yield ends a region of {parent.name}; it belongs into pd.fusion", self)
        given, expected = (tuple(v.type for v in values) for values in (self.operands, parent.results))
        if given != expected:
            shown, wanted = (", ".join(map(str, types)) for types in (given, expected))
            raise VerifyError(f"pd.fusion_yield gives ({shown}), the results of pd.fusion are ({wanted})", self)
