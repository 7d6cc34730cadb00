"""Contexts and dialects: what a parser knows, how it comes to know it, and what cannot be registered."""

from __future__ import annotations

import sys
import types

import pytest

from support.dialect import TEST_DIALECT, BoxAttr, Colour, UnaryOp, test_context
from tx8ir.core import (
    Dialect,
    IrContext,
    IrError,
    Op,
    ParseError,
    UnregisteredOp,
    default_context,
    parse,
    parse_op,
    verify,
)


class OneOp(Op, name="one.op"):
    """The first operation."""


class OtherOp(Op, name="one.op"):
    pass


class StrayOp(Op, name="stray.op"):
    pass


class TestDialects:
    def test_operations_and_attributes_are_found_by_name(self):
        context = IrContext([TEST_DIALECT])
        assert context.op_class("test.unary") is UnaryOp
        assert context.op_class("test.nope") is None
        assert context.op_class("nope.op") is None
        assert context.attribute_class("test", "colour") is Colour
        assert context.attribute_class("test", "box") is BoxAttr
        assert context.attribute_class("test", "nope") is None
        assert context.dialect("test") is TEST_DIALECT
        assert repr(context) == "<IrContext: test>"
        assert repr(Dialect("one", [OneOp])) == "<Dialect one: 1 operations>"

    @pytest.mark.parametrize(
        ("make", "message"),
        [
            (lambda: Dialect("one", [StrayOp]), "'stray.op' does not belong to dialect 'one'"),
            (lambda: Dialect("one", attributes=[Colour]), "'test.colour' does not belong to dialect 'one'"),
            (lambda: Dialect("one", [OneOp, OtherOp]), "dialect one has two operations one.op"),
            (lambda: IrContext([Dialect("one"), Dialect("one")]), "a dialect 'one' is registered already"),
        ],
    )
    def test_what_does_not_fit_is_refused(self, make, message):
        with pytest.raises(IrError, match=message):
            make()

    def test_registering_the_same_one_again_is_fine(self):
        dialect = Dialect("one", [OneOp])
        context = IrContext([dialect])
        assert context.register(dialect) is dialect

    def test_contexts_do_not_know_of_each_other(self):
        first, second = IrContext([Dialect("one", [OneOp])]), IrContext([Dialect("one", [OtherOp])])
        text = '"one.op"() : () -> ()'
        assert type(parse_op(text, context=first)) is OneOp
        assert type(parse_op(text, context=second)) is OtherOp
        with pytest.raises(ParseError, match="unknown dialect 'one'"):
            parse_op(text)

    def test_a_dialect_can_be_forgotten(self):
        context = IrContext([Dialect("one", [OneOp])])
        context.unregister("one")
        assert context.dialect("one") is None
        with pytest.raises(KeyError):
            context.unregister("one")

    def test_it_shows_its_operations(self):
        assert "<code>one.op</code></td><td>The first operation." in Dialect("one", [OneOp])._repr_html_()


class TestLazyDialects:
    @pytest.fixture
    def module(self, monkeypatch):
        module = types.ModuleType("dialect_of_this_test")
        module.DIALECT = Dialect("one", [OneOp])
        monkeypatch.setitem(sys.modules, module.__name__, module)
        return module

    def test_the_module_is_imported_when_a_name_needs_it(self, module):
        context = IrContext()
        context.register_lazily("one", module.__name__)
        assert type(parse_op('"one.op"() : () -> ()', context=context)) is OneOp
        assert list(context) == [module.DIALECT]

    def test_one_that_is_never_needed_need_not_exist(self):
        context = IrContext()
        context.register_lazily("one", "no_such_module")
        assert context.op_class("two.op") is None
        assert repr(context) == "<IrContext: one>"
        context.unregister("one")
        assert list(context) == []

    def test_a_dialect_that_is_there_is_not_replaced(self, module):
        other = Dialect("one", [OtherOp])
        context = IrContext([other])
        context.register_lazily("one", module.__name__)
        assert context.dialect("one") is other

    def test_the_default_context_has_the_shipped_dialects(self):
        for name in ("builtin", "func", "pd", "tx8be", "tx8"):
            assert default_context().dialect(name).name == name

    def test_short_spellings_belong_to_a_context(self):
        with pytest.raises(ParseError, match="expected an operation, found 'module'"):
            parse_op("module {\n}", context=IrContext())
        assert parse_op("module {\n}").name == "builtin.module"

    def test_a_program_needs_builtin(self):
        with pytest.raises(IrError, match="the context lacks the dialect builtin"):
            parse('"one.op"() : () -> ()', context=IrContext([Dialect("one", [OneOp])]))
        with pytest.raises(ParseError, match="several top-level operations need the dialect builtin"):
            parse('"one.op"() : () -> ()\n"one.op"() : () -> ()', context=IrContext([Dialect("one", [OneOp])]))


class TestUnregisteredOperations:
    def test_they_have_any_parts(self):
        text = (
            '%0:2 = "x.y"() ({\n^bb0(%arg0: f32):\n  "x.z"(%arg0)[^bb1] : (f32) -> ()\n^bb1:\n}, {\n}) '
            "{a} : () -> (f32, f32)"
        )
        op = parse_op(text, context=test_context(), allow_unregistered=True)
        assert isinstance(op, UnregisteredOp)
        assert (op.name, len(op.results), len(op.regions)) == ("x.y", 2, 2)
        assert str(op) == text
        verify(op)

    def test_the_rules_of_values_hold_for_them_too(self):
        text = '"x.a"(%0) : (f32) -> ()\n%0 = "x.b"() : () -> f32'
        with pytest.raises(IrError, match="used before its definition"):
            verify(parse_op(text, context=test_context(), allow_unregistered=True))

    def test_they_have_no_traits_and_no_interfaces(self):
        from tx8ir.core import Compute, Pure

        op = parse_op('"x.a"() : () -> ()', allow_unregistered=True)
        assert not op.has_trait(Pure)
        assert op.interface(Compute) is None
        assert op.info.required_attributes == ()

    def test_they_are_made_by_name_in_python(self):
        context = IrContext()
        cls = context.unregistered("x.a")
        assert context.unregistered("x.a") is cls
        op = cls.create([], [], {"k": 1})
        assert str(op) == '"x.a"() {k = 1 : i64} : () -> ()'
        assert op.info.op_class is cls


def test_a_dialect_is_defined_again_by_the_cell_that_defined_it() -> None:
    """A notebook's cell that runs twice; another source that takes the name is an error all the same."""
    cell = (
        "from tx8ir.core import Dialect, Op, Operand, operand\n"
        "class TwoOp(Op, name='again.two'):\n    x: Operand = operand()\n"
        "DIALECT = Dialect('again', [TwoOp])\n"
    )
    context = IrContext()
    for _ in range(2):
        namespace = {"__name__": "__main__"}
        exec(cell, namespace)
        context.register(namespace["DIALECT"])
        assert context.op_class("again.two") is namespace["TwoOp"]
    other = {"__name__": "elsewhere"}
    exec(cell, other)
    with pytest.raises(IrError, match="a dialect 'again' is registered already, with operations of __main__"):
        context.register(other["DIALECT"])
