"""Diagnostic injection: whatever link, count, type or rule is broken, wherever, `verify` reports it and survives."""

# The faults are made behind the back of the public interface, which refuses to make them.
from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from support import strategies as ir
from support.dialect import SourceOp, StopOp, UnaryOp, test_context
from tx8ir.core import (
    Block,
    DictAttr,
    OpOperand,
    Region,
    VerificationFailed,
    VTensorType,
    bf16,
    f32,
    find_faults,
    parse,
    verify,
)
from tx8ir.core.ir.operation import _tombstone
from tx8ir.core.ir.value import link, unlink
from tx8ir.core.location import UNKNOWN
from tx8ir.core.opdef.definition import segment_sizes

PROGRAM = """\
module {
  func.func @main(%arg0: f32, %arg1: !pd.vtensor<2xf32>) -> f32 {
    %0 = "test.unary"(%arg0) : (f32) -> f32
    %1:2 = "test.many"(%0, %arg0, %0) : (f32, f32, f32) -> (f32, !pd.vtensor<2xf32>)
    "test.segments"(%0, %0, %1#0) {operandSegmentSizes = array<i32: 1, 1, 0, 1>} : (f32, f32, f32) -> ()
    %2 = "test.scope"(%0) ({
      %3 = "test.binary"(%0, %1#0) : (f32, f32) -> f32
      %4 = "test.unary"(%3) : (f32) -> f32
    }, {
    ^bb0(%arg2: f32):
      %5 = "test.unary"(%arg2) : (f32) -> f32
      %6 = "test.unary"(%5) : (f32) -> f32
    }) : (f32) -> f32
    "test.isolated"(%2) ({
    ^bb0(%arg3: f32):
      %7 = "test.unary"(%arg3) : (f32) -> f32
      %8 = "test.unary"(%7) : (f32) -> f32
    }) : (f32) -> ()
    "test.graph"() ({
    ^bb0:
      %9 = "test.unary"(%0) : (f32) -> f32
      "test.branch"(%9)[^bb1, ^bb2] : (f32) -> ()
    ^bb1:
      %10 = "test.unary"(%9) : (f32) -> f32
      "test.jump"(%10)[^bb3] : (f32) -> ()
    ^bb2:
      "test.jump"(%9)[^bb3] : (f32) -> ()
    ^bb3(%arg4: f32):
      "test.stop"(%arg4) : (f32) -> ()
    }) : () -> ()
    "test.tensors_only"(%arg1) {rank = 1 : i64} : (!pd.vtensor<2xf32>) -> ()
    %11 = "test.pack"(%0, %2) : (f32, f32) -> tuple<f32, f32>
    return %0 : f32
  }
  func.func @other(%arg0: f32) -> f32 {
    %0 = "func.call"(%arg0) {callee = @main2} : (f32) -> f32
    return %0 : f32
  }
  func.func @main2(%arg0: f32) -> f32 {
    return %arg0 : f32
  }
}"""


def program():
    return parse(PROGRAM, context=test_context()).module


def test_the_program_itself_is_right():
    verify(program())


# Each fault takes one part of a program and breaks it; it returns False where there is nothing to break.

FAULTS_IN_USES = {
    "the chain lacks a use": lambda use: unlink((use,)),
    "an operand is another value than its chain": lambda use: setattr(use, "_value", stranger()),
    "a use names another operation": lambda use: setattr(use, "_owner", UnaryOp(stranger())),
    "a use has a wrong index": lambda use: setattr(use, "index", use.index + 1),
    "a use is linked backwards to itself": lambda use: setattr(use, "_previous", use),
    "a chain loops": lambda use: setattr(use, "_next", use),
    "a value does not know its last use": lambda use: setattr(use._value, "_last_use", None),
    "a chain has a use that is not an operand": lambda use: stray_use(use),
    "an operand is defined in no block": lambda use: use.set(stranger()),
    "an operand belongs to another program": lambda use: use.set(foreign()),
    "an operand was erased": lambda use: use.set(stranger()) or erase_anyway(use.value.defining_op),
}

FAULTS_IN_OPS = {
    "it does not know its block": lambda op: setattr(op, "_parent", None),
    "it has a wrong predecessor": lambda op: setattr(op, "_previous", op),
    "the list loops": lambda op: setattr(op, "_next", op),
    "the list loops from the second": lambda op: op._previous is not None and setattr(op, "_next", op._previous),
    "the list ends early": lambda op: op._next is not None and setattr(op, "_next", None),
    "it was erased but stays in the list": lambda op: erase_in_place(op),
    "it lost an operand": lambda op: bool(op._operands) and setattr(op, "_operands", op._operands[:-1]),
    "it lost its results, and somebody uses them": lambda op: (
        any(r.has_uses for r in op._results) and setattr(op, "_results", ())
    ),
    "a result names another operation": lambda op: (
        bool(op._results) and setattr(op._results[-1], "_owner", stranger().owner)
    ),
    "a result has a wrong index": lambda op: bool(op._results) and setattr(op._results[-1], "index", 7),
    "it comes after a user": lambda op: move_after_user(op),
    "it uses its own result": lambda op: bool(op._results and op._operands) and op.set_operand(0, op._results[0]),
    "a terminator stands before it": lambda op: op.parent.insert_before(StopOp(()), op),
    "an operation follows it, a terminator": lambda op: op._next is None and needs_terminator(op) and after(op),
    "its block lacks the terminator": lambda op: op._next is None and needs_terminator(op) and op.detach(),
    "it branches to a block elsewhere": lambda op: bool(op._successors) and op.set_successor(0, elsewhere()),
    "it branches to the entry block": lambda op: (
        bool(op._successors) and op.set_successor(0, op.parent.parent.blocks[0])
    ),
    "it lost a successor": lambda op: bool(op._successors) and setattr(op, "_successors", op._successors[1:]),
    "it has a successor too many": lambda op: setattr(op, "_successors", (*op._successors, elsewhere())),
    "it has a region too many": lambda op: setattr(op, "_regions", (*op._regions, owned(op))),
    "it has a region twice": lambda op: bool(op._regions) and setattr(op, "_regions", op._regions * 2),
    "it lost a region": lambda op: bool(op._regions) and setattr(op, "_regions", ()),
    "a declared attribute is of another kind": lambda op: wrong_attribute(op),
    "a required attribute is missing": lambda op: (
        bool(op.info.required_attributes) and op.remove_attribute(op.info.required_attributes[0])
    ),
    "the segments do not add up": lambda op: (
        "operandSegmentSizes" in op.attributes and op.set_attribute("operandSegmentSizes", segment_sizes((1, 1, 1, 9)))
    ),
}

FAULTS_IN_BLOCKS = {
    "it does not know its region": lambda block: setattr(block, "_parent", None),
    "it belongs to another region": lambda block: setattr(block, "_parent", Region()),
    "it counts wrong": lambda block: setattr(block, "_count", block._count + 1),
    "it does not know its first operation": lambda block: (
        bool(block._first) and setattr(block, "_first", block._first._next)
    ),
    "it does not know its last operation": lambda block: bool(block._first) and setattr(block, "_last", None),
    "an argument names another block": lambda block: bool(block._args) and setattr(block._args[0], "_owner", Block()),
    "an argument has a wrong index": lambda block: bool(block._args) and setattr(block._args[0], "index", 3),
    "an argument changed its type": lambda block: (
        bool(block._args)
        and block.parent_op.name == "func.func"
        and block.parent.blocks[0] is block  # the types of another block are its own, until something branches to it
        and block._args[0].type is not bf16
        and setattr(block._args[0], "type", bf16)
    ),
    "its region has it twice": lambda block: block.parent._blocks.append(block),
    "its region names another operation": lambda block: setattr(block.parent, "_parent", stranger().owner),
    "its region holds the block around it": lambda block: block.parent._blocks.append(block.parent_op.parent),
    "its region holds itself, well linked": lambda block: tie_the_knot(block),
}


def stranger():
    """A value of an operation that is in no block."""
    return SourceOp(outs=(f32,)).outs[0]


def foreign():
    """A value of another program."""
    return program().regions[0].block.first_op.body.block.first_op.result


def elsewhere():
    """A block of another program."""
    return program().regions[0].block


def owned(op):
    region = Region([Block()])
    region._parent = op
    return region


def stray_use(use):
    extra = OpOperand.__new__(OpOperand)
    extra._owner, extra.index, extra._value = use._owner, use.index, use._value
    link((extra,))


def erase_anyway(op):
    _tombstone(op, "the test", UNKNOWN)


def erase_in_place(op):
    previous, following = op._previous, op._next
    for use in op._operands:
        unlink((use,))
    _tombstone(op, "the test", UNKNOWN)
    op._previous, op._next = previous, following


def move_after_user(op):
    users = [u for r in op._results for u in r.users if u.parent is op.parent and u._next is not None]
    return bool(users) and op.move_after(users[0])


def needs_terminator(op):
    return op.parent_op.name in ("func.func", "test.graph")


def after(op):
    op.parent.append(SourceOp(outs=()))


def tie_the_knot(block):
    """An operation that is inside its own region, every single link of it right."""
    around = block.parent_op
    region = around.parent.parent
    if len(region.blocks) != 1:
        return False
    around._regions = (region,)
    region._parent = around
    return True


def wrong_attribute(op):
    fields = getattr(type(op), "definition", None)
    if fields is None or not fields.attributes:
        return False
    return op.set_attribute(fields.attributes[0].key, DictAttr({"odd": 1}))


def parts(root, kind):
    """The uses, operations or blocks inside `root`, in text order."""
    inside = list(root.walk())[1:]
    if kind == "ops":
        return inside
    if kind == "uses":
        return [use for op in inside for use in op.op_operands]
    return [block for op in inside for region in op.regions for block in region.blocks]


KINDS = {"uses": FAULTS_IN_USES, "ops": FAULTS_IN_OPS, "blocks": FAULTS_IN_BLOCKS}


@pytest.mark.parametrize(
    ("kind", "fault"), [(kind, name) for kind, faults in KINDS.items() for name in faults], ids=lambda x: x
)
def test_every_fault_is_found_at_every_place(kind, fault):
    broken = 0
    for place in range(len(parts(program(), kind))):
        root = program()
        if KINDS[kind][fault](parts(root, kind)[place]) is False:
            continue
        broken += 1
        with pytest.raises(VerificationFailed) as caught:
            verify(root)
        assert caught.value.faults
        assert str(caught.value).startswith(f"{len(caught.value.faults)} fault")
    assert broken > 0, "the program has no place where this can go wrong"


@given(ir.programs(max_ops=4, max_depth=2), st.data())
def test_a_fault_in_any_program_is_found(program, data):
    kind = data.draw(st.sampled_from(list(KINDS)))
    places = parts(program.module, kind)
    assume(places)
    place = data.draw(st.integers(0, len(places) - 1))
    fault = data.draw(st.sampled_from(list(KINDS[kind])))
    # Types of these programs are free, so a wrong one need not be wrong; some operations take any operands.
    assume(fault not in ("it lost an operand", "it lost its results, and somebody uses them"))
    assume(KINDS[kind][fault](places[place]) is not False)
    assert find_faults(program.module)


class TestReports:
    def test_all_faults_at_once_each_below_its_operation(self, golden):
        root = parse(
            """\
module {
  func.func @f(%arg0: f32) -> f32 {
    %0 = "test.unary"(%1) : (f32) -> f32
    %1 = "test.unary"(%arg0) : (f32) -> bf16
    "test.tensors_only"(%arg0) {rank = "two"} : (f32) -> ()
    "test.segments"(%arg0, %arg0) {operandSegmentSizes = array<i32: 1, 1, 1, 1>} : (f32, f32) -> ()
    return %0, %0 : f32, f32
  }
  func.func @f(%arg0: f32) -> f32 {
    "test.attributes"() {colour = "red", count = 1.0 : f64} : () -> ()
  }
}""".replace("(%1) : (f32)", "(%1) : (bf16)"),
            context=test_context(),
        ).module
        with pytest.raises(VerificationFailed) as caught:
            verify(root)
        golden(str(caught.value), "core/faults.txt")

    def test_more_than_twenty_are_counted(self):
        lines = "\n".join('  "test.tensors_only"(%arg0) : (f32) -> ()' for _ in range(30))
        root = parse(f"func.func @f(%arg0: f32) {{\n{lines}\n return\n}}", context=test_context()).module
        with pytest.raises(VerificationFailed, match="60 faults found") as caught:
            verify(root)
        assert str(caught.value).endswith("… and 40 more")

    def test_a_part_of_a_program_may_use_what_is_around_it(self):
        root = program()
        for op in root.walk():
            verify(op)

    def test_a_part_sees_faults_of_its_uses_of_what_is_around_it(self):
        root = program()
        main = root.regions[0].block.first_op
        scope = next(op for op in main.walk() if op.name == "test.scope")
        late = main.body.block.last_op.prev_op
        scope.regions[0].block.first_op.set_operand(0, late.operands[1])  # its own result, one operation later
        assert [f.message.split(" by ")[0] for f in find_faults(scope)] == ["operand 0 is used before its definition"]

    def test_types_are_checked_again_after_a_change(self):
        """What was found right is remembered by types and attributes, not by operation."""
        x = SourceOp(outs=(VTensorType((2,), f32),)).outs[0]
        op = UnaryOp(x)
        verify(op)
        x.type = bf16
        with pytest.raises(VerificationFailed, match="needs one type"):
            verify(op)
