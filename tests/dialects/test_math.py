"""math: every operation against a formula, its text through xDSL, its folds against evaluation."""

from __future__ import annotations

import itertools
import math
import subprocess
import sys
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.samples import detached, goes_to_the_peer_and_back, program_of, reads_back, samples
from tx8ir.core import (
    Block,
    ConditionallySpeculatable,
    ParseError,
    VerifyError,
    f16,
    f32,
    f64,
    i8,
    i32,
    i64,
    parse,
    parse_op,
    print_op,
)
from tx8ir.core.attrs.builtin_types import array_type
from tx8ir.dialects import arith
from tx8ir.dialects import math as dialect
from tx8ir.interpreter import EvaluationError, evaluate_operation
from tx8ir.passes import PassManager
from tx8ir.rewriting.greedy import fold_operation

OPS: list[Any] = list(dialect.DIALECT.ops.values())
each_op = pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)

# Operations that xDSL does not have.
UNKNOWN = frozenset({"math.clampf", "math.erfc", "math.isfinite", "math.isinf", "math.isnan", "math.isnormal",
                     "math.sincos"})  # fmt: skip


@each_op
def test_text_reads_back(op: Any) -> None:
    reads_back(program_of(op))


@pytest.mark.slow
@each_op
def test_they_go_to_the_peer_in_both_forms_and_back(op: Any) -> None:
    goes_to_the_peer_and_back(program_of(op), unknown=op.name in UNKNOWN)


def test_lines_of_mlir_are_written_as_they_are() -> None:
    lines = (
        "math.exp %arg0 fastmath<nnan> : f32",
        "math.atan2 %arg0, %arg0 : f32",
        "math.fma %arg0, %arg0, %arg0 fastmath<fast> : f32",
        "math.clampf %arg0 to [%arg0, %arg0] : f32",
        "math.fpowi %arg0, %arg1 : f32, i32",
        "math.isnan %arg0 : f32",
        "math.ctlz %arg1 : i32",
        "math.ipowi %arg1, %arg1 : i32",
    )
    body = "\n".join(f"  %{n} = {line}" for n, line in enumerate(lines))
    text = f"func.func @f(%arg0: f32, %arg1: i32) {{\n{body}\n  %8:2 = math.sincos %arg0 : f32\n  return\n}}"
    assert print_op(parse_op(text), short=True) == text


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("%0 = math.exp %i : i32", "float like"),
        ("%0 = math.ctpop %f : f32", "signless integer like"),
        ("%0 = math.fpowi %f, %t : f32, tensor<2xi32>", "of one shape"),
        ('%0 = "math.isnan"(%f) {fastmath = #arith.fastmath<none>} : (f32) -> f32', "math.isnan|i1"),
    ],
)
def test_what_does_not_fit_is_refused(line: str, message: str) -> None:
    with pytest.raises((VerifyError, ParseError), match=message):
        parse(f"func.func @f(%f: f32, %i: i32, %t: tensor<2xi32>) {{\n{line}\nreturn\n}}").verify()


def test_importing_tx8ir_does_not_load_it() -> None:
    code = "import sys, tx8ir, tx8ir.dialects; print([n for n in sys.modules if n.startswith('tx8ir.dialects.')])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


# --- values ----------------------------------------------------------------------------------------------------------


def value(name: str, *numbers: Any, type: Any = f32, types: Any = None) -> Any:
    given_types = types or (type,) * len(numbers)
    op = dialect.DIALECT.ops[f"math.{name}"](*Block(given_types).args)
    arrays = [np.array(n, array_type(t).element.dtype) for n, t in zip(numbers, given_types, strict=True)]
    found = evaluate_operation(op, arrays)
    return found[0] if len(found) == 1 else found


# Formulas by other functions than those that the operations use, where there is one; inverses elsewhere.
FORMULAS: dict[str, tuple[Any, tuple[float, ...]]] = {
    "absf": (lambda x: -x if x < 0 else x, (-2.5, 2.5, -math.inf)),
    "acos": (lambda x: math.atan2(math.sqrt(1 - x * x), x), (-1.0, -0.3, 0.0, 0.8, 1.0)),
    "acosh": (lambda x: math.log(x + math.sqrt(x * x - 1)), (1.0, 1.5, 40.0)),
    "asin": (lambda x: math.atan2(x, math.sqrt(1 - x * x)), (-1.0, -0.3, 0.8, 1.0)),
    "asinh": (lambda x: math.log(x + math.sqrt(x * x + 1)), (0.3, 1.0, 40.0)),
    "atan": (lambda x: math.atan2(x, 1), (-3.0, 0.5, math.inf)),
    "atanh": (lambda x: 0.5 * math.log((1 + x) / (1 - x)), (-0.5, 0.25, 0.9)),
    "cbrt": (lambda x: math.copysign(abs(x) ** (1 / 3), x), (-8.0, 0.1, 27.0)),
    "ceil": (lambda x: -(-x // 1), (-1.5, 1.5, 2.0)),
    "cos": (lambda x: 1 - 2 * math.sin(x / 2) ** 2, (-3.0, 0.5, 40.0)),
    "cosh": (lambda x: (math.exp(x) + math.exp(-x)) / 2, (-3.0, 0.5)),
    "erf": (lambda x: 1 - math.erfc(x), (-2.0, 0.5, 1.0)),
    "erfc": (lambda x: 1 - math.erf(x), (-2.0, 0.5, 1.0)),
    "exp": (math.exp, (-3.0, 0.5, 10.0)),
    "exp2": (lambda x: math.pow(2, x), (-3.5, 0.5, 10.0)),
    "expm1": (math.expm1, (-3.0, 1e-7, 10.0)),
    "floor": (lambda x: x // 1, (-1.5, 1.5, 2.0)),
    "log": (math.log, (0.5, 10.0)),
    "log10": (math.log10, (0.5, 1000.0)),
    "log1p": (math.log1p, (1e-7, 10.0)),
    "log2": (math.log2, (0.5, 10.0)),
    "round": (lambda x: math.copysign(math.floor(abs(x) + 0.5), x), (-2.5, -0.4, 0.5, 1.5, 2.4)),
    "roundeven": (round, (-2.5, -0.4, 0.5, 1.5, 2.6)),
    "rsqrt": (lambda x: x**-0.5, (0.25, 3.0)),
    "sin": (lambda x: 2 * math.sin(x / 2) * math.cos(x / 2), (-3.0, 0.5, 40.0)),
    "sinh": (lambda x: (math.exp(x) - math.exp(-x)) / 2, (-3.0, 0.5)),
    "sqrt": (lambda x: x**0.5, (0.25, 3.0)),
    "tan": (lambda x: math.sin(x) / math.cos(x), (-3.0, 0.5)),
    "tanh": (lambda x: math.expm1(2 * x) / (math.expm1(2 * x) + 2), (-3.0, 0.5)),
    "trunc": (lambda x: math.copysign(abs(x) // 1, x), (-1.5, 1.5)),
}


@pytest.mark.parametrize("type", [f64, f32, f16], ids=str)
@pytest.mark.parametrize("name", FORMULAS)
def test_functions_of_one_float(name: str, type: Any) -> None:
    formula, numbers = FORMULAS[name]
    for number in numbers:
        x = np.array(number, type.dtype)
        wanted = np.array(float(formula(float(x))))
        np.testing.assert_allclose(
            np.float64(value(name, x, type=type)), wanted, rtol=2 * float(np.finfo(type.dtype).eps), atol=1e-15
        )


def test_values_at_the_edges_are_those_of_ieee_754() -> None:
    for name, number, wanted in (
        ("log", 0.0, -math.inf), ("log2", 0.0, -math.inf), ("log10", 0.0, -math.inf), ("log1p", -1.0, -math.inf),
        ("log", -1.0, math.nan), ("sqrt", -1.0, math.nan), ("acos", 2.0, math.nan), ("atanh", 1.0, math.inf),
        ("rsqrt", 0.0, math.inf), ("exp", 1e9, math.inf), ("sinh", -1e9, -math.inf), ("cosh", 1e9, math.inf),
        ("exp2", 1e9, math.inf), ("expm1", -1e9, -1.0), ("tanh", math.inf, 1.0), ("cbrt", -math.inf, -math.inf),
    ):  # fmt: skip
        np.testing.assert_array_equal(value(name, number, type=f64), wanted, err_msg=name)
    for name in ("round", "roundeven", "trunc", "ceil"):
        assert np.signbit(value(name, -0.25))
    assert value("round", np.float32(0.49999997)) == 0


def test_functions_of_several_floats() -> None:
    assert value("atan2", 1.0, -1.0, type=f64) == pytest.approx(3 * math.pi / 4)
    assert np.signbit(value("copysign", 2.0, -0.0))
    assert value("powf", -2.0, 3.0) == -8
    assert np.isnan(value("powf", -2.0, 0.5))
    assert value("fpowi", 2.0, -3, types=(f32, i32)) == 0.125
    assert [value("clampf", n, -1.0, 1.0) for n in (-3.0, 0.5, 3.0)] == [-1, 0.5, 1]
    assert np.isnan(value("clampf", math.nan, -1.0, 1.0))
    sine, cosine = value("sincos", 0.5)
    assert (sine, cosine) == (value("sin", 0.5), value("cos", 0.5))


def test_kinds_of_floats() -> None:
    subnormal = float(np.finfo(np.float16).smallest_subnormal)
    for name, kinds in (("isfinite", "1110"), ("isinf", "0001"), ("isnan", "0000"), ("isnormal", "1000")):
        found = [value(name, n, type=f16) for n in (1.0, 0.0, subnormal, -math.inf)]
        assert "".join("01"[bool(f)] for f in found) == kinds, name
    assert value("isnan", math.nan)
    assert value("isnormal", subnormal, type=f32)


floats_32 = st.floats(width=32, allow_nan=False, allow_infinity=False)


@given(floats_32, floats_32, floats_32)
def test_fma_is_rounded_once(x: float, y: float, z: float) -> None:
    exact = Fraction(x) * Fraction(y) + Fraction(z)
    if abs(exact) > float(np.finfo(np.float32).max):
        return
    found = value("fma", x, y, z)
    error = abs(Fraction(float(found)) - exact)
    with np.errstate(over="ignore"):
        for neighbour in (np.nextafter(found, np.float32(np.inf)), np.nextafter(found, np.float32(-np.inf))):
            assert np.isinf(neighbour) or error <= abs(Fraction(float(neighbour)) - exact)
    if abs(exact) < 1e300:
        assert value("fma", x, y, z, type=f64) == (float(exact) if exact else x * y + z)


def test_integers_are_those_of_the_formula() -> None:
    for number in (0, 1, -1, 5, -128, 127, 96):
        bits = format(number % 256, "08b")
        assert value("ctpop", number, type=i8) == bits.count("1")
        assert value("ctlz", number, type=i8) == len(bits) - len(bits.lstrip("0"))
        assert value("cttz", number, type=i8) == len(bits) - len(bits.rstrip("0"))
        assert value("absi", number, type=i8) == (abs(number) if number != -128 else -128)
    for base, power in itertools.product((-3, -1, 1, 2, 7), (-3, -2, 0, 1, 5, 63, (1 << 62) + 1)):
        wanted = pow(base, power, 1 << 64) if power >= 0 else int(Fraction(base) ** power)
        assert int(value("ipowi", base, power, type=i64)) % (1 << 64) == wanted % (1 << 64)


def test_a_negative_power_of_zero_fails_and_is_not_moved() -> None:
    with pytest.raises(EvaluationError, match="negative power"):
        value("ipowi", 0, -1, type=i32)
    op = dialect.ipowi(*Block([i32, i32]).args)
    assert op.interface(ConditionallySpeculatable).can_fail()
    three = arith.constant(value=arith.constants.attribute_of(np.int32(3), i32))
    assert not dialect.ipowi(op.lhs, three).interface(ConditionallySpeculatable).can_fail()
    assert not dialect.ipowi(three, op.rhs).interface(ConditionallySpeculatable).can_fail()


def test_every_operation_has_a_formula() -> None:
    others = "atan2 copysign powf fpowi clampf sincos isfinite isinf isnan isnormal fma ctpop ctlz cttz absi ipowi"
    assert {f"math.{name}" for name in (*FORMULAS, *others.split())} == set(dialect.DIALECT.ops)


# --- folding ---------------------------------------------------------------------------------------------------------


@each_op
def test_folding_constants_gives_what_evaluating_does(op: Any) -> None:
    for sample in samples(op):
        if any(hasattr(t, "shape") for t in sample.types):
            continue
        made = detached(sample)
        arrays = [np.asarray([3, 2, 1][n]).astype(array_type(t).element.dtype) for n, t in enumerate(sample.types)]
        pairs = zip(arrays, sample.types, strict=True)
        made.set_operands([arith.constant(value=arith.constants.attribute_of(a, t)).out for a, t in pairs])
        found = fold_operation(made)
        if len(made.results) > 1:
            continue
        assert found is not None
        given_ = found.value if not hasattr(found, "owner") else evaluate_operation(found.owner, ())[0]
        np.testing.assert_array_equal(float(given_), float(evaluate_operation(made, arrays)[0]))


def test_identities() -> None:
    program = parse("""func.func @main(%x: f32) -> (f32, f32, f32) {
  %one = arith.constant 1.0 : f32
  %0 = math.absf %x : f32
  %1 = math.absf %0 : f32
  %2 = math.powf %x, %one : f32
  %3 = math.copysign %x, %x : f32
  return %1, %2, %3 : f32, f32, f32
}""")
    PassManager.parse("canonicalize").run(program)
    (x,) = program.main.body.block.args
    given_ = program.main.body.block.last_op.operands
    assert [v is x for v in given_] == [False, True, True]
    assert [op.name for op in program.main.body.block] == ["math.absf", "func.return"]
