"""`group-partition`: by patterns and at least cost; the same values, never more cycles than the ops apart."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support import nests
from support.nest_graphs import graph, misses
from tx8ir.backend.grouping.patterns import Pattern, PatternError, Trie, parse_patterns, read_patterns
from tx8ir.compiler import CompileOptions, lower
from tx8ir.compiler import compile as compile_program
from tx8ir.core import Program, VTensorType, f32
from tx8ir.dialects import pd, tx8be
from tx8ir.interpreter import evaluate
from tx8ir.sim import time_program

Fixture = Callable[..., Any]
PARTED = "schedule-groups"


def t(*shape: int) -> VTensorType:
    return VTensorType(shape, f32)


def w(*shape: int) -> np.ndarray:
    return np.random.default_rng(5).standard_normal(shape).astype(np.float32)


def kinds(program: Program) -> list[list[str]]:
    """The ops that compute of each group that runs."""
    moves = (tx8be.LoadVarOp, tx8be.LoadConstOp, tx8be.StoreVarOp, tx8be.ReturnOp, tx8be.NoneOp, tx8be.ChannelNormOp)
    return [
        [op.name.removeprefix("tx8be.") for op in group.body.block if not isinstance(op, moves)]
        for group in nests.groups(program) if group.group_tag != 2
    ]  # fmt: skip


def parted(program: Program, way: Any = "optimal", **options: Any) -> list[list[str]]:
    return kinds(lower(program, CompileOptions(opt_group=way, **options), through="group-partition"))


def block(x: Any, p: Any) -> Any:
    """A sum that is normalised and read again."""
    y = pd.add(x, pd.tanh(x)).out
    z = pd.layer_norm(y, p("g"), p("b"), begin_norm_axis=1).out
    return pd.add(y, z)


BLOCK: dict[str, Any] = {"inputs": {"x": t(64, 128)}, "weights": {"g": w(128), "b": w(128)}}


def test_a_value_with_several_readers_stays_where_all_are(build_program: Fixture) -> None:
    program = build_program(block, **BLOCK)
    (found,) = parted(program)
    assert sorted(found) == ["Add", "Add", "LayerNorm", "Tanh"]


def test_a_group_stores_what_others_read(build_program: Fixture) -> None:
    """The sum is a result as well: the group stores two values, and neither is computed or loaded twice."""

    def both(x: Any, p: Any) -> Any:
        y = pd.add(x, pd.tanh(x)).out
        return y, pd.layer_norm(y, p("g"), p("b"), begin_norm_axis=1).out

    program = build_program(both, **BLOCK)
    made = compile_program(program, options=CompileOptions(opt_group="optimal"))
    lowered = lower(program, CompileOptions(opt_group="optimal"), through="group-partition")
    (group,) = nests.groups(lowered)
    assert [op.name for op in group.body.block].count("tx8be.LoadVar") == 1
    assert len(group.outs) == 2
    x = np.random.default_rng(0).standard_normal((64, 128)).astype(np.float32)
    got, exact = made.run({"x": x}), evaluate(program, {"x": x}, "fp64")
    for name, value in exact.items():
        np.testing.assert_allclose(got[name], value, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("seed", range(6))
def test_the_same_values_in_no_more_cycles(seed: int) -> None:
    program = graph(seed)
    made = {way: compile_program(program, options=CompileOptions(opt_group=way)).program
            for way in ("single", "patterns", "optimal")}  # fmt: skip
    for one in made.values():
        assert misses(program, one, seed) is None
    cycles = {way: time_program(one).cycles for way, one in made.items()}
    assert cycles["optimal"] <= 1.02 * min(cycles.values())


def test_patterns_say_what_becomes_a_group(build_program: Fixture, tmp_path: Path) -> None:

    def chain(x: Any, p: Any) -> Any:
        return pd.exp(pd.abs(pd.tanh(x)))

    program = build_program(chain, {"x": t(64, 128)})
    file = tmp_path / "patterns.txt"
    file.write_text("1: Tanh Abs\n", encoding="utf-8")
    assert parted(program, "patterns", opt_patterns=str(file), opt_graph="required") == [["Tanh", "Abs"], ["Exp"]]
    file.write_text("1: Tanh Abs\n1: Tanh Abs Exp # the longest\n", encoding="utf-8")
    assert parted(program, "patterns", opt_patterns=str(file), opt_graph="required") == [["Tanh", "Abs", "Exp"]]


def test_a_pattern_does_not_take_what_waits_for_others(build_program: Fixture, tmp_path: Path) -> None:
    """`Tanh` and `Add` together would both be before and after `Abs`."""

    def crossing(x: Any, p: Any) -> Any:
        y = pd.tanh(x).out
        return pd.add(y, pd.exp(pd.abs(y)))

    program = build_program(crossing, {"x": t(64, 128)})
    file = tmp_path / "patterns.txt"
    file.write_text("1: Tanh Add\n", encoding="utf-8")
    assert len(parted(program, "patterns", opt_patterns=str(file), opt_graph="required")) == 4


class TestPatterns:
    def test_alternatives_and_repetitions(self) -> None:
        found = parse_patterns("7: Relu * Add OR Gemm  # a comment\n\n")
        repeated = [Pattern(("Relu",) * n + ("Add",), 7) for n in range(1, 6)]
        assert found == [*repeated, Pattern(("Gemm",), 7)]

    def test_a_trie_has_the_highest_priority_of_equal_patterns(self) -> None:
        trie = Trie([Pattern(("Relu", "Add"), 1), Pattern(("Relu", "Add"), 5), Pattern(("Relu",), 3)])
        end = trie.after(["Relu", "Add"])
        assert end is not None
        assert end.priority == 5
        assert trie.after(["Add"]) is None

    @pytest.mark.parametrize(
        ("line", "message"),
        [
            ("Relu Add", "p.txt:2: expected 'priority: kinds of ops', got 'Relu Add'"),
            ("high: Relu", "p.txt:2: expected 'priority: kinds of ops'"),
            ("1: Relo", "p.txt:2:3: no op is called 'Relo'; do you mean 'Relu'?"),
            ("1: * Relu", "p.txt:2:3: '*' repeats nothing"),
            ("1: Relu OR", "p.txt:2:3: an alternative has no ops"),
        ],
    )
    def test_a_line_that_is_none(self, line: str, message: str) -> None:
        with pytest.raises(PatternError) as caught:
            parse_patterns(f"# comment\n{line}\n", "p.txt")
        assert caught.value.message.startswith(message)

    def test_a_file_that_is_not_there(self, tmp_path: Path) -> None:
        with pytest.raises(PatternError, match="patterns cannot be read: No such file"):
            read_patterns(tmp_path / "none.txt")
