"""Leaving out steps by number, and finding by halves the first one that is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import attrs
import numpy as np
import pytest
from typer.testing import CliRunner

import tx8ir
from tx8ir.cli.app import app
from tx8ir.core import IrError, Operation, Program
from tx8ir.dialects import pd
from tx8ir.passes import (
    DebugCounter,
    OperationPass,
    PassError,
    PassManager,
    find_wrong_step,
    register_pass,
    same_results,
)
from tx8ir.passes import base as pass_base
from tx8ir.rewriting import Rewriter, pattern, rewrite_greedily

COUNT = 12


def exponentials(count: int = COUNT) -> Program:
    """A chain of operations: exp(relu(exp(…)))."""
    lines = ["module {", "  func.func @main(%0: !pd.vtensor<4xf32>) -> !pd.vtensor<4xf32> {"]
    kinds = ["tanh", "relu"]
    for i in range(count):
        lines.append(f'    %{i + 1} = "pd.{kinds[i % 2]}"(%{i}) : (!pd.vtensor<4xf32>) -> !pd.vtensor<4xf32>')
    lines += [f"    return %{count} : !pd.vtensor<4xf32>", "  }", "}"]
    return tx8ir.parse("\n".join(lines))


@pattern(pd.TanhOp)
def tanh_to_sigmoid(op: pd.TanhOp, rewriter: Rewriter) -> bool:
    """Wrong, but for the test's own inputs below the first relu."""
    rewriter.replace(op, rewriter.insert(pd.sigmoid(op.x)))
    return True


@pattern(pd.ReluOp)
def relu_to_maximum(op: pd.ReluOp, rewriter: Rewriter) -> bool:
    """Right."""
    zero = rewriter.insert(pd.full(shape=(), value=0.0))
    rewriter.replace(op, rewriter.insert(pd.maximum(op.x, zero)))
    return True


@attrs.frozen
class Rewrites(OperationPass):
    """A right pattern everywhere, a wrong one too."""

    name: ClassVar[str] = "test-rewrites"

    def run_on(self, root: Operation, program: Program) -> None:
        rewrite_greedily(root, [tanh_to_sigmoid, relu_to_maximum])


@attrs.frozen
class DropLast(OperationPass):
    """Wrong by itself, without a pattern."""

    name: ClassVar[str] = "test-drop-last"

    raises: bool = False

    def run_on(self, root: Operation, program: Program) -> None:
        if self.raises:
            raise IrError("there is nothing to drop")
        end = program.main.body.block.terminator
        assert end is not None
        last = end.operands[0].defining_op
        assert last is not None
        last.replace_with([last.operands[0]])


@pytest.fixture(autouse=True)
def _registered() -> Iterator[None]:
    before = dict(pass_base.all_passes())
    register_pass(Rewrites)
    register_pass(DropLast)
    yield
    pass_base._REGISTRY.clear()
    pass_base._REGISTRY.update(before)


def names(program: Program) -> list[str]:
    return [op.name.removeprefix("pd.") for op in program.main.body.block][:-1]


def rewritten(counters: str, pipeline: str = "test-rewrites") -> list[str]:
    program = exponentials(4)
    with DebugCounter.parse(counters).active():
        PassManager.parse(pipeline).run(program)
    return names(program)


@pytest.mark.parametrize(
    ("counters", "expected"),
    [
        ("pattern-count=0", ["tanh", "relu", "tanh", "relu"]),
        ("pattern-skip=2,pattern-count=1", ["tanh", "relu", "sigmoid", "relu"]),
        ("pattern-skip=1,pattern-count=1", ["tanh", "full", "maximum", "tanh", "relu"]),
        ("tanh_to_sigmoid-count=1", ["sigmoid", "full", "maximum", "tanh", "full", "maximum"]),
        ("pattern-count=2,tanh_to_sigmoid-count=0", ["tanh", "full", "maximum", "tanh", "relu"]),
        ("pass-skip=1", ["tanh", "relu", "tanh", "relu"]),
        ("test-rewrites-count=0", ["tanh", "relu", "tanh", "relu"]),
    ],
)
def test_steps_are_left_out_by_number(counters: str, expected: list[str]) -> None:
    assert rewritten(counters) == expected


def test_folds_are_counted_too() -> None:
    program = tx8ir.parse("""
module {
  func.func @main(%x: i32) -> (i32, i32) {
    %zero = arith.constant 0 : i32
    %0 = arith.addi %x, %zero : i32
    %1 = arith.subi %x, %zero : i32
    return %0, %1 : i32, i32
  }
}
""")
    counter = DebugCounter.parse("fold-count=1", "pattern-count=0")
    with counter.active():
        PassManager.parse("canonicalize").run(program)
    assert names(program) == ["arith.constant", "arith.subi"]
    assert counter.counters["fold"].taken == 1
    assert str(counter).splitlines()[0] == "   tried     taken  counter"


def test_nothing_is_asked_outside_of_the_block() -> None:
    counter = DebugCounter.parse("pass-count=0")
    with counter.active():
        pass
    program = exponentials(4)
    PassManager.parse("test-rewrites").run(program)
    assert "sigmoid" in names(program)
    assert counter.counters["pass"].asked == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("pattern", "a debug counter is NAME-skip=N or NAME-count=N, not 'pattern'"),
        ("pattern-skip=1,x-stop=2", "not 'x-stop=2'"),
        ("pattern-skip=-1", "a debug counter counts from 0; -1 is given for pattern-skip"),
    ],
)
def test_a_text_that_is_no_counter(text: str, message: str) -> None:
    with pytest.raises(PassError, match=message):
        DebugCounter.parse(text)


def test_on_the_command_line(tmp_path) -> None:
    source = tmp_path / "in.mlir"
    source.write_text(str(exponentials(4)))
    done = CliRunner().invoke(app, ["opt", str(source), "-p", "test-rewrites", "--debug-counter=pattern-count=1"])
    assert done.exit_code == 0
    assert done.stdout.count("pd.sigmoid") == 1
    assert done.stderr.splitlines()[-1].split() == ["4", "1", "pattern"]


# --- bisecting -------------------------------------------------------------------------------------------------------

INPUTS = {"arg0": np.array([-1.0, 0.5, 2.0, 30.0], np.float32)}


@pytest.mark.parametrize("wrong", range(0, COUNT, 2))
def test_the_first_wrong_application_is_found(wrong: int) -> None:
    """The pattern is wrong at one operation only, wherever that is."""
    program = exponentials()
    target = list(program.main.body.block)[wrong]
    target.set_attribute("wrong", True)

    @pattern(pd.TanhOp)
    def sometimes(op: pd.TanhOp, rewriter: Rewriter) -> bool:
        if "wrong" in op.attributes:
            return tanh_to_sigmoid(op, rewriter)
        if "seen" in op.attributes:
            return False
        rewriter.set_attribute(op, "seen", True)
        return True

    class Sometimes(Rewrites):
        def run_on(self, root: Operation, program: Program) -> None:
            rewrite_greedily(root, [sometimes, relu_to_maximum])

    text = str(program)
    found = find_wrong_step(program, PassManager([Sometimes()]), same_results(program, INPUTS))
    assert found is not None
    assert (found.kind, found.name) == ("pattern", "sometimes")
    assert "wrong = true" in found.operation
    assert found.before.count("pd.sigmoid") == 0
    assert found.after.count("pd.sigmoid") == 1
    assert f"step {found.index} of {found.total}, pattern 'sometimes', is the first that makes" in str(found)
    assert str(program) == text


def test_a_pass_that_is_wrong_by_itself_is_found() -> None:
    program = exponentials(5)
    manager = PassManager.parse("canonicalize,func.func(cse,dce),test-drop-last,topological-sort")
    found = find_wrong_step(program, manager, same_results(program, INPUTS))
    assert found is not None
    assert (found.kind, found.name, found.error) == ("pass", "test-drop-last", None)
    assert found.before.count("pd.tanh") == found.after.count("pd.tanh") + 1


def test_an_exception_is_wrong() -> None:
    program = exponentials()
    manager = PassManager.parse("canonicalize,test-drop-last{raises=true},dce")
    found = find_wrong_step(program, manager, same_results(program, INPUTS))
    assert found is not None
    assert found.name == "test-drop-last"
    assert "PassError: pass 'test-drop-last': there is nothing to drop" in str(found)


def test_what_is_right_in_the_end_and_what_is_wrong_at_the_start() -> None:
    program = exponentials()
    assert find_wrong_step(program, PassManager.parse("canonicalize,cse"), same_results(program, INPUTS)) is None
    with pytest.raises(ValueError, match="wrong before the first step"):
        find_wrong_step(program, PassManager.parse("cse"), lambda _: False)


def test_it_takes_as_many_runs_as_the_number_of_steps_has_bits() -> None:
    program = exponentials(200)
    asked = 0
    right = same_results(program, INPUTS, rtol=1e-6)

    def oracle(other: Program) -> bool:
        nonlocal asked
        asked += 1
        return right(other)

    found = find_wrong_step(program, PassManager.parse("test-rewrites"), oracle)
    assert found is not None
    assert found.index == 2  # after the pass itself
    assert asked <= found.total.bit_length() + 4
