"""Boxes."""

from __future__ import annotations

import pytest

from tx8ir.backend.oplib.boxes import Box


def test_box_arithmetic() -> None:
    box = Box((1, 2), (3, 4))
    assert box.stop == (4, 6)
    assert box.take((1, 0)) == Box((2, 1), (4, 3))
    assert box.replace(-1, 0, 9) == Box((1, 0), (3, 9))
    assert Box.whole((3, 0)).empty
    with pytest.raises(ValueError, match="one extent per start"):
        Box((0,), (1, 2))
