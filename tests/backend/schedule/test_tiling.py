"""Cuts over tiles and time: every element of a result exactly once."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tx8ir.backend.schedule.tiling import factor_vectors, score, steps_per_axis, tile_boxes, tiles_used, time_box

GRANULES = st.sampled_from([1, 2, 5, 64, None])


@given(st.data(), st.integers(1, 4))
def test_every_element_is_in_one_slice(draw: st.DataObject, rank: int) -> None:
    shape = tuple(draw.draw(st.integers(1, 12 if rank > 2 else 150)) for _ in range(rank))
    cut_alignment = tuple(draw.draw(GRANULES) for _ in range(rank))
    vectors = factor_vectors(16, rank)
    sharding = vectors[draw.draw(st.integers(0, len(vectors) - 1))]
    boxes = tile_boxes(shape, cut_alignment, sharding, 16)
    assert len(boxes) == 16
    working = [box for box in boxes if box is not None]
    assert len(working) == tiles_used(shape, cut_alignment, sharding)
    largest = tuple(max(box.extent[a] for box in working) for a in range(rank))
    slice_ = tuple(
        e if g is None else min(e, g * draw.draw(st.integers(1, 4)))
        for e, g in zip(largest, cut_alignment, strict=True)
    )
    counts = np.zeros(shape, int)
    for box in working:
        for index in itertools.product(*(range(n) for n in steps_per_axis(largest, slice_))):
            part = time_box(box, slice_, index)
            if part is None:
                continue
            counts[part.index()] += 1
            for start, stop, extent, granule in zip(part.start, part.stop, shape, cut_alignment, strict=True):
                if granule is None:
                    assert (start, stop) == (0, extent)
                else:
                    assert start % granule == 0
                    assert stop % granule == 0 or stop == extent
    assert (counts == 1).all()


@pytest.mark.parametrize(("product", "rank", "count"), [(16, 1, 1), (16, 2, 5), (16, 4, 35), (6, 3, 9), (1, 0, 1)])
def test_factor_vectors(product: int, rank: int, count: int) -> None:
    vectors = factor_vectors(product, rank)
    assert len(set(vectors)) == len(vectors) == count
    assert all(math.prod(v) == product for v in vectors)


def test_no_vector_of_rank_0_has_16_tiles() -> None:
    assert factor_vectors(16, 0) == ()


@pytest.mark.parametrize(
    ("sharding", "level", "used"),
    [
        ((1, 16, 1, 1), 4, 14),  # 56 rows, 4 each
        ((1, 4, 4, 1), 4, 16),
        ((1, 1, 1, 16), 1, 2),  # 128 channels are two blocks
        ((16, 1, 1, 1), 0, 1),
        ((1, 1, 1, 1), 0, 1),
    ],
)
def test_levels_merge_what_tiles_used_tells_apart(sharding: tuple[int, ...], level: int, used: int) -> None:
    shape, cut_alignment = (1, 56, 56, 128), (1, 1, 1, 64)
    assert score(shape, cut_alignment, sharding) == level
    assert tiles_used(shape, cut_alignment, sharding) == used
