"""Loops that are fused, unrolled or given other carried values, and what is moved between their regions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import attrs

from support.mutants.first.loops import count_to, counted
from support.mutants.mutant import Area, Case
from support.mutants.programs import case, constant, f32, inline, is_inside, operations, ranked
from tx8ir.core import Block, Builder, Operation, Program, TensorType, Value, insert_here
from tx8ir.dialects import builtin, pd, scf
from tx8ir.dialects.pd.inplace import InplaceOp
from tx8ir.passes import Pass

AREA = Area("loops", round=3)


def copied(
    block: Block, arguments: Sequence[Value], instead: Callable[[Operation], Value | None] = lambda op: None
) -> list[Value]:
    """Copies a block to where the builder is, but for operations that have a value instead; what its end gives."""
    mapping: dict[Value, Value] = dict(zip(block.args, arguments, strict=True))
    for op in block:
        value = instead(op)
        if value is not None:
            mapping[op.results[0]] = value
        elif op is not block.terminator:
            copy = insert_here(op.clone(mapping))
            mapping.update(zip(op.results, copy.results, strict=True))
    return [mapping.get(v, v) for v in block.terminator.operands]


def multiplying(factor: float) -> Case:
    """While i < 8: x = factor * i; i += 1; from 0."""
    return case(
        lambda x: scf.WhileOp.build(
            [constant([0]), x],
            lambda i, a: (pd.less_than(i, constant([8])), [i, a]),
            lambda i, a: [pd.add(i, constant([1])), pd.scale(i, scale=factor)],
        ).results[1],
        x=f32(0),
    )


def adding(loop: Any, product: Any, first: Any, step: float) -> scf.WhileOp:
    """The loop with one more carried value, which is the product; it begins with the first and grows by the step."""

    def before(*carried: Value) -> tuple[Value, list[Value]]:
        going = copied(loop.before.block, carried[:-1])
        return going[0], [*going[1:], carried[-1]]

    def after(*passed: Value) -> list[Value]:
        following = copied(loop.after.block, passed[:-1], lambda op: passed[-1] if op is product else None)
        more = pd.full(shape=(), value=step, dtype=ranked(passed[-1]).element)
        return [*following, pd.add(passed[-1], more).out]

    return scf.WhileOp.build([*loop.operands, first], before, after)


@AREA.mutant(
    citation="phate/jlm#1559: LoopStrengthReduction: Add first version of LSR implementation",
    mistake="a sum that is rounded in each turn is not the product",
    witness=lambda: multiplying(0.1),
    control=lambda: multiplying(0.5),
)
@attrs.frozen
class AddInsteadOfMultiplying(Pass):
    """Adds up the product of the counter and a number instead of computing it in each turn."""

    name: ClassVar[str] = "add-instead-of-multiplying"

    def run(self, program: Program) -> None:
        for loop in operations(program, scf.WhileOp):
            found, counter = counted(loop), loop.after.block.args[:1]
            product: Any = next((op for op in loop.after.block if isinstance(op, pd.ScaleOp)), None)
            if found is None or product is None or product.x is not counter[0] or product.bias != 0.0:
                continue
            start, _, step = found
            kind = ranked(product.out)

            with Builder.before(loop):
                first = pd.full(shape=kind.shape, value=start * product.scale, dtype=kind.element)
                reduced = adding(loop, product, first, step * product.scale)
            loop.replace_with(reduced.results[:-1])
            self.count("products")


@AREA.mutant(
    citation="hw-native-sys/pypto#771: fix(pass): extend initValue lifetime across loop return_var uses in MemoryReuse",
    mistake="in the first turn there is still what the loop started with",
    witness=lambda: case(
        lambda x, y: count_to(
            constant([2]), constant([0]), x, x, body=lambda p, q: [y, pd.add(q, p)]
        ).results[2],
        x=f32(1, 2), y=f32(5, 7),
    ),
    control=lambda: case(
        lambda x, y: count_to(
            constant([2]), constant([0]), y, x, body=lambda p, q: [y, pd.add(q, p)]
        ).results[2],
        x=f32(1, 2), y=f32(5, 7),
    ),
)  # fmt: skip
def values_from_outside(program: Program) -> None:
    """Uses a value from outside of a loop instead of carrying it from turn to turn."""
    for loop in operations(program, scf.WhileOp):
        for index, given in enumerate(loop.after.block.terminator.operands):
            carried, end = loop.before.block.args[index], loop.before.block.terminator
            passed_on = carried.has_uses and all(user is end for user in carried.users)
            if passed_on and carried is not end.operands[0] and not is_inside(given, loop):
                carried.replace_all_uses_with(given)


def halving(bound: float, step: float) -> Case:
    """While i < bound: x = x + 1; i += step; from 0."""
    return case(
        lambda x: count_to(
            constant([bound]), constant([0]), x, step=step, body=lambda a: [pd.add(a, constant([1]))]
        ).results[1],
        x=f32(1, 2),
    )  # fmt: skip


@AREA.mutant(
    citation="tile-ai/tilelang#2835: [BugFix] Correctly preserve loop step when unrolling loops",
    mistake="asks whether the range is even, and not the number of turns",
    witness=lambda: halving(6, 2),
    control=lambda: halving(4, 1),
)
@attrs.frozen
class UnrollByTwo(Pass):
    """Takes two turns at once where their number is even."""

    name: ClassVar[str] = "unroll-by-two"

    def run(self, program: Program) -> None:
        for loop in operations(program, scf.WhileOp):
            found = counted(loop)
            if found is None or not found[0] < found[1] or found[2] < 0 or (found[1] - found[0]) % 2:
                continue
            copy = loop.clone({})
            loop.parent.insert_before(copy, loop)
            end = loop.after.block.terminator
            going = inline(copy.before.block, end, end.operands)[1:]
            end.set_operands(inline(copy.after.block, end, going))
            copy.erase()
            self.count("unrolled")


@AREA.mutant(
    citation="Wang et al.: MLIRSmith: Random Program Generation for Fuzzing MLIR Compiler Infrastructure, ASE 2023",
    mistake="the condition's region runs once more than the body",
    witness=lambda: case(
        lambda t, x: [
            scf.WhileOp.build(
                [constant([0])],
                lambda i: [pd.add_(t, x), (pd.less_than(i, constant([2])), [i])][1],
                lambda i: [pd.add(i, constant([1]))],
            ),
            x,
        ][1:],
        storage=["t"], t=f32(1, 2), x=f32(1, 10),
    ),
    control=lambda: case(
        lambda t, x: [
            scf.WhileOp.build(
                [constant([0])],
                lambda i: [pd.assign_(t, x), (pd.less_than(i, constant([2])), [i])][1],
                lambda i: [pd.add(i, constant([1]))],
            ),
            x,
        ][1:],
        storage=["t"], t=f32(1, 2), x=f32(1, 10),
    ),
)  # fmt: skip
def sink_into_body(program: Program) -> None:
    """Does in the body what is done where the condition is computed, which does not depend on it."""
    for loop in operations(program, scf.WhileOp):
        for op in list(loop.before.block):
            if isinstance(op, InplaceOp) and not op.result.has_uses:
                alone = all(user is op for user in op.operands[0].users if loop in user.ancestors())
                values = all(not isinstance(v.type, TensorType) for v in op.operands[1:])
                if alone and values and all(not is_inside(v, loop) for v in op.operands):
                    op.move_before(loop.after.block.first_op)


def two_loops(reads: bool) -> Case:
    """While i < 3: t += 1; while j < 3: x += what t holds, or 1."""

    def body(t: Value, x: Value) -> Any:
        one, three, zero = constant([1]), constant([3]), constant([0])
        count_to(three, zero, body=lambda: [pd.add_(t, one)][1:])
        return count_to(
            three, zero, x, body=lambda a: [pd.add(a, builtin.to_vtensor(t) if reads else one)]
        ).results[1]  # fmt: skip

    return case(body, storage=["t"], t=f32(1, 2), x=f32(10, 20))


def together(first: Any, second: Any) -> scf.WhileOp:
    """Both loops as one, which ends when the first does."""

    def before(*carried: Value) -> tuple[Value, list[Value]]:
        split = len(first.operands)
        going = copied(first.before.block, carried[:split])
        return going[0], [*going[1:], *copied(second.before.block, carried[split:])[1:]]

    def after(*passed: Value) -> list[Value]:
        split = len(first.results)
        return [*copied(first.after.block, passed[:split]), *copied(second.after.block, passed[split:])]

    return scf.WhileOp.build([*first.operands, *second.operands], before, after)


@AREA.mutant(
    citation="llvm/llvm-project#212032: affine-loop-fusion violates a producer-read/consumer-write dependence",
    mistake="looks whether the second loop uses results of the first, not whether it reads what that one writes",
    witness=lambda: two_loops(reads=True),
    control=lambda: two_loops(reads=False),
)
@attrs.frozen
class FuseLoops(Pass):
    """Makes one loop of two in a row that count alike."""

    name: ClassVar[str] = "fuse-loops"

    def run(self, program: Program) -> None:
        for second in operations(program, scf.WhileOp):
            first: Any = second.prev_op
            while isinstance(first, builtin.ConstantOp | pd.FullOp):
                first = first.prev_op
            if not isinstance(first, scf.WhileOp) or counted(first) is None or counted(first) != counted(second):
                continue
            if any(second in (user, *user.ancestors()) for r in first.results for user in r.users):
                continue
            passed = len(first.results)

            with Builder.before(second):
                fused = together(first, second)
            second.replace_with(fused.results[passed:])
            first.replace_with(fused.results[:passed])
            self.count("loops")
