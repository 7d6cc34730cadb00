"""Values of the graph by name at a stop: what the memories hold is what the interpreter computes."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import pytest

import tx8ir
from tx8ir.compiler import CompileOptions
from tx8ir.core import Operation, Value
from tx8ir.interpreter import Interpreter
from tx8ir.target.chip import TX8, Target
from tx8ir.testing import Inspector

NETWORK = """
module {
  func.func @main(%x: !pd.vtensor<ROWSx80xf32>, %w: !pd.vtensor<80x24xf32>) -> !pd.vtensor<ROWSx24xf32>
      attributes {arg_names = ["x", "w"], result_names = ["out"]} {
    %sum = "pd.add"(%x, %x) : (!pd.vtensor<ROWSx80xf32>, !pd.vtensor<ROWSx80xf32>) -> !pd.vtensor<ROWSx80xf32>
        loc("sum")
    %product = "pd.matmul"(%sum, %w) {transpose_x = false, transpose_y = false}
        : (!pd.vtensor<ROWSx80xf32>, !pd.vtensor<80x24xf32>) -> !pd.vtensor<ROWSx24xf32> loc("product")
    %out = "pd.softmax"(%product) {axis = 1 : i32} : (!pd.vtensor<ROWSx24xf32>) -> !pd.vtensor<ROWSx24xf32>
        loc("scores")
    return %out : !pd.vtensor<ROWSx24xf32>
  }
}
"""


def inspector(rows: int = 32, target: Target = TX8, **options: Any) -> Inspector:
    rng = np.random.default_rng(0)
    inputs = {"x": rng.standard_normal((rows, 80), np.float32), "w": rng.standard_normal((80, 24), np.float32)}
    source = tx8ir.parse(NETWORK.replace("ROWS", str(rows)))
    found = Inspector.compile(source, inputs, CompileOptions(**options), target)
    found.inputs = inputs  # type: ignore[attr-defined]
    return found


def references(inspected: Inspector) -> dict[Value, np.ndarray]:
    found: dict[Value, np.ndarray] = {}

    def remember(op: Operation, results: Any) -> None:
        for value, array in zip(op.results, results, strict=True):
            if hasattr(array, "shape"):
                found[value] = np.asarray(array)

    Interpreter(inspected.lowered, "native", remember).run(inspected.inputs)  # type: ignore[attr-defined]
    return found


@pytest.mark.parametrize("grouping", ["fused", "single"])
@pytest.mark.parametrize("spm", [None, 16 << 10])
def test_at_every_instruction_what_is_held_is_what_the_interpreter_computes(grouping: str, spm: int | None) -> None:
    """With 16 KiB of scratch-pad the tiles take several iterations."""
    target = TX8 if spm is None else attrs.evolve(TX8, spm_allocatable=(0x10000, 0x10000 + spm))
    inspected = inspector(512 if spm else 32, target, opt_group=grouping)
    expected = references(inspected)
    seen: set[tuple[str, str]] = set()
    parts: set[bool] = set()
    while inspected.debugger.current is not None:
        inspected.debugger.step(2 if spm is None else 11)
        for name, places in inspected._places.items():
            for place in places:
                for memory in ("SPM", "DDR"):
                    held = inspected._held(place, memory)
                    if held is None:
                        continue
                    reference = expected[place.value].reshape(held.shape)
                    np.testing.assert_allclose(
                        held.compressed(), reference[~np.ma.getmaskarray(held)], rtol=2e-5, atol=2e-5
                    )
                    seen.add((name, memory))
                    parts.add(bool(np.ma.getmaskarray(held).any()))
    assert {memory for _, memory in seen} == {"SPM", "DDR"}
    assert {"sum", "product", "scores"} <= {name.rpartition(" ")[2].partition("_")[0] for name, _ in seen}
    assert spm is None or parts == {False, True}


def test_a_value_is_shown_by_its_name_at_a_stop() -> None:
    inspected = inspector()
    with pytest.raises(ValueError, match='no element of "scores" is in memory at this point'):
        inspected.value("scores")
    inspected.debugger.break_on("Softmax")
    inspected.debugger.run()
    product = next(name for name in inspected.names if name.startswith("product") and _is_held(inspected, name))
    x, w = inspected.inputs["x"], inspected.inputs["w"]  # type: ignore[attr-defined]
    np.testing.assert_allclose(inspected.value(f"%{product}"), (x + x) @ w, rtol=0, atol=1e-4)
    inspected.debugger.finish()
    np.testing.assert_allclose(inspected.value("scores", "DDR").sum(axis=1), 1.0, rtol=1e-5)
    np.testing.assert_array_equal(inspected.value("out", "DDR"), inspected.value("scores", "DDR"))


def _is_held(inspected: Inspector, name: str) -> bool:
    try:
        return inspected.value(name, "SPM").shape == (32, 24)
    except ValueError:
        return False


def test_a_name_that_is_not_there_is_answered_with_those_that_are_like_it() -> None:
    with pytest.raises(ValueError, match=r'there is no value "score"; did you mean scores.*\?'):
        inspector().value("score")
    with pytest.raises(ValueError, match=r'there is no value "banana"; see Inspector\.names'):
        inspector().value("banana")


def test_it_shows_where_it_stands_and_what_is_held() -> None:
    inspected = inspector()
    inspected.debugger.break_on("Softmax")
    inspected.debugger.run()
    text, html = str(inspected), inspected._repr_html_()
    assert 'breakpoint at "Softmax"' in text
    assert "values in memory" in text
    assert "100 %" in text
    assert html.count("<table") == html.count("</table>") == 1
