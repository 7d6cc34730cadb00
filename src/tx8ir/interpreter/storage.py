"""What a `!pd.tensor` stands for while it is evaluated: a place in storage that others may share and write."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


class Storage:
    """Elements in the working precision, in row-major order of the tensor that was allocated.

    Attributes:
        elements: the elements, rank 1. Only `TensorRef.write` changes them.
        shape: of the tensor that was allocated.
    """

    __slots__ = ("elements", "shape")

    def __init__(self, content: NDArray[Any]) -> None:
        self.elements: NDArray[Any] = np.array(content, order="C").reshape(-1)  # a copy: nobody else has it
        self.shape: tuple[int, ...] = content.shape

    def whole(self) -> TensorRef:
        """A tensor of all elements, in the shape that was allocated."""
        return TensorRef(self, self.shape, None)


class TensorRef:
    """A tensor: some elements of a storage, in some order. Tensors on one storage see each other's writes.

    Attributes:
        storage: what it reads and writes.
        shape: its extents.
        places: for each element its place in the storage, in `shape`; None for all of them in order.
    """

    __slots__ = ("places", "shape", "storage")

    def __init__(self, storage: Storage, shape: tuple[int, ...], places: NDArray[np.intp] | None) -> None:
        self.storage = storage
        self.shape = shape
        self.places = places

    def read(self) -> NDArray[Any]:
        """What it holds now. Not to be kept or changed: it may be the storage itself."""
        if self.places is not None:
            return self.storage.elements[self.places]
        shown = self.storage.elements.reshape(self.shape)
        shown.flags.writeable = False
        return shown

    def snapshot(self) -> NDArray[Any]:
        """A copy of what it holds now."""
        return np.array(self.read(), order="C")

    def write(self, content: NDArray[Any]) -> None:
        """Make `content`, of its shape and working dtype, what it holds."""
        elements = self.storage.elements
        if np.may_share_memory(content, elements):
            content = np.array(content)
        if self.places is None:
            elements[:] = content.reshape(-1)
        else:
            elements[self.places] = content

    def views(self, show: Callable[[NDArray[Any]], Any], count: int) -> Sequence[TensorRef]:
        """The tensors on the same storage that `show`, the `Compute` of a view with `count` results, gives.

        A view moves elements and does nothing else, so moving their places gives the places of the result.
        """
        places = self.places
        if places is None:
            places = np.arange(self.storage.elements.size).reshape(self.shape)
        shown = show(places)
        moved: list[NDArray[np.intp]] = [shown] if count == 1 else list(shown)
        return [TensorRef(self.storage, part.shape, self._simplified(np.asarray(part, order="C"))) for part in moved]

    def _simplified(self, places: NDArray[np.intp]) -> NDArray[np.intp] | None:
        """None when all elements are there in order, which reads and writes without an index."""
        size = self.storage.elements.size
        return None if places.size == size and np.array_equal(places.reshape(-1), np.arange(size)) else places


def array_of(value: Any) -> NDArray[Any]:
    """What a tensor or vtensor holds now; not to be kept or changed."""
    return value.read() if isinstance(value, TensorRef) else value
