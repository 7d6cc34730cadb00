"""A program in normal form, written in other ways: canonicalization brings the same text back.

What is varied is what `canonicalize` guarantees to forget: the order of pure operations, on which side the number of a
commutative operation stands, the spelling of views, operations that change nothing or undo each other, and the order
in which patterns are tried.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import attrs
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from support.examples import with_examples
from tx8ir.core import Builder, Commutative, Operation, Program, Pure, Value, VTensorType, bf16, f16, f32, i1
from tx8ir.dialects import pd
from tx8ir.passes import PassManager
from tx8ir.rewriting import rewrite_greedily
from tx8ir.testing import reordered
from tx8ir.testing.programs import EVERYTHING, VALUES, Features, tensor_programs
from tx8ir.transforms import canonicalization_patterns

VIEWS = (pd.ReshapeOp, pd.SqueezeOp, pd.UnsqueezeOp, pd.FlattenOp)
Way = Callable[[], Operation]
Choose = Callable[[Sequence[Way]], Way]


def normal_form(program: Program) -> str:
    PassManager.parse("func.func(canonicalize,cse){max-iterations=8},topological-sort").run(program)
    return str(program)


def is_number(value: Value) -> bool:
    """Whether nothing but constants leads to it; of two of these, either may stand on the right."""
    op = value.defining_op
    return op is not None and op.has_trait(Pure) and not op.regions and all(is_number(v) for v in op.operands)


def detours(x: Value) -> list[Way]:
    """Ways to compute `x` from `x`, bit for bit."""
    kind = x.type
    assert isinstance(kind, VTensorType)
    element, rank, shape = kind.element, kind.rank, kind.shape

    def number(value: float) -> Operation:
        return pd.full(shape=(), value=value, dtype=element)

    ways: list[Way] = [
        lambda: pd.assign(x),
        lambda: pd.reshape(x, shape=shape),
        lambda: pd.reshape(pd.reshape(x, shape=(-1,)), shape=shape),
        lambda: pd.squeeze(pd.unsqueeze(x, axis=(0,)), axis=(0,)),
        lambda: pd.cast(x, dtype=element),
        lambda: pd.expand(x, shape=shape),
        lambda: pd.where(pd.full(shape=(), value=1.0, dtype=i1), x, x),
    ]
    if rank:
        turn, back = (*range(1, rank), 0), (rank - 1, *range(rank - 1))
        if 1 not in shape:  # moving an axis of extent 1 moves no element: several permutations say the same
            ways.append(lambda: pd.transpose(pd.transpose(x, perm=turn), perm=back))
        ways += [
            lambda: pd.slice(x, axes=(0,), starts=(0,), ends=(shape[0],)),
            lambda: pd.concat([x], axis=0),
        ]
    if element is i1:
        ways.append(lambda: pd.logical_not(pd.logical_not(x)))
    else:
        ways += [
            lambda: pd.multiply(x, number(1.0)),
            lambda: pd.multiply(number(1.0), x),
            lambda: pd.divide(x, number(1.0)),
            lambda: pd.maximum(x, x),
            lambda: pd.subtract(x, number(0.0)),
        ]
    if element in (bf16, f16):
        ways.append(lambda: pd.cast(pd.cast(x, dtype=f32), dtype=element))
    return ways


def other_spellings(op: Operation) -> list[Way]:
    """Operations that compute the results of `op`, bit for bit."""
    if not all(isinstance(v.type, VTensorType) for v in (*op.operands, *op.results)):
        return []
    if isinstance(op, VIEWS):
        x, shape = op.operands[0], op.results[0].type.shape
        ways: list[Way] = [
            lambda: pd.reshape(x, shape=shape),
            lambda: pd.reshape(pd.unsqueeze(x, axis=(0,)), shape=shape),
            lambda: pd.reshape(pd.flatten(pd.unsqueeze(x, axis=(0,)), start_axis=0, stop_axis=-1), shape=shape),
        ]
        if shape:
            ways.append(lambda: pd.reshape(x, shape=(-1, *shape[1:])))
        return ways
    if op.has_trait(Commutative) and any(map(is_number, op.operands)) and not is_number(op.results[0]):
        return [lambda: type(op)(*reversed(op.operands))]
    return []


def rewritten(program: Program, draw: st.DrawFn) -> Program:
    """A copy that says the same in other words."""
    copy = reordered(program, lambda places: draw(st.sampled_from(places)))
    for op in list(copy.module.walk()):
        ways = other_spellings(op)
        written = op
        if ways and draw(st.booleans()):
            with Builder.before(op):
                written = draw(st.sampled_from(ways))()
            op.replace_with(written)
        for result in written.results:
            if isinstance(result.type, VTensorType) and result.has_uses and draw(st.integers(0, 3)) == 0:
                users = list(result.uses)
                with Builder.after(written):
                    same = draw(st.sampled_from(detours(result)))()
                for use in users:
                    use.owner.set_operand(use.index, same.results[0])
    copy.verify()
    return copy


def check(features: Features, examples: int) -> None:
    # Failures are not shrunk: programs are small, and each step would canonicalize again.
    @settings(
        max_examples=examples, deadline=None, phases=[Phase.generate], suppress_health_check=[HealthCheck.too_slow],
        derandomize=examples < 1000, database=None,
    )  # fmt: skip
    @given(tensor_programs(features, max_ops=8), st.data())
    def same(program: Program, data: st.DataObject) -> None:
        normal = normal_form(program)
        other = rewritten(program, data.draw)
        before = str(other)
        assert normal_form(other) == normal, f"{before}\ndoes not become\n{normal}"

    same()


# Whether `cse` merges an operation of a region with one outside depends on which of them stands first, and what only
# other blocks use has no place of its own: of control flow, one text is not guaranteed.
CASES = {
    "values": attrs.evolve(VALUES, sums=True),
    "storage": attrs.evolve(EVERYTHING, branches=False, loops=False, blocks=False, calls=False),
}


@with_examples(40)
@pytest.mark.parametrize("features", CASES.values(), ids=CASES)
def test_whatever_way_a_program_is_written_it_reaches_its_normal_form(features: Features, examples: int) -> None:
    check(features, examples)


@given(tensor_programs(CASES["values"]), st.randoms(use_true_random=False))
def test_the_order_of_patterns_does_not_matter(program: Program, random) -> None:
    shuffled = list(canonicalization_patterns())
    random.shuffle(shuffled)
    for pattern in shuffled:  # benefits are an order too
        assert pattern.benefit >= 1
    other = program.clone()
    rewrite_greedily(other.module, shuffled)
    assert normal_form(other) == normal_form(program)
