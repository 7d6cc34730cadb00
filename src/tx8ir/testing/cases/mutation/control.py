"""Edits that put operations into branches, loops and functions of their own."""

from __future__ import annotations

import random
from collections.abc import Sequence

from tx8ir.core import (
    Block,
    Builder,
    FunctionType,
    IrError,
    Operation,
    Program,
    RankedTensor,
    Region,
    SymbolRefAttr,
    Terminator,
    Type,
    Value,
    VTensorType,
    i1,
    i32,
)
from tx8ir.dialects import builtin, func, pd, scf

from .fitting import Material
from .values import add_input, is_tensor, operations, values_before

TRIPS = 3


def branch(program: Program, rng: random.Random, material: Material) -> bool:
    """Some operations inside an `scf.if` on a new input; on the other side, other values of the types they give."""
    picked = _some_with_others(program, rng)
    if picked is None:
        return False
    ops, given, others, at = picked
    condition = add_input(program, VTensorType((), i1))
    inside, outside = Block(), Block()
    _move(ops, inside)
    with Builder.at_end(inside):
        scf.YieldOp(given)
    with Builder.at_end(outside):
        scf.YieldOp(others)
    regions = [Region([inside]), Region([outside])]
    if rng.random() < 0.3:
        regions.reverse()
    if not given and rng.random() < 0.5:
        regions[1] = Region()
        if not len(regions[0]):
            return False
    with Builder.before(at):
        made = scf.IfOp(condition, then_region=regions[0], else_region=regions[1], outputs=[v.type for v in given])
    _use_outside(given, made)
    return True


def choose(program: Program, rng: random.Random, material: Material) -> bool:
    """A value that is one of two by a new input: what a branch with nothing inside gives."""
    found = [
        use for op in operations(program) for v in (*op.operands, *op.results) if is_tensor(v.type) for use in v.uses
    ]
    found = [use for use in found if isinstance(use.owner.parent_op, func.FuncOp)]
    if not found:
        return False
    use = rng.choice(found)
    value = use.value
    known = [v for v in values_before(use.owner) if v.type is value.type and v is not value]
    other = rng.choice(known) if known and rng.random() < 0.8 else add_input(program, value.type)
    condition = add_input(program, VTensorType((), i1))
    sides = [Block(), Block()]
    pair = [value, other]
    if rng.random() < 0.5:
        pair.reverse()
    for side, given in zip(sides, pair, strict=True):
        with Builder.at_end(side):
            scf.YieldOp([given])
    regions = [Region([side]) for side in sides]
    with Builder.before(use.owner):
        made = scf.IfOp(condition, then_region=regions[0], else_region=regions[1], outputs=[value.type])
    use.set(made.results[0])
    return True


def loop(program: Program, rng: random.Random, material: Material) -> bool:
    """Some operations inside an `scf.while` of 0 to 3 rounds that carries what they give."""
    picked = _some_with_others(program, rng)
    if picked is None:
        return False
    ops, given, inits, at = picked
    trips = float(rng.randrange(TRIPS + 1))
    with Builder.before(ops[0]):
        zero = pd.full(shape=(), value=0.0, dtype=i32).out
    carried = [zero, *inits]
    types = [v.type for v in carried]
    before, after = Block(types), Block(types)
    with Builder.at_end(before):
        more = pd.less_than(before.args[0], pd.full(shape=(), value=trips, dtype=i32).out)
        scf.ConditionOp(more.out, before.args)
    _move(ops, after)
    if rng.random() < 0.7:  # the operations read what the loop carries
        for value, argument in zip(inits, after.args[1:], strict=True):
            for use in list(value.uses):
                if any(use.owner is op or any(a is op for a in use.owner.ancestors()) for op in ops):
                    use.set(argument)
    with Builder.at_end(after):
        count = pd.add(after.args[0], pd.full(shape=(), value=1.0, dtype=i32).out)
        scf.YieldOp([count.out, *given])
    with Builder.before(at):
        made = scf.WhileOp(carried, before=Region([before]), after=Region([after]), outputs=types)
    _use_outside(given, made, offset=1)
    return True


def function(program: Program, rng: random.Random, material: Material) -> bool:
    """Some operations inside a function of their own, which is called once, or a second time."""
    picked = _some_operations(program, rng)
    if picked is None:
        return False
    ops, given = picked
    inside = set(ops)
    taken: dict[Value, None] = {}
    for op in ops:
        for part in op.walk():
            for value in part.operands:
                owner = value.defining_op
                if owner is None or not any(a in inside for a in (owner, *owner.ancestors())):
                    if owner is None and any(a in inside for a in _ancestors_of_argument(value)):
                        continue
                    taken[value] = None
    at = ops[-1].next_op
    assert at is not None
    inputs = [v.type for v in taken]
    name = f"f{sum(1 for _ in program.body)}"
    with Builder.at_end(program.body):
        made = func.FuncOp(sym_name=name, function_type=FunctionType(inputs, [v.type for v in given]))
    body = made.body.block
    outside = [(use, value) for value in given for use in value.uses if use.owner not in inside]
    outside = [(u, v) for u, v in outside if not any(a in inside for a in u.owner.ancestors())]
    _move(ops, body)
    for value, argument in zip(taken, body.args, strict=True):
        for use in list(value.uses):
            if any(a is made for a in use.owner.ancestors()):
                use.set(argument)
    with Builder.at_end(body):
        func.ReturnOp(given)
    outputs = [v.type for v in given]
    with Builder.before(at):
        call = func.call(list(taken), callee=SymbolRefAttr(name), outputs=outputs)
        if rng.random() < 0.4:
            call = func.call(list(taken), callee=SymbolRefAttr(name), outputs=outputs)
    for use, value in outside:
        use.set(call.results[given.index(value)])
    return True


def _ancestors_of_argument(value: Value) -> Sequence[Operation]:
    block = value.parent_block
    owner = block.parent_op if block is not None else None
    return () if owner is None else (owner, *owner.ancestors())


def _some_operations(program: Program, rng: random.Random) -> tuple[list[Operation], list[Value]] | None:
    """Up to three neighbours of a block, and the values of theirs that are used outside."""
    blocks = [block for f in program.body for region in f.regions for block in region.blocks]
    block = rng.choice(blocks)
    ops = [op for op in block if not op.has_trait(Terminator)]
    if not ops:
        return None
    start = rng.randrange(len(ops))
    chosen = ops[start : start + rng.randrange(1, 4)]
    if any(isinstance(op, pd.FeedOp | pd.FetchOp) for op in chosen):
        return None
    inside = set(chosen)

    def is_outside(user: Operation) -> bool:
        return user not in inside and not any(a in inside for a in user.ancestors())

    given: list[Value] = [r for op in chosen for r in op.results if any(is_outside(user) for user in r.users)]
    return chosen, given


def _some_with_others(
    program: Program, rng: random.Random
) -> tuple[list[Operation], list[Value], list[Value], Operation] | None:
    """Some operations; the values of theirs that are used outside; for each another one; what comes after them."""
    picked = _some_operations(program, rng)
    if picked is None:
        return None
    ops, given = picked
    after = ops[-1].next_op
    others = [_other_value(ops[0], v.type) for v in given]
    found = [v for v in others if v is not None]
    return None if after is None or len(found) < len(others) else (ops, given, found, after)


def _move(ops: Sequence[Operation], block: Block) -> None:
    for op in ops:
        op.detach()
        block.append(op)


def _use_outside(given: Sequence[Value], made: Operation, *, offset: int = 0) -> None:
    """Lets what is outside of an operation use its results instead of the values inside."""
    for value, result in zip(given, made.results[offset:], strict=True):
        for use in list(value.uses):
            if not any(a is made for a in use.owner.ancestors()):
                use.set(result)


def _other_value(at: Operation, type_: Type) -> Value | None:
    """A value of that type from further up, or zeros."""
    found = next((v for v in values_before(at) if v.type is type_), None)
    if found is not None:
        return found
    if not isinstance(type_, RankedTensor) or not type_.is_static:
        return None
    try:
        with Builder.before(at):
            zeros = pd.full(shape=type_.shape, value=0.0, dtype=type_.element).out
            return zeros if isinstance(type_, VTensorType) else builtin.to_tensor(zeros).out
    except IrError:
        return None
