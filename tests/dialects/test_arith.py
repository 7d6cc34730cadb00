"""arith: every operation against a formula on Python numbers, its text through xDSL, its folds against evaluation."""

from __future__ import annotations

import itertools
import math
import operator
import subprocess
import sys
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from support.samples import detached, goes_to_the_peer_and_back, program_of, reads_back, samples
from tx8ir.core import (
    Block,
    BoolAttr,
    Builder,
    ConditionallySpeculatable,
    FloatAttr,
    IntAttr,
    ParseError,
    VerifyError,
    VTensorType,
    f16,
    f32,
    f64,
    i1,
    i8,
    i16,
    i32,
    i64,
    parse,
    parse_op,
    print_op,
    structurally_equal,
)
from tx8ir.core.attrs.builtin_types import IndexType, array_type, element_of, integer_format
from tx8ir.dialects import arith
from tx8ir.dialects.samples import Sample
from tx8ir.interpreter import EvaluationError, evaluate, evaluate_operation
from tx8ir.passes import PassManager
from tx8ir.rewriting.greedy import fold_operation, materialize_constant

OPS: list[Any] = list(arith.DIALECT.ops.values())
each_op = pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)


# --- text ------------------------------------------------------------------------------------------------------------


@each_op
def test_samples_are_valid_and_their_text_reads_back(op: Any) -> None:
    assert samples(op)
    program = program_of(op)
    reads_back(program)
    assert f'"{op.name}"' not in print_op(program.module, short=True)


# xDSL's arith lacks two operations, tensors in most casts and comparisons, and some more.
_NUMBERS_ONLY = frozenset(
    ["cmpi", "cmpf", "extsi", "extui", "trunci", "sitofp", "uitofp", "fptosi", "fptoui", "index_cast"]
)  # fmt: skip
_UNKNOWN = frozenset({"arith.remf", "arith.index_castui"})


def peer_takes(sample: Sample) -> bool:
    name = sample.op.name.removeprefix("arith.")
    if name == "addui_extended":
        return not isinstance(sample.types[0], IndexType)
    if name == "select":
        return not hasattr(sample.types[0], "shape")
    return name not in _NUMBERS_ONLY or not hasattr(sample.types[0], "shape")


@pytest.mark.slow
@each_op
def test_they_go_to_the_peer_in_both_forms_and_back(op: Any) -> None:
    goes_to_the_peer_and_back(program_of(op, peer_takes), unknown=op.name in _UNKNOWN)


LINES = """
%c = arith.constant 42 : i32
%t = arith.constant true
%f = arith.constant {note = "x"} 0.5 : f32
%i = arith.constant -1 : index
%d = arith.constant dense<[1, 2]> : vector<2xindex>
%0 = arith.addi %c, %c overflow<nsw, nuw> : i32
%1 = arith.addf %f, %f fastmath<nnan, contract> : f32
%2 = arith.negf %f fastmath<fast> : f32
%3 = arith.cmpi slt, %c, %c : i32
%4 = arith.cmpf oeq, %f, %f fastmath<nnan> : f32
%5 = arith.select %t, %c, %c : i32
%6 = arith.extui %c nneg : i32 to i64
%7 = arith.index_castui %i nneg : index to i8
%8 = arith.trunci %c overflow<nsw> : i32 to i8
%s, %o = arith.addui_extended %c, %c : i32, i1
%l, %h = arith.mulsi_extended %c, %c : i32
%9 = arith.addi %d, %d : vector<2xindex>
"""


def test_lines_of_mlir_are_read_and_written_as_they_are() -> None:
    module = parse_op(LINES)
    written = print_op(module, short=True)
    for line in LINES.strip().splitlines():
        said = line.split(" = ")[1].split("(")[0].split()[0]
        assert said in written
    for piece in ("overflow<nsw, nuw>", "fastmath<nnan, contract>", "fastmath<fast>", "cmpi slt, ", "constant true",
                  "cmpf oeq, ", " nneg : i32 to i64", "constant -1 : index", ": i32, i1"):  # fmt: skip
        assert piece in written, piece
    assert structurally_equal(module, parse_op(written)) is None
    assert structurally_equal(module, parse_op(print_op(module, generic=True))) is None


def test_flags_that_are_left_out_stay_out() -> None:
    op = parse_op('func.func @f(%x: i32) {\n  %0 = "arith.addi"(%x, %x) : (i32, i32) -> i32\n  return\n}')
    assert '"arith.addi"(%arg0, %arg0) : ' in print_op(op, short=True)
    assert structurally_equal(op, parse_op(print_op(op, short=True))) is None


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("%0 = arith.cmpi lt, %x, %x : i32", "expected one of eq, ne, slt"),
        ("%0 = arith.addi %x, %x overflow<nsv> : i32", "has no flag 'nsv'; its flags are: none, nsw, nuw"),
        ("%0 = arith.addi %x, %x overflow<> : i32", "a flag"),
        ("%0 = arith.constant 3 : si32", "a signless integer, a float or elements"),
        ('%0 = arith.constant "x"', "a signless integer, a float or elements"),
    ],
)
def test_an_error_says_what_was_expected(line: str, message: str) -> None:
    with pytest.raises(ParseError, match=message):
        parse_op(f"func.func @f(%x: i32) {{\n{line}\nreturn\n}}")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('%0 = "arith.addi"(%x, %f) : (i32, f32) -> i32', "arith.addi"),
        ('%0 = "arith.addf"(%x, %x) : (i32, i32) -> i32', "float like"),
        ('%0 = "arith.cmpi"(%x, %x) {predicate = 10 : i64} : (i32, i32) -> i1', "predicate 10 of arith.cmpi is none"),
        ('%0 = "arith.cmpi"(%x, %x) {predicate = 1 : i64} : (i32, i32) -> tensor<i1>', "arith.cmpi"),
        ("%0 = arith.extsi %x : i32 to i32", "is to a type of more bits"),
        ("%0 = arith.trunci %x : i32 to i64", "is to a type of fewer bits"),
        ("%0 = arith.truncf %f : f32 to f64", "is to a type of fewer bits"),
        ("%0 = arith.sitofp %x : i32 to tensor<2xf32>", "keeps the shape"),
        ("%0 = arith.index_cast %x : i32 to i64", "is from or to index"),
        ("%0 = arith.bitcast %x : i32 to f64", "keeps the bits"),
        ("%0 = arith.extsi %x : i32 to index", "more bits"),
        ("%0 = arith.select %t, %x, %x : tensor<1xi1>, i32", "has a condition"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(line: str, message: str) -> None:
    condition = "tensor<1xi1>" if "tensor<1xi1>" in line else "i1"
    program = parse(f"func.func @f(%x: i32, %f: f32, %t: {condition}) {{\n{line}\nreturn\n}}")
    with pytest.raises(VerifyError, match=message):
        program.verify()


def test_importing_tx8ir_does_not_load_it() -> None:
    code = "import sys, tx8ir, tx8ir.dialects; print(any('arith' in name for name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


# --- values ----------------------------------------------------------------------------------------------------------


def wrap(number: int, width: int) -> int:
    """The low bits, as a signed number."""
    low = number % (1 << width)
    return low - (1 << width) if width > 1 and low >= 1 << (width - 1) else low


def _signed(number: int, width: int) -> int:
    return -number if width == 1 else number


def _unsigned(number: int, width: int) -> int:
    return number % (1 << width)


SIGNED: dict[str, Callable[[int, int], int]] = {
    "addi": operator.add,
    "subi": operator.sub,
    "muli": operator.mul,
    "andi": operator.and_,
    "ori": operator.or_,
    "xori": operator.xor,
    "maxsi": max,
    "minsi": min,
    "divsi": lambda x, y: math.trunc(Fraction(x, y)),
    "floordivsi": lambda x, y: math.floor(Fraction(x, y)),
    "ceildivsi": lambda x, y: math.ceil(Fraction(x, y)),
    "remsi": lambda x, y: x - y * math.trunc(Fraction(x, y)),
}
UNSIGNED: dict[str, Callable[[int, int], int]] = {
    "maxui": max,
    "minui": min,
    "divui": operator.floordiv,
    "ceildivui": lambda x, y: math.ceil(Fraction(x, y)),
    "remui": operator.mod,
}
TYPES: tuple[Any, ...] = (i1, i8, i16, i32, i64, IndexType())
INTEGER = (*SIGNED, *UNSIGNED, "shli", "shrui", "shrsi", "addui_extended", "mulsi_extended", "mului_extended")


def numbers(width: int) -> tuple[int, ...]:
    if width == 1:
        return (0, 1)
    edge = 1 << (width - 1)
    return tuple(dict.fromkeys((0, 1, -1, 2, -2, 3, 7, -8, width, width - 1, -edge, edge - 1, edge // 3, -edge // 5)))


def expected(name: str, x: int, y: int, width: int) -> tuple[int, ...]:
    sx, sy, ux, uy = _signed(x, width), _signed(y, width), _unsigned(x, width), _unsigned(y, width)
    if name in SIGNED:
        return (wrap(SIGNED[name](sx, sy), width),)
    if name in UNSIGNED:
        return (wrap(UNSIGNED[name](ux, uy), width),)
    if name.startswith("sh"):
        number = {"shli": ux << uy % width, "shrui": ux >> uy % width, "shrsi": sx >> uy % width}[name]
        return (wrap(number, width) if uy < width else 0,)
    if name == "addui_extended":
        return wrap(ux + uy, width), int(ux + uy >= 1 << width)
    product = sx * sy if name == "mulsi_extended" else ux * uy
    return wrap(product, width), wrap(product >> width, width)


def pairs(name: str, width: int) -> Iterator[tuple[int, int]]:
    for x, y in itertools.product(numbers(width), repeat=2):
        divides = "div" in name or name.startswith("rem")
        overflows = (
            name in ("divsi", "floordivsi", "ceildivsi") and _signed(y, width) == -1 and x in (-(1 << (width - 1)), 1)
        )
        if not (divides and y == 0) and not (overflows and (width == 1 or x < 0)):
            yield x, y


def made(name: str, *types: Any, **attributes: Any) -> Any:
    return arith.DIALECT.ops[f"arith.{name}"](*Block(types).args, **attributes)


def tensor(type: Any, count: int) -> Any:
    from tx8ir.core.attrs.builtin_types import tensor_type

    return tensor_type((count,), type)


def stored(values: Any, type: Any) -> np.ndarray:
    held = array_type(type)
    assert held is not None
    return np.array(values, held.element.dtype)


@pytest.mark.parametrize("type", TYPES, ids=str)
@pytest.mark.parametrize("name", INTEGER)
def test_integers_are_those_of_the_formula(name: str, type: Any) -> None:
    width = integer_format(type)[0]
    given = list(pairs(name, width))
    tensors = tensor(type, len(given))
    results = evaluate_operation(made(name, tensors, tensors), [stored([p[k] for p in given], type) for k in (0, 1)])
    wanted = [expected(name, x, y, width) for x, y in given]
    for place, array in enumerate(results):
        assert array.astype(object).tolist() == [row[place] for row in wanted]
    x, y = given[-1]
    alone = evaluate_operation(made(name, type, type), [stored(x, type), stored(y, type)])
    assert [int(a) for a in alone] == list(wanted[-1])


@pytest.mark.parametrize("name", ["divsi", "floordivsi", "ceildivsi", "divui", "ceildivui", "remsi", "remui"])
def test_a_division_that_is_undefined_fails_and_is_not_folded_or_moved(name: str) -> None:
    op = made(name, i32, i32)
    assert op.interface(ConditionallySpeculatable).can_fail()
    with pytest.raises(EvaluationError, match="divided by 0"):
        evaluate_operation(op, [stored(1, i32), stored(0, i32)])
    assert op.fold([IntAttr(1, i32), IntAttr(0, i32)]) is None
    least, minus_one = -(1 << 31), -1
    if name.endswith("divsi"):
        with pytest.raises(EvaluationError, match="does not fit"):
            evaluate_operation(op, [stored(least, i32), stored(minus_one, i32)])
    elif name == "remsi":
        assert evaluate_operation(op, [stored(least, i32), stored(minus_one, i32)])[0] == 0
    by = {
        number: arith.DIALECT.ops[op.name](op.lhs, arith.constant(value=IntAttr(number, i32))) for number in (0, -1, 3)
    }
    fails = {n: o.interface(ConditionallySpeculatable).can_fail() for n, o in by.items()}
    assert fails == {0: True, -1: name.endswith("divsi"), 3: False}


INTEGER_RELATIONS = {"eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le,
                     "gt": operator.gt, "ge": operator.ge}  # fmt: skip


@pytest.mark.parametrize("type", TYPES, ids=str)
@pytest.mark.parametrize("predicate", arith.INTEGER_PREDICATES)
def test_integers_compare(predicate: str, type: Any) -> None:
    width = integer_format(type)[0]
    given = list(itertools.product(numbers(width), repeat=2))
    tensors = tensor(type, len(given))
    op = made("cmpi", tensors, tensors, predicate=arith.INTEGER_PREDICATES.index(predicate))
    (found,) = evaluate_operation(op, [stored([p[k] for p in given], type) for k in (0, 1)])
    seen = _unsigned if predicate.startswith("u") else _signed
    relation = INTEGER_RELATIONS[predicate[-2:]]
    assert found.tolist() == [relation(seen(x, width), seen(y, width)) for x, y in given]


FLOATS = (0.0, -0.0, 1.0, -1.5, 3.25, math.inf, -math.inf, math.nan, 1e-3, 6e4)


@pytest.mark.parametrize("predicate", arith.FLOAT_PREDICATES)
def test_floats_compare(predicate: str) -> None:
    op = made("cmpf", f32, f32, predicate=arith.FLOAT_PREDICATES.index(predicate))
    for x, y in itertools.product(FLOATS, repeat=2):
        unordered = math.isnan(x) or math.isnan(y)
        if predicate in ("true", "false"):
            wanted = predicate == "true"
        elif predicate in ("ord", "uno"):
            wanted = unordered == (predicate == "uno")
        else:
            wanted = predicate[0] == "u" if unordered else INTEGER_RELATIONS[predicate[1:]](x, y)
        (found,) = evaluate_operation(op, [np.float32(x), np.float32(y)])
        assert (found.dtype, bool(found)) == (np.bool_, wanted), (x, y)


def _extremum(choose: Callable[..., float], nan_wins: bool) -> Callable[[float, float], float]:
    def of(x: float, y: float) -> float:
        if math.isnan(x) or math.isnan(y):
            return math.nan if nan_wins or (math.isnan(x) and math.isnan(y)) else y if math.isnan(x) else x
        return choose(x, y, key=lambda n: (n, math.copysign(1, n)))

    return of


FLOAT_FORMULAS: dict[str, Callable[[float, float], float]] = {
    "addf": operator.add,
    "subf": operator.sub,
    "mulf": operator.mul,
    "divf": lambda x, y: float(np.float64(x) / np.float64(y)),
    "remf": lambda x, y: math.nan if math.isinf(x) or y == 0 or math.isnan(x + y) else math.fmod(x, y),
    "maximumf": _extremum(max, nan_wins=True),
    "minimumf": _extremum(min, nan_wins=True),
    "maxnumf": _extremum(max, nan_wins=False),
    "minnumf": _extremum(min, nan_wins=False),
}


@pytest.mark.parametrize("type", [f64, f32, f16], ids=str)
@pytest.mark.parametrize("name", FLOAT_FORMULAS)
def test_floats_are_those_of_the_formula_rounded_once(name: str, type: Any) -> None:
    for x, y in itertools.product(FLOATS, repeat=2):
        given = [np.array(n, type.dtype) for n in (x, y)]
        (found,) = evaluate_operation(made(name, type, type), given)
        with np.errstate(all="ignore"):
            wanted = np.array(FLOAT_FORMULAS[name](*map(float, given)), np.float64).astype(type.dtype)
        np.testing.assert_array_equal(found, wanted, err_msg=f"{x} {y}")
        assert math.isnan(float(found)) or np.signbit(found) == np.signbit(wanted), (x, y)


CASTS: tuple[tuple[str, Any, Any, float, float], ...] = (
    ("extsi", i1, i8, 1, -1),
    ("extui", i1, i8, 1, 1),
    ("extsi", i8, i32, -3, -3),
    ("extui", i8, i32, -3, 253),
    ("trunci", i32, i8, 200, -56),
    ("trunci", i32, i1, 2, 0),
    ("sitofp", i1, f32, 1, -1.0),
    ("uitofp", i1, f32, 1, 1.0),
    ("uitofp", i8, f32, -1, 255.0),
    ("sitofp", i64, f32, (1 << 62) + (1 << 38) + 1, float((1 << 62) + (1 << 39))),  # just above a tie
    ("sitofp", i64, f32, -(1 << 62) - (1 << 38) - 1, -float((1 << 62) + (1 << 39))),
    ("sitofp", i64, f32, (1 << 62) + (1 << 38), float(1 << 62)),  # a tie, to even
    ("uitofp", i64, f32, -1, float(1 << 64)),
    ("sitofp", i64, f64, (1 << 53) + 1, float(1 << 53)),
    ("fptosi", f32, i8, -128.9, -128),
    ("fptosi", f32, i8, 128.0, 0),
    ("fptosi", f32, i32, math.nan, 0),
    ("fptoui", f32, i8, 255.9, -1),
    ("fptoui", f32, i8, -0.9, 0),
    ("fptoui", f64, i64, float(1 << 63), -(1 << 63)),
    ("extf", f16, f32, 0.5, 0.5),
    ("truncf", f32, f16, 65520.0, math.inf),
    ("bitcast", f32, i32, 1.0, 0x3F800000),
    ("bitcast", i16, f16, 0x3C00, 1.0),
    ("index_cast", IndexType(), i8, 200, -56),
    ("index_cast", i8, IndexType(), -3, -3),
    ("index_castui", i8, IndexType(), -3, 253),
)


@pytest.mark.parametrize(("name", "source", "target", "given", "wanted"), CASTS)
def test_casts(name: str, source: Any, target: Any, given: float, wanted: float) -> None:
    (found,) = evaluate_operation(made(name, source, out=target), [stored(given, source)])
    assert found.item() == wanted


def test_every_operation_has_a_formula() -> None:
    tested = {*INTEGER, *FLOAT_FORMULAS, *(case[0] for case in CASTS), "cmpi", "cmpf", "constant", "select", "negf"}
    assert {f"arith.{name}" for name in tested} == set(arith.DIALECT.ops)


def test_select_and_negf_and_constant() -> None:
    pair = VTensorType((2,), f32)
    x, y = np.array([1, 2], np.float32), np.array([3, 4], np.float32)
    by_one = made("select", i1, pair, pair)
    assert evaluate_operation(by_one, [np.array(False), x, y])[0].tolist() == [3, 4]
    by_each = made("select", VTensorType((2,), i1), pair, pair)
    assert evaluate_operation(by_each, [np.array([True, False]), x, y])[0].tolist() == [1, 4]
    assert np.signbit(evaluate_operation(made("negf", f32), [np.float32(0)])[0])
    assert evaluate_operation(arith.constant(value=FloatAttr(0.1, f16)), [])[0] == np.float16(0.1)


# --- programs and folding --------------------------------------------------------------------------------------------

PROGRAM = """
func.func @main(%a: i32, %b: i32, %f: f32) -> (i32, f32, index) attributes {arg_names = ["a", "b", "f"]} {
  %less = arith.cmpi slt, %a, %b : i32
  %sum = arith.addi %a, %b : i32
  %chosen = arith.select %less, %sum, %a : i32
  %float = arith.sitofp %chosen : i32 to f32
  %scaled = arith.mulf %float, %f : f32
  %index = arith.index_cast %chosen : i32 to index
  return %chosen, %scaled, %index : i32, f32, index
}
"""


def test_a_program_of_numbers_runs() -> None:
    inputs = {"a": np.int32(2), "b": np.int32(3), "f": np.float32(0.5)}
    found = evaluate(parse(PROGRAM), inputs)
    assert [(a.dtype, a.shape, a.item()) for a in found.values()] == [
        (np.int32, (), 5), (np.float32, (), 2.5), (np.int64, (), 5),
    ]  # fmt: skip
    with pytest.raises(EvaluationError, match=r"input 'a' has shape \[1\]"):
        evaluate(parse(PROGRAM), {**inputs, "a": np.zeros(1, np.int32)})


@pytest.mark.parametrize("op", [op for op in OPS if op is not arith.constant], ids=lambda op: op.name)
def test_folding_constants_gives_what_evaluating_does(op: Any) -> None:
    rng = np.random.default_rng(3)
    folded = 0
    for sample in samples(op):
        kinds = [array_type(t) for t in sample.types]
        if any(k is None or not k.is_static or k.shape for k in kinds):
            continue
        arrays = [np.asarray(rng.integers(1, 2 if k.element is i1 else 6)).astype(k.element.dtype) for k in kinds if k]
        made_ = detached(sample)
        constants = [arith.constants.attribute_of(a, t) for a, t in zip(arrays, sample.types, strict=True)]
        if None in constants or len(made_.results) != 1:
            continue
        made_.set_operands([arith.constant(value=c).out for c in constants])
        found = fold_operation(made_)
        (wanted,) = evaluate_operation(made_, arrays)
        assert found is not None
        value = found.value if not hasattr(found, "owner") else evaluate_operation(found.owner, ())[0]
        assert np.asarray(value).item() == wanted.item(), sample
        if not hasattr(found, "owner"):
            constant = materialize_constant(found, made_.results[0].type, made_)
            assert constant is not None
            assert constant.name == "arith.constant"
        folded += 1
    assert folded or op.name.endswith("_extended")


FOLDS = (
    ("arith.addi %x, %zero : i32", "%x"),
    ("arith.addi %zero, %x : i32", "%x"),
    ("arith.subi %x, %x : i32", "0"),
    ("arith.muli %x, %zero : i32", "0"),
    ("arith.andi %x, %ones : i32", "%x"),
    ("arith.ori %x, %ones : i32", "-1"),
    ("arith.xori %x, %x : i32", "0"),
    ("arith.shli %x, %zero : i32", "%x"),
    ("arith.select %c, %x, %x : i32", "%x"),
    ("arith.select %yes, %x, %zero : i32", "%x"),
)


@pytest.mark.parametrize(("line", "wanted"), FOLDS)
def test_identities(line: str, wanted: str) -> None:
    program = parse(f"""func.func @main(%x: i32, %c: i1) -> i32 {{
  %zero = arith.constant 0 : i32
  %ones = arith.constant -1 : i32
  %yes = arith.constant true
  %r = {line}
  return %r : i32
}}""")
    PassManager.parse("canonicalize").run(program)
    assert not [op for op in program.module.walk() if op.name not in (
        "builtin.module", "func.func", "func.return", "arith.constant")]  # fmt: skip
    (given,) = (op.operands[0] for op in program.module.walk() if op.name == "func.return")
    if wanted == "%x":
        assert given is program.main.body.block.args[0]
    else:
        assert given.defining_op.value is IntAttr(int(wanted), i32)


def test_a_zero_of_the_other_sign_is_no_identity_of_a_sum() -> None:
    for number, folds in ((0.0, False), (-0.0, True)):
        block = Block([f32])
        with Builder.at_end(block):
            op = arith.addf(block.args[0], arith.constant(value=FloatAttr(number, f32)))
        assert (fold_operation(op) is not None) == folds


def test_flags_are_a_set() -> None:
    assert arith.FastMathAttr(("contract", "nnan")) is arith.FastMathAttr(("nnan", "contract"))
    assert arith.FastMathAttr(arith.FastMathAttr.flags) is arith.FastMathAttr("fast")
    assert str(arith.OverflowAttr()) == "#arith.overflow<none>"
    assert element_of(i32) is i32
    assert BoolAttr(True).value
