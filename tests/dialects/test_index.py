"""index: operations against formulas, their text, what they fold to."""

from __future__ import annotations

import itertools
import math
import operator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from support.samples import goes_to_the_peer_and_back, program_of, reads_back
from tx8ir.core import Block, ConditionallySpeculatable, IntAttr, VerifyError, i8, parse, parse_op, print_op
from tx8ir.core.attrs.builtin_types import IndexType
from tx8ir.dialects import index
from tx8ir.interpreter import EvaluationError, evaluate_operation
from tx8ir.passes import PassManager
from tx8ir.rewriting.greedy import fold_operation

OPS: list[Any] = list(index.DIALECT.ops.values())


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_text_reads_back_and_goes_to_the_peer_and_back(op: Any) -> None:
    program = program_of(op)
    reads_back(program)
    goes_to_the_peer_and_back(program, unknown=True)  # xDSL has no such dialect


def test_lines_of_mlir_are_written_as_they_are() -> None:
    lines = (
        "index.constant 42",
        "index.ceildivs %0, %arg0",
        "index.cmp slt(%1, %arg0)",
        "index.casts %1 : index to i32",
        "index.castu %arg1 : i64 to index",
        "index.bool.constant true",
        "index.sizeof",
    )
    body = "\n".join(f"  %{n} = {line}" for n, line in enumerate(lines))
    text = f"func.func @f(%arg0: index, %arg1: i64) {{\n{body}\n  return\n}}"
    assert print_op(parse_op(text), short=True) == text


def _unsigned(function: Any) -> Any:
    return lambda x, y: function(x % (1 << 64), y % (1 << 64))


FORMULAS: dict[str, Any] = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "and": operator.and_, "or": operator.or_,
    "xor": operator.xor, "maxs": max, "mins": min, "maxu": _unsigned(max), "minu": _unsigned(min),
    "divs": lambda x, y: math.trunc(Fraction(x, y)), "divu": _unsigned(operator.floordiv),
    "ceildivs": lambda x, y: math.ceil(Fraction(x, y)), "ceildivu": _unsigned(lambda x, y: -(-x // y)),
    "floordivs": operator.floordiv, "rems": lambda x, y: x - y * math.trunc(Fraction(x, y)),
    "remu": _unsigned(operator.mod), "shl": lambda x, y: x << y if 0 <= y < 64 else 0,
    "shrs": lambda x, y: x >> y if 0 <= y < 64 else 0, "shru": lambda x, y: x % (1 << 64) >> y if 0 <= y < 64 else 0,
}  # fmt: skip


@pytest.mark.parametrize("name", FORMULAS)
def test_numbers_are_those_of_the_formula(name: str) -> None:
    op = index.DIALECT.ops[f"index.{name}"](*Block([IndexType()] * 2).args)
    numbers = (0, 1, -1, 3, -5, 64, (1 << 63) - 1, -(1 << 63))
    for x, y in itertools.product(numbers, numbers):
        fails = op.interface(ConditionallySpeculatable) is not None and (
            y == 0 or (name.endswith("divs") and y == -1 and x == numbers[-1])
        )
        if fails:
            with pytest.raises(EvaluationError):
                evaluate_operation(op, [np.int64(x), np.int64(y)])
            continue
        (found,) = evaluate_operation(op, [np.int64(x), np.int64(y)])
        assert int(found) % (1 << 64) == FORMULAS[name](x, y) % (1 << 64), (x, y)


def test_every_operation_has_a_formula() -> None:
    others = {"cmp", "casts", "castu", "sizeof", "constant", "bool.constant"}
    assert {f"index.{name}" for name in {*FORMULAS, *others}} == set(index.DIALECT.ops)


def test_comparisons_and_casts() -> None:
    block = Block([IndexType(), IndexType(), i8])
    less = index.cmp(*block.args[:2], pred=index.Predicate.SLT)
    assert evaluate_operation(less, [np.int64(-1), np.int64(0)])[0]
    less.pred = index.Predicate.ULT
    assert not evaluate_operation(less, [np.int64(-1), np.int64(0)])[0]
    assert evaluate_operation(index.casts(block.args[2], out=IndexType()), [np.int8(-1)])[0] == -1
    assert evaluate_operation(index.castu(block.args[2], out=IndexType()), [np.int8(-1)])[0] == 255
    assert evaluate_operation(index.sizeof(), [])[0] == 64
    assert fold_operation(index.sizeof()) is None


def test_constants_fold_to_constants_of_the_dialect() -> None:
    program = parse("""func.func @main(%x: index) -> (index, i1, i1, index) {
  %0 = index.constant 6
  %1 = index.constant 7
  %2 = index.mul %0, %1
  %3 = index.cmp ult(%0, %1)
  %4 = index.cmp eq(%x, %x)
  %5 = index.divs %x, %0
  return %2, %3, %4, %5 : index, i1, i1, index
}""")
    assert not program.main.body.block.last_op.operands[3].defining_op.interface(ConditionallySpeculatable).can_fail()
    PassManager.parse("canonicalize").run(program)
    text = print_op(program.module, short=True)
    assert "index.constant 42" in text
    assert text.count("index.bool.constant true") >= 1
    assert "index.cmp" not in text


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('%0 = "index.add"(%x, %i) : (index, i64) -> index', "expected index"),
        ('%0 = "index.constant"() {value = 3 : i64} : () -> index', "a number of type index"),
        ("%0 = index.casts %i : i64 to i32", "from or to index"),
    ],
)
def test_what_does_not_fit_is_refused(line: str, message: str) -> None:
    with pytest.raises(VerifyError, match=message):
        parse(f"func.func @f(%x: index, %i: i64) {{\n{line}\nreturn\n}}").verify()


def test_a_value_of_one_type_only_needs_none_said() -> None:
    assert index.constant(value=IntAttr(3, IndexType())).out.type is IndexType()
