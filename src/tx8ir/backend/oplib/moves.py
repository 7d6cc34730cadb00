"""Strided copies between two tensors of any layouts: the geometry behind DMA loads, stores and TDMA kernels.

A copy is an iteration space with one axis per destination axis. A dense tensor is affine in its indices; a blocked one
is affine per run of equal channel blocks and in its C0 tail. `walks` cuts the space into the largest pieces that are
affine on both sides and merges dimensions that are contiguous on both.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence

import attrs

from tx8ir.backend.oplib.tensor import Segment, SpmTensor

__all__ = ["AxisMap", "Walk", "identity", "split_dense", "split_levels", "walks"]


@attrs.frozen
class AxisMap:
    """One axis of a copy: `extent` positions, read from source axis `source` (None: the same element again) beginning
    at `source_start`, written to the destination axis of the same number beginning at `target_start`.
    """

    extent: int
    source: int | None
    source_start: int = 0
    target_start: int = 0


@attrs.frozen
class Walk:
    """One affine copy. `levels` are ``(extent, source stride, target stride)``, outermost first; each innermost step
    moves `segment` contiguous bytes. Offsets and strides are in bytes from the tensors' first byte.
    """

    source: int
    target: int
    levels: tuple[tuple[int, int, int], ...]
    segment: int

    def looped(self, levels: Sequence[int]) -> Iterator[Walk]:
        """The same copy as one walk per iteration of the given levels, in order."""
        kept = tuple(level for i, level in enumerate(self.levels) if i not in levels)
        for index in itertools.product(*(range(self.levels[i][0]) for i in levels)):
            source = self.source + sum(k * self.levels[i][1] for k, i in zip(index, levels, strict=True))
            target = self.target + sum(k * self.levels[i][2] for k, i in zip(index, levels, strict=True))
            yield Walk(source, target, kept, self.segment)


def split_levels(walks: Iterable[Walk], max_levels: int) -> Iterator[Walk]:
    """All `walks` in as few pieces of at most `max_levels` levels as there can be."""
    for walk in walks:
        by_extent = sorted(range(len(walk.levels)), key=lambda i: walk.levels[i][0])
        yield from walk.looped(sorted(by_extent[: max(0, len(walk.levels) - max_levels)]))


def split_dense(walks: Iterable[Walk], max_levels: int) -> Iterator[Walk]:
    """All `walks` in pieces of at most `max_levels` levels whose target side is dense, in the order of its bytes."""
    for walk in walks:
        expected, dense = walk.segment, len(walk.levels)
        while dense and len(walk.levels) - dense < max_levels and walk.levels[dense - 1][2] == expected:
            expected *= walk.levels[dense - 1][0]
            dense -= 1
        yield from walk.looped(range(dense))


def identity(extents: Sequence[int]) -> tuple[AxisMap, ...]:
    """The axis maps of a plain copy of `extents`."""
    return tuple(AxisMap(extent, axis) for axis, extent in enumerate(extents))


@attrs.frozen
class _Run:
    """`count` channel pieces of `length`, the first at channel `start`; `stride` elements from one to the next."""

    start: int
    count: int
    length: int
    base: int
    stride: int
    row: int


def _clip(segments: Sequence[Segment], start: int, stop: int) -> list[tuple[int, int, int, int]]:
    """``(start, stop, base, row)`` of the segments' parts inside ``[start, stop)``; base is that of the part."""
    parts: list[tuple[int, int, int, int]] = []
    for s in segments:
        low, high = max(s.start, start), min(s.stop, stop)
        if low < high:
            parts.append((low, high, s.base + low - s.start, s.row))
    return parts


def _fold(columns: Sequence[tuple[_Run, ...]]) -> list[tuple[_Run, ...]]:
    """Joins consecutive columns of single pieces that continue every run of a column at a constant step."""
    folded: list[tuple[_Run, ...]] = []
    for column in columns:
        if folded:
            joined = tuple(map(_join, folded[-1], column))
            if all(run is not None for run in joined):
                folded[-1] = tuple(run for run in joined if run is not None)
                continue
        folded.append(column)
    return folded


def _join(run: _Run, piece: _Run) -> _Run | None:
    """`run` with `piece` after it, or None when the piece does not continue it."""
    if run.length != piece.length or run.row != piece.row:
        return None
    step = piece.base - run.base - (run.count - 1) * run.stride
    if run.count > 1 and step != run.stride:
        return None
    return attrs.evolve(run, count=run.count + 1, stride=step)


def _runs(segments: Sequence[Segment], start: int, stop: int) -> list[_Run]:
    """The runs of one side's channels ``[start, stop)``."""
    pieces = [(_Run(low, 1, high - low, base, 0, row),) for low, high, base, row in _clip(segments, start, stop)]
    return [run for (run,) in _fold(pieces)]


def _paired_runs(source: Sequence[Segment], target: Sequence[Segment], axis: AxisMap) -> list[tuple[_Run, ...]]:
    """The runs of a channel axis that both sides share: cut where either side's segment ends."""
    shift = axis.target_start - axis.source_start
    columns: list[tuple[_Run, ...]] = []
    for low, high, base, row in _clip(source, axis.source_start, axis.source_start + axis.extent):
        for low2, high2, base2, row2 in _clip(target, low + shift, high + shift):
            a = _Run(low2 - shift, 1, high2 - low2, base + low2 - shift - low, 0, row)
            columns.append((a, _Run(low2, 1, high2 - low2, base2, 0, row2)))
    return _fold(columns)


def _row_strides(tensor: SpmTensor, row: int) -> list[int]:
    """Element strides of all axes but the last, for a segment of `row` elements per hw position."""
    strides: list[int] = []
    step = row
    for extent in reversed(tensor.inner):
        strides.append(step)
        step *= extent
    strides.reverse()
    if tensor.batched:
        strides.insert(0, tensor.batch_bytes // tensor.format.bytes)
    return strides


def walks(source: SpmTensor, target: SpmTensor, axes: Sequence[AxisMap]) -> list[Walk]:
    """The copy of `axes` as affine walks, logical elements only (padding is not copied; see `SpmTensor.padded`).

    `axes[j]` speaks of axis j of `target`. Source axes that no map names are read at index 0.

    Raises:
        ValueError: the maps do not fit the tensors, or the formats' sizes differ.
    """
    if source.format.bytes != target.format.bytes:
        raise ValueError(f"a copy keeps the element size: {source.format} has another than {target.format}")
    if len(axes) != len(target.shape):
        raise ValueError(f"{len(axes)} axis maps for a target of shape {target.shape}")
    for j, axis in enumerate(axes):
        if axis.target_start + axis.extent > target.shape[j] or (
            axis.source is not None and axis.source_start + axis.extent > source.shape[axis.source]
        ):
            raise ValueError(f"axis map {axis} of axis {j} leaves source {source.shape} or target {target.shape}")
    if any(axis.extent == 0 for axis in axes):
        return []
    if not axes:  # a scalar is one element of rank 1
        axes = (AxisMap(1, None),)
        target = SpmTensor(target.format, (1,), target.layout, target.address)
    if not source.shape:
        source = SpmTensor(source.format, (1,), source.layout, source.address)
    channel = len(axes) - 1  # the target's channel axis
    source_channel = len(source.shape) - 1
    shared = axes[channel].source == source_channel
    mapped = next((j for j, axis in enumerate(axes) if axis.source == source_channel), None)
    if shared:
        pairs = _paired_runs(source.segments, target.segments, axes[channel])
    else:
        to = axes[channel]
        start, extent = (0, 1) if mapped is None else (axes[mapped].source_start, axes[mapped].extent)
        pairs = itertools.product(
            _runs(source.segments, start, start + extent),
            _runs(target.segments, to.target_start, to.target_start + to.extent),
        )
    size = source.format.bytes
    return [_walk(source, target, axes, s, t, shared, size) for s, t in pairs]


def _walk(
    source: SpmTensor, target: SpmTensor, axes: Sequence[AxisMap], s: _Run, t: _Run, shared: bool, size: int
) -> Walk:
    source_strides, target_strides = _row_strides(source, s.row), _row_strides(target, t.row)
    channel = len(axes) - 1
    source_channel = len(source.shape) - 1
    source_offset, target_offset = s.base, t.base
    levels: list[tuple[int, int, int]] = []
    for j, axis in enumerate(axes):
        if j == channel:
            if shared:
                levels += [(t.count, s.stride, t.stride), (t.length, 1, 1)]
                continue
            if axis.source is None:
                step = 0
            else:
                step = source_strides[axis.source]
                source_offset += (axis.source_start + t.start - axis.target_start) * step
            levels += [(t.count, t.length * step, t.stride), (t.length, step, 1)]
        elif axis.source == source_channel:  # the source's channels become another axis of the target
            step = target_strides[j]
            target_offset += (axis.target_start + s.start - axis.source_start) * step
            levels += [(s.count, s.stride, s.length * step), (s.length, 1, step)]
        else:
            step = 0
            if axis.source is not None:
                step = source_strides[axis.source]
                source_offset += axis.source_start * step
            target_offset += axis.target_start * target_strides[j]
            levels.append((axis.extent, step, target_strides[j]))
    return _merge(source_offset * size, target_offset * size, [(n, a * size, b * size) for n, a, b in levels], size)


def _merge(source: int, target: int, levels: list[tuple[int, int, int]], size: int) -> Walk:
    """Drops levels of extent 1, orders them by target stride and joins those contiguous on both sides."""
    ordered = sorted((level for level in levels if level[0] > 1), key=lambda level: -level[2])
    merged: list[tuple[int, int, int]] = []
    for n, a, b in reversed(ordered):  # innermost first
        if merged:
            inner_n, inner_a, inner_b = merged[-1]
            if a == inner_n * inner_a and b == inner_n * inner_b:
                merged[-1] = (n * inner_n, inner_a, inner_b)
                continue
        merged.append((n, a, b))
    segment = size
    if merged and merged[0][1] == size and merged[0][2] == size:
        segment = merged.pop(0)[0] * size
    return Walk(source, target, tuple(reversed(merged)), segment)
