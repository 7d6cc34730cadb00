"""`inline`: calls give way to the bodies of the functions they call."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import ClassVar

import attrs

from tx8ir.analysis.call_graph import components_callees_first
from tx8ir.analysis.symbols import is_public, referenced_symbols
from tx8ir.core import Block, Operation, Program, Region, SymbolRefAttr, at_location, detached
from tx8ir.core.ir.symbol_table import SymbolTables
from tx8ir.dialects import cf, func
from tx8ir.passes import Pass, option, register_pass
from tx8ir.rewriting.provenance import at_call_site

__all__ = ["Inline"]


@register_pass
@attrs.frozen
class Inline(Pass):
    """Replaces calls of functions by the functions' bodies, callees before their callers.

    A function of one block takes the place of the call wherever that stands, in regions of `scf` too. One of several
    blocks splits the block of the call, which must be one of a function: the rest of it becomes a block that takes the
    results, and each `func.return` a branch there. Operands take the place of arguments: a tensor goes on sharing
    storage with what the callee knew as its argument, and nothing is copied. A function that is called once, by name
    from nowhere else, and that is not public (see `remove-unused-functions`) is moved, however large it is. The
    others are cloned, and stay.

    Not inlined are calls of recursive functions (in a cycle of the call graph), of large ones, and of functions with
    several blocks inside a region of `scf`, which holds one; nor calls into and in modules inside the module.

    Assumes: nothing but what `remove-unused-functions` does of names. Guarantees: no other call is left; every
    operation inlined also carries the location of the call. Idempotent. Cost: O(operations + max_ops · calls).
    Statistics: `inlined` (calls), `moved` (functions that went), and calls that stay: `recursive`, `too_large`,
    `refused` (blocks in a region, or an end that is not a return), `nested` (into or in another module).
    The order, callees first by strongly connected components, and the rule for the last call are those of MLIR's
    inliner and LLVM's before it.
    """

    name: ClassVar[str] = "inline"

    max_ops: int = option(
        1000,
        "a function of more operations, when its own calls are inlined, is not cloned",
        validator=attrs.validators.ge(0),
    )

    def run(self, program: Program) -> None:
        plan = _Plan(program, self.max_ops)
        for why, n in plan.kept.items():
            self.count(why, n)
        with detached():
            for caller in plan.order:
                if caller not in plan.moved:
                    self._inline_into(caller, plan)
        for function in plan.moved:
            function.erase(self.name)
            self.count("moved")

    def _inline_into(self, caller: Operation, plan: _Plan) -> None:
        """Inline the chosen calls of a function, those that come with moved bodies too.

        From the last call to the first: what follows a call in its block moves on at most once for each callee.
        """
        calls = list(plan.chosen[caller])
        behind: dict[Block, list[list[Block]]] = defaultdict(list)
        while calls:
            call = calls.pop()
            callee = plan.callee(call)
            if callee in plan.moved:
                body = callee.body
                calls += plan.chosen[callee]
            else:
                body = callee.clone().body
            blocks = list(body.blocks)
            body.set_blocks(())
            for block in blocks:
                for op in _inside(block):
                    op.location = at_call_site(op.location, call.location, self.name)
            block = call.parent
            assert block is not None  # it was found in the program
            added = _put_in_place(call, blocks, self.name)
            if added:
                behind[block].append(added)
            self.count("inlined")
        if behind:
            region = caller.regions[0]
            region.set_blocks(_in_text_order(region, behind))


class _Plan:
    """Which calls to inline, decided on numbers alone, callees first.

    Attributes:
        order: the operations of the module, callees first.
        chosen: the calls to inline in each, in text order.
        moved: functions whose body goes to their only caller.
        kept: how many calls stay, by reason.
    """

    def __init__(self, program: Program, max_ops: int) -> None:
        self.functions = {op.sym_name: op for op in program.body if isinstance(op, func.FuncOp)}
        self.chosen: dict[Operation, list[func.CallOp]] = {}
        self.moved: dict[func.FuncOp, None] = {}
        self.kept: dict[str, int] = defaultdict(int)
        calls: dict[Operation, list[func.CallOp]] = {}
        tables = SymbolTables()
        sizes: dict[Operation, int] = {}
        for op in program.body:
            inside = list(op.walk())
            sizes[op] = len(inside) - 1
            made = [inner for inner in inside if isinstance(inner, func.CallOp)]
            calls[op] = [call for call in made if tables.around(call) is program.module and _is_flat(call)]
            self.kept["nested"] += len(made) - len(calls[op])
        callees = {caller: [self.callee(call) for call in made] for caller, made in calls.items()}
        components = components_callees_first(callees)
        self.order = [op for component in components for op in component]
        cyclic = {op for component in components if len(component) > 1 for op in component}
        cyclic |= {op for op, called in callees.items() if op in called}
        references = referenced_symbols(program.module)
        several: set[Operation] = set()  # those that have more than one block, when their calls are inlined
        for caller in self.order:
            self.chosen[caller] = []
            if len(caller.regions[0]) > 1 if caller.regions else False:
                several.add(caller)
            for call in calls[caller]:
                callee = self.callee(call)
                once = references[callee.sym_name] == 1 and not is_public(callee)
                if callee in cyclic:
                    self.kept["recursive"] += 1
                elif not _fits(call, callee, callee in several):
                    self.kept["refused"] += 1
                elif sizes[callee] > max_ops and not once:
                    self.kept["too_large"] += 1
                else:
                    self.chosen[caller].append(call)
                    sizes[caller] += sizes[callee] - (1 if callee in several else 2)  # the call, the return
                    if callee in several:
                        several.add(caller)
                    if once:
                        self.moved[callee] = None

    def callee(self, call: func.CallOp) -> func.FuncOp:
        """The function called."""
        return self.functions[call.callee_symbol()]


def _is_flat(call: func.CallOp) -> bool:
    """Whether a call names its function by one name."""
    return isinstance(call.callee, SymbolRefAttr)


def _fits(call: func.CallOp, callee: func.FuncOp, several: bool) -> bool:
    """Whether the body can stand in the place of the call."""
    if several:
        return isinstance(call.parent_op, func.FuncOp)
    return isinstance(callee.body.block.terminator, func.ReturnOp)


def _put_in_place(call: func.CallOp, blocks: list[Block], by: str) -> list[Block]:
    """Put the blocks of a callee, which are in no region, in the place of a call; those that follow its block now."""
    block = call.parent
    assert block is not None  # it is in the program
    entry, *others = blocks
    for argument, value in zip(entry.args, call.operands, strict=True):
        argument.replace_all_uses_with(value)
    if not others:
        end = entry.terminator
        assert isinstance(end, func.ReturnOp)  # _fits
        values = end.operands
        end.erase(by)
        block.splice_before(call, entry)
        call.replace_with(values, by)
        return []
    rest = Block([result.type for result in call.results])
    for op in _behind(call):
        op.detach()
        rest.append(op)
    for result, argument in zip(call.results, rest.args, strict=True):
        result.replace_all_uses_with(argument)
    block.splice_before(call, entry)
    call.erase(by)
    for ending in (block, *others):
        end = ending.terminator
        if isinstance(end, func.ReturnOp):
            with at_location(end.location):
                ending.append(cf.BranchOp(end.operands, dest=rest))
            end.erase(by)
    return [*others, rest]


def _behind(op: Operation) -> list[Operation]:
    """What follows `op` in its block."""
    found: list[Operation] = []
    following = op.next_op
    while following is not None:
        found.append(following)
        following = following.next_op
    return found


def _inside(block: Block) -> Iterator[Operation]:
    for op in block:
        yield from op.walk()


def _in_text_order(region: Region, behind: dict[Block, list[list[Block]]]) -> list[Block]:
    """The blocks of a region with those that each inlined call put after its block, the last call first."""
    order: list[Block] = []
    work = list(reversed(region.blocks))
    while work:
        block = work.pop()
        order.append(block)
        for added in behind.get(block, ()):
            work += reversed(added)
    return order
