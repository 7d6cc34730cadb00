"""Inputs for a program: ordinary numbers, and those that break careless rewrites.

Where a rewrite is wrong for few numbers only, drawing finds them by luck. So special numbers are not drawn but tiled
(`input_sets`): every pair of them meets in every two places, in as few runs as there is room for. The places are the
elements of all inputs; the numbers are shifted along the elements and from input to input by a different step in each
run, which over a prime count of numbers is an orthogonal array of strength two (Rao 1947; covering arrays in software
testing: Cohen et al., IEEE TSE 1997).

The special numbers of a floating-point format are zeros of both signs, the smallest subnormal and normal numbers, the
largest finite ones, infinities and NaN; those of an integer format are 0, 1, -1 and both ends of its range.
"""

from __future__ import annotations

import itertools
import math
import random
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import Any, Final, Literal, TypeAlias

import attrs
import numpy as np
from numpy.typing import NDArray

from tx8ir.core import DenseAttr, FloatAttr, IrError, Program, RankedTensor
from tx8ir.dialects import pd
from tx8ir.dialects.domains import Domain
from tx8ir.target.formats import ALL, Format
from tx8ir.target.rounding import convert

from .domains import input_domains

Array: TypeAlias = NDArray[Any]
Flavour: TypeAlias = Literal["ordinary", "mixed", "special"]
"""How numbers are drawn: "ordinary" small finite numbers, "special" numbers of the format, or half and half."""

FLAVOURS: tuple[Flavour, ...] = ("ordinary", "mixed", "special")

Kind: TypeAlias = Literal[
    "ordinary", "mixed", "named", "paired", "large", "tiny", "offset", "cancelling", "close", "given"
]
"""What a set of inputs is for: "given" by a caller; "ordinary" and "mixed" as the flavours; "named", the numbers that
the program itself names, and their neighbours; "paired", every pair of special numbers in turn; "large", where
exponentials, squares and sums overflow; "tiny", where products vanish; "offset", where differences from a mean are
small; "cancelling", where sums are; "close", neighbours that a conversion merges or tells apart."""

EXTENTS: tuple[int, ...] = (2, 1, 3, 5)
"""What dynamic extents become, in turn."""


@attrs.frozen(eq=False)
class InputSet:
    """Numbers to evaluate a program on.

    Attributes:
        kind: what they are for.
        arrays: by the name of the input.
    """

    kind: Kind
    arrays: Mapping[str, Array]


# --- numbers ---------------------------------------------------------------------------------------------------------


def special_numbers(format: Format) -> Array:
    """The numbers of a format at which functions stop being smooth, in the format's dtype."""
    if format.is_bool:
        return np.array([False, True])
    if format.is_integer:
        low, high = format.integer_range
        return _integers(format, [0, 1, 2, high, low, *([-1] if format.is_signed else [])])
    subnormal, normal, largest = _limits(format)
    positive = [0.0, subnormal, normal, 1.0, largest, math.inf]
    return np.array([*positive, *(-x for x in positive), math.nan], np.float64).astype(format.dtype)


@cache
def paired_numbers(format: Format, *, many: bool = False) -> Array:
    """A prime count of numbers of a format, in its dtype: 7, the most telling ones, or 17, all that are special.

    Truth values are 2. An integer format that has fewer numbers than that has some twice.
    """
    if format.is_bool:
        return np.array([False, True])
    if format.is_integer:
        low, high = format.integer_range
        few = [0, 1, low if format.is_signed else high - 1, high, -1 if format.is_signed else 2, 3, 10]
        more = [2, 4, 5, 7, 8, low + 1, high - 1, high // 2, 100, 31]
        signed = [2, -2, -3, -5, -7, low + 1, high - 1, high // 2, low // 2, 31]
        return _integers(format, few + (signed if format.is_signed else more) * many)
    subnormal, normal, largest = _limits(format)
    few = [math.inf, 0.0, math.nan, -math.inf, 1.0, -0.0, -1.5]
    more = [-1.0, 2.0, 0.5, largest, -largest, subnormal, -subnormal, normal, -normal, 3.0]
    return np.array(few + more * many, np.float64).astype(format.dtype)


def _limits(format: Format) -> tuple[float, float, float]:
    """The smallest subnormal, the smallest normal and the largest finite number."""
    normal = format.smallest_normal
    return math.ldexp(normal, -format.mantissa_bits), normal, format.limits[1]


def _integers(format: Format, numbers: Sequence[int]) -> Array:
    low, high = format.integer_range
    inside = [low + (n - low) % (high - low + 1) for n in numbers]
    return np.array(inside, np.int64 if format.is_signed else np.uint64).astype(format.dtype)


def held(array: Array, format: Format) -> Array:
    """Floating-point numbers rounded to a format, in its dtype. The dtype that carries tf32 may hold more than it."""
    with np.errstate(all="ignore"):
        return convert(np.asarray(array).astype(format.dtype), format, format)


def draw_array(rng: np.random.Generator, shape: Sequence[int], format: Format, flavour: Flavour) -> Array:
    """An array of that shape and format's dtype."""
    special = rng.choice(special_numbers(format), tuple(shape))
    if flavour == "special" or format.is_bool:
        return np.asarray(special)
    if format.is_float:
        # Quarters are exact in every format; the others round.
        quarters = rng.integers(-8, 9, shape) / 4
        ordinary = held(np.where(rng.random(shape) < 0.5, quarters, rng.standard_normal(shape)), format)
    else:
        ordinary = rng.integers(-3 if format.is_signed else 0, 4, shape).astype(format.dtype)
    return ordinary if flavour == "ordinary" else np.where(rng.random(shape) < 0.5, special, ordinary)


def structures(shape: Sequence[int]) -> Iterator[Array]:
    """Numbers in each order that a compiler may look for: a triangle, a unit matrix, places counted, all alike."""
    rows, columns = (1, *shape)[-2] if shape else 1, shape[-1] if shape else 1
    made = [
        np.eye(rows, columns),
        np.tri(rows, columns),
        1 - np.tri(rows, columns, -1),
        np.eye(rows, columns)[::-1],
        np.arange(columns),
        np.arange(columns)[::-1],
        np.arange(math.prod(shape)).reshape(shape),
        np.zeros(shape),
        np.ones(shape),
    ]
    for array in made:
        yield np.array(np.broadcast_to(array.reshape(array.shape[-len(shape) :] if shape else ()), shape))


def structured_array(rng: np.random.Generator, shape: Sequence[int], format: Format) -> Array:
    """Numbers in an order that a compiler may look for (see `structures`); some have one other number among them."""
    found = list(structures(shape))
    made = found[rng.integers(len(found))]
    if made.size and rng.random() < 0.3:
        place = rng.integers(made.size)
        neighbour = made.reshape(-1)[place] * (1 + math.ldexp(1.0, -format.mantissa_bits)) if format.is_float else 0.0
        made.reshape(-1)[place] = rng.choice((1 - made.reshape(-1)[place], neighbour or 2.0))
    if format.is_float or format.is_bool:
        return made.astype(format.dtype)
    low, high = format.integer_range
    return np.clip(made, low, high).astype(format.dtype)


def in_domain(array: Array, domain: Domain, format: Format, rng: np.random.Generator) -> Array:
    """`array`, numbers of a format, with those that do not belong to a domain replaced by some that do.

    Raises:
        IrError: no number of the format belongs to the domain.
    """
    inside = domain.contains(array)
    if domain.is_everything or inside.all():
        return array
    numbers = domain.numbers(*format.integer_range)
    if not numbers:
        raise IrError(f"no number of {format.name} belongs to {domain}")
    return np.where(inside, array, rng.choice(np.array(numbers, array.dtype), array.shape))


# --- one set of inputs -----------------------------------------------------------------------------------------------

_Maker: TypeAlias = Callable[[int, tuple[int, ...], Format, np.random.Generator], Array]
"""Makes the array of an input from its place among the inputs, its shape and its format."""


def draw_inputs(program: Program, seed: int = 0, flavour: Flavour = "ordinary") -> dict[str, Array]:
    """An array for every input of `program`, by name; dynamic extents become 2.

    Inputs that are indices, labels or divisors hold what their users take; see `domains.input_domains`.

    Raises:
        IrError: an input that is not a tensor, or one whose users take no common number.
    """
    entropy = FLAVOURS.index(flavour)
    return _Inputs(program, seed).make(entropy, lambda _, shape, format, rng: draw_array(rng, shape, format, flavour))


class _Inputs:
    """The inputs of a program: their types, and the numbers that they may be."""

    def __init__(self, program: Program, seed: int) -> None:
        feeds = {op.feed_name: op.out.type for op in program.main.walk() if isinstance(op, pd.FeedOp)}
        self.seed = seed
        self.named = _named_numbers(program)
        self.domains = input_domains(program)
        self.types: dict[str, RankedTensor] = {}
        for name, type_ in (program.inputs | feeds).items():
            if not isinstance(type_, RankedTensor):
                raise IrError(f"input {name!r} has type {type_}; inputs are drawn for tensors only")
            self.types[name] = type_

    @property
    def is_dynamic(self) -> bool:
        """Whether an extent is dynamic."""
        return any(not type_.is_static for type_ in self.types.values())

    def most_elements(self) -> int:
        """The number of elements of the largest input that holds more than truth values."""
        return max((math.prod(_extents(t, 2)) for t in self.types.values() if not t.element.format.is_bool), default=0)

    def make(self, entropy: int, maker: _Maker, extent: int = EXTENTS[0]) -> dict[str, Array]:
        """An array for each input; dynamic extents become `extent`."""
        made: dict[str, Array] = {}
        for place, (name, type_) in enumerate(self.types.items()):
            # Of the name, so that an input keeps its numbers when others come and go.
            rng = np.random.default_rng([self.seed, entropy, zlib.crc32(name.encode())])
            format = type_.element.format
            array = maker(place, _extents(type_, extent), format, rng)
            made[name] = in_domain(array, self.domains[name], format, rng) if name in self.domains else array
        return made


def _extents(type_: RankedTensor, extent: int) -> tuple[int, ...]:
    return tuple(extent if n < 0 else n for n in type_.shape)


# --- the sets of a program -------------------------------------------------------------------------------------------


_WORK = 20_000
"""How many operations may be evaluated for one program on all sets of inputs, those inside loops counted once."""
_FEWEST = 8


def input_sets(program: Program, seed: int = 0, *, many: bool = False) -> Iterator[InputSet]:
    """Sets of inputs that decide whether two programs are the same, the cheapest finders first.

    Ordinary and mixed numbers are drawn from `seed`. All else is the same for every seed: the 7 most telling numbers of
    each format, every two of them in every two places; small, large, nearly equal, cancelling and neighbouring numbers;
    and ordinary numbers for the other extents that a dynamic one may have. A large program gets the first of them only.

    Args:
        program: a valid program.
        seed: of what is drawn.
        many: all pairs of 17 special numbers in the end.

    Raises:
        IrError: see `draw_inputs`.
    """
    return (make() for make in _sets(program, seed, many))


def some_input_sets(program: Program, seed: int, first: int, others: int) -> tuple[InputSet, ...]:
    """The first of `input_sets`, and some of the others, which `seed` chooses; only these are made.

    Raises what `input_sets` raises.
    """
    found = tuple(_sets(program, seed, False))
    rest = found[first:]
    chosen = random.Random(seed).sample(rest, min(len(rest), others))
    return tuple(make() for make in (*found[:first], *chosen))


def _sets(program: Program, seed: int, many: bool) -> Iterator[Callable[[], InputSet]]:
    operations = sum(1 for _ in program.module.walk())
    return itertools.islice(_all_sets(_Inputs(program, seed), many), max(_FEWEST, _WORK // operations))


def _all_sets(inputs: _Inputs, many: bool) -> Iterator[Callable[[], InputSet]]:
    def drawn(flavour: Flavour, extent: int = EXTENTS[0]) -> InputSet:
        def maker(_: int, shape: tuple[int, ...], format: Format, rng: np.random.Generator) -> Array:
            return draw_array(rng, shape, format, flavour)

        return InputSet(
            "mixed" if flavour == "mixed" else "ordinary", inputs.make(FLAVOURS.index(flavour), maker, extent)
        )

    def made(kind: Kind, maker: _Maker) -> InputSet:
        return InputSet(kind, inputs.make(0, maker))

    yield partial(drawn, "ordinary")
    if not inputs.types:
        return
    yield partial(drawn, "mixed")
    if inputs.named:
        yield partial(made, "named", partial(_named, inputs.named))
    scales: tuple[tuple[Kind, _Maker], ...] = (
        ("large", _large),
        ("large", _with_large_products),
        ("tiny", _tiny),
        ("offset", _offset),
        ("cancelling", _cancelling),
        ("close", partial(_close, 0)),
        ("close", partial(_close, 1)),
    )
    yield from (partial(made, kind, maker) for kind, maker in scales)
    if inputs.is_dynamic:
        yield from (partial(drawn, "ordinary", extent) for extent in EXTENTS[1:])
    for numbers in (7, 17)[: 1 + many]:
        yield from (partial(made, "paired", tiling) for tiling in _tilings(inputs.most_elements(), numbers))


@attrs.frozen
class _Tiling:
    """One run of the special numbers along the elements of all inputs.

    Of the p numbers of a format, number e m + k s + t is at element e of input k, modulo p: a run has a step m along
    the elements, a shift s from input to input, and a start t, which is left out for every other input.
    """

    run: int
    numbers: int
    start: int
    shift: int
    step: int = 1

    def __call__(self, place: int, shape: tuple[int, ...], format: Format, _: np.random.Generator) -> Array:
        element = np.arange(math.prod(shape))
        if format.is_bool:
            # Counts in binary: the first bits of the run are those of the first elements and inputs.
            places = element + place
            return (((self.run >> (places % 5)) ^ (places // 5)) & 1).astype(np.bool_).reshape(shape)
        first = place * self.shift + (0 if place % 2 else self.start)
        numbers = paired_numbers(format, many=self.numbers > 7)
        return numbers[(element * self.step + first) % self.numbers].reshape(shape)


def _tilings(elements: int, numbers: int) -> Iterator[_Tiling]:
    """Runs in which every two of a prime count of numbers meet in inputs of at most so many elements: an element of
    one and an element of another, also where one is broadcast, and two elements of one.
    """
    stretch = max(1, min(elements, numbers))
    runs = [(start, shift, 1) for shift in range(numbers) for start in range(0, numbers, stretch)]
    if 1 < stretch < numbers:  # neighbours, at every distance between two numbers
        overlapping = range(0, numbers, stretch - 1)
        runs += [(start * step, step, step) for step in range(1, numbers // 2 + 1) for start in overlapping]
    yield from (_Tiling(number, numbers, *run) for number, run in enumerate(runs))


def _cycled(numbers: Sequence[float], shape: tuple[int, ...], place: int, format: Format) -> Array:
    """Numbers one after another, in another order in each input; those beyond an integer format at its end."""
    count = len(numbers)
    order = (np.arange(math.prod(shape)) * (1 + 2 * place) + place) % count
    if format.is_integer:
        low, high = format.integer_range
        whole = [min(max(int(numbers[int(i)]), low), high) for i in order]
        return np.array(whole, np.int64 if format.is_signed else np.uint64).astype(format.dtype).reshape(shape)
    return held(np.array(numbers, np.float64)[order], format).reshape(shape)


_NAMED, _OF_A_CONSTANT = 12, 6
"""How many numbers of a program are inputs of it, and of how many elements a constant is whose numbers are."""


def _named_numbers(program: Program) -> tuple[float, ...]:
    """The finite numbers that a program names: elements of small constants, and floating-point attributes."""
    found: dict[float, None] = {}
    for op in program.module.walk():
        value = op.attributes.get("value")
        if isinstance(value, DenseAttr):
            array = value.value.reshape(-1)
            numbers: list[float] = array.astype(np.float64).tolist() if array.size <= _OF_A_CONSTANT else []
        else:
            numbers = [a.value for a in op.attributes.values() if isinstance(a, FloatAttr)]
        found.update(dict.fromkeys(float(n) for n in numbers if math.isfinite(n)))
    return tuple(found)[:_NAMED]


def _named(
    numbers: Sequence[float], place: int, shape: tuple[int, ...], format: Format, rng: np.random.Generator
) -> Array:
    """Numbers of the program, the next ones of the format above and below, and of the other sign."""
    if format.is_bool:
        return draw_array(rng, shape, format, "ordinary")
    if format.is_integer:
        return _cycled([n + step for n in numbers for step in (0, 1, -1)], shape, place, format)
    steps = [math.ldexp(1.0, math.frexp(n)[1] - 1 - format.mantissa_bits) for n in numbers]
    return _cycled(
        [f for n, h in zip(numbers, steps, strict=True) for f in (n, n + h, n - h, -n)], shape, place, format
    )


def _large(place: int, shape: tuple[int, ...], format: Format, rng: np.random.Generator) -> Array:
    if format.is_bool:
        return draw_array(rng, shape, format, "ordinary")
    if format.is_integer:
        low, high = format.integer_range
        return _cycled(
            [high, low, high - 1, high // 2 + 1, low // 2 - 1, 46341, (1 << 53) + 1, (1 << 24) + 1],
            shape,
            place,
            format,
        )
    largest = _limits(format)[2]
    root = math.sqrt(largest)
    # exp overflows above 88.7 in fp32 and 11.1 in fp16, tanh is 1 above 9, a square overflows above the root.
    numbers = [100.0, -100.0, 12.0, root, -root / 2, 90.0, largest / 2, -0.9 * largest, 30.0, -12.0, largest / 1.5]
    return _cycled(numbers, shape, place, format)


def _with_large_products(place: int, shape: tuple[int, ...], format: Format, rng: np.random.Generator) -> Array:
    """Numbers of which every two have a product that overflows, and hardly a sum or a quotient does."""
    if format.is_bool:
        return draw_array(rng, shape, format, "ordinary")
    root = math.sqrt(format.integer_range[1] if format.is_integer else _limits(format)[2])
    return _cycled([2 * root, -3 * root, 1.5 * root, 4 * root, -2 * root, 3 * root, -1.5 * root], shape, place, format)


def _tiny(place: int, shape: tuple[int, ...], format: Format, rng: np.random.Generator) -> Array:
    if not format.is_float:
        return draw_array(rng, shape, format, "ordinary")
    subnormal, normal, _ = _limits(format)
    root, unit = math.sqrt(normal), math.ldexp(1.0, -format.mantissa_bits)
    numbers = [root, -root, unit / 2, normal, -unit, 3 * subnormal, root / 3, -normal / 2, unit * 1.5, 1e-3, -1e-6]
    return _cycled(numbers, shape, place, format)


def _offset(place: int, shape: tuple[int, ...], format: Format, rng: np.random.Generator) -> Array:
    if not format.is_float:
        return draw_array(rng, shape, format, "ordinary")
    # The noise keeps a few of the format's bits.
    scale = math.ldexp(1.0, format.mantissa_bits - 5)
    return held(scale + rng.standard_normal(shape), format)


def _cancelling(place: int, shape: tuple[int, ...], format: Format, rng: np.random.Generator) -> Array:
    if format.is_bool:
        return draw_array(rng, shape, format, "ordinary")
    if format.is_integer:
        low, high = format.integer_range
        return _cycled([high, 1, low, -1 if low else 3, high - 2, 2], shape, place, format)
    big = math.ldexp(1.0, format.mantissa_bits)
    return _cycled([big, 1.0, -big, 0.75, -1.0, 3 * big, 0.5, -3 * big, -0.25], shape, place, format)


def _close(start: int, place: int, shape: tuple[int, ...], format: Format, rng: np.random.Generator) -> Array:
    """Numbers that are equal or neighbours from input to input, where formats of fewer digits have the middle between
    two numbers: rounding twice is not rounding once there, and numbers that differ become one.
    """
    if format.is_bool:
        return draw_array(rng, shape, format, "ordinary")
    element = np.arange(math.prod(shape))
    step = (element + place + 2 * start) % 3 - 1
    if format.is_integer:
        low, high = format.integer_range
        beyond = [
            (2 << digits) + 1 for digits in _DIGITS[::-1] if (2 << digits) + 1 < high
        ]  # the first that is rounded
        bases = [*beyond, high - 1, low + 1]
        whole = [bases[(e + start) % len(bases)] + s for e, s in zip(element.tolist(), step.tolist(), strict=True)]
        return np.array(whole, np.int64 if format.is_signed else np.uint64).astype(format.dtype).reshape(shape)
    middles = [1.0 + math.ldexp(1.0, -digits - 1) for digits in _DIGITS[::-1] if digits < format.mantissa_bits]
    bases = [*middles, 2.0, 0.5, *(-x for x in middles)]
    chosen = np.array(bases)[(element + start) % len(bases)]
    return held(chosen * (1.0 + step * math.ldexp(1.0, -format.mantissa_bits)), format).reshape(shape)


_DIGITS: Final = sorted({format.mantissa_bits for format in ALL if format.is_float})
