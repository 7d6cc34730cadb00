"""Memory planning problems, made by chance from a seed: what `bench_memory.py` measures and the tests check."""

from __future__ import annotations

import random
from typing import Final

from tx8ir.backend.memory import Buffer

CAPACITY: Final = 1 << 20
_HORIZON: Final = 1000
_GRAIN: Final = 1024


def network(values: int, seed: int) -> list[Buffer]:
    """The values of a network in topological order: each is read by the next ones, some much later (skips)."""
    draw = random.Random(seed)
    last = [i + 1 for i in range(values)]
    for i in range(1, values):
        for _ in range(draw.choice((1, 1, 2))):
            reach = 2 + int(draw.expovariate(0.15)) if draw.random() < 0.2 else 2
            last[max(0, i - draw.randint(1, reach))] = i
    sizes = [_GRAIN * draw.choice((1, 2, 4, 8)) * draw.randint(1, 12) for _ in range(values)]
    return [Buffer(f"v{i}", i, max(i, last[i]) + 1, size, 256) for i, size in enumerate(sizes)]


def crowded(count: int, seed: int) -> list[Buffer]:
    """Three in ten live long, the others shortly, of sizes with heavy tails; drawn until the capacity is nearly full.

    So Moffitt (2023) describes what is hard for allocators: long-lived buffers beside short ones, near capacity.
    """
    draw = random.Random(seed)
    load = [0] * _HORIZON
    buffers: list[Buffer] = []
    for _ in range(50 * count):
        is_long = draw.random() < 0.3
        length = draw.randint(_HORIZON // 4, _HORIZON) if is_long else 1 + int(draw.paretovariate(0.9) * 6)
        length = min(length, _HORIZON)
        size = _GRAIN * max(1, int(draw.paretovariate(1.2) * 2 if is_long else draw.paretovariate(0.7) * 8))
        lower = draw.randint(0, _HORIZON - length)
        if max(load[lower : lower + length]) + size <= CAPACITY:
            for t in range(lower, lower + length):
                load[t] += size
            buffers.append(Buffer(f"b{len(buffers)}", lower, lower + length, size))
            if len(buffers) == count:
                break
    return buffers


def cut(
    count: int, seed: int, *, horizon: int = _HORIZON, capacity: int = CAPACITY, grain: int = _GRAIN
) -> list[Buffer]:
    """A full memory over all times, cut into `count` buffers: there is no room to spare, and the optimum is known."""
    draw = random.Random(seed)
    pieces = [(0, horizon, 0, capacity)]
    while len(pieces) < count:
        tried = draw.sample(range(len(pieces)), min(4, len(pieces)))
        k = max(tried, key=lambda k: (pieces[k][1] - pieces[k][0]) * (pieces[k][3] - pieces[k][2]))
        begin, end, low, high = pieces[k]
        if draw.random() < 0.5 and high - low >= 2 * grain:
            middle = low + grain * draw.randint(1, (high - low) // grain - 1)
            pieces[k : k + 1] = [(begin, end, low, middle), (begin, end, middle, high)]
        elif end - begin >= 2:
            middle = draw.randint(begin + 1, end - 1)
            pieces[k : k + 1] = [(begin, middle, low, high), (middle, end, low, high)]
    draw.shuffle(pieces)
    return [Buffer(f"b{i}", begin, end, high - low) for i, (begin, end, low, high) in enumerate(pieces)]
