"""Use chains and block lists against a model in plain Python, under random edits, those that must fail included.

The model keeps, for each value, the list of its uses (operation, index) oldest first; for each block, the list of its
operations. After every step all of it is compared: forward and backward, from both ends of every link.
"""

from __future__ import annotations

import itertools

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, multiple, rule

from support.dialect import ManyOp, ScopeOp
from tx8ir.core import Block, Builder, IrError, Region, VTensorType, f32, find_faults

TYPE = VTensorType((2,), f32)
few = st.integers(0, 30)
REACH = ("before its definition", "is defined in", "in no block", "of another program")
"""What the verifier says of a value that may not be used where it is: all that may be wrong in these programs."""


class Editing(RuleBasedStateMachine):
    """Operations are `test.many` (any operands, several results) and `test.scope` (two regions)."""

    ops = Bundle("ops")

    def __init__(self):
        super().__init__()
        self.root = ScopeOp()
        self.blocks: dict[Block, list] = {r.block: [] for r in self.root.regions}
        self.uses: dict = {}  # value -> [(op, index)]
        self.place: dict = {}  # op -> block or None
        self.operands: dict = {}

    # -- the model --------------------------------------------------------------------------------------------------

    def link(self, op, values):
        self.operands[op] = list(values)
        for index, value in enumerate(values):
            self.uses[value].append((op, index))

    def unlink(self, op):
        for index, value in enumerate(self.operands[op]):
            self.uses[value].remove((op, index))
        self.operands[op] = []

    def new(self, op, operands, block, position):
        self.uses.update({result: [] for result in op.results})
        self.uses.update({argument: [] for region in op.regions for argument in region.block.args})
        self.blocks.update({region.block: [] for region in op.regions})
        self.link(op, operands)
        self.place[op] = block
        if block is not None:
            self.blocks[block].insert(position, op)

    def inside(self, op):
        """`op` and everything in it, from the model alone."""
        found = [op]
        for region in op.regions:
            for inner in self.blocks[region.block]:
                found += self.inside(inner)
        return found

    def remove(self, op):
        if self.place[op] is not None:
            self.blocks[self.place[op]].remove(op)
        doomed = self.inside(op)
        for each in doomed:
            self.unlink(each)
        for each in doomed:
            for region in each.regions:
                for argument in region.block.args:
                    del self.uses[argument]
                del self.blocks[region.block]
            for result in each.results:
                del self.uses[result]
            del self.operands[each], self.place[each]

    # -- choosing -----------------------------------------------------------------------------------------------------

    def value(self, pick):
        values = list(self.uses)
        return values[pick % len(values)] if values else None

    def values(self, picks):
        return [self.value(p) for p in picks] if self.uses else []

    def block(self, pick):
        return list(self.blocks)[pick % len(self.blocks)]

    def alive(self, op):
        return op in self.place

    def escapes(self, op):
        """Whether a value inside `op`, its own results aside, is used outside of it: no valid program does that."""
        inside = self.inside(op)
        defined = [v for each in inside[1:] for v in each.results]
        defined += [a for each in inside for region in each.regions for a in region.block.args]
        return any(user not in inside for v in defined for user, _ in self.uses[v])

    # -- rules ------------------------------------------------------------------------------------------------------

    @rule(target=ops, picks=st.lists(few, max_size=3), where=few, at=few, how=st.sampled_from(["end", "at", "none"]))
    def create(self, picks, where, at, how):
        operands, block = self.values(picks), self.block(where)
        here = self.blocks[block]
        if how == "none":
            op = ManyOp(operands, first=TYPE, others=(TYPE,))
            self.new(op, operands, None, 0)
        elif how == "at" and here:
            position = at % len(here)
            with Builder.before(here[position]):
                op = ManyOp(operands, first=TYPE)
            self.new(op, operands, block, position)
        else:
            with Builder.at_end(block):
                op = ManyOp(operands, first=TYPE)
            self.new(op, operands, block, len(here))
        return op

    @rule(target=ops, picks=st.lists(few, max_size=2), where=few)
    def create_with_regions(self, picks, where):
        operands, block = self.values(picks), self.block(where)
        with Builder.at_start(block):
            op = ScopeOp(operands, outs=(TYPE,), first=Region([Block((TYPE,))]))
        self.new(op, operands, block, 0)
        return op

    @rule(op=ops, index=st.integers(-1, 3), pick=few)
    def set_operand(self, op, index, pick):
        if not self.alive(op) or not self.uses:
            return
        value, count = self.value(pick), len(self.operands[op])
        if not -count <= index < count:
            with pytest.raises(IrError, match="no operand"):
                op.set_operand(index, value)
            return
        op.set_operand(index, value)
        index %= count
        old = self.operands[op][index]
        if old is not value:
            self.uses[old].remove((op, index))
            self.uses[value].append((op, index))
            self.operands[op][index] = value

    @rule(op=ops, picks=st.lists(few, max_size=3))
    def set_operands(self, op, picks):
        if self.alive(op):
            values = self.values(picks)
            op.set_operands(values)
            self.unlink(op)
            self.link(op, values)

    @rule(old=few, new=few)
    def replace_all_uses(self, old, new):
        if self.uses:
            old, new = self.value(old), self.value(new)
            old.replace_all_uses_with(new)
            if old is not new:
                for op, index in self.uses[old]:
                    self.operands[op][index] = new
                self.uses[new] += self.uses[old]
                self.uses[old] = []

    @rule(old=few, new=few, parity=st.integers(0, 1))
    def replace_some_uses(self, old, new, parity):
        if self.uses:
            old, new = self.value(old), self.value(new)
            chosen = [use for use in self.uses[old] if use[1] % 2 == parity]
            assert old.replace_uses_if(new, lambda use: use.index % 2 == parity) == len(chosen)
            if old is not new:
                for op, index in chosen:
                    self.uses[old].remove((op, index))
                    self.uses[new].append((op, index))
                    self.operands[op][index] = new

    @rule(op=ops)
    def detach(self, op):
        if self.alive(op):
            op.detach()
            if self.place[op] is not None:
                self.blocks[self.place[op]].remove(op)
            self.place[op] = None

    @rule(op=ops, anchor=ops, after=st.booleans())
    def move(self, op, anchor, after):
        if not self.alive(op) or not self.alive(anchor):
            return
        move = op.move_after if after else op.move_before
        if self.place[anchor] is None or anchor in self.inside(op):
            with pytest.raises(IrError):
                move(anchor)
            return
        move(anchor)
        if self.place[op] is not None:
            self.blocks[self.place[op]].remove(op)
        here = self.place[op] = self.place[anchor]
        self.blocks[here].insert(self.blocks[here].index(anchor) + after, op)

    @rule(op=ops, where=few)
    def append(self, op, where):
        if not self.alive(op):
            return
        block = self.block(where)
        if self.place[op] is not None or any(block is r.block for each in self.inside(op) for r in each.regions):
            with pytest.raises(IrError):
                block.append(op)
            return
        block.append(op)
        self.place[op] = block
        self.blocks[block].append(op)

    @rule(op=consumes(ops))
    def erase(self, op):
        if not self.alive(op):
            with pytest.raises(IrError, match="erased by the model"):
                op.set_operands(())
            return
        if any(self.uses[result] for result in op.results):
            with pytest.raises(IrError, match="is used by"):
                op.erase(by="the model")
        elif not self.escapes(op):
            self.remove(op)
            op.erase(by="the model")

    @rule(op=ops, pick=few, second=few)
    def replace(self, op, pick, second):
        if not self.alive(op) or self.escapes(op):
            return
        new = [self.value(p) for p in (pick, second)][: len(op.results)]
        defined = {v for each in self.inside(op) for v in each.results}
        defined |= {a for each in self.inside(op) for r in each.regions for a in r.block.args}
        if any(value in defined for value in new):
            with pytest.raises(IrError, match="cannot be replaced"):
                op.replace_with(new)
            return
        for old, value in zip(op.results, new, strict=True):
            for user, index in self.uses[old]:
                self.operands[user][index] = value
            self.uses[value] += self.uses[old]
            self.uses[old] = []
        self.remove(op)
        op.replace_with(new, by="the model")

    @rule(target=ops, op=ops, where=few)
    def clone(self, op, where):
        if not self.alive(op):
            return multiple()
        mapping = {}
        copy = op.clone(mapping)
        originals, copies = self.inside(op), list(copy.walk())
        assert len(originals) == len(copies)
        for original, made in zip(originals, copies, strict=True):
            self.uses.update({result: [] for result in made.results})
            self.uses.update({a: [] for region in made.regions for a in region.block.args})
            self.blocks.update({region.block: [] for region in made.regions})
            self.place[made] = None if made is copy else made.parent
            if made is not copy:
                self.blocks[made.parent].append(made)
            assert [mapping[r] for r in original.results] == list(made.results)
        for original, made in zip(originals, copies, strict=True):
            self.link(made, [mapping.get(v, v) for v in self.operands[original]])
        # In which order the copies of one operation's uses are chained is not guaranteed where a value is used before
        # it is defined; the model takes it from there.
        for value in {v for made in copies for v in self.operands[made]}:
            found = [(use.owner, use.index) for use in value.uses]
            assert sorted(map(repr, found)) == sorted(map(repr, self.uses[value]))
            self.uses[value] = found
        return copy

    @rule(where=few)
    def add_argument(self, where):
        self.uses[self.block(where).add_argument(TYPE)] = []

    @rule(where=few, index=st.integers(0, 2))
    def erase_argument(self, where, index):
        block = self.block(where)
        args = block.args
        if index >= len(args) or self.uses[args[index]]:
            with pytest.raises(IrError):
                block.erase_argument(index)
        else:
            block.erase_argument(index)
            del self.uses[args[index]]

    @rule(where=few, other=few)
    def splice(self, where, other):
        """Move all operations of a block before one of another."""
        source, block = self.block(where), self.block(other)
        if not self.blocks[block]:
            return
        anchor = self.blocks[block][0]
        moved = list(self.blocks[source])
        if source is block or any(anchor in self.inside(m) for m in moved):
            with pytest.raises(IrError):
                block.splice_before(anchor, source)
            return
        block.splice_before(anchor, source)
        self.blocks[source] = []
        self.blocks[block][:0] = moved
        for each in moved:
            self.place[each] = block

    @rule(picks=st.lists(few, min_size=1, max_size=3))
    def fail_to_create(self, picks):
        """A constructor that raises leaves no use after."""
        with pytest.raises(IrError, match="takes a Type"):
            ManyOp(self.values(picks), first="f32")
        with pytest.raises(IrError, match="must be a Value"):
            ManyOp([*self.values(picks), 3], first=TYPE)

    # -- comparison -------------------------------------------------------------------------------------------------

    @invariant()
    def links_agree(self):
        for block, expected in self.blocks.items():
            assert list(block) == expected
            assert list(reversed(block)) == expected[::-1]
            assert len(block) == len(expected)
            assert (block.first_op, block.last_op) == ((expected[0], expected[-1]) if expected else (None, None))
            assert all(a.is_before(b) and not b.is_before(a) for a, b in itertools.pairwise(expected))
        for op, block in self.place.items():
            assert op.parent is block
            assert list(op.operands) == self.operands[op]
            assert [use.index for use in op.op_operands] == list(range(len(op.operands)))
        for value, expected in self.uses.items():
            assert [(use.owner, use.index) for use in value.uses] == expected
            assert value.num_uses == len(expected)
            assert (value.has_uses, value.has_one_use) == (bool(expected), len(expected) == 1)

    @invariant()
    def the_verifier_sees_no_broken_link(self):
        """Values may be used where they are not defined here; what must hold is every link."""
        for fault in find_faults(self.root):
            assert any(part in fault.message for part in REACH), fault.message


TestEditing = Editing.TestCase
TestEditing.settings = settings(stateful_step_count=25)
