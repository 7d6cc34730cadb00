"""Groups of operations that may be replaced by one: self-contained, convex, not overlapping.

for subgraph in find_subgraphs(block, [gelu, layer_norm]):
    fuse(subgraph.ops, subgraph.inputs, subgraph.outputs)
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import attrs

from tx8ir.core import Block, ConstantLike, Operation, OpOperand, Pure, Value

from .declarative import Match, Rule


@attrs.frozen(eq=False)
class Subgraph:
    """Operations of one block that a rule has matched.

    Attributes:
        rule: the rule.
        match: what it matched.
        ops: the operations, in block order; the root is the last one. Constants are inputs.
        inputs: the values they use from outside, each once, in order of first use.
        outputs: the results of `ops` that are used outside.
    """

    rule: Rule
    match: Match
    ops: tuple[Operation, ...]
    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]


def inputs_of(ops: Sequence[Operation]) -> tuple[Value, ...]:
    """The values that `ops`, or what is inside their regions, use from outside, in order of first use."""
    inside = {inner for op in ops for inner in op.walk()}
    found: dict[Value, None] = {}
    for op in ops:
        for inner in op.walk():
            for value in inner.operands:
                owner = value.owner
                around = owner if isinstance(owner, Operation) else owner.parent_op
                if around is None or around not in inside:
                    found[value] = None
    return tuple(found)


def outputs_of(ops: Collection[Operation]) -> tuple[Value, ...]:
    """The results of `ops` that operations outside use."""
    members = set(ops)
    return tuple(r for op in ops for r in op.results if any(_member(u.owner, members) is None for u in r.uses))


def outline(
    ops: Iterable[Operation], body: Block, inputs: Iterable[Value], outputs: Iterable[Value], results: Iterable[Value]
) -> None:
    """Move operations, in block order, to the end of a body.

    What they use of `inputs` are then the arguments of the body, and whoever stays outside uses `results` in place of
    `outputs`. O(uses).
    """
    members = set(ops := tuple(ops))

    def is_outside(use: OpOperand) -> bool:
        return use.owner not in members

    for output, result in zip(outputs, results, strict=True):
        output.replace_uses_if(result, is_outside)
    arguments = dict(zip(inputs, body.args, strict=True))
    for op in ops:
        op.detach()
        body.append(op)
        for use in op.op_operands:
            if use.value in arguments:
                use.set(arguments[use.value])


def is_self_contained(ops: Collection[Operation], outputs: Collection[Value]) -> bool:
    """Whether no results of `ops` but `outputs` are used outside of `ops`."""
    return set(outputs_of(ops)) <= set(outputs)


def is_convex(ops: Collection[Operation]) -> bool:
    """Whether no path of uses leads from `ops` out of them and back, so that replacing them by one operation makes no
    cycle.

    `ops` are in one block. O(uses of the operations between the first and the last of them).
    """
    members = set(ops)
    if len(members) < 2:
        return True
    last = next(iter(members))
    for op in members:
        if last.is_before(op):
            last = op
    seen: set[Operation] = set()
    work = list(members)
    while work:
        for result in work.pop().results:
            for use in result.uses:
                user = _in_block(use.owner, last.parent)
                if user is None or user in seen or user in members:
                    continue
                seen.add(user)
                if user.is_before(last):
                    work.append(user)
    return not any(
        _in_block(owner, last.parent) in seen
        for op in members
        for inner in op.walk()
        for value in inner.operands
        if isinstance(owner := value.owner, Operation)
    )


def find_subgraphs(
    block: Block,
    rules: Iterable[Rule],
    *,
    self_contained: bool = True,
    overlapping: bool = False,
) -> list[Subgraph]:
    """Where `rules` match in `block`, as groups that may each be replaced by one operation at the place of the root.

    All operations of a group are in `block`, all but the root are `Pure`, and the group is convex. Of groups that share
    an operation, the larger one is taken, then the one of the rule with the higher benefit, then the first.

    Args:
        block: where to look; not inside regions of its operations.
        rules: tried on every operation they fit.
        self_contained: leave out groups of which a result other than the root's is used outside. Without it a
            replacement has to keep, or compute again, what is used outside (`Subgraph.outputs`).
        overlapping: give all groups, in the order above.

    Returns: the groups in block order of their roots (with `overlapping`, in order of preference).

    O(operations · rules + size of the groups), and what `is_convex` costs for groups with several outputs.
    """
    candidates: list[tuple[int, int, int, Subgraph]] = []
    tried = tuple(rules)
    for number, op in enumerate(block):
        for rule in tried:
            found = rule.match(op)
            if found is None:
                continue
            subgraph = _subgraph(rule, found, block)
            if subgraph is None or (self_contained and not is_self_contained(subgraph.ops, found.root.results)):
                continue
            if len(subgraph.outputs) > 1 and not is_convex(subgraph.ops):
                continue
            candidates.append((-len(subgraph.ops), -rule.benefit, number, subgraph))
    candidates.sort(key=lambda candidate: candidate[:3])
    if overlapping:
        return [subgraph for *_, subgraph in candidates]
    taken: set[Operation] = set()
    chosen: list[tuple[int, Subgraph]] = []
    for _, _, number, subgraph in candidates:
        if taken.isdisjoint(subgraph.ops):
            taken.update(subgraph.ops)
            chosen.append((number, subgraph))
    return [subgraph for _, subgraph in sorted(chosen, key=lambda pair: pair[0])]


def _subgraph(rule: Rule, found: Match, block: Block) -> Subgraph | None:
    """The operations of a match; None when one is in another block, or is not the root and has an effect."""
    root = found.root
    ops = [op for op in rule.matched_operations(found) if op is root or ConstantLike not in op.info.traits]
    if any(op.parent is not block or (op is not root and Pure not in op.info.traits) for op in ops):
        return None
    ops.sort(key=lambda op: op is root)  # the root last; the others in order
    ordered = [*_in_order(ops[:-1]), root]
    return Subgraph(rule, found, tuple(ordered), inputs_of(ordered), outputs_of(ordered))


def _in_order(ops: Sequence[Operation]) -> list[Operation]:
    """Operations of one block, in its order; O(k²) for the few of a pattern."""
    ordered: list[Operation] = []
    for op in ops:
        at = next((i for i, other in enumerate(ordered) if op.is_before(other)), len(ordered))
        ordered.insert(at, op)
    return ordered


def _in_block(op: Operation | None, block: Block | None) -> Operation | None:
    """`op`, or the operation around it that is in `block`."""
    while op is not None and op.parent is not block:
        op = op.parent_op
    return op


def _member(op: Operation | None, members: Collection[Operation]) -> Operation | None:
    """`op`, or the operation around it that is one of `members`."""
    while op is not None and op not in members:
        op = op.parent_op
    return op
