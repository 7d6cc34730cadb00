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
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from tx8ir.core import Op, RankedTensor, Value

_LARGEST = 6
"""An attribute that is a count is no larger."""
_BEYOND = 2**31 - 1
"""What exporters write for the end of an axis."""


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
    before = _shapes_before(operands)
    for name, kind in kinds.items():
        related = [v for v in earlier.get(name, ()) if type(v) is type(attributes.get(name, v))]
        if related and rng.random() < 0.4 and not (name == "axes" and "starts" in kinds):
            made[name] = _related(rng.choice(related), rng)
        elif name in ("starts", "ends", "decrease_axis") or rng.random() < 0.3:
            continue  # ranges are made with their axes
        elif kind == "int" and "axis" in name and shape:
            made[name] = _axis(len(shape), rng)
        elif name == "axes" and {"starts", "ends"} <= kinds.keys():
            _ranges(made, shape, before, earlier.get(name, ()), rng)
        elif name == "shape" and before and rng.random() < 0.35:
            made[name] = tuple(rng.choice(before))
        elif kind == "tuple[int, ...]":
            _lists(name, made, shape, shapes, rng)
    if {"strides", "paddings"} <= kinds.keys() and rng.random() < 0.4:
        _window(made, shapes, rng)
    return made


def _window(made: dict[str, Any], shapes: Sequence[Sequence[int]], rng: random.Random) -> None:
    """Steps, paddings and dilations of a window with which the result has the extents of the image, or 1.

    That is what many rewrites ask for; the steps and paddings that have it so are seldom the plain ones alone.
    """
    first = 1 if str(made.get("data_format", "")).endswith("C") else 2
    image = tuple(shapes[0])[first : first + 2]
    kernel = made.get("kernel_size")
    if kernel is None and len(shapes) > 1 and len(shapes[1]) == 4:
        kernel = tuple(shapes[1])[2:] if str(made.get("filter_format", "")).endswith("HW") else tuple(shapes[1])[:2]
    if len(image) != 2 or not isinstance(kernel, tuple) or len(cast("tuple[int, ...]", kernel)) != 2:
        return
    if "kernel_size" in made and rng.random() < 0.3 and 0 < min(image) <= max(image) <= _LARGEST:
        made["kernel_size"] = kernel = image
    is_one = rng.random() < 0.35
    steps: list[int] = []
    paddings: list[int] = []
    dilations: list[int] = []
    for extent, size in zip(image, cast("tuple[int, int]", kernel), strict=True):
        ways = [
            (step, low, high, dilation)
            for step in (1, 2, 3)
            for dilation in ((1, 2) if "dilations" in made else (1,))
            for low in range(3)
            for high in range(3)
            if (room := extent + low + high - (size - 1) * dilation - 1) >= 0
            and room // step + 1 == (1 if is_one else extent)
        ]
        if not ways:
            return
        step, low, high, dilation = rng.choice(ways)
        steps.append(step)
        paddings += (low, high)
        dilations.append(dilation)
    made["strides"], made["paddings"] = tuple(steps), tuple(paddings)
    if "dilations" in made:
        made["dilations"] = tuple(dilations)
    if "padding_algorithm" in made:
        made["padding_algorithm"] = "EXPLICIT"


def spellings(op: Op) -> Iterator[tuple[str, Any]]:
    """Attributes that say the same as those an operation has: places counted from the other end, or beyond it.

    A pass that looks for one spelling, or computes with numbers of another, is told apart by these.
    """
    kinds = {f.name: str(f.annotation).split(" | ")[0] for f in op.definition.attributes}
    type_ = op.operands[0].type if op.operands else None
    if not isinstance(type_, RankedTensor) or not type_.is_static:
        return
    shape, rank = type_.shape, type_.rank
    for name in ("axis", "axes", "perm"):
        old = getattr(op, name) if name in kinds else None
        if isinstance(old, int) and rank:
            yield name, old - rank if old >= 0 else old + rank
        elif isinstance(old, tuple):
            axes = cast("tuple[int, ...]", old)
            for i, axis in enumerate(axes):
                yield name, (*axes[:i], axis - rank if axis >= 0 else axis + rank, *axes[i + 1 :])
    if {"axes", "starts", "ends"} <= kinds.keys():
        axes, starts, ends = (cast("tuple[int, ...]", getattr(op, name)) for name in ("axes", "starts", "ends"))
        for i, axis in enumerate(axes):
            extent = shape[axis] if -rank <= axis < rank else 0
            start, end = starts[i], ends[i]
            yield "starts", (*starts[:i], start - extent if start >= 0 else start + extent, *starts[i + 1 :])
            others = (end - extent,) if 0 <= end < extent else (end + extent,) if end < 0 else (extent, _BEYOND)
            for other in others:
                yield "ends", (*ends[:i], other, *ends[i + 1 :])
    if kinds.get("shape") == "tuple[int, ...]":
        extents = cast("tuple[int, ...]", getattr(op, "shape"))  # noqa: B009  it has one
        for i in range(len(extents)):
            yield "shape", (*extents[:i], -1, *extents[i + 1 :])


def _earlier(operands: Sequence[Value]) -> dict[str, list[Any]]:
    """The attributes of the operations that made the operands, by name."""
    found: dict[str, list[Any]] = {}
    for value in operands:
        maker = value.defining_op
        if isinstance(maker, Op):
            for field in maker.definition.attributes:
                found.setdefault(field.name, []).append(getattr(maker, field.name))
    return found


def _shapes_before(operands: Sequence[Value]) -> list[tuple[int, ...]]:
    """The shapes of what the operations took that made the operands: what a round trip gives back."""
    makers = [maker for value in operands if (maker := value.defining_op) is not None]
    types = [v.type for maker in makers for v in maker.operands]
    return [t.shape for t in types if isinstance(t, RankedTensor) and t.is_static]


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


def _ranges(
    made: dict[str, Any],
    shape: Sequence[int],
    before: Sequence[Sequence[int]],
    known: Sequence[Any],
    rng: random.Random,
) -> None:
    """Axes, and a part of each: often the axes of the operation before, or a part of the extents that it took."""
    rank = len(shape)
    if not rank:
        return
    axes = sorted(rng.sample(range(rank), min(rank, rng.choice((1, 1, 2, rank)))))
    wanted: Sequence[int] | None = None
    earlier = sorted({axis % rank for axis in rng.choice(known)}) if known else []
    same_rank = [s for s in before if len(s) == rank and tuple(s) != tuple(shape)]
    if same_rank and rng.random() < 0.4:
        wanted = rng.choice(same_rank)
        axes = [axis for axis in range(rank) if shape[axis] != wanted[axis]]
    elif earlier and rng.random() < 0.6:
        axes = earlier
    ranges = [_range(shape[axis], None if wanted is None else wanted[axis], rng) for axis in axes]
    made["starts"], made["ends"] = tuple(a for a, _ in ranges), tuple(b for _, b in ranges)
    if "decrease_axis" in made:
        single = tuple(axis for axis, (a, b) in zip(axes, ranges, strict=True) if b == a + 1)
        made["decrease_axis"] = single if rng.random() < 0.3 else ()
    made["axes"] = tuple(axis if rng.random() < 0.7 else axis - rank for axis in axes)


def _range(extent: int, count: int | None, rng: random.Random) -> tuple[int, int]:
    """A part of an axis, of so many elements or any: some of it, up to its end, all of it, or beyond.

    Places count from either end.
    """
    if count is None or count > extent:
        low = rng.randrange(extent) if extent else 0
        high = rng.randrange(low, extent) + 1 if extent else 0
        low, high = rng.choice(((low, high), (low, high), (low, extent), (0, high), (0, extent), (0, extent + 3)))
    else:
        low = rng.randrange(extent - count + 1)
        high = low + count
    if rng.random() < 0.3 and low < extent:
        low -= extent
    if high >= extent and rng.random() < 0.4:
        high = _BEYOND
    elif high < extent and rng.random() < 0.15:
        high -= extent
    return low, high


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
