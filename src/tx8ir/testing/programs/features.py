"""What generated programs may have, and the sizes and numbers they are made of."""

from __future__ import annotations

import attrs

from tx8ir.core import ScalarType, bf16, f16, f32, i1, i32

SHAPES: tuple[tuple[int, ...], ...] = ((2,), (2, 2), (), (1,), (2, 3), (1, 2), (2, 2, 2), (3, 1, 2), (1, 2, 3, 3))
ELEMENTS: tuple[ScalarType, ...] = (f32, i32, bf16, i1, f16)
NUMBERS: tuple[float, ...] = (0.0, 1.0, -0.0, 2.0, -1.0, 0.5)
LARGEST = 200
"""Values of more elements are not operated on."""
TRIPS = 3
"""A loop runs this often at most."""


@attrs.frozen
class Features:
    """What programs may have besides operations on values.

    Attributes:
        aliases: tensors with storage, in-place operations on them, and views of them.
        branches: `scf.if`.
        loops: `scf.while`, of at most `TRIPS` rounds; with `blocks` also loops of blocks.
        blocks: `cf.cond_br` and blocks that join.
        calls: other functions, which may call each other and may be called several times.
        lists: lists and dictionaries, made and taken apart, also across regions and calls.
        parameters: reads and writes of variables, mutable and not, one by one and as lists.
        feeds: `pd.feed` and `pd.fetch`.
        samples: any operation, as its samples say.
        sums: operations whose rounding depends on the order of summation.
        elements: element types of inputs and results of casts.
    """

    aliases: bool = True
    branches: bool = True
    loops: bool = True
    blocks: bool = True
    calls: bool = True
    lists: bool = True
    parameters: bool = True
    feeds: bool = True
    samples: bool = True
    sums: bool = False
    elements: tuple[ScalarType, ...] = ELEMENTS


VALUES = Features(aliases=False, branches=False, loops=False, blocks=False, calls=False, lists=False, feeds=False)
"""Straight programs on values, with parameters."""
EVERYTHING = Features()
"""All but sums: what an operation computes is the same bits wherever it stands."""
LOWERABLE = attrs.evolve(VALUES, elements=(f32,), sums=True, samples=False)
"""What `lower-to-tx8be` takes, for the most part."""
