"""Editing: what each step does to operands, uses and places, what may change while it is iterated, and what is refused.

Every refusal leaves the program as it was: text, order of uses and all. Random edits are compared with a model in
`test_model.py`; the messages about erased and foreign operations are in `test_misuse.py`.
"""

from __future__ import annotations

import threading

import pytest

from support.dialect import BinaryOp, GraphOp, IsolatedOp, JumpOp, ScopeOp, SourceOp, StopOp, UnaryOp
from tx8ir.core import (
    Block,
    Builder,
    FileLocation,
    FusedLocation,
    IrError,
    NamedLocation,
    Region,
    VTensorType,
    at_location,
    bf16,
    detached,
    f32,
    fuse,
    print_op,
    structurally_equal,
)
from tx8ir.core.location import UNKNOWN, quote

T = VTensorType((2,), f32)


@pytest.fixture
def chain():
    """`a = source; b = unary(a); c = binary(a, b); d = unary(c)` in a block of an isolated operation."""
    block = Block((T,))
    IsolatedOp(body=Region([block]))
    with Builder.at_end(block):
        a = SourceOp(outs=(T,)).outs[0]
        b = UnaryOp(a)
        c = BinaryOp(a, b)
        UnaryOp(c)
    return block


def state(block):
    """Everything about a program that an edit could change."""
    root = block.parent_op
    uses = [[(u.owner, u.index) for u in v.uses] for op in root.walk() for v in op.results]
    arguments = [[(u.owner, u.index) for u in a.uses] for a in block.args]
    return print_op(root), list(block), uses, arguments, len(block)


class TestUses:
    def test_they_come_oldest_first(self, chain):
        a, b, c, _ = chain
        assert [(u.owner, u.index) for u in a.outs[0].uses] == [(b, 0), (c, 0)]
        c.set_operand(1, a)
        b.set_operand(0, chain.args[0])
        b.set_operand(0, a)
        assert [(u.owner, u.index) for u in a.outs[0].uses] == [(c, 0), (c, 1), (b, 0)]
        assert list(a.outs[0].users) == [c, c, b]

    def test_setting_the_same_value_keeps_its_place(self, chain):
        a, b, c, _ = chain
        b.set_operand(0, a)
        assert list(a.outs[0].users) == [b, c]

    def test_an_index_counts_from_the_end_too(self, chain):
        a, _, c, _ = chain
        c.set_operand(-1, a)
        assert c.operands == (a.outs[0],) * 2

    def test_uses_may_change_while_they_are_iterated(self, chain):
        a, b, c, _ = chain
        other = chain.args[0]
        for use in a.outs[0].uses:
            use.set(other)
        assert not a.outs[0].has_uses
        assert list(other.users) == [b, c]

    def test_uses_added_while_iterating_are_seen(self, chain):
        a, b, c, d = chain
        seen = []
        for use in a.outs[0].uses:
            seen.append(use.owner)
            if use.owner is c:
                d.set_operand(0, a)
        assert seen == [b, c, d]

    def test_replacing_everywhere_appends_in_order(self, chain):
        a, b, c, d = chain
        b.out.replace_all_uses_with(a.outs[0])
        assert [(u.owner, u.index) for u in a.outs[0].uses] == [(b, 0), (c, 0), (c, 1)]
        assert not b.out.has_uses
        c.out.replace_all_uses_with(c.out)
        assert list(c.out.users) == [d]

    def test_replacing_some(self, chain):
        a, b, c, _ = chain
        assert a.outs[0].replace_uses_if(chain.args[0], lambda use: use.owner is c) == 1
        assert (b.x, c.x) == (a.outs[0], chain.args[0])

    def test_a_condition_that_raises_changes_nothing(self, chain):
        before = state(chain)
        with pytest.raises(ZeroDivisionError):
            chain.first_op.outs[0].replace_uses_if(chain.args[0], lambda use: 1 // use.index)
        assert state(chain) == before

    def test_operands_may_change_in_number(self, chain):
        a, b, c, _ = chain
        c.set_operands([b])
        assert [u.index for u in c.op_operands] == [0]
        assert list(a.outs[0].users) == [b]


class TestWalking:
    def test_the_current_operation_may_be_erased(self, chain):
        for op in reversed(chain):
            op.erase()
        assert len(chain) == 0

    def test_it_may_be_moved_and_is_met_again_further_down(self, chain):
        a, b, c, d = chain
        seen = []
        for op in chain:
            if op is a and not seen:
                op.move_after(d)
            seen.append(op)
        assert seen == [a, b, c, d, a]

    def test_what_is_put_right_behind_it_is_not_visited(self, chain):
        count = 0
        for op in chain:
            count += 1
            with Builder.after(op):
                SourceOp()
        assert (count, len(chain)) == (4, 8)

    def test_walk_goes_inside_in_text_order(self):
        op = ScopeOp()
        for region in op.regions:
            with Builder.at_end(region.block):
                inner = ScopeOp()
            with Builder.at_end(inner.first.block):
                SourceOp()
        assert [o.name for o in op.walk()] == ["test.scope", *["test.scope", "test.source"] * 2]

    def test_walk_survives_erasing_what_it_gives(self):
        op = ScopeOp()
        for region in op.regions:
            with Builder.at_end(region.block):
                ScopeOp()
                ScopeOp()
        for inner in op.walk():
            if inner is not op:
                inner.erase()
        assert [len(r.block) for r in op.regions] == [0, 0]

    def test_ancestors_go_outwards(self, chain):
        scope = ScopeOp()
        chain.append(scope)
        with Builder.at_end(scope.first.block):
            op = SourceOp()
        assert list(op.ancestors()) == [scope, chain.parent_op]
        assert op.parent_op is scope


class TestMoving:
    def test_to_another_place_and_block(self, chain):
        a, b, c, d = chain
        d.move_before(a)
        assert list(chain) == [d, a, b, c]
        d.move_after(c)
        assert list(chain) == [a, b, c, d]
        other = Block()
        anchor = other.append(SourceOp())
        d.move_before(anchor)
        assert (list(other), d.parent, len(chain)) == ([d, anchor], other, 3)

    def test_detached_operations_keep_operands_and_uses(self, chain):
        a, b, _, _ = chain
        b.detach()
        assert (b.parent, b.x, list(b.out.users)) == (None, a.outs[0], [list(chain)[1]])
        b.detach()
        chain.insert_after(b, a)
        assert list(chain)[1] is b

    def test_a_block_of_operations_is_spliced(self, chain):
        source = Block()
        moved = [source.append(SourceOp()) for _ in range(3)]
        chain.splice_before(chain.last_op, source)
        assert list(chain)[3:6] == moved
        assert len(source) == 0

    @pytest.mark.parametrize(
        ("edit", "message"),
        [
            (lambda b, op: b.append(op), "test.source is in a block already; detach or move it"),
            (lambda b, op: Block().insert_before(SourceOp(), op), "test.source is not in the block to insert into"),
            (lambda b, op: op.move_before(op), "test.source cannot be moved into itself"),
            (lambda b, op: op.move_after(SourceOp()), "next to test.source, which is in no block"),
            (lambda b, op: b.splice_before(op, b), "a block cannot be spliced into itself"),
            (lambda b, op: op.is_before(SourceOp()), "are not in one block, so neither is first"),
            (lambda b, op: op.erase(), "test.source cannot be erased: its result 0 is used by test.unary"),
            (lambda b, op: op.replace_with([]), "has 1 results; it cannot be replaced with 0 values"),
            (lambda b, op: op.replace_with(op), "test.source cannot be replaced with its own result"),
            (lambda b, op: op.next_op.replace_with("x"), "must be a Value"),
            (lambda b, op: op.next_op.set_operand(1, b.args[0]), "test.unary has 1 operands, so no operand 1"),
            (lambda b, op: op.next_op.set_operand(0, 3), "operand 0 of test.unary must be a Value"),
            (lambda b, op: op.next_op.set_operands([b.args[0], None]), "operand 1 of test.unary must be a Value"),
            (lambda b, op: op.next_op.op_operands[0].set(None), "must be a Value"),
            (lambda b, op: op.outs[0].replace_all_uses_with(3), "must be a Value"),
            (lambda b, op: op.set_successor(0, b), "test.source has 0 successors, so no successor 0"),
            (lambda b, op: setattr(op.outs[0], "type", "f32"), "the type of a value is a Type, not 'f32'"),
            (lambda b, op: b.add_argument(3), "the type of a block argument is a Type, not 3"),
            (lambda b, op: b.erase_argument(1), "the block has 1 arguments, so no argument 1"),
            (lambda b, op: b.parent.append(b), "the block belongs to a region already"),
            (lambda b, op: Builder.before(SourceOp()), "test.source is in no block"),
            (lambda b, op: Builder(Block(), op), "test.source is not in the block to insert into"),
        ],
    )
    def test_what_cannot_be_done_is_refused_and_changes_nothing(self, chain, edit, message):
        before = state(chain)
        with pytest.raises(IrError, match=message):
            edit(chain, chain.first_op)
        assert state(chain) == before

    def test_attributes_that_no_attribute_holds(self, chain):
        before = state(chain)
        for edit in (lambda op: op.set_attribute("a", object()), lambda op: op.set_attributes({"a": object()})):
            with pytest.raises(TypeError, match="no attribute holds a object"):
                edit(chain.first_op)
        assert state(chain) == before

    def test_an_operation_does_not_go_inside_itself(self):
        outer = ScopeOp()
        root = Block([])
        root.append(outer)
        inner = outer.first.block.append(ScopeOp())
        deepest = inner.first.block.append(SourceOp())
        for edit in (
            lambda: outer.move_before(deepest),
            lambda: outer.move_after(inner),
            lambda: inner.first.block.splice_before(deepest, root),
        ):
            before = print_op(outer)
            with pytest.raises(IrError, match="itself"):
                edit()
            assert (print_op(outer), outer.parent) == (before, root)
        outer.detach()
        with pytest.raises(IrError, match="cannot be inserted into a block inside itself"):
            inner.first.block.append(outer)
        assert outer.parent is None


class TestReplacing:
    def test_users_get_the_new_values_and_the_old_goes(self, chain):
        a, b, c, d = chain
        c.replace_with(a, by="test")
        assert d.x is a.outs[0]
        assert list(chain) == [a, b, d]
        assert not b.out.has_uses

    def test_an_operation_without_results_is_replaced_by_nothing(self, chain):
        op = chain.append(SourceOp())
        op.replace_with([])
        assert len(chain) == 4

    def test_not_by_what_is_inside_it(self, chain):
        scope = ScopeOp(outs=(T,))
        chain.append(scope)
        with Builder.at_end(scope.first.block):
            inner = UnaryOp(chain.args[0])
        before = state(chain)
        with pytest.raises(IrError, match=r"test.scope cannot be replaced with a value defined inside it"):
            scope.replace_with(inner)
        assert state(chain) == before


class TestBlocks:
    def test_arguments_come_and_go(self, chain):
        first, second = chain.args[0], chain.add_argument(bf16)
        assert (second.index, second.owner, second.defining_op, second.parent_block) == (1, chain, None, chain)
        chain.erase_argument(0)
        assert chain.args == (second,)
        assert second.index == 0
        assert first is not second
        chain.append(StopOp([second]))
        with pytest.raises(IrError, match=r"block argument 0 cannot be erased: it is used by test.stop"):
            chain.erase_argument(0)

    def test_a_block_is_erased_with_its_operations(self):
        graph = GraphOp(body=Region([Block(), Block()]))
        first, second = graph.body.blocks
        with Builder.at_end(second):
            x = UnaryOp(SourceOp(outs=(T,)))
            StopOp([x.out])
        with Builder.at_end(first):
            jump = JumpOp((), target=second)
        with pytest.raises(IrError, match="the block cannot be erased: a branch goes to it"):
            second.erase()
        jump.set_successor(0, first)
        second.erase(by="test")
        assert graph.body.blocks == (first,)
        assert "was erased by test" in repr(x)

    def test_not_while_somebody_outside_uses_it(self, chain):
        body = Region([Block((T,))])
        graph = GraphOp(body=body)
        chain.append(graph)
        body.block.append(StopOp(()))
        chain.last_op.prev_op.set_operand(0, body.block.args[0])
        with pytest.raises(IrError, match=r"the block cannot be erased: a value of it is used by test.unary"):
            body.block.erase()
        assert len(body) == 1

    def test_regions_hold_blocks_in_order(self):
        region = Region([Block(), Block()])
        middle = region.insert(1, Block())
        assert region.blocks[1] is middle
        assert list(region) == list(region.blocks)
        assert len(region) == 3
        with pytest.raises(IrError, match="the region has no block"):
            _ = Region().block

    def test_blocks_of_a_region_are_set_at_once(self):
        a, b, c = Block(), Block(), Block()
        region, other = Region([a, b]), Region([c])
        with pytest.raises(IrError, match="a block is given twice"):
            region.set_blocks([a, a])
        with pytest.raises(IrError, match="the block belongs to a region already"):
            region.set_blocks([b, c])
        assert region.blocks == (a, b)
        assert a.parent is b.parent is region
        other.set_blocks(())
        region.set_blocks([c, b])
        assert region.blocks == (c, b)
        assert c.parent is region
        assert a.parent is None
        assert len(other) == 0

    def test_an_empty_block_or_region_is_not_false(self):
        assert Block()
        assert Region()


class TestBuilder:
    def test_constructed_operations_go_where_it_points(self, chain):
        a, b, *_ = chain
        with Builder.before(b):
            x = SourceOp()
            y = SourceOp()
        with Builder.after(b):
            z = SourceOp()
        with Builder.at_start(chain):
            first = SourceOp()
        with Builder.at_end(chain):
            last = SourceOp()
        assert list(chain)[:6] == [first, a, x, y, b, z]
        assert chain.last_op is last

    def test_without_one_they_are_detached(self):
        assert SourceOp().parent is None

    def test_the_innermost_counts_and_the_outer_comes_back(self):
        outer, inner = Block(), Block()
        with Builder.at_end(outer):
            with Builder.at_end(inner):
                SourceOp()
            SourceOp()
            with detached():
                assert SourceOp().parent is None
            SourceOp()
        assert (len(outer), len(inner)) == (2, 1)

    def test_it_comes_back_after_an_exception(self):
        block = Block()
        with pytest.raises(ZeroDivisionError), Builder.at_end(block):
            _ = 1 // 0
        assert SourceOp().parent is None

    def test_it_may_be_used_again_and_inside_itself(self):
        block = Block()
        builder = Builder.at_end(block)
        with builder, builder:
            SourceOp()
        with builder:
            SourceOp()
        assert len(block) == 2

    def test_each_thread_has_its_own(self):
        block = Block()
        parents = []
        with Builder.at_end(block):
            thread = threading.Thread(target=lambda: parents.append(SourceOp().parent))
            thread.start()
            thread.join()
        assert parents == [None]

    def test_insert_takes_a_detached_operation(self, chain):
        op = SourceOp()
        assert Builder.at_start(chain).insert(op) is op
        assert chain.first_op is op
        with pytest.raises(IrError, match="in a block already"):
            Builder.at_end(chain).insert(op)

    def test_a_point_whose_anchor_is_gone_is_refused_and_leaves_no_use(self, chain):
        a, *_, d = chain
        builder = Builder.before(d)
        d.erase()
        before = state(chain)
        with pytest.raises(IrError), builder:
            UnaryOp(a)
        assert state(chain) == before


class TestLocations:
    def test_the_python_line_is_recorded(self):
        op = SourceOp()
        assert op.location.file == __file__
        with open(__file__) as file:
            assert file.readlines()[op.location.line - 1].strip() == "op = SourceOp()"
        assert str(op.location).startswith(f"loc({quote(__file__)}:{op.location.line}:")

    def test_one_call_site_has_one_location_object(self):
        ops = [SourceOp() for _ in range(3)]
        assert len({id(op.location) for op in ops}) == 1

    def test_it_is_the_callers_line_also_at_the_first_construction(self):
        """The constructor is generated at the first call; that must not show."""
        from tx8ir.core import Op

        class FreshOp(Op, name="toy.fresh"):
            pass

        first, second = FreshOp(), FreshOp()
        assert first.location.line == second.location.line
        assert first.location.file == __file__

    def test_a_given_location_counts_inside_the_with(self):
        place = FileLocation("model.onnx", 1, 2)
        with at_location(place):
            assert SourceOp().location is place
            assert UnaryOp.create([SourceOp(outs=(T,)).outs[0]], [T]).location is place
        assert SourceOp().location is not place

    def test_equal_text_is_equal(self):
        assert FileLocation("a", 1, 2) == FileLocation("a", 1, 2)
        assert FileLocation("a", 1, 2) != FileLocation("a", 1, 3)
        assert len({FileLocation("a", 1, 2), FileLocation("a", 1, 2)}) == 1
        assert FileLocation("a", 1, 2) != "a"

    def test_fusing_keeps_every_known_place_once(self):
        a, b = FileLocation("a", 1, 1), NamedLocation("b")
        fused = fuse([a, UNKNOWN, b, a], by="cse")
        assert str(fused) == 'loc(fused<"cse">["a":1:1, "b"])'
        assert str(fuse([fused, FileLocation("c", 2, 2)], by="fuse")) == 'loc(fused<"fuse">["a":1:1, "b", "c":2:2])'
        assert fuse([a]) is a
        assert fuse([UNKNOWN]) is UNKNOWN
        assert fuse([]) is UNKNOWN
        assert isinstance(fuse([a], by="x"), FusedLocation)
        assert fused.name == "b"

    def test_an_operation_takes_over_the_places_of_others(self, chain):
        a, b, *_ = chain
        b.fuse_location([a], by="fold")
        assert str(b.location).startswith('loc(fused<"fold">[')
        assert len(b.location.locations) == 2

    def test_errors_show_it(self, chain):
        with pytest.raises(IrError) as caught:
            chain.first_op.erase()
        assert str(caught.value).endswith(f"\n  at {chain.first_op.location}")
        assert caught.value.op is chain.first_op


class TestCloning:
    def test_operands_from_outside_stay_unless_mapped(self, chain):
        a, b, c, _ = chain
        assert c.clone().operands == c.operands
        mapping = {b.out: chain.args[0]}
        copy = c.clone(mapping)
        assert copy.operands == (a.outs[0], chain.args[0])
        assert mapping[c.out] is copy.out
        assert copy.parent is None

    def test_successors_inside_go_to_the_copies(self):
        graph = GraphOp(body=Region([Block(), Block((T,))]))
        first, second = graph.body.blocks
        with Builder.at_end(first):
            JumpOp([SourceOp(outs=(T,)).outs[0]], target=second)
        with Builder.at_end(second):
            StopOp([second.args[0]])
        copy = graph.clone()
        assert copy.body.block.last_op.target is copy.body.blocks[1]
        assert structurally_equal(graph, copy) is None

    def test_a_location_and_attributes_are_shared(self, chain):
        copy = chain.last_op.clone()
        assert copy.location is chain.last_op.location
        assert copy.attributes is chain.last_op.attributes


class TestEquality:
    @pytest.mark.parametrize(
        ("change", "text"),
        [
            (
                lambda b: b.last_op.set_attribute("k", 1),
                "region 0, block 0, op 3 (test.unary), attribute k: absent != 1 : i64",
            ),
            (
                lambda b: b.last_op.set_operand(0, b.args[0]),
                "region 0, block 0, op 3 (test.unary), operand 0: result 0 of region 0, block 0, op 2 (test.binary) != "
                "argument 0 of region 0, block 0",
            ),
            (lambda b: b.last_op.erase(), "region 0, block 0, op 3: test.unary != the end of the block"),
            (lambda b: b.append(SourceOp()), "region 0, block 0, op 4: the end of the block != test.source"),
            (lambda b: b.insert_before(SourceOp(), b.first_op), "region 0, block 0, op 1: test.unary != test.source"),
            (lambda b: b.add_argument(f32), "region 0, block 0: 1 arguments != 2 arguments"),
            (
                lambda b: setattr(b.args[0], "type", f32),
                "region 0, block 0, argument 0: !pd.vtensor<2xf32> != f32",
            ),
            (
                lambda b: setattr(b.last_op.out, "type", bf16),
                "region 0, block 0, op 3 (test.unary), result 0: !pd.vtensor<2xf32> != bf16",
            ),
            (lambda b: b.parent.append(Block()), "region 0: 1 blocks != 2 blocks"),
            (lambda b: b.parent_op.set_attribute("k", 1), "attribute k: absent != 1 : i64"),
        ],
    )  # fmt: skip
    def test_the_first_difference_is_said_with_its_path(self, chain, change, text):
        copy = chain.parent_op.clone()
        assert structurally_equal(chain.parent_op, copy) is None
        change(copy.body.block)
        assert str(structurally_equal(chain.parent_op, copy)) == text

    def test_values_from_outside_must_be_the_same(self, chain):
        a, b, c, _ = chain
        copy = c.clone()
        assert structurally_equal(c, copy) is None
        copy.set_operand(0, b)
        difference = structurally_equal(c, copy)
        assert difference.path == "operand 0"
        assert "test.source" in difference.left
        assert "test.unary" in difference.right
        assert a is not b

    def test_names_differ(self):
        difference = structurally_equal(SourceOp(), ScopeOp())
        assert str(difference) == "name: test.source != test.scope"
        assert repr(difference) == f"<Difference {difference}>"
