"""The search: of all shardings and splits of a group, the cheapest that fits SPM."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise

from tx8ir.backend.graph import CompileError
from tx8ir.backend.oplib.boxes import ceil_div
from tx8ir.backend.oplib.costs import InstructionCosts
from tx8ir.backend.schedule.body import GroupBody
from tx8ir.backend.schedule.tiling import Tiling, axis_parts, factor_vectors, score, tiles_used
from tx8ir.backend.search.estimate import Candidate, Preview, Pricer

__all__ = ["find_tiling", "find_tilings", "shardings"]

_UNKNOWN = 1 << 62
"""More cycles than any candidate takes."""
_REFINED = 3
"""Shardings, the cheapest first, for which overlapping steps are tried although the whole slice fits."""
_WORTH_OVERLAPPING = 4
"""DMA start-ups that overlap must be able to win before it is tried."""


def shardings(body: GroupBody, tiles: int) -> list[tuple[int, ...]]:
    """The candidate shardings: all vectors with product `tiles`, and the unsharded one.

    Those that use most tiles come first; among those, the ones that cut outer axes: their slices are longer runs.

    Vectors that cut the result into the same boxes are given once.
    """
    rank = len(body.shape)
    seen: set[tuple[object, ...]] = set()
    found: list[tuple[int, ...]] = []
    for vector in (*factor_vectors(tiles, rank), (1,) * rank):
        cuts = tuple(
            tuple(p for p in axis_parts(*axis) if p[1])
            for axis in zip(body.shape, body.cut_alignment, vector, strict=True)
        )
        if cuts not in seen:
            seen.add(cuts)
            found.append(vector)
    shape, cut_alignment = body.shape, body.cut_alignment
    return sorted(found, key=lambda v: (-tiles_used(shape, cut_alignment, v), -score(shape, cut_alignment, v), v[::-1]))


def find_tiling(
    body: GroupBody, tiles: int, costs: InstructionCosts, *, given: tuple[int, ...] | None = None
) -> Candidate:
    """The first of `find_tilings`, which raises what is raised here."""
    return find_tilings(body, tiles, costs, given=given)[0]


def find_tilings(
    body: GroupBody, tiles: int, costs: InstructionCosts, *, given: tuple[int, ...] | None = None
) -> list[Candidate]:
    """The candidates that were priced, the cheapest first; of equals those with the fewest steps, then those that use
    most tiles.

    `given` is the only sharding to consider when it is not None.

    Raises:
        CompileError: no candidate fits SPM and the instructions' limits, even in the smallest slices.
    """
    pricer = Pricer(body, tiles, costs)
    found: list[Candidate] = []
    for preview in _previews(body, pricer, shardings(body, tiles) if given is None else [given]):
        best_so_far = min((c.cycles for c in found), default=_UNKNOWN)
        whole_loses = preview.may_fit and preview.total >= best_so_far and len(found) >= _REFINED
        if preview.longest < best_so_far and not whole_loses:
            found += _candidates(body, pricer, preview.sharding, preview.tile)
    found.sort(key=_preference)
    for candidate in found[:_REFINED]:
        if candidate.cycles - candidate.longest > _WORTH_OVERLAPPING * body.target.profile.dma_startup_cycles:
            found += _overlapped(body, pricer, candidate)
    if not found:
        names = ", ".join(op.name for op in body.compute) or "a copy"
        capacity = body.target.spm_allocatable_bytes
        reason = f": {pricer.illegal}" if pricer.illegal is not None else ""
        raise CompileError(
            f"no slice of {names} -> {list(body.shape)} fits the {capacity} bytes of SPM and the instructions{reason}",
            op=body.group,
        )
    return sorted(found, key=_preference)


def _previews(body: GroupBody, pricer: Pricer, vectors: Iterable[tuple[int, ...]]) -> list[Preview]:
    """What can be said of every sharding cheaply, the most promising first."""
    found: list[Preview] = []
    for sharding in vectors:
        tile = tuple(axis_parts(*axis)[0][1] for axis in zip(body.shape, body.cut_alignment, sharding, strict=True))
        preview = pricer.preview(sharding, tile)
        if preview is not None:
            found.append(preview)
    return sorted(found, key=lambda p: p.total)


def _preference(candidate: Candidate) -> tuple[int, int]:
    return candidate.cycles, candidate.steps


def _overlapped(body: GroupBody, pricer: Pricer, whole: Candidate) -> Iterator[Candidate]:
    """The candidate in 2, 4 and 8 steps along each axis, so that a step loads while the one before computes."""
    tiling = whole.tiling
    if whole.steps > 1:
        return
    for axis, (extent, alignment) in enumerate(zip(tiling.slice, body.cut_alignment, strict=True)):
        sizes = _slice_sizes(extent, alignment)
        for steps in (2, 4, 8):
            size = next((s for s in sizes if ceil_div(extent, s) >= steps), None)
            if size is not None and ceil_div(extent, size) == steps:
                yield from pricer.price(Tiling(tiling.sharding, _with(tiling.slice, axis, size)))


def _candidates(
    body: GroupBody, pricer: Pricer, sharding: tuple[int, ...], tile: tuple[int, ...]
) -> Iterator[Candidate]:
    """The candidates of one sharding into tiles of at most `tile`: whole tiles when they fit, else splits over time.

    A split goes over one axis, as coarse as fits; when an axis in its smallest slices does not suffice, the next one
    (from the last axis to the first) is split as well.
    """
    whole = pricer.price(Tiling(sharding, tile))
    if whole:
        yield from whole
        return
    axes = [a for a in reversed(range(len(tile))) if len(_slice_sizes(tile[a], body.cut_alignment[a])) > 1]
    if not axes:
        return
    found = False
    for axis in axes:
        for candidate in _coarsest(pricer, sharding, tile, axis, body.cut_alignment[axis]):
            found = True
            yield candidate
    fixed = tile
    for previous, axis in pairwise(axes):
        if found:
            return
        fixed = _with(fixed, previous, _slice_sizes(tile[previous], body.cut_alignment[previous])[-1])
        for candidate in _coarsest(pricer, sharding, fixed, axis, body.cut_alignment[axis]):
            found = True
            yield candidate


def _slice_sizes(extent: int, alignment: int | None) -> list[int]:
    """The slice extents an axis can be split into, from the whole down to the alignment."""
    if alignment is None:
        return [extent]
    blocks = ceil_div(extent, alignment)
    sizes = {min(ceil_div(blocks, n) * alignment, extent) for n in range(1, blocks + 1)}
    return sorted(sizes, reverse=True)


def _with(extents: tuple[int, ...], axis: int, extent: int) -> tuple[int, ...]:
    return (*extents[:axis], extent, *extents[axis + 1 :])


def _coarsest(
    pricer: Pricer, sharding: tuple[int, ...], slice_: tuple[int, ...], axis: int, alignment: int | None
) -> list[Candidate]:
    """The candidates of the coarsest split of `axis` that fits, and of the coarsest that fits with two buffers."""
    sizes = _slice_sizes(slice_[axis], alignment)
    found: list[Candidate] = []
    for buffers in (1, 2):
        low, high = 0, len(sizes) - 1
        best: list[Candidate] = []
        while low <= high:  # a finer slice never takes more SPM
            middle = (low + high) // 2
            priced = pricer.price(Tiling(sharding, _with(slice_, axis, sizes[middle])))
            if any(c.buffers >= buffers for c in priced):
                best, high = priced, middle - 1
            else:
                low = middle + 1
        found += best
    return found
