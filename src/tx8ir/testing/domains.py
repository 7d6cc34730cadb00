"""Which numbers the inputs of a program may be, so that the program evaluates without error."""

from __future__ import annotations

from collections.abc import Iterator

from tx8ir.analysis.control_flow import forwarded_operands
from tx8ir.core import Block, Operation, Program, Terminator, Value, ViewLike
from tx8ir.dialects import builtin, func, pd
from tx8ir.dialects.domains import ANYTHING, Domain, OperandDomains

_MOVES = (
    pd.AssignOp,
    pd.ExpandOp,
    pd.ConcatOp,
    pd.CastOp,
    pd.SetValueOp,
    builtin.ToTensorOp,
    builtin.ToVTensorOp,
)
"""Every element of their results is an element of an operand; a cast keeps those whole numbers that both types hold."""


def input_domains(program: Program) -> dict[str, Domain]:
    """The domains of the inputs of `main`, by name, feeds among them; inputs that may be anything are left out.

    What an operation needs of an operand, it needs of all that the operand may be an element of: through views, copies
    and casts, branches, loops and calls. What is computed otherwise is not followed, and what is written to storage
    later neither. O(operations).
    """
    sources: dict[Value, list[Value]] = {}
    needs: dict[Value, Domain] = {}
    work: list[Value] = []

    def need(value: Value, domain: Domain) -> None:
        known = needs.get(value, ANYTHING)
        met = known.meet(domain)
        if met != known:
            needs[value] = met
            work.append(value)

    functions = {op.sym_name: op for op in program.body if isinstance(op, func.FuncOp)}
    for op in program.module.walk():
        for value, source in _flow(op, functions):
            sources.setdefault(value, []).append(source)
        says = op.interface(OperandDomains)
        if says is not None:
            for value, domain in zip(op.operands, says.operand_domains(), strict=True):
                if not domain.is_everything:
                    need(value, domain)
    while work:
        value = work.pop()
        for source in sources.get(value, ()):
            need(source, needs[value])
    body: Block = program.main.body.block
    found = dict(zip(program.inputs, (needs.get(a) for a in body.args), strict=True))
    for op in program.main.walk():
        if isinstance(op, pd.FeedOp):
            found[op.feed_name] = (found.get(op.feed_name) or ANYTHING).meet(needs.get(op.out, ANYTHING))
    return {name: domain for name, domain in found.items() if domain is not None and not domain.is_everything}


def _flow(op: Operation, functions: dict[str, func.FuncOp]) -> Iterator[tuple[Value, Value]]:
    """Values, each with a value that its elements come from."""
    if op.interface(ViewLike) is not None:
        yield from ((r, op.operands[0]) for r in op.results)
    elif isinstance(op, _MOVES):
        yield from ((op.results[0], v) for v in op.operands)
    elif isinstance(op, pd.WhereOp):
        yield from ((op.out, v) for v in (op.x, op.y))
    elif isinstance(op, pd.GatherOp):
        yield op.out, op.x
    elif isinstance(op, func.CallOp):
        function = functions.get(op.callee.value)
        if function is not None and len(function.body):
            yield from zip(function.body.blocks[0].args, op.inputs, strict=False)
            for block in function.body.blocks:
                last = block.last_op
                if isinstance(last, func.ReturnOp):
                    yield from zip(op.results, last.values, strict=False)
    if op.regions or op.has_trait(Terminator):
        for operand, given in zip(op.operands, forwarded_operands(op) or (), strict=False):
            yield from ((target, operand) for target in given.targets)
