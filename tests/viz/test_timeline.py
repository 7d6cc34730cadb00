"""The picture of a simulated run: a row per engine that works, a bar per execution."""

from __future__ import annotations

import pytest

from tx8ir.core import Builder, Program
from tx8ir.dialects import tx8
from tx8ir.sim import time_program
from tx8ir.viz.timeline import timeline


def test_a_row_for_each_engine_that_works_and_a_bar_for_each_execution() -> None:
    pytest.importorskip("matplotlib")
    program = Program.empty()
    with Builder.at_end(program.body):
        block = tx8.program().body.block
    with Builder.at_end(block):
        for _ in range(3):
            tx8.unary(tiles=(0, 1), function="abs", src=(0x10000,), dst=(0x20000,), count=1024, format="f32")
        tx8.tdma(tiles=(1,), src=(0x30000,), dst=(0x40000,), segment_bytes=256)
    report = time_program(program)
    (axes,) = timeline(report, (0, 1)).axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["0 CT", "0 TDMA", "1 CT", "1 TDMA"]
    assert [len(bars.get_paths()) for bars in axes.collections] == [3, 0, 3, 1]
    with pytest.raises(ValueError, match="there is no tile 16; the target has 16"):
        timeline(report, (16,))
