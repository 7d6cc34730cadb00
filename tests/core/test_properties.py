"""For every program: text is lossless, clones share nothing, equality finds every change, right edits keep it valid."""

from __future__ import annotations

import gc
import pickle

import pytest
from hypothesis import HealthCheck, Phase, assume, find, given, settings
from hypothesis import strategies as st

from support import strategies as ir
from support.dialect import test_context
from tx8ir.core import (
    Operation,
    Program,
    Terminator,
    find_faults,
    parse,
    parse_op,
    print_op,
    structurally_equal,
    verify,
)
from tx8ir.core.attrs.lexer import Source
from tx8ir.core.text.attribute_parser import AttributeParser

QUIET = settings(
    max_examples=1000, suppress_health_check=list(HealthCheck), database=None, deadline=None,
    phases=[Phase.generate, Phase.shrink],  # nobody reads the explanation, which takes ten times as long
)  # fmt: skip
some_programs = ir.programs() | ir.programs(unregistered=True)


def read(text, **options):
    return parse(text, context=test_context(), allow_unregistered=True, **options)


def parser(text):
    return AttributeParser(Source(text, "<text>"), test_context(), allow_unregistered=True)


def at_end(p):
    return p.peek() == ""


class TestText:
    @given(some_programs)
    def test_reading_what_was_written_gives_the_same_program_and_the_same_text(self, program):
        program.verify()
        text = str(program)
        again = read(text)
        assert structurally_equal(program.module, again.module) is None
        assert str(again) == text
        again.verify()

    @given(ir.pd_programs())
    def test_so_it_does_for_pd(self, program):
        program.verify()
        again = parse(str(program))
        assert structurally_equal(program.module, again.module) is None
        assert str(again) == str(program)

    @given(ir.programs(unregistered=True))
    def test_locations_are_written_and_read_back(self, program):
        text = print_op(program.module, locations=True)
        again = read(text)
        assert structurally_equal(program.module, again.module) is None
        before = [str(op.location) for op in program.module.walk()]
        assert [str(op.location) for op in again.module.walk()] == before
        assert print_op(again.module, locations=True) == text

    @given(ir.programs())
    def test_names_are_kept_once_given(self, program):
        """Whatever the names are, printing them, reading them and printing them again gives the same text."""
        text = print_op(program.module, names=True)
        again = read(text, keep_names=True)
        assert structurally_equal(program.module, again.module) is None
        assert print_op(again.module, names=True) == text

    @given(ir.types(unregistered=True))
    def test_every_type_reads_back_as_itself(self, type):
        p = parser(str(type))
        assert p.type() is type
        assert at_end(p)

    @given(ir.attributes(unregistered=True))
    def test_every_attribute_reads_back_as_itself(self, attribute):
        p = parser(str(attribute))
        assert p.attribute() is attribute
        assert at_end(p)

    @given(ir.locations())
    def test_every_location_reads_back_equal(self, location):
        p = parser(str(location))
        assert p.location() == location
        assert at_end(p)

    @given(ir.types() | ir.attributes())
    def test_pickling_keeps_identity(self, value):
        assert pickle.loads(pickle.dumps(value)) is value

    @given(ir.programs(), st.sampled_from([" ", "\n", "\t", "\r\n", " // x\n"]))
    def test_white_space_and_comments_between_tokens_mean_nothing(self, program, space):
        """The fast path of the parser takes lines as they are printed; all else goes the slow way, to the same end."""
        text = str(program)
        spaced = "\n".join(line.replace(") -> ", f"){space}->{space}") for line in text.split("\n"))
        assume('"' not in space)
        assert structurally_equal(read(spaced).module, read(text).module) is None


class TestClones:
    @given(some_programs)
    def test_a_clone_is_equal_and_shares_nothing(self, program):
        mapping = {}
        copy = program.module.clone(mapping)
        verify(copy)
        assert structurally_equal(program.module, copy) is None
        mine, others = parts(program.module), parts(copy)
        assert not mine & others
        assert all(mapping[v] in others for v in mine if v in mapping)

    @given(some_programs)
    def test_changing_a_clone_leaves_the_original_alone(self, program):
        text = str(program)
        copy = program.module.clone()
        copy.erase(by="test")
        program.verify()
        assert str(program) == text

    @given(some_programs)
    def test_operands_from_outside_are_mapped_or_kept(self, program):
        for op in list(program.module.walk())[1:]:
            mapping = {}
            copy = op.clone(mapping)
            inside = {id(x) for x in op.walk()}
            for use in copy.op_operands:
                original = op.op_operands[use.index].value
                assert use.value is mapping.get(original, original)
            copy.erase()
            assert {id(x) for x in op.walk()} == inside
        program.verify()


def parts(root):
    """Every operation, value, block, region and use inside `root`."""
    found = set()
    for op in root.walk():
        found |= {op, *op.results, *op.op_operands, *op.regions}
        for region in op.regions:
            for block in region.blocks:
                found |= {block, *block.args}
    return found


class TestEdits:
    @given(
        ir.programs(max_ops=4, max_depth=2),
        st.lists(st.tuples(st.integers(0, 6), *[st.integers(0, 40)] * 3), max_size=8),
    )
    def test_edits_that_keep_the_rules_keep_the_program_valid(self, program, edits):
        """Each edit is one that must be right; the program stays valid and its text lossless."""
        for kind, a, b, c in edits:
            ops = [
                op for op in program.module.walk() if op.parent_op is not None and op.parent_op.name != "builtin.module"
            ]
            if ops:
                EDITS[kind](ops[a % len(ops)], b, c)
                assert find_faults(program.module) == []
        again = read(str(program))
        assert structurally_equal(program.module, again.module) is None


def erase_unused(op, _b, _c):
    inside = set(op.walk())
    escapes = any(user not in inside for each in inside for r in each.results for user in r.users)
    if not op.has_trait(Terminator) and not escapes:
        op.erase(by="edit")


def use_an_earlier_value(op, b, c):
    """Another value of the same type that is defined earlier in the same block, or is one of its arguments."""
    if op.op_operands and op.name != "func.return":
        use = op.op_operands[b % len(op.op_operands)]
        seen = [v for other in op.parent if other is not op and other.is_before(op) for v in other.results]
        same = [v for v in (*op.parent.args, *seen) if v.type is use.value.type]
        if same:
            use.set(same[c % len(same)])


def clone_in_place(op, _b, _c):
    if not op.has_trait(Terminator):
        op.parent.insert_before(op.clone(), op)


def swap_with_next(op, _b, _c):
    following = op.next_op
    if following is not None and not following.has_trait(Terminator):
        inside = set(following.walk())
        if not any(user in inside for r in op.results for user in r.users):
            op.move_after(following)


def replace_by_equal(op, _b, _c):
    """A copy takes the place of the operation."""
    if not op.has_trait(Terminator) and op.results:
        copy = op.clone()
        op.parent.insert_before(copy, op)
        op.replace_with(copy.results, by="edit")


def set_attribute(op, b, c):
    op.set_attribute(f"edit{b}", c)


def detach_and_put_back(op, _b, _c):
    block, following = op.parent, op.next_op
    op.detach()
    if following is None:
        block.append(op)
    else:
        block.insert_before(op, following)


EDITS = [
    erase_unused,
    use_an_earlier_value,
    clone_in_place,
    swap_with_next,
    replace_by_equal,
    set_attribute,
    detach_and_put_back,
]


class TestEquality:
    @given(some_programs, st.data())
    def test_any_change_is_found_and_its_path_leads_there(self, program, data):
        copy = program.module.clone()
        originals, copies = list(program.module.walk()), list(copy.walk())
        place = data.draw(st.integers(0, len(originals) - 1))
        op, how = copies[place], data.draw(st.sampled_from(["attribute", "operand", "result", "erase", "extra"]))
        if how == "attribute":
            op.set_attribute("changed", 1)
        elif how == "operand":
            assume(len(op.operands) > 1 and op.operands[0] is not op.operands[1])
            op.set_operand(0, op.operands[1])
        elif how == "result":
            assume(op.results)
            op.results[0].type = ir.TokenType() if op.results[0].type is not ir.TokenType() else ir.NoneType()
        elif how == "erase":
            assume(place > 0 and not any(r.has_uses for r in op.results))
            assume(not any(u not in set(op.walk()) for o in op.walk() for r in o.results for u in r.users))
            op.erase()
        else:
            assume(place > 0)
            op.parent.append(op.clone())
        found = structurally_equal(program.module, copy)
        assert found is not None
        assert found.left != found.right or found.path
        if how == "attribute":
            assert found.path.endswith("attribute changed")
            assert (found.left, found.right) == ("absent", "1 : i64")
        back = structurally_equal(copy, program.module)
        assert back is not None

    @given(some_programs)
    def test_it_is_reflexive_and_ignores_locations(self, program):
        assert structurally_equal(program.module, program.module) is None
        again = read(str(program))
        assert structurally_equal(again.module, program.module) is None


class TestStrategies:
    """What the strategies guarantee."""

    @pytest.mark.slow
    def test_they_shrink_to_nothing(self):
        program = find(ir.programs(), lambda p: True, settings=QUIET)
        assert str(program) == "module {\n  func.func @main() {\n    return\n  }\n}"

    @pytest.mark.nightly
    @pytest.mark.parametrize(("name", "left"), [("test.unary", 5), ("test.graph", 4), ("test.branch", 6)])
    def test_what_is_not_needed_goes_away(self, name, left):
        program = find(ir.programs(), lambda p: any(op.name == name for op in p.module.walk()), settings=QUIET)
        assert sum(1 for _ in program.module.walk()) <= left

    @pytest.mark.slow
    @pytest.mark.parametrize(
        "wanted",
        ["test.unary", "test.binary", "test.segments", "test.scope", "test.isolated", "test.graph", "test.branch",
         "test.jump", "builtin.get_parameter", "builtin.constant", "alien", "alien odd"],
    )  # fmt: skip
    def test_they_make_every_kind_of_operation(self, wanted, names_of_generated_operations):
        assert wanted in names_of_generated_operations

    @given(ir.programs())
    def test_parameters_are_in_the_store(self, program):
        for op in program.module.walk():
            if op.name == "builtin.get_parameter":
                assert program.weights[op.parameter].type is op.out.type


@pytest.fixture(scope="module")
def names_of_generated_operations():
    found = set()

    @settings(QUIET, max_examples=200, derandomize=True)
    @given(some_programs)
    def collect(program):
        found.update(op.name.split(".op")[0] for op in program.module.walk())

    collect()
    return found


@given(ir.programs())
def test_programs_can_be_saved_and_loaded(tmp_path_factory, program):
    folder = tmp_path_factory.mktemp("saved")
    program.save(folder, runtime_attributes=True)
    again = Program.load(folder, context=test_context())
    assert structurally_equal(program.module, again.module) is None
    assert set(again.weights) == set(program.weights)


def test_nothing_keeps_operations_alive():
    """Types and attributes are interned for good; operations are not."""
    gc.collect()
    before = sum(isinstance(o, Operation) for o in gc.get_objects())
    op = parse_op('"a.b"() ({\n "a.c"() : () -> ()\n}) : () -> ()', allow_unregistered=True)
    assert isinstance(op, Operation)
    del op
    gc.collect()
    assert sum(isinstance(o, Operation) for o in gc.get_objects()) <= before
