"""Arrays that are used for a moment and taken again and again."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray


class Scratch:
    """Memory by name, which grows to what is asked for and stays.

    Fresh arrays of the size of all tiles' operands come from the system page by page, which costs more than filling
    them.
    """

    __slots__ = ("_buffers",)

    def __init__(self) -> None:
        self._buffers: dict[str, NDArray[np.uint8]] = {}

    def take(self, slot: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
        """A C-contiguous array with any content, in the memory that the next call for the same `slot` gives again."""
        nbytes = math.prod(shape) * dtype.itemsize
        buffer = self._buffers.get(slot)
        if buffer is None or len(buffer) < nbytes:
            buffer = self._buffers[slot] = np.empty(nbytes, np.uint8)
        return np.ndarray(shape, dtype, buffer)  # pyright: ignore[reportArgumentType]  # any buffer will do
