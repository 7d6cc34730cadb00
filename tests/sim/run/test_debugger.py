"""The debugger: stop at an instruction, an operation or a condition; step; see operands and memory in their layouts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tx8ir.core import Builder, Program
from tx8ir.dialects import tx8
from tx8ir.sim import Debugger, Interleaved
from tx8ir.target.chip import TX8
from tx8ir.target.formats import F32
from tx8ir.target.layout import pack


@pytest.fixture
def bench(tools: Any) -> Any:
    """X (blocked) -> Relu, in place -> Sum over C -> y, on tiles 0 and 1; instructions 0 to 3."""
    bench = tools.Bench((0, 1))
    bench.x = np.arange(-8, 8, dtype=np.float32).reshape(2, 1, 1, 2, 4)
    bench.src, bench.dst = bench.put_tensor(bench.x, "f32"), bench.room(256)
    bench.do(tx8.unary, function="relu", src=bench.src, dst=bench.src, count=8, format="f32", source="Relu node")
    fields = {"function": "sum", "axis": "C", "shape": (1, 1, 2, 4), "format": "f32", "source": "Sum node"}
    bench.do(tx8.reduce, src=bench.src, dst=bench.dst, **fields)
    bench.get(bench.dst, 32)
    bench.build()
    return bench


def test_it_stops_at_an_instruction_an_operation_and_a_condition(bench: Any) -> None:
    debugger = Debugger(bench.program, bench._inputs)
    assert (debugger.stop, debugger.current.index) == ("start", 0)
    debugger.break_at(2)
    debugger.break_on("Relu")
    debugger.break_when(lambda d: d.executed == 3, "the third")
    stops = []
    while debugger.run() is not None:
        stops.append((debugger.current.index, debugger.stop))
    assert stops == [
        (1, 'breakpoint at "Relu"'),
        (2, "breakpoint at instruction 2"),
        (3, "breakpoint at the third"),
    ]
    assert (debugger.stop, debugger.current, debugger.executed) == ("end", None, 4)


def test_a_condition_may_look_at_values(bench: Any) -> None:
    debugger = Debugger(bench.program, bench._inputs)
    debugger.step()
    debugger.break_when(lambda d: bool((d.spm(0, bench.src[0], (1, 1, 2, 4), layout="NCx") >= 0).all()), "no negatives")
    stopped = debugger.run()
    assert stopped is not None
    assert stopped.index == 2  # right after the relu


def test_breakpoints_that_can_never_be_met_are_refused(bench: Any) -> None:
    debugger = Debugger(bench.program, bench._inputs)
    with pytest.raises(ValueError, match="there is no instruction 4; the program has 4"):
        debugger.break_at(4)
    with pytest.raises(ValueError, match='no instruction has "Softmax"'):
        debugger.break_on("Softmax")
    debugger.break_at(1)
    debugger.clear()
    assert debugger.run() is None


def test_operands_are_shown_in_their_layout_before_and_after_a_step(bench: Any) -> None:
    debugger = Debugger(bench.program, bench._inputs)
    debugger.break_on("Sum")
    debugger.run()
    positive = np.maximum(bench.x, 0)
    np.testing.assert_array_equal(debugger.operands()["src"], positive)
    assert not debugger.operands()["dst"].any()
    debugger.step()
    np.testing.assert_array_equal(
        debugger.spm(1, bench.dst[0], (1, 1, 2, 1), layout="NCx"), positive[1].sum(-1, keepdims=True)
    )
    outputs = debugger.finish().outputs
    np.testing.assert_array_equal(outputs["y0"], pack(positive.sum(-1, keepdims=True), F32, "NCx", leading=1)[:, :32])
    with pytest.raises(ValueError, match="the program has ended"):
        debugger.operands()


def test_ddr_is_shown_in_its_layout_and_only_inside_of_segments(bench: Any) -> None:
    debugger = Debugger(bench.program, bench._inputs)
    np.testing.assert_array_equal(debugger.ddr(TX8.ddr_base, (1, 1, 2, 4), "f32", "NCx"), bench.x[0])
    with pytest.raises(ValueError, match="no segment has the DDR bytes"):
        debugger.ddr(TX8.ddr_base + (1 << 30), (4,))
    with pytest.raises(ValueError, match="tile 16 has no SPM bytes"):
        debugger.spm(16, 0, (4,))


def test_a_loop_stops_in_each_trip_with_the_addresses_of_that_trip() -> None:
    program = Program.empty()
    with Builder.at_end(program.body):
        block = tx8.program().body.block
    with Builder.at_end(block):
        loop = tx8.loop(count=3, tiles=(0,))
    with Builder.at_end(loop.body.block):
        follow = [tx8.Follow(field="dst", level=0, stride=256)]
        tx8.memset(tiles=(0,), dst=(0x10000,), count=4, format="f32", value=0x3F800000, follows=follow)
    program.verify()
    debugger = Debugger(program, {})
    assert debugger.current.trips == (0,)
    debugger.step(2)
    assert debugger.current.trips == (2,)
    assert not debugger.operands()["dst"].any()
    assert debugger.spm(0, 0x10100, (4,)).tolist() == [1, 1, 1, 1]
    assert debugger.step() is None


def test_it_follows_any_schedule(bench: Any) -> None:
    debugger = Debugger(bench.program, bench._inputs, schedule=Interleaved(3))
    seen = set()
    while debugger.current is not None:
        seen.add((debugger.current.index, debugger.current.tiles))
        debugger.step()
    assert seen == {(index, (tile,)) for index in range(4) for tile in (0, 1)}


def test_where_it_stands_reads_as_text_and_in_a_notebook(bench: Any) -> None:
    debugger = Debugger(bench.program, bench._inputs)
    debugger.break_on("Relu")
    debugger.run()
    text = str(debugger)
    assert text.startswith('breakpoint at "Relu"; 1 executed, at instruction 1 of 4 from "Relu node", tiles [0, 1]\n')
    assert "  src: float32[2, 8] -8, -7, -6, -5, ..." in text
    assert (
        debugger._repr_html_()
        == "<pre>"
        + text.replace("&", "&amp;")
        .replace('"', "&quot;")
        .replace("<", "&lt;")
        .replace(">", "&gt;")
        .replace("'", "&#x27;")
        + "</pre>"
    )
