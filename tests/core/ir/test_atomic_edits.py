"""Edits that take several steps, with wrong input at every position: what is refused has changed nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.dialect import BinaryOp, GraphOp, IsolatedOp, JumpOp, ScopeOp, SourceOp, StopOp, UnaryOp
from tx8ir.core import Block, Builder, FunctionType, IrError, Operation, Program, Region, VTensorType, f32, i1, print_op
from tx8ir.core.verifier import find_faults
from tx8ir.dialects import func, scf

T = VTensorType((2,), f32)


class World:
    """A program with nested regions, a graph of blocks, detached operations, and things that are none of these."""

    def __init__(self) -> None:
        self.block = Block((T, T))
        self.root = IsolatedOp(body=Region([self.block]))
        with Builder.at_end(self.block):
            self.a = SourceOp(outs=(T,))
            self.b = UnaryOp(self.a.outs[0])
            self.c = BinaryOp(self.a.outs[0], self.b)
            inner = Block((T,))
            with Builder.at_end(inner):
                self.inside = UnaryOp(self.b)
            self.scope = ScopeOp([self.a.outs[0]], outs=(T,), first=Region([inner]), second=Region())
            self.d = UnaryOp(self.c)
        entry, last = Block(), Block((T,))
        with Builder.at_end(entry):
            self.jump = JumpOp([self.d], target=last)
        with Builder.at_end(last):
            StopOp([last.args[0]])
        with Builder.at_end(self.block):
            self.graph = GraphOp(body=Region([entry, last]))
        self.inner, self.entry, self.last = inner, entry, last
        self.loose = UnaryOp(self.b)
        self.loose_two = SourceOp(outs=(T, T))
        self.loose_block = Block((T,))
        self.loose_region = Region()
        self.cycle = Block()  # holds an operation whose region may not hold it
        with Builder.at_end(self.cycle):
            self.holder = ScopeOp([self.a.outs[0]], first=Region([Block()]), second=Region())
        gone = UnaryOp(self.a.outs[0])
        self.gone_value = gone.result
        gone.erase("a test")
        self.gone = gone
        self.things = [
            self.a, self.b, self.c, self.d, self.inside, self.scope, self.graph, self.jump, self.root, self.loose,
            self.loose_two, self.holder, self.gone, self.gone_value, self.a.outs[0], self.b.result, self.d.result,
            self.inside.result, self.block.args[0], self.loose.result, *self.loose_two.outs, self.block, self.inner,
            self.entry, self.last, self.loose_block, self.cycle, self.loose_region, self.graph.regions[0],
            self.scope.regions[0], T, None, 3, "x", (), [self.b.result, None], [self.loose, self.gone],
            [self.loose, self.loose], [self.loose, self.loose_two], [self.loose_block, self.loose_block],
            [self.loose_block, self.cycle], [self.loose_block, self.entry],
        ]  # fmt: skip

    def state(self) -> object:
        """Everything that an edit could change."""
        found: list[object] = []
        roots = [self.root, self.loose, self.loose_two, self.holder]
        for root in roots:
            found.append(print_op(root) if root.parent is None else None)
            for op in root.walk():
                found.append((op, op.parent, op.operands, op.successors, op.next_op, op.prev_op, op.attributes))
                for value in (*op.results, *(a for r in op.regions for b in r for a in b.args)):
                    found.append((value, value.type, [(u.owner, u.index) for u in value.uses]))
                found += [(r, r.parent_op, [(b, b.parent, len(b), list(b), b.args) for b in r]) for r in op.regions]
        for block in (self.loose_block, self.cycle):
            found.append((block.parent, list(block), block.args))
        return found, self.loose_region.parent_op, self.loose_region.blocks


# Each takes the world and three things.
EDITS = {
    "set_operand": lambda w, x, y, z: w.c.set_operand(1, x),
    "set_operands": lambda w, x, y, z: w.c.set_operands([w.b.result, x, y]),
    "set_operands of": lambda w, x, y, z: w.c.set_operands(x),
    "replace_all_uses_with": lambda w, x, y, z: w.b.result.replace_all_uses_with(x),
    "replace_uses_if": lambda w, x, y, z: w.a.outs[0].replace_uses_if(x, lambda use: True),
    "replace_with": lambda w, x, y, z: w.b.replace_with(x),
    "replace_with several": lambda w, x, y, z: w.scope.replace_with([x]),
    "erase": lambda w, x, y, z: w.b.erase(),
    "erase block": lambda w, x, y, z: w.last.erase(),
    "extend": lambda w, x, y, z: w.block.extend([x, y, z]),
    "extend with": lambda w, x, y, z: w.inner.extend(x),
    "append": lambda w, x, y, z: w.inner.append(x),
    "prepend": lambda w, x, y, z: w.inner.prepend(x),
    "insert_before": lambda w, x, y, z: w.block.insert_before(x, y),
    "insert_after": lambda w, x, y, z: w.inner.insert_after(x, y),
    "move_before": lambda w, x, y, z: w.scope.move_before(x),
    "move_after": lambda w, x, y, z: w.c.move_after(x),
    "splice_before": lambda w, x, y, z: w.block.splice_before(x, y),
    "add_argument": lambda w, x, y, z: w.block.add_argument(x),
    "erase_arguments": lambda w, x, y, z: w.block.erase_arguments([1, x]),
    "region append": lambda w, x, y, z: w.scope.regions[0].append(x),
    "region insert": lambda w, x, y, z: w.graph.regions[0].insert(y, x),
    "set_blocks": lambda w, x, y, z: w.graph.regions[0].set_blocks([x, y, z]),
    "set_blocks of": lambda w, x, y, z: w.holder.regions[0].set_blocks(x),
    "new region": lambda w, x, y, z: Region([w.loose_block, x]),
    "new block": lambda w, x, y, z: Block([T, x]),
    "set_successor": lambda w, x, y, z: w.jump.set_successor(0, x),
    "set_attribute": lambda w, x, y, z: w.b.set_attribute("a", x),
    "set_attributes": lambda w, x, y, z: w.b.set_attributes({"a": 1, "b": x}),
    "clone": lambda w, x, y, z: w.scope.clone({w.a.outs[0]: x, w.b.result: y}),
    "clone graph": lambda w, x, y, z: w.jump.clone({w.last: x, w.d.result: w.b.result}),
    "create": lambda w, x, y, z: BinaryOp.create([w.b, x], [y]),
    "create with regions": lambda w, x, y, z: ScopeOp.create([w.b], [T], {}, [w.loose_region, x], [y]),
    "construct": lambda w, x, y, z: BinaryOp(w.b, x),
    "construct a jump": lambda w, x, y, z: JumpOp([w.b], target=x),
    "construct with regions": lambda w, x, y, z: ScopeOp([w.b], first=w.loose_region, second=x),
    "builder": lambda w, x, y, z: Builder(x, y).insert(z),
    "builder at": lambda w, x, y, z: Builder.before(x).insert(y),
    "type": lambda w, x, y, z: setattr(w.b.result, "type", x),
    "weights": lambda w, x, y, z: setattr(Program.empty(), "weights", x),
}


@given(st.sampled_from(sorted(EDITS)), *[st.integers(0, 99)] * 3)
def test_what_is_refused_has_changed_nothing(edit, x, y, z):
    world = World()
    before = world.state()
    things = [world.things[n % len(world.things)] for n in (x, y, z)]
    try:
        EDITS[edit](world, *things)
    except (IrError, TypeError, AttributeError, ValueError):
        assert world.state() == before
        return
    # What is done leaves lists and chains whole; dominance and types are the caller's business.
    for root in (world.root, world.loose):
        if root.parent is None and isinstance(root, Operation):
            broken = [f for f in find_faults(root) if "chain" in f.message or "list of" in f.message]
            assert not broken


@pytest.mark.parametrize("edit", sorted(EDITS))
def test_every_edit_with_every_thing_alone(edit):
    count = len(World().things)
    for number in range(count):
        world = World()
        thing = world.things[number]
        before = world.state()
        try:
            EDITS[edit](world, thing, world.things[0], world.things[1])
        except (IrError, TypeError, AttributeError, ValueError):
            assert world.state() == before, (edit, number)


@pytest.mark.parametrize("wrong", [None, 3, "x"])
def test_what_is_no_operation_is_named(wrong):
    world = World()
    for edit in ("append", "extend with", "insert_before", "move_before", "region append", "set_successor"):
        with pytest.raises((IrError, TypeError)) as error:
            EDITS[edit](world, [wrong] if edit == "extend with" else wrong, world.b, world.c)
        assert repr(wrong) in str(error.value)


class TestStructuredBuilders:
    """A function that raises while a region is built leaves no hidden use after."""

    def world(self):
        program = Program.empty()
        flag = VTensorType((1,), i1)
        main = func.func(sym_name="main", function_type=FunctionType((T, flag), ()))
        program.body.append(main)
        return program, main.body.block

    def fail(self, x):
        UnaryOp(x)
        raise RuntimeError("no")

    @pytest.mark.parametrize("where", ["then", "else", "condition", "result"])
    def test_an_if(self, where):
        program, block = self.world()
        x, flag = block.args
        before = print_op(program.module)
        with pytest.raises((RuntimeError, IrError)), Builder.at_end(block):
            scf.IfOp.build(
                "no condition" if where == "condition" else flag,
                (lambda: self.fail(x)) if where == "then" else (lambda: [UnaryOp(x)] if where != "result" else [None]),
                (lambda: self.fail(x)) if where == "else" else (lambda: [UnaryOp(x)]),
            )
        assert not x.has_uses
        assert not flag.has_uses
        assert print_op(program.module) == before

    @pytest.mark.parametrize("where", ["before", "after", "inits", "result"])
    def test_a_while(self, where):
        program, block = self.world()
        x, flag = block.args
        before = print_op(program.module)

        def head(carried):
            if where == "before":
                self.fail(x)
            return (flag, [BinaryOp(carried, x)]) if where != "result" else (None, [BinaryOp(carried, x)])

        def tail(passed):
            if where == "after":
                self.fail(x)
            return [BinaryOp(passed, x)]

        with pytest.raises((RuntimeError, IrError, AttributeError)), Builder.at_end(block):
            scf.WhileOp.build([x] if where != "inits" else [None], head, tail)
        assert not x.has_uses
        assert not flag.has_uses
        assert print_op(program.module) == before
        UnaryOp(x).erase()
        block.erase_argument(0)

    def test_what_was_leaked_to_the_outside_stays_an_operation(self):
        program, block = self.world()
        x, flag = block.args
        with Builder.at_end(block):
            outer = UnaryOp(x)

        def leak():
            outer.set_operand(0, UnaryOp(x))
            raise RuntimeError("no")

        with pytest.raises(RuntimeError):
            scf.IfOp.build(flag, leak)
        assert outer.operands[0].owner.operands == ()
        assert not x.has_uses
        assert program.module is not None
