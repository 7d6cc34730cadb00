"""The picture of a simulated run: a row per engine that works, a bar per execution."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest

from tx8ir import viz
from tx8ir.core import Builder, Program
from tx8ir.dialects import tx8
from tx8ir.sim import time_program


def matplotlib_timeline() -> Any:
    """`viz.timeline`, where matplotlib is installed."""
    pytest.importorskip("matplotlib")
    return viz.timeline


def test_every_execution_is_seen_however_short_it_is() -> None:
    """A short execution in a long run is less than a pixel wide, and still has the colour of its engine."""
    timeline = matplotlib_timeline()
    program = Program.empty()
    with Builder.at_end(program.body):
        block = tx8.program().body.block
    with Builder.at_end(block):
        tx8.unary(tiles=(0,), function="abs", src=(0x10000,), dst=(0x20000,), count=64, format="f32")
        tx8.tdma(tiles=(0,), src=(0x30000,), dst=(0x100000,), segment_bytes=1 << 19)
        tx8.unary(tiles=(0,), function="abs", src=(0x100000,), dst=(0x20000,), count=64, format="f32")
    figure = timeline(time_program(program))
    figure.set_dpi(30)  # far from close
    out = io.BytesIO()
    figure.savefig(out, format="rgba", dpi=30)
    width, height = (int(n) for n in figure.get_size_inches() * 30)
    pixels = np.frombuffer(out.getvalue(), np.uint8).reshape(height, width, 4).astype(int)
    orange = (pixels[..., 0] - pixels[..., 2] > 60) & (pixels[..., 0] > 200)  # tab:orange, mixed with white
    columns = np.flatnonzero(orange.any(axis=0))
    assert len(np.split(columns, np.flatnonzero(np.diff(columns) > 1) + 1)) == 2


def test_notebooks_show_it_without_a_magic_word() -> None:
    timeline = matplotlib_timeline()
    program = Program.empty()
    with Builder.at_end(program.body):
        tx8.program()
    assert timeline(time_program(program))._repr_png_().startswith(b"\x89PNG")


def test_a_row_for_each_engine_that_works_and_a_bar_for_each_execution() -> None:
    timeline = matplotlib_timeline()
    program = Program.empty()
    with Builder.at_end(program.body):
        block = tx8.program().body.block
    with Builder.at_end(block):
        for _ in range(3):
            tx8.unary(tiles=(0, 1), function="abs", src=(0x10000,), dst=(0x20000,), count=1024, format="f32")
        tx8.tdma(tiles=(1,), src=(0x30000,), dst=(0x40000,), segment_bytes=256)
    report = time_program(program)
    (axes,) = timeline(report, (0, 1)).axes
    assert [label.get_text() for label in axes.get_yticklabels()] == [
        *("tile 0  CT", "tile 0  TDMA"),
        *("tile 1  CT", "tile 1  TDMA"),
    ]
    assert [len(bars.get_paths()) for bars in axes.collections] == [3, 0, 3, 1]
    with pytest.raises(ValueError, match="there is no tile 16; the target has 16"):
        timeline(report, (16,))
