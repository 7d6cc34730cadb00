"""Dominance against its definition: every path from the entry, enumerated."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.dialect import BranchOp, GraphOp, JumpOp, SourceOp, StopOp, UnaryOp, test_context
from tx8ir.core import Block, Region, f32, parse_op, verify
from tx8ir.core.ir.dominance import Dominators
from tx8ir.core.verifier import VerificationFailed


def graphs(max_blocks=7):
    """For each block the blocks it goes to (at most two); block 0 is the entry, which nobody goes back to."""
    return st.integers(1, max_blocks).flatmap(
        lambda n: st.lists(
            st.lists(st.integers(1, n - 1), max_size=2) if n > 1 else st.just([]), min_size=n, max_size=n
        )
    )


def paths_to(target, graph):
    """The blocks on each simple path from the entry to `target` (loops add nothing to what a path must pass)."""
    found, todo = [], [(0,)]
    while todo:
        path = todo.pop()
        if path[-1] == target:
            found.append(set(path))
            continue
        todo += [(*path, n) for n in set(graph[path[-1]]) if n not in path]
    return found


def build(graph):
    """A region with these edges."""
    region = Region([Block() for _ in graph])
    blocks = region.blocks
    for block, targets in zip(blocks, graph, strict=True):
        if len(targets) == 2:
            condition = block.append(SourceOp(outs=(f32,)))
            block.append(BranchOp(condition, yes=blocks[targets[0]], no=blocks[targets[1]]))
        elif targets:
            block.append(JumpOp((), target=blocks[targets[0]]))
        else:
            block.append(StopOp(()))
    return region


@given(graphs())
def test_dominates_means_on_every_path(graph):
    region = build(graph)
    dominators = Dominators(region)
    for below, block in enumerate(region.blocks):
        paths = paths_to(below, graph)
        assert dominators.is_reachable(block) == bool(paths)
        for above, other in enumerate(region.blocks):
            assert dominators.dominates(other, block) == all(above in path for path in paths)


@given(graphs())
def test_the_immediate_dominator_is_the_last_of_the_strict_ones(graph):
    region = build(graph)
    dominators = Dominators(region)
    for block in region.blocks:
        if not dominators.is_reachable(block):
            assert block not in dominators.immediate
            continue
        strict = [
            b for b in region.blocks if b is not block and dominators.is_reachable(b) and dominators.dominates(b, block)
        ]
        immediate = dominators.immediate[block]
        assert (immediate is None) == (not strict)
        assert all(dominators.dominates(b, immediate) for b in strict)


@given(graphs(max_blocks=5), st.integers(0, 4), st.integers(0, 4), st.booleans())
def test_the_verifier_accepts_a_use_exactly_where_its_definition_dominates(graph, definition, use, nested):
    definition, use = definition % len(graph), use % len(graph)
    region = build(graph)
    x = SourceOp(outs=(f32,))
    region.blocks[definition].insert_before(x, region.blocks[definition].first_op)
    place = region.blocks[use]
    if nested:  # the use is inside a region of its own, at the place
        inner = GraphOp(body=Region([Block()]))
        place.insert_before(inner, place.last_op)
        inner.body.block.append(StopOp([x.outs[0]]))
    else:
        place.insert_before(UnaryOp(x.outs[0]), place.last_op)
    root = GraphOp(body=region)
    valid = all(definition in path for path in paths_to(use, graph))
    if valid:
        verify(root)
    else:
        with pytest.raises(VerificationFailed, match="does not dominate"):
            verify(root)


def test_blocks_may_be_written_in_any_order():
    """^late dominates ^early, which stands above it: the text names a value before it defines it."""
    text = """\
"test.graph"() ({
^bb0:
  "test.jump"()[^bb2] : () -> ()
^bb1:
  %0 = "test.unary"(%1) : (f32) -> f32
  "test.stop"(%0) : (f32) -> ()
^bb2:
  %1 = "test.source"() : () -> f32
  "test.jump"()[^bb1] : () -> ()
}) : () -> ()"""
    root = parse_op(text, context=test_context())
    verify(root)
    assert str(root) == text
