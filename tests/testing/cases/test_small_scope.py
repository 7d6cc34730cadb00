"""All programs of one and two operations: valid, evaluated without error, the same every time, what is new first."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable
from typing import Any

import pytest

from tx8ir.core import Builder, FunctionType, IrError, Program, bf16
from tx8ir.dialects import func, pd
from tx8ir.dialects.samples import Sample, samples_of
from tx8ir.interpreter import evaluate
from tx8ir.testing.cases.small_scope import ONE, PAIRS, Candidate, Position, features_of, programs, sampled_ops
from tx8ir.testing.domains import input_domains
from tx8ir.testing.guidance.direction import ANYTHING, Direction
from tx8ir.testing.inputs import draw_inputs


def first(count: int, direction: Direction = ANYTHING, **given: Any) -> list[Candidate]:
    return list(itertools.islice(programs(direction, **given), count))


@functools.cache
def early() -> list[Candidate]:
    """The first programs of all, enumerated once."""
    return first(2300)


def texts(candidates: list[Candidate]) -> list[str]:
    return [f"{c.ops} {c.wiring}\n{c.program}" for c in candidates]


def test_programs_are_the_same_every_time() -> None:
    assert texts(first(300)) == texts(early()[:300])


def test_programs_go_on_from_a_position() -> None:
    candidates = early()[:120]
    for place in (0, 1, 57, 118):
        following = first(119 - place, start=candidates[place].position)
        assert texts(following) == texts(candidates[place + 1 :])


def test_positions_ascend() -> None:
    positions = [c.position for c in early()[:200]]
    assert positions == sorted(positions)


def test_each_part_of_the_space_is_reached_from_its_start() -> None:
    for stratum in range(2, 6):
        found = first(20, start=Position(stratum, 0))
        assert len(found) == 20


def _evaluated(candidates: Iterable[Candidate]) -> None:
    for candidate in candidates:
        candidate.program.verify()
        for flavour in ("ordinary", "special"):
            evaluate(candidate.program, draw_inputs(candidate.program, 0, flavour))


def test_programs_are_valid_and_evaluate() -> None:
    _evaluated(early()[::7])


def test_programs_far_on_are_valid_and_evaluate() -> None:
    for stratum in range(3, 6):
        _evaluated(itertools.islice(programs(start=Position(stratum, 1234)), 150))


@pytest.mark.nightly
def test_many_programs_are_valid_and_evaluate() -> None:
    _evaluated(itertools.islice(programs(), 20_000))
    for stratum in range(3, 6):
        _evaluated(itertools.islice(programs(start=Position(stratum, 4321)), 5_000))


def test_every_operation_and_every_wiring_is_met_early() -> None:
    """Three hundred programs have each operation, a thousand each wiring."""
    found = early()[:1000]
    seen = frozenset().union(*(c.features for c in found[:300]))
    assert {op.name for op in sampled_ops()} <= seen
    assert {c.wiring for c in found} == {w.__name__ for w in (*ONE, *PAIRS)}


def test_what_samples_show_is_met_early() -> None:
    """Of all features, each an attribute, an element type, a rank of some operation: a program shows one or two new."""
    seen = frozenset().union(*(c.features for c in early()))
    shown = frozenset().union(*(features_of(s) for op in sampled_ops() for s in samples_of(op)))
    assert len(shown) >= 3000
    assert len(shown & seen) >= 0.5 * len(shown)


class FewReluOp(pd.ReluOp, name="test.few_relu"):
    """An operation with two samples."""


class FewAddOp(pd.AddOp, name="test.few_add"):
    """An operation of two operands with two samples."""


class FewTransposeOp(pd.TransposeOp, name="test.few_transpose"):
    """A view with two samples."""


FEW = (FewReluOp, FewAddOp, FewTransposeOp)


@pytest.fixture(autouse=True)
def _two_samples_each(monkeypatch: pytest.MonkeyPatch) -> None:
    for op in FEW:
        two = tuple(itertools.islice(samples_of(op), 2))
        monkeypatch.setattr(op, "samples", lambda two=two: iter(two))


def _chain(s: Sample, t: Sample) -> Program | None:
    """The second on the result of the first, written by hand."""
    inputs = list(s.types)
    (result,) = s.result_types
    rest = list(t.types[1:])
    if t.types[0] is not result:
        rest = [result] * len(rest)
        t = t.with_types([result, *rest])
    program = Program.empty()
    with Builder.at_end(program.body):
        main = func.FuncOp(sym_name="main", function_type=FunctionType([*inputs, *rest], ()))
    with Builder.at_end(main.body.block):
        args = main.body.block.args
        made = s.build(args[: len(inputs)])
        second = t.build([made.results[0], *args[len(inputs) :]])
        func.ReturnOp(second.results)
    main.set_attribute("function_type", FunctionType([*inputs, *rest], [r.type for r in second.results]))
    program.verify()
    return program


def test_the_enumeration_is_the_product() -> None:
    """Chains of three operations with two samples each: those of the enumeration are those of two loops."""
    naive: set[str] = set()
    for a, b in itertools.product(FEW, FEW):
        for s, t in itertools.product(samples_of(a), samples_of(b)):
            try:
                naive.add(str(_chain(s, t)))
            except IrError:  # the second does not take the result of the first
                continue
    found = {str(c.program) for c in programs(ops=FEW) if c.wiring == "chain_0"}
    assert found == naive
    assert len(naive) >= 20


def test_the_enumeration_ends_and_has_every_wiring_that_fits() -> None:
    candidates = list(programs(ops=(FewAddOp,)))
    wirings = {c.wiring for c in candidates}
    not_for_one_result = {"chain_2", "chain_of_last_result", "unused_in_part"}
    assert {w.__name__ for w in (*ONE, *PAIRS)} - wirings == not_for_one_result


# --- direction -------------------------------------------------------------------------------------------------------


def test_operations_of_a_direction_come_first() -> None:
    direction = Direction(ops=frozenset({"pd.relu", "pd.pad"}))
    found = first(150, direction)
    assert all(set(c.ops) <= direction.ops for c in found)
    assert {("pd.relu", "pd.pad"), ("pd.pad", "pd.relu"), ("pd.pad",), ("pd.relu", "pd.relu")} <= {c.ops for c in found}


def test_pairs_with_one_of_a_direction_come_next() -> None:
    direction = Direction(ops=frozenset({"pd.relu", "pd.pad"}))
    found = first(400, direction, start=Position(1, 0))
    assert all(set(c.ops) & direction.ops for c in found)
    assert len({name for c in found for name in c.ops}) > 50


def test_numbers_of_a_direction_are_attributes_and_constants() -> None:
    direction = Direction(ops=frozenset({"pd.scale", "pd.multiply"}), numbers=(0.7071,))
    found = texts(first(200, direction))
    assert any("scale = 0.7071 :" in text for text in found)
    assert any("bias = 0.7071 :" in text for text in found)
    assert any("dense<0.7071> :" in text for text in found)


def test_attributes_of_a_direction_are_tried() -> None:
    direction = Direction(ops=frozenset({"pd.transpose", "pd.cast"}), attributes=(("perm", (1, 0)), ("axis", 3)))
    assert any("perm = array<i64: 1, 0>" in text for text in texts(first(60, direction)))


def test_element_types_of_a_direction_come_first() -> None:
    direction = Direction(element_types=frozenset({bf16}))
    assert "bf16" in str(first(1, direction)[0].program)


# --- domains ---------------------------------------------------------------------------------------------------------


def domains(text: str) -> dict[str, tuple[int | None, int | None]]:
    import tx8ir

    return {name: (d.low, d.high) for name, d in input_domains(tx8ir.parse(text)).items()}


def test_indices_are_drawn_inside_the_table_through_views_casts_and_calls() -> None:
    text = """
    module {
      func.func @main(%i: !pd.vtensor<2x1xi64>, %w: $W) -> !pd.vtensor<2x3xf32> {
        %0 = "pd.cast"(%i) {dtype = i32} : (!pd.vtensor<2x1xi64>) -> !pd.vtensor<2x1xi32>
        %1 = "func.call"(%0, %w) {callee = @f} : (!pd.vtensor<2x1xi32>, !pd.vtensor<5x3xf32>) -> !pd.vtensor<2x3xf32>
        return %1 : !pd.vtensor<2x3xf32>
      }
      func.func @f(%i: !pd.vtensor<2x1xi32>, %w: $W) -> !pd.vtensor<2x3xf32> {
        %0 = "pd.reshape"(%i) {shape = array<i64: 2>} : (!pd.vtensor<2x1xi32>) -> !pd.vtensor<2xi32>
        %1 = "pd.embedding"(%0, %w) {padding_idx = -1 : i64} : (!pd.vtensor<2xi32>, $W) -> !pd.vtensor<2x3xf32>
        return %1 : !pd.vtensor<2x3xf32>
      }
    }
    """.replace("$W", "!pd.vtensor<5x3xf32>")
    assert domains(text) == {"arg0": (0, 4)}


def test_indices_are_drawn_inside_through_branches_and_loops() -> None:
    text = """
    module {
      func.func @main(%c: !pd.vtensor<i1>, %i: $I, %j: $I, %w: !pd.vtensor<3x2xf32>) -> !pd.vtensor<2x2xf32> {
        %0 = "scf.if"(%c) ({
          "scf.yield"(%i) : (!pd.vtensor<2xi32>) -> ()
        }, {
          "scf.yield"(%j) : (!pd.vtensor<2xi32>) -> ()
        }) : (!pd.vtensor<i1>) -> !pd.vtensor<2xi32>
        %1 = "scf.while"(%0) ({
        ^bb0(%a: !pd.vtensor<2xi32>):
          "scf.condition"(%c, %a) : (!pd.vtensor<i1>, !pd.vtensor<2xi32>) -> ()
        }, {
        ^bb0(%b: !pd.vtensor<2xi32>):
          "scf.yield"(%b) : (!pd.vtensor<2xi32>) -> ()
        }) : (!pd.vtensor<2xi32>) -> !pd.vtensor<2xi32>
        %2 = "pd.gather"(%w, %1) {axis = 0 : i64} : (!pd.vtensor<3x2xf32>, !pd.vtensor<2xi32>) -> !pd.vtensor<2x2xf32>
        return %2 : !pd.vtensor<2x2xf32>
      }
    }
    """.replace("$I", "!pd.vtensor<2xi32>")
    assert domains(text) == {"arg1": (0, 2), "arg2": (0, 2)}
