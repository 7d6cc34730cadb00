"""An operation is declared once: what follows from the class is complete, and what cannot follow is there."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from support.formulas import OPERATIONS, VECTOR, formula_of, mnemonic, unary_operations
from tx8ir.core import Dialect, IrError, Op, Operand, Pure, Result, operand, ops_of, result
from tx8ir.core.opdef.stubs import stub
from tx8ir.dialects import arith, index, linalg, math, pd, tensor, tx8, tx8be
from tx8ir.dialects.pd.declaration import Elementwise
from tx8ir.target import vector_functions


@pytest.mark.parametrize(
    "package", [pd, tx8, tx8be, arith, index, linalg, math, tensor], ids=lambda package: package.__name__
)
def test_the_stub_of_a_dialect_is_current(package: ModuleType) -> None:
    assert package.__file__ is not None
    written = Path(package.__file__).with_suffix(".pyi").read_text(encoding="utf-8")
    assert written == stub(package), f"run `python -m tx8ir.core.opdef.stubs {package.__name__}`"


@pytest.mark.parametrize("package", [pd, tx8, tx8be], ids=lambda package: package.__name__)
def test_a_package_offers_each_operation_under_both_names(package: ModuleType) -> None:
    for name, op_class in package.DIALECT.ops.items():
        assert getattr(package, op_class.__name__) is op_class
        assert name == "tx8be.None" or getattr(package, name.partition(".")[2]) is op_class


def test_modules_are_searched_for_operations_with_a_name() -> None:
    module = ModuleType("somewhere")

    class FirstOp(Op, name="demo.first", traits=(Pure,)):
        x: Operand = operand()
        out: Result = result()

    class Base(Op):
        pass

    for made in (FirstOp, Base):
        made.__module__ = "somewhere"
        setattr(module, made.__name__, made)
    module.imported = pd.ReluOp  # type: ignore[attr-defined]
    assert ops_of(module) == [FirstOp]
    dialect = Dialect("demo", ops_of(module))
    assert dialect.exports == {"FirstOp": FirstOp, "first": FirstOp}
    with pytest.raises(IrError, match=r"dialect demo has two operations demo\.first"):
        dialect.add(FirstOp)


def test_every_elementwise_operation_has_a_formula() -> None:
    assert [op.name for op in unary_operations() if formula_of(op) is None] == []
    names = {mnemonic(op) for op in unary_operations()}
    assert set(OPERATIONS) <= names
    attributes = {mnemonic(op) for op in unary_operations() if op.definition.attributes}
    assert attributes <= set(OPERATIONS), "an operation with attributes has a formula of its own"
    assert attributes <= {name for name, formula in OPERATIONS.items() if formula.variants}


def test_every_vector_function_has_a_formula_and_an_operation_in_the_graph_one_vector_function() -> None:
    names = [function.name for function in vector_functions.UNARY]
    assert sorted(names) == sorted(VECTOR)
    assert list(tx8.UNARY_FUNCTIONS) == names
    assert [op.function.graph_op for op in tx8be.UNARY] == [op.name.partition(".")[2] for op in tx8be.UNARY]


def test_the_vector_function_that_an_operation_names_is_there() -> None:
    for op_class in pd.DIALECT.ops.values():
        if issubclass(op_class, Elementwise) and op_class.vector_function is not None:
            found = tx8be.unary_of if issubclass(op_class, pd.ElementwiseUnaryOp) else tx8be.binary_of
            assert found(op_class.vector_function).name in tx8be.DIALECT.ops


def test_an_operation_has_an_inplace_form_when_it_says_so() -> None:
    for op_class in pd.DIALECT.ops.values():
        form = pd.inplace_form(op_class)
        assert (form is not None) == getattr(op_class, "has_inplace_form", False)
        assert form is None or form.name == f"{op_class.name}_"
    assert pd.inplace_form(pd.AssignOp) is None  # pd.assign_ takes an operand more


def test_a_vector_function_has_one_name() -> None:
    with pytest.raises(ValueError, match=r"there is a vector function 'exp' already: e\*\*x"):
        vector_functions.register(vector_functions.vector_function("exp"))
