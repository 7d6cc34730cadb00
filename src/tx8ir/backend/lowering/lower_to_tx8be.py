"""`lower-to-tx8be`: from the tensor dialect to the backend graph."""

from __future__ import annotations

from typing import ClassVar, Final, TypeAlias

import attrs

from tx8ir.backend.graph import CompileError, main_block
from tx8ir.backend.lowering import composite, elementwise, losses, movement, neural, reduction, special
from tx8ir.backend.lowering.context import (
    NO_LOWERING,
    Lowering,
    LoweringError,
    check_type,
    is_empty,
    ranked_type,
    rule_of,
)
from tx8ir.backend.lowering.formats import check_formats
from tx8ir.core import (
    Block,
    BlockArgument,
    Builder,
    FunctionType,
    Operation,
    Program,
    RankedTensor,
    TupleType,
    Value,
    VerifyError,
    VTensorType,
    at_location,
    f32,
    i1,
)
from tx8ir.dialects import builtin, func, pd, scf, tx8be
from tx8ir.passes import Pass, register_pass
from tx8ir.transforms.fusion.inline_fusions import inline_fusions

RULE_MODULES = (composite, elementwise, losses, movement, neural, reduction, special)
"""The modules whose import fills `RULES`."""

_STRAIGHT: Final = "the backend compiles straight-line programs on values"
_STAYED: Final[dict[type[Operation], str]] = {
    scf.IfOp: f"the condition is not known, and one side has an effect, may fail or gives storage; {_STRAIGHT}",
    scf.WhileOp: f"how many rounds it has is not known, or more than are written out; {_STRAIGHT}",
    func.CallOp: f"the function was not inlined: it is recursive or large, or has several blocks; {_STRAIGHT}",
    pd.Assign_Op: f"it writes storage that another name may share, or that exists outside; {_STRAIGHT}",
    builtin.SetParameterOp: "it writes a parameter: run lift-state before",
    builtin.SetCombineParameterOp: "it writes parameters: run lift-state before",
}
"""Why the passes before leave an op that has no form in the backend graph."""

Faults: TypeAlias = "list[tuple[Operation, str]]"
"""What cannot be lowered, and why."""

UNKNOWN = "Unknown"

ELEMENTWISE = (tx8be.BinaryOp, tx8be.UnaryOp, tx8be.SelectOp, tx8be.CastOp)
"""What may be in a group together wherever it is cut; other shapes are made before it."""


@register_pass
@attrs.frozen
class LowerToTx8be(Pass):
    """Rewrites `main` in backend ops: Input per argument, the graph, Tuple and Output of the results.

    One to one where there is a backend op; integer powers, split, gelu, grouped convolution, attention and others
    decompose. A bool value becomes a value mask (1.0/0.0) in the format that was compared. Scalars become `scalar`
    attributes, a repeated row a rank-1 operand; other broadcasts of constants are expanded here, into new variables,
    those of variables go through `Broadcast`. A constant row added to a `Gemm` or `Conv`, and a relu after, fuse into
    it when nothing else uses the value between. What nothing reads is left out, inputs and constants included, and so
    are tensors without elements, also among the results.

    Assumes: value semantics, one block, element types the TX8 computes in (`convert-dtype`), images NHWC and filters
    HWOI (`nhwc`). Guarantees: `main` has only tx8be ops; names of arguments and results stay.
    Cost: O(ops + expanded bytes). Raises `CompileError` listing every op that cannot be lowered, with its types, the
    reason and its source; the program is then unchanged, but that fusions are taken apart.
    """

    name: ClassVar[str] = "lower-to-tx8be"

    def run(self, program: Program) -> None:
        old, source = program.main, main_block(program)
        found = [op for op in source if isinstance(op, pd.FusionOp)]
        fusions = {inner: number for number, fusion in enumerate(found) for inner in fusion.body.block}
        inline_fusions(old)
        target = Block([argument.type for argument in source.args])
        lowering = Lowering(program.weights, target)
        faults: Faults = []
        for before, after in zip(source.args, target.args, strict=True):
            self._enter(old, before, after, lowering, faults)
        names, results = list(program.outputs), len(program.outputs)
        for number, op in enumerate(source, len(found)):
            if isinstance(op, func.ReturnOp):
                names = [name for name, value in zip(names, op.operands, strict=True) if not is_empty(value)]
                self._finish(op, lowering, faults)
            elif not isinstance(op, builtin.ConstantOp | builtin.GetParameterOp | pd.FullOp):
                self._lower(op, lowering, faults, fusions.get(op, number), fused=op in fusions)
        if faults:
            raise CompileError(_describe(faults), op=faults[0][0])
        self._erase_unused(target)
        constants = [op for op in target if isinstance(op, tx8be.ConstantOp)]
        self._place_constants(constants, target)
        self._replace(old, target)
        if len(names) < results:
            old.set_attribute("result_names", tuple(names))
        used = {constant.parameter for constant in constants}
        variables = {name: variable for name, variable in lowering.new_variables.items() if name in used}
        for name, variable in variables.items():
            program.weights[name] = variable
        self.count("backend ops", len(target))
        self.count("new variables", len(variables))

    def _enter(
        self, main: Operation, before: BlockArgument, after: BlockArgument, lowering: Lowering, faults: Faults
    ) -> None:
        """The `Input` of one argument of `main`."""
        if is_empty(before):
            return
        try:
            t = ranked_type(before)
            check_type(t)
        except LoweringError as reason:
            faults.append((main, f"argument {before.index}: {reason}"))
            lowering.values[before] = tx8be.ConstantOp(parameter="", y=_placeholder(before)).y
            return
        after.type = _in_backend(t)
        with Builder.at_end(lowering.block), at_location(main.location):
            lowering.values[before] = tx8be.InputOp(after, layout_str=UNKNOWN).y

    def _lower(self, op: Operation, lowering: Lowering, faults: Faults, fusion: int, *, fused: bool) -> None:
        """Lower one op. The elementwise ops it becomes are a fusion of that number, if it is in one or becomes several.

        A fault gives its results placeholders, so that the ops after it are looked at too.
        """
        rule = rule_of(type(op))
        if op.results and all(is_empty(result) for result in op.results):
            return  # who reads it has no elements either, or does without it
        try:
            if rule is None:
                raise LoweringError(_STAYED.get(type(op), NO_LOWERING))
            for result in op.results:
                if not is_empty(result):
                    check_type(ranked_type(result))
            last = lowering.block.last_op
            with Builder.at_end(lowering.block), at_location(op.location):
                values = lowering.of_nothing(op) or rule(lowering, op)
            elementwise: list[Operation] = []
            made = lowering.block.first_op if last is None else last.next_op
            while made is not None:
                check_formats(made)
                if isinstance(made, ELEMENTWISE):
                    elementwise.append(made)
                made = made.next_op
            if fused or len(elementwise) > 1:
                for made in elementwise:
                    made.set_attribute("fusion_id", fusion)
        except (LoweringError, VerifyError) as reason:
            faults.append((op, reason.message if isinstance(reason, VerifyError) else str(reason)))
            for result in op.results:
                lowering.values[result] = tx8be.ConstantOp(parameter="", y=_placeholder(result)).y
            return
        lowering.values.update(zip(op.results, values, strict=True))

    def _finish(self, op: func.ReturnOp, lowering: Lowering, faults: Faults) -> None:
        """Tuple, Output and return of the results."""
        with Builder.at_end(lowering.block), at_location(op.location):
            try:
                results = [lowering.get(value) for value in op.operands if not is_empty(value)]
            except LoweringError as reason:
                faults.append((op, str(reason)))
                return
            together = tx8be.TupleOp(results, input_nums=len(results), layout_str=UNKNOWN)
            output = tx8be.OutputOp(together.y, layout_str=UNKNOWN)
            func.ReturnOp([output.y])

    def _erase_unused(self, target: Block) -> None:
        """Erases what nothing reads: an op of several results becomes several, and rules may leave operands unread."""
        for op in reversed(list(target)):
            if op.results and not any(result.has_uses for result in op.results):
                op.erase(by=self.name)
                self.count("unused")

    def _place_constants(self, constants: list[tx8be.ConstantOp], target: Block) -> None:
        """Constants stand after the inputs, so that they dominate whatever a fusion made use them."""
        anchor = next(op for op in target if not isinstance(op, tx8be.InputOp))
        for constant in constants:
            if constant is anchor:
                following = anchor.next_op
                assert following is not None
                anchor = following
            else:
                constant.move_before(anchor)

    def _replace(self, old: func.FuncOp, target: Block) -> None:
        """Put the new body into `main` and give it the new type."""
        inputs = tuple(argument.type for argument in target.args)
        output = target.last_op
        assert output is not None
        results: tuple[TupleType, ...] = tuple(v.type for v in output.operands if isinstance(v.type, TupleType))
        old.set_attribute("function_type", FunctionType(inputs, results))
        for block in old.body.blocks:
            block.erase(by=self.name)
        old.body.append(target)


def _placeholder(result: Value) -> VTensorType:
    return _in_backend(result.type) if isinstance(result.type, RankedTensor) else VTensorType((1,), f32)


def _in_backend(t: RankedTensor) -> VTensorType:
    """The type of a backend value for a source value of type `t`; of a bool one that is not compared, a mask in f32."""
    return t.to_vtensor().with_element(f32) if t.element is i1 else t.to_vtensor()


def _describe(faults: Faults) -> str:
    lines = [f"{len(faults)} op{'s' if len(faults) > 1 else ''} cannot be lowered to tx8be:"]
    for op, reason in faults:
        operands = ", ".join(str(v.type) for v in op.operands)
        results = ", ".join(str(v.type) for v in op.results)
        place = f" at {op.location}" if op.location.is_known else ""
        lines.append(f"  {op.name} ({operands}) -> ({results}){place}: {reason}")
    return "\n".join(lines)
