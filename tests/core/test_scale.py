"""Depth 10,000 and a block of 100,000 operations through every traversal: nothing recurses, nothing is quadratic."""

from __future__ import annotations

import contextlib
import gc
import itertools
import subprocess
import sys
import textwrap

import pytest

from support.dialect import BinaryOp, IsolatedOp, ScopeOp, SourceOp, UnaryOp, test_context
from support.steps import assert_linear
from tx8ir.core import (
    Block,
    Builder,
    ParseError,
    Region,
    VTensorType,
    f32,
    parse_op,
    print_op,
    relaxed_gc,
    structurally_equal,
    verify,
)
from tx8ir.core.attrs.lexer import Lexer, Source

pytestmark = pytest.mark.slow

DEPTH = 10_000
WIDTH = 100_000
TYPE = VTensorType((4,), f32)


def nested(depth, op_class=ScopeOp):
    """`depth` operations, each in the region of the one before, built from the outside in."""
    root = op_class()
    block = root.regions[0].block
    for _ in range(depth - 1):
        with Builder.at_end(block):
            inner = op_class()
        block = inner.regions[0].block
    with Builder.at_end(block):
        UnaryOp(SourceOp(outs=(TYPE,)).outs[0])
    return root


def wide(count):
    """One block of `count` operations, each using the two before it."""
    block = Block((TYPE, TYPE))
    root = IsolatedOp(body=Region([block]))
    x, y = block.args
    with relaxed_gc(), Builder.at_end(block):
        for _ in range(count):
            x, y = y, BinaryOp(x, y).out
    return root


@pytest.fixture(scope="module")
def deep():
    return nested(DEPTH)


@pytest.fixture(scope="module")
def long():
    return wide(WIDTH)


class TestDeep:
    def test_walk_gives_every_operation_from_the_outside_in(self, deep):
        assert sum(1 for _ in deep.walk()) == DEPTH + 2

    @pytest.mark.parametrize("op_class", [ScopeOp, IsolatedOp])
    def test_verifies(self, op_class):
        verify(nested(DEPTH, op_class))

    def test_text_and_back(self, deep):
        text = print_op(deep)
        again = parse_op(text, context=test_context())
        assert structurally_equal(deep, again) is None
        assert print_op(again) == text

    def test_a_difference_at_the_bottom_is_found_with_its_path(self, deep):
        other = deep.clone()
        *_, last = other.walk()
        last.set_attribute("odd", 1)
        found = structurally_equal(deep, other)
        assert found is not None
        assert found.path.count("region 0, block 0") == DEPTH
        assert found.path.endswith("op 1 (test.unary), attribute odd")

    def test_clones(self, deep):
        copy = deep.clone()
        verify(copy)
        assert not {id(op) for op in copy.walk()} & {id(op) for op in deep.walk()}

    def test_erases(self):
        root = nested(DEPTH)
        *_, last = root.walk()
        root.erase(by="test")
        assert "erased by test" in repr(last)

    def test_values_from_the_outside_are_seen_at_the_bottom(self):
        root = nested(DEPTH)
        with Builder.at_start(root.regions[0].block):
            x = SourceOp(outs=(TYPE,)).outs[0]
        *_, last = root.walk()
        last.set_operand(0, x)
        verify(root)
        assert structurally_equal(root, parse_op(print_op(root), context=test_context())) is None


class TestLong:
    def test_text_and_back(self, long):
        text = print_op(long)
        again = parse_op(text, context=test_context())
        assert structurally_equal(long, again) is None
        assert print_op(again) == text

    def test_verifies_and_walks(self, long):
        verify(long)
        assert sum(1 for _ in long.walk()) == WIDTH + 1

    def test_clones(self, long):
        assert structurally_equal(long, long.clone()) is None

    def test_is_before_is_cheap_everywhere(self, long):
        ops = list(long.body.block)
        assert all(a.is_before(b) for a, b in itertools.pairwise(ops))
        assert not ops[-1].is_before(ops[0])

    def test_erases_from_the_end(self):
        root = wide(20_000)
        for op in reversed(root.body.block):
            op.erase(by="test")
        assert len(root.body.block) == 0
        assert not any(a.has_uses for a in root.body.block.args)

    def test_erases_as_a_whole(self):
        root = wide(20_000)
        root.erase(by="test")

    def test_a_value_with_very_many_uses(self):
        block = Block((TYPE, TYPE))
        x, y = block.args
        with relaxed_gc(), Builder.at_end(block):
            for _ in range(20_000):
                UnaryOp(x)
        x.replace_all_uses_with(y)
        assert not x.has_uses
        assert y.num_uses == 20_000
        verify(IsolatedOp(body=Region([block])))

    def test_many_blocks_in_a_row_verify_in_linear_time(self):
        """Each of 5,000 blocks is dominated by all before it and uses a value of the first."""
        lines = ['"test.graph"() ({', '  %x = "test.source"() : () -> f32', '  "test.jump"()[^b0] : () -> ()']
        for i in range(5_000):
            after = f'  "test.jump"()[^b{i + 1}] : () -> ()' if i < 4_999 else '  "test.stop"() : () -> ()'
            lines += [f"^b{i}:", f'  %y{i} = "test.unary"(%x) : (f32) -> f32', after]
        root = parse_op("\n".join([*lines, "}) : () -> ()"]), context=test_context())
        verify(root)


class TestHostileText:
    """Lines made to hurt a regular expression that backtracks, and a parser that reads again what it has read."""

    @pytest.mark.parametrize(
        ("before", "repeated", "after"),
        [
            ('"a.b"() : ', "() -> ", ""),
            ('"a.b"() : () -> ', " " * 10, "/"),
            ('"a.b"(', "%a, ", ""),
            ('"a.b"(', "%a" * 2, ""),
            ("%", "a" * 10, ""),
            ('"a.b"() {', 'a = "x", ', " : () -> ()"),
            ('"a.b"() {', '"" ' * 3, ""),
            ('"', "a" * 10, ""),
            ('"', "\\22" * 3, ""),
            ("// ", "x" * 10, ""),
            ("", "/" * 10, ""),
            ("", " \t" * 5, "?"),
            ('"a.b"() {a = ', "[" * 5, ""),
            ('"a.b"() {a = ', "dense<" + "[" * 4, ""),
            ('"a.b"() : () -> ', "tuple<" * 2, ""),
            ('"a.b"() : ', "(" * 5, ""),
            ('"a.b"() : () -> ', "() -> " * 2, "f32"),
            ('"a.b"() {a = ', "1" * 10, "} : () -> ()"),
            ('"a.b"() {a = 0x', "F" * 10, "} : () -> ()"),
            ('"a.b"() {a = ', "1" * 10, ".0} : () -> ()"),
            ('"a.b"() {a = #a', "<" * 5, ""),
            ('"a.b"() : () -> !a.b<', "([{" * 2, ""),
            ("", "{" * 5, ""),
            ('"a.b"() (', "{" * 2, ""),
            ("", "loc(" * 2, ""),
        ],
        ids=lambda part: part[:24],
    )
    def test_is_an_error_or_a_program_at_once(self, before, repeated, after):
        def parsing(count):
            def parse():
                with contextlib.suppress(ParseError):
                    parse_op(before + repeated * count + after, context=test_context(), allow_unregistered=True)

            return parse

        assert_linear(parsing, 300)
        parsing(20_000)()  # a regular expression that backtracks does not come to its end here

    def test_nested_function_types_are_read_once(self):
        """A result in parentheses may be a list or the inputs of a function: finding out must not read it twice."""

        def parsing(depth):
            text = "f32"
            for _ in range(depth):
                text = f"() -> ({text}) -> f32"
            return lambda: parse_op(f'"a.b"() : {text}', context=test_context(), allow_unregistered=True)

        assert_linear(parsing, 15)

    def test_white_space_and_comments_are_skipped_in_one_go(self):
        source = Lexer(Source("// comment\n" * 50_000 + "x", "t"))
        assert source.peek() == "x"


@pytest.mark.parametrize("shape", ["deep", "wide"])
def test_garbage_collection_of_large_programs_is_safe(shape):
    """In a process of its own, because what could go wrong is an overflow of the C stack."""
    code = textwrap.dedent(
        f"""
        import gc, sys
        sys.path[:0] = {[str(__file__).rsplit("/", n)[0] for n in (1, 2)]!r}
        import test_scale
        root = test_scale.nested(20_000) if {shape == "deep"} else test_scale.wide(50_000)
        weak = root.regions[0]
        del root, weak
        gc.collect()
        print("alive")
        """
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.stdout.strip() == "alive", done.stderr


def test_a_reference_to_the_bottom_keeps_nothing_from_being_collected():
    root = nested(1000)
    *_, last = root.walk()
    del root
    gc.collect()
    assert last.parent_op is not None
