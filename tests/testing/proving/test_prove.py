"""Classic rewrite rules, right ones and wrong ones: `prove` tells them apart, by evaluation and by the solver alike."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import attrs
import numpy as np
import pytest

import tx8ir
from tx8ir.core import Operation, Program, ScalarType, bf16, f16, f32, i1, i8, i16, i32, tf32, ui8
from tx8ir.dialects import pd
from tx8ir.rewriting import RewritePattern, Rewriter
from tx8ir.rewriting.declarative import Attr, Make, Match, Node, Number, OneOf, Rule, Var
from tx8ir.rewriting.declarative.constraints import Constraint, equals
from tx8ir.target.formats import BF16, F16, F32, I8, I32, TF32, UI8, Format
from tx8ir.target.rounding import Rounding
from tx8ir.testing import NumericGuarantee, ProofError, prove
from tx8ir.testing.passes.perturbation import ulps
from tx8ir.testing.proving import ROUNDINGS, evaluate_rounded
from tx8ir.testing.proving.instances import elementwise_ops
from tx8ir.testing.proving.numbers import every_number, grid, telling_numbers
from tx8ir.testing.proving.scalars import on_vectors
from tx8ir.transforms.cleanup.patterns import canonicalization_patterns

RLIMIT = 2_000_000
NEAREST, ZERO, UP, DOWN = ROUNDINGS

x, y, z = Var("x"), Var("y"), Var("z")
condition = Var("condition", Constraint("truth values", lambda value: value.type.element is i1))


def is_bits_of(number: float) -> Constraint:
    return Constraint(f"{number} to the sign", lambda found: str(float(found)) == str(number))


def number(value: float) -> Number:
    return Number("", is_bits_of(value))


def one(found: Match, rewriter: Rewriter) -> Operation:
    return rewriter.insert(pd.FullOp(shape=(), value=1.0, dtype=found["x"].type.element))


NEGATIVE = Node(pd.MultiplyOp, x, number(-1.0))
FLOATS = (f32, f16)


@attrs.frozen(eq=False)
class Case:
    """A rule, the element types it is tried on, and in which rounding modes it is right."""

    rule: Rule
    elements: tuple[ScalarType, ...]
    right: tuple[Rounding, ...]
    guarantee: NumericGuarantee = NumericGuarantee.BITWISE
    id: str = ""


def case(
    name: str,
    left: Node,
    right_side: Any,
    elements: tuple[ScalarType, ...] = FLOATS,
    right: tuple[Rounding, ...] = (),
    guarantee: NumericGuarantee = NumericGuarantee.BITWISE,
) -> Any:
    return pytest.param(Case(Rule(name, left, right_side), elements, right, guarantee), id=f"{name} {guarantee.value}")


ALL = ROUNDINGS
CASES = [
    case("x + 0", Node(pd.AddOp, x, number(0.0)), x, right=(DOWN,)),
    case("x + 0 when", Node(pd.AddOp, x, number(0.0)), x, right=ALL, guarantee=NumericGuarantee.VALUES),
    case("x + -0", Node(pd.AddOp, x, number(-0.0)), x, right=(NEAREST, ZERO, UP)),
    case("x - 0", Node(pd.SubtractOp, x, number(0.0)), x, right=(NEAREST, ZERO, UP)),
    case("x * 1", Node(pd.MultiplyOp, x, number(1.0)), x, right=ALL),
    case("x / 1", Node(pd.DivideOp, x, number(1.0)), x, right=ALL),
    case("x * 0", Node(pd.MultiplyOp, x, Number("zero", is_bits_of(0.0))), Number("zero", is_bits_of(0.0))),
    case("x - x", Node(pd.SubtractOp, x, x), Make(pd.MultiplyOp, x, Make(pd.SubtractOp, x, x))),
    case("x / x", Node(pd.DivideOp, x, x), one),
    case("(x + y) - y", Node(pd.SubtractOp, Node(pd.AddOp, x, y), y), x),
    case("2 x", Node(pd.MultiplyOp, x, number(2.0)), Make(pd.AddOp, x, x), right=ALL),
    case(
        "x / 2", Node(pd.DivideOp, x, number(2.0)), Make(pd.ScaleOp, x, scale=0.5, bias=-0.0), right=(NEAREST, ZERO, UP)
    ),
    case("x + y", Node(pd.AddOp, x, y), Make(pd.AddOp, y, x), right=ALL),
    case("x - y", Node(pd.AddOp, x, Node(pd.MultiplyOp, y, number(-1.0))), Make(pd.SubtractOp, x, y), (i8, i32), ALL),
    case("max(x, x)", Node(pd.MaximumOp, x, x), x, (*FLOATS, tf32, i8, ui8), ALL),
    case("min(x, y)", Node(pd.MinimumOp, x, y), Make(pd.MinimumOp, y, x), (*FLOATS, i8), ALL),
    case("max by where", Node(pd.MaximumOp, x, y), Make(pd.WhereOp, Make(pd.GreaterThanOp, x, y), x, y)),
    case(
        "max by where", Node(pd.MaximumOp, x, y), Make(pd.WhereOp, Make(pd.GreaterThanOp, x, y), x, y), (i8, ui8), ALL
    ),
    case("relu by where", Node(pd.ReluOp, x), Make(pd.MaximumOp, x, Make(pd.MultiplyOp, x, x))),
    case("neg neg", Node(pd.MultiplyOp, NEGATIVE, number(-1.0)), x, right=ALL),
    case("abs of neg", Node(pd.AbsOp, NEGATIVE), Make(pd.AbsOp, x), right=ALL),
    case("abs of neg", Node(pd.AbsOp, NEGATIVE), Make(pd.AbsOp, x), (i8, i16), ALL),
    case("abs of abs", Node(pd.AbsOp, Node(pd.AbsOp, x)), Make(pd.AbsOp, x), (*FLOATS, i8, ui8), ALL),
    case("abs of square", Node(pd.AbsOp, Node(pd.SquareOp, x)), Make(pd.SquareOp, x), right=ALL),
    case("abs of square", Node(pd.AbsOp, Node(pd.SquareOp, x)), Make(pd.SquareOp, x), (i8,)),
    case("x < y", Node(pd.LessThanOp, x, y), Make(pd.LogicalNotOp, Make(pd.GreaterEqualOp, x, y))),
    case("x < y", Node(pd.LessThanOp, x, y), Make(pd.LogicalNotOp, Make(pd.GreaterEqualOp, x, y)), (i8, ui8, i32), ALL),
    case("x < y to y > x", Node(pd.LessThanOp, x, y), Make(pd.GreaterThanOp, y, x), (*FLOATS, i8, ui8), ALL),
    case("x == x", Node(pd.LogicalNotOp, Node(pd.EqualOp, x, x)), Make(pd.IsnanOp, x), right=ALL),
    case("where(c, x, x)", Node(pd.WhereOp, z, x, x), x, (*FLOATS, i8, i1), ALL),
    case(
        "where(not c)",
        Node(pd.WhereOp, Node(pd.LogicalNotOp, condition), x, y),
        Make(pd.WhereOp, condition, y, x),
        (f32, f16, i8),
        ALL,
    ),
    case("x + 1 - 1", Node(pd.SubtractOp, Node(pd.AddOp, x, number(1.0)), number(1.0)), x, (i8, ui8, i32), ALL),
    case("x * 2 / 2", Node(pd.DivideOp, Node(pd.MultiplyOp, x, number(2.0)), number(2.0)), x, (i8, ui8, i32)),
    case("x / y * y", Node(pd.MultiplyOp, Node(pd.DivideOp, x, y), y), x, (i8, ui8)),
    case("x / x of integers", Node(pd.DivideOp, x, x), one, (i8, ui8), ALL),
    case(
        "de morgan",
        Node(pd.LogicalNotOp, Node(pd.LogicalAndOp, x, y)),
        Make(pd.LogicalOrOp, Make(pd.LogicalNotOp, x), Make(pd.LogicalNotOp, y)),
        (i1, f16, i8),
        ALL,
    ),
    case("square", Node(pd.SquareOp, x), Make(pd.MultiplyOp, x, x), (*FLOATS, i8), ALL),
    case("sqrt of square", Node(pd.SqrtOp, Node(pd.SquareOp, x)), Make(pd.AbsOp, x)),
    case("floor of floor", Node(pd.FloorOp, Node(pd.FloorOp, x)), Make(pd.FloorOp, x), right=ALL),
]


@pytest.mark.parametrize("case", CASES)
def test_a_rule_is_right_in_these_rounding_modes(case: Case) -> None:
    for methods in (("exhaustion",), ("solver",), None):
        proof = prove(case.rule, guarantee=case.guarantee, element_types=case.elements, methods=methods, rlimit=RLIMIT)
        wrong = [mode for mode in ROUNDINGS if mode not in case.right]
        refuted = [mode for mode in ROUNDINGS if proof.status_in(mode) == "refuted"]
        if methods is None:
            assert (proof.roundings, refuted) == (case.right, wrong), str(proof)
        else:  # neither may say the opposite; what it cannot decide stays open
            assert set(refuted) <= set(wrong), str(proof)
            assert set(proof.roundings) <= set(case.right), str(proof)
            if methods == ("exhaustion",):
                assert refuted == wrong, str(proof)
        assert "does not confirm" not in str(proof)


def test_distributing_is_refuted_with_numbers() -> None:
    rule = Rule(
        "distribute",
        Node(pd.AddOp, Node(pd.MultiplyOp, x, y), Node(pd.MultiplyOp, x, z)),
        Make(pd.MultiplyOp, x, Make(pd.AddOp, y, z)),
    )
    proof = prove(rule, element_types=(f16, f32), methods=["exhaustion"])
    found = proof.counterexample
    assert proof.status == "refuted"
    assert found is not None
    assert found.expected != found.found


def test_the_script_fails_with_the_numbers() -> None:
    proof = prove(Rule("x + 0", Node(pd.AddOp, x, number(0.0)), x), element_types=(bf16,), roundings=(UP,))
    found = proof.counterexample
    assert found is not None
    with pytest.raises(AssertionError, match=r"upward: result0 = 0\.0 before, result0 = -0\.0 after"):
        exec(compile(found.script, "script", "exec"), {})


def test_a_proof_prints_a_table_and_shows_as_html() -> None:
    proof = prove(Rule("x + -0", Node(pd.AddOp, x, number(-0.0)), x), element_types=(f16,))
    assert proof.status == "proved"
    assert str(proof) == (
        "x + -0: proved (bitwise); not so rounding downward\n"
        "  format  nearest-even  toward zero  upward  downward  programs  how\n"
        "  f16     proved        proved       proved  refuted          1  all 65,536 inputs\n"
        "shapes taken as equal\n"
        "add(arg0, -0.0) -> arg0 at arg0 = 0.0 (float16), rounding downward:\n"
        "  before: result0 = -0.0\n"
        "  after:  result0 = 0.0"
    )
    html = proof._repr_html_()
    assert "<table" in html
    assert "a script that fails" in html
    assert repr(proof) == "<Proof of x + -0: proved (bitwise); not so rounding downward, 1 program>"


def test_the_solver_proves_what_holds_for_every_function() -> None:
    rule = Rule("exp", Node(pd.ExpOp, Node(pd.MultiplyOp, x, number(1.0))), Make(pd.ExpOp, x))
    proof = prove(rule, element_types=(f32,), methods=["solver"], rlimit=RLIMIT)
    assert proof.roundings == ROUNDINGS
    wrong = Rule("log", Node(pd.LogOp, Node(pd.ExpOp, x)), x)
    proof = prove(wrong, element_types=(f32,), methods=["solver"], rlimit=RLIMIT)
    assert proof.status != "proved"


def test_without_solver_wide_formats_stay_undecided() -> None:
    rule = Rule("x * 1", Node(pd.MultiplyOp, x, number(1.0)), x)
    proof = prove(rule, element_types=(f32, f16), methods=["exhaustion"])
    assert proof.status == "undecided"
    assert proof.roundings == ()
    assert proof.how == "65,836 inputs (1 program); all 65,536 inputs (1 program)"


def test_rounding_is_not_proved_here_unless_values_stay() -> None:
    rule = Rule("(x + y) - y", Node(pd.SubtractOp, Node(pd.AddOp, x, y), y), x)
    proof = prove(rule, guarantee=NumericGuarantee.ROUNDING, element_types=(f16,))
    assert proof.status == "undecided"
    assert "measured by fuzz" in str(proof)
    exact = prove(rule, guarantee=NumericGuarantee.ROUNDING, element_types=(i8,))
    assert exact.status == "proved"


def test_a_pass_is_proved_on_a_program() -> None:
    program = tx8ir.parse("""
module {
  func.func @main(%x: !pd.vtensor<4x3xf16>, %y: !pd.vtensor<3xf16>) -> !pd.vtensor<4x3xf16> {
    %0 = "pd.maximum"(%x, %y) : (!pd.vtensor<4x3xf16>, !pd.vtensor<3xf16>) -> !pd.vtensor<4x3xf16>
    %1 = "pd.maximum"(%x, %y) : (!pd.vtensor<4x3xf16>, !pd.vtensor<3xf16>) -> !pd.vtensor<4x3xf16>
    %2 = "pd.add"(%0, %1) : (!pd.vtensor<4x3xf16>, !pd.vtensor<4x3xf16>) -> !pd.vtensor<4x3xf16>
    return %2 : !pd.vtensor<4x3xf16>
  }
}
""")
    text = str(program)
    proof = prove("cse", program=program, rlimit=RLIMIT)
    assert proof.roundings == ROUNDINGS
    assert str(program) == text
    with pytest.raises(ProofError, match="changes none of the programs"):
        prove("canonicalize", program=program)
    with pytest.raises(TypeError, match="cse is a pass: prove needs program="):
        prove("cse")


def test_what_depends_on_shapes_is_refused() -> None:
    by_name = {rule.name: rule for rule in canonicalization_patterns()}
    with pytest.raises(ProofError, match=r"rule 'identity_reshape' is about pd\.reshape, which is not element-wise"):
        prove(by_name["identity_reshape"])
    sums = Rule("sum", Node(pd.SumOp, x), Make(pd.AddOp, x, x))
    with pytest.raises(ProofError, match=r"pd\.sum, which is not element-wise"):
        prove(sums)
    with pytest.raises(ProofError, match="guarantees FORMATS"):
        prove(sums, guarantee=NumericGuarantee.FORMATS)
    odd = Rule("odd", Node(pd.AddOp, x, Number("c", equals(12.5))), x)
    with pytest.raises(ProofError, match="never changes none of the programs"):
        prove(Rule("never", Node(pd.AddOp, x, y), x, where=[Constraint("never", lambda _: False)]))
    assert prove(odd, element_types=(f16,)).status == "refuted"
    partial = Rule("partial", Node(pd.EqualOp, x, x), Make(pd.LogicalNotOp, Make(pd.IsnanOp, x)))
    with pytest.raises(
        ProofError, match=r"partial raises on equal\(arg0, arg0\) with arg0: !pd\.vtensor<i8>: VerifyError"
    ):
        prove(partial, element_types=(i8,))
    with pytest.raises(ValueError, match="expected one or more of nearest-even"):
        prove(sums, roundings=[Rounding.STOCHASTIC])


def test_alternatives_and_attributes_are_all_tried() -> None:
    either = OneOf(Node(pd.ReluOp, Node(pd.ReluOp, x)), Node(pd.AbsOp, Node(pd.ReluOp, x)))
    proof = prove(Rule("either", either, Make(pd.ReluOp, x)), element_types=(f16,))
    assert (proof.status, proof.instances) == ("proved", 2)
    slopes = Rule(
        "slopes",
        Node(pd.LeakyReluOp, Node(pd.ReluOp, x), attributes={"negative_slope": Attr("s")}),
        Make(pd.ReluOp, x),
    )
    proof = prove(slopes, element_types=(f16,))
    assert proof.status == "proved"
    assert proof.instances > 3


# --- what it stands on -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("format", [F32, F16, BF16, TF32, I8, UI8, I32], ids=str)
def test_telling_numbers_are_all_different(format: Format) -> None:
    numbers = telling_numbers(format)
    assert numbers.size == (256 if format.bits == 8 else 300)
    bits = numbers.view(f"u{numbers.dtype.itemsize}")
    assert np.unique(bits).size == numbers.size
    if format.is_float:
        assert np.isnan(numbers.astype(np.float32)).any()
        assert np.isinf(numbers.astype(np.float32)).any()


def test_all_inputs_where_there_are_few() -> None:
    assert (grid((F16,)).count, grid((F16,)).is_complete) == (1 << 16, True)
    assert (grid((I8, UI8)).count, grid((I8, UI8)).is_complete) == (1 << 16, True)
    assert (grid((F16, F16)).count, grid((F16, F16)).is_complete) == (90_000, False)
    assert not grid((F32, F32, F32)).is_complete
    assert np.unique(every_number(F16).view(np.uint16)).size == 1 << 16


OPERATIONS = ["add", "subtract", "multiply", "divide"]


@pytest.mark.parametrize("rounding", ROUNDINGS)
@pytest.mark.parametrize("name", OPERATIONS)
def test_operations_round_once_in_every_mode(name: str, rounding: Rounding) -> None:
    """Against exact fractions: the result is next to the exact one, on the side that the mode says."""
    program = binary_program(name, f16)
    numbers = [v for v in telling_numbers(F16) if np.isfinite(v)][:60]
    pairs = [(a, b) for a in numbers for b in numbers if not (name == "divide" and b == 0)]
    left, right = (np.array(column, np.float16) for column in zip(*pairs, strict=True))
    found = evaluate_rounded(on_vectors(program), {"x": left, "y": right}, rounding).results["result0"]
    spacing = ulps(found.astype(np.float64), F16)
    for a, b, result, ulp in zip(left, right, found, spacing, strict=True):
        p, q = Fraction(float(a)), Fraction(float(b))
        exact = p + q if name == "add" else p - q if name == "subtract" else p * q if name == "multiply" else p / q
        if abs(exact) > 65504:
            assert not np.isfinite(result) or abs(result) == 65504
            continue
        error = Fraction(float(result)) - exact
        assert abs(error) < Fraction(ulp)
        if rounding is UP:
            assert error >= 0
        elif rounding is DOWN:
            assert error <= 0
        elif rounding is ZERO:
            assert abs(Fraction(float(result))) <= abs(exact)
        else:
            assert abs(error) <= Fraction(ulp) / 2


def binary_program(name: str, element: ScalarType) -> Program:
    kind = f"!pd.vtensor<{element}>"
    return tx8ir.parse(f"""
module {{
  func.func @main(%x: {kind}, %y: {kind}) -> {kind} attributes {{arg_names = ["x", "y"]}} {{
    %0 = "pd.{name}"(%x, %y) : ({kind}, {kind}) -> {kind}
    return %0 : {kind}
  }}
}}
""")


SHIPPED = (f16, i8, i1)
NOT_DOWNWARD = {"add_zero", "subtract_zero", "identity_scale"}
"""A sum of 0 and -0 is -0 when it is rounded downward: these rules are right in the mode of programs and the others."""


@pytest.mark.parametrize("rule", canonicalization_patterns(), ids=lambda rule: rule.name)
def test_every_canonicalization_of_elementwise_operations_is_right(rule: RewritePattern[Any]) -> None:
    if rule.name == "elementwise_of_transpose" or not any(rule.fits(kind) for kind in elementwise_ops()):
        with pytest.raises(ProofError, match=r"not element-wise|changes none of the programs"):
            prove(rule, element_types=(f16,))
        return
    proof = prove(rule, element_types=SHIPPED, rlimit=RLIMIT)
    assert proof.roundings == ROUNDINGS[: 3 if rule.name in NOT_DOWNWARD else 4], str(proof)
