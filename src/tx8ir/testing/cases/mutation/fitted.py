"""Attributes that fit operands: axes, shapes, ranges and windows made of the operands' own extents.

A sample has attributes for operands of its own shape. On a value of a program, and after an operation whose attributes
matter to it, others are worth more: each axis counted from either end, a shape of the same elements, the part of an
axis that another operation added, a window as large as the image, the inverse of a permutation. They are proposed by
the kind of an attribute and not by the operation, so that an operation that was never seen gets them too; what it does
not take, it refuses.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from typing import Any, cast

from tx8ir.core import Op, RankedTensor, Value

_LARGEST = 6
"""An attribute that is a count is no larger."""


def fitted(
    op: type[Op], attributes: Mapping[str, Any], operands: Sequence[Value], rng: random.Random
) -> dict[str, Any]:
    """The attributes, of which some are changed for these operands; those that name axes and ranges of them together.

    Args:
        op: the operation.
        attributes: what it has otherwise.
        operands: what it is going to take.
        rng: chooses.
    """
    kinds = {f.name: str(f.annotation).split(" | ")[0] for f in op.definition.attributes}
    shapes = [v.type.shape for v in operands if isinstance(v.type, RankedTensor) and v.type.is_static]
    made = dict(attributes)
    if not shapes or not kinds:
        return made
    shape = shapes[0]
    earlier = _earlier(operands)
    for name, kind in kinds.items():
        related = [v for v in earlier.get(name, ()) if type(v) is type(attributes.get(name, v))]
        if related and rng.random() < 0.4:
            made[name] = _related(rng.choice(related), rng)
        elif name in ("starts", "ends", "decrease_axis") or rng.random() < 0.3:
            continue  # ranges are made with their axes
        elif kind == "int" and "axis" in name and shape:
            made[name] = _axis(len(shape), rng)
        elif kind == "tuple[int, ...]":
            _lists(name, made, shape, shapes, rng)
    return made


def _earlier(operands: Sequence[Value]) -> dict[str, list[Any]]:
    """The attributes of the operations that made the operands, by name."""
    found: dict[str, list[Any]] = {}
    for value in operands:
        maker = value.defining_op
        if isinstance(maker, Op):
            for field in maker.definition.attributes:
                found.setdefault(field.name, []).append(getattr(maker, field.name))
    return found


def _related(value: Any, rng: random.Random) -> Any:
    """The same, or what undoes it: the inverse of a permutation, the numbers in another order."""
    if isinstance(value, tuple) and value and all(isinstance(part, int) for part in cast("tuple[Any, ...]", value)):
        numbers = cast("tuple[int, ...]", value)
        if sorted(numbers) == list(range(len(numbers))) and rng.random() < 0.5:
            return tuple(sorted(range(len(numbers)), key=numbers.__getitem__))
        return numbers if rng.random() < 0.7 else numbers[::-1]
    return cast(Any, value)


def _axis(rank: int, rng: random.Random) -> int:
    """An axis, the last one more often, counted from the front or the back."""
    axis = rank - 1 if rng.random() < 0.4 else rng.randrange(rank)
    return axis if rng.random() < 0.6 else axis - rank


def _lists(
    name: str, made: dict[str, Any], shape: Sequence[int], shapes: Sequence[Sequence[int]], rng: random.Random
) -> None:
    """A list of whole numbers, and those that go with it."""
    rank = len(shape)
    old = cast("tuple[int, ...]", made.get(name) or ())
    if name in ("axis", "axes"):
        if not rank:
            return
        count = min(rank, rng.choice((1, 1, 2, rank)))
        axes = sorted(rng.sample(range(rank), count))
        if {"starts", "ends"} <= made.keys():
            ranges = [_range(shape[axis], rng) for axis in axes]
            made["starts"], made["ends"] = tuple(a for a, _ in ranges), tuple(b for _, b in ranges)
            single = tuple(axis for axis, (a, b) in zip(axes, ranges, strict=True) if b == a + 1)
            made["decrease_axis"] = single if rng.random() < 0.3 else ()
        made[name] = tuple(axis if rng.random() < 0.7 else axis - rank for axis in axes)
    elif "perm" in name:
        made[name] = tuple(rng.sample(range(rank), rank))
    elif name == "shape":
        made[name] = _shape(shape, shapes, rng)
    elif name == "sections":
        axis = made.get("axis", 0)
        extent = shape[axis] if isinstance(axis, int) and -rank <= axis < rank else 0
        if extent > 1:
            first = rng.randrange(1, extent)
            made[name] = rng.choice(((first, extent - first), (1,) * extent, (first, -1)))
    elif "padding" in name:
        made[name] = tuple(rng.choice((0, 0, 1, 2)) for _ in old)
    elif old and len(old) < rank:
        # A window, its steps: as large as axes next to each other, or small.
        first = rng.randrange(rank - len(old) + 1)
        window = shape[first : first + len(old)]
        made[name] = tuple(window) if rng.random() < 0.4 else tuple(rng.choice((1, 1, 2, 3)) for _ in old)
        if any(n < 1 or n > _LARGEST for n in made[name]):
            made[name] = old


def _range(extent: int, rng: random.Random) -> tuple[int, int]:
    """A part of an axis: some of it, up to its end, all of it, or beyond."""
    low = rng.randrange(extent) if extent else 0
    high = rng.randrange(low, extent) + 1 if extent else 0
    return rng.choice(
        ((low, high), (low, high), (low, extent), (0, high), (0, extent), (0, extent + 3), (low - extent, high))
    )


def _shape(shape: Sequence[int], shapes: Sequence[Sequence[int]], rng: random.Random) -> tuple[int, ...]:
    """A shape of the same elements, or one that it broadcasts to."""
    how = rng.randrange(7)
    made = list(shape)
    if how == 0 and len(made) > 1:  # two axes become one
        place = rng.randrange(len(made) - 1)
        made[place : place + 2] = [made[place] * made[place + 1]]
    elif how == 1 and made:  # one becomes two
        place = rng.randrange(len(made))
        parts = [n for n in range(1, made[place] + 1) if made[place] % n == 0]
        part = rng.choice(parts or [1])
        made[place : place + 1] = [part, made[place] // part]
    elif how == 2:
        made.insert(rng.randrange(len(made) + 1), 1)
    elif how == 3:
        made = [n for n in made if n != 1]
    elif how == 4:
        made = [math.prod(made)]
    elif how == 5:
        rng.shuffle(made)
    else:
        made = [rng.choice((2, 3)) if n == 1 else n for n in (rng.choice(shapes) or made)]
        if rng.random() < 0.4:
            made.insert(0, 2)
    if made and how < 5 and rng.random() < 0.25:
        made[rng.randrange(len(made))] = -1
    return tuple(made)
