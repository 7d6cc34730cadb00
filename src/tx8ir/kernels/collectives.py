"""Collective operations of a kernel's current tiles, over messages round a ring.

Tile number r below is the r-th of the current tiles, n their number. A dense scratch-pad tensor of every tile is cut
along axis 0 into n chunks, which n must divide. Every routine sends n - 1 messages of a chunk from every tile.
"""

from __future__ import annotations

from .errors import KernelError
from .kernel import Kernel
from .views import View


def reduce_scatter(k: Kernel, data: View, scratch: View, function: str = "add") -> list[View]:
    """Combine the chunks r of all tiles' `data` in tile r; gives these chunks. The others are left as partial results.

    Args:
        k: the kernel.
        data: a tensor of every tile.
        scratch: of a chunk's shape and format; overwritten.
        function: a binary function: add, max, min, mul.

    Raises:
        KernelError: the tiles do not divide axis 0, or `scratch` is not a chunk.
    """
    chunks, n = _chunks(k, data)
    if n == 1:
        return chunks
    if scratch.shape != chunks[0].shape or scratch.format is not data.format:
        raise KernelError(f"{scratch} is not of the shape of a chunk, {list(chunks[0].shape)}")
    for step in range(n - 1):
        _exchange(k, [scratch] * n, [chunks[(r - step - 1) % n] for r in range(n)], 1)
        into = [chunks[(r - step - 2) % n] for r in range(n)]
        k.binary(function, into, into, scratch)
    return [chunks[r] for r in range(n)]


def all_gather(k: Kernel, data: View) -> None:
    """Give every tile all chunks: chunk r of `data` comes from tile r."""
    chunks, n = _chunks(k, data)
    for step in range(n - 1):
        _exchange(k, [chunks[(r - step - 1) % n] for r in range(n)], [chunks[(r - step) % n] for r in range(n)], 1)


def all_reduce(k: Kernel, data: View, scratch: View, function: str = "add") -> None:
    """Give every tile the combination of all tiles' `data`; see `reduce_scatter`."""
    reduce_scatter(k, data, scratch, function)
    all_gather(k, data)


def all_to_all(k: Kernel, dst: View, src: View) -> None:
    """Chunk s of tile r's `src` becomes chunk r of tile s's `dst`. The two must not overlap."""
    into, n = _chunks(k, dst)
    of, _ = _chunks(k, src)
    k.copy(into, of)
    for distance in range(1, n):
        _exchange(
            k,
            [into[(r - distance) % n] for r in range(n)],
            [of[(r + distance) % n] for r in range(n)],
            distance,
        )


def _exchange(k: Kernel, into: list[View], of: list[View], distance: int) -> None:
    """Every tile sends to the one `distance` further round the ring, and gets from the one as far back."""
    tiles, n = k.tiles, len(k.tiles)
    before = [tiles[(r - distance) % n] for r in range(n)]
    k.arm(into, before)
    k.send(of, [tiles[(r + distance) % n] for r in range(n)])
    k.wait(before)


def _chunks(k: Kernel, data: View) -> tuple[list[View], int]:
    n = len(k.tiles)
    if not (data.is_dense and data.is_contiguous):
        raise KernelError(f"collectives take dense tensors, not {data}")
    return data.split(n), n
