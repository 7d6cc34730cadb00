"""Mass construction: fewer runs of the cyclic garbage collector while many objects are made that all stay alive."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

_THRESHOLD: Final = 500_000
"""Allocations between two collections of the youngest generation: about 50,000 operations."""


@contextmanager
def relaxed_gc() -> Generator[None]:
    """Raise the threshold of the garbage collector inside the `with`, for building, parsing or cloning many operations.

    The collector stays on. At Python's default of 700 allocations it would look at every new operation several times
    in vain, which costs more than making them. Nests; a collector that is off stays off.
    """
    before = gc.get_threshold()
    if before[0] == 0:
        yield
        return
    gc.set_threshold(max(before[0], _THRESHOLD), *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
