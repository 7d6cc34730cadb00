"""The table of executors: how each instruction class is decoded into a step that runs on the memories."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

import numpy as np

from tx8ir.dialects.tx8 import Instruction
from tx8ir.sim.checks.fp_flags import Exceptions
from tx8ir.sim.memory.memory import Memory, Placed
from tx8ir.target.chip import Target


class Clock:
    """The cycle counters of a run.

    Args:
        readings: for each instruction that reads the counter and each of its tiles, the cycle of every execution.
    """

    def __init__(self, readings: Mapping[tuple[Instruction, int], Sequence[int]]) -> None:
        self._next = {key: iter(cycles) for key, cycles in readings.items()}

    def read(self, op: Instruction, tiles: Sequence[int]) -> list[int]:
        """The cycle at which `op` is executed now, on each of some tiles."""
        return [next(self._next[op, tile]) for tile in tiles]


class Machine:
    """What steps run on: the memories, the chip, the generator for stochastic rounding, and the registers.

    `exceptions` is None where nobody looks at them, and `clock` where no instruction reads it.
    """

    __slots__ = ("clock", "exceptions", "memory", "rng", "target")

    def __init__(
        self,
        target: Target,
        memory: Memory,
        seed: int,
        exceptions: Exceptions | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.clock = clock
        self.exceptions = exceptions
        self.target = target
        self.memory = memory
        self.rng = np.random.default_rng(seed)


Semantics: TypeAlias = Callable[[Machine, tuple[Placed, ...]], None]
"""Executes a decoded instruction on its placed accesses, which are in the order of the instruction's `effects`."""

OpT = TypeVar("OpT", bound=Instruction)
DecoderT = TypeVar("DecoderT", bound=Callable[[Any], Semantics])

EXECUTORS: dict[type[Instruction], Callable[[Any], Semantics]] = {}
"""Instruction class to its decoder, which reads all fields once and gives the step. Every class has an entry."""


def executes(op_class: type[OpT]) -> Callable[[DecoderT], DecoderT]:
    """Register the decorated function as the decoder of `op_class`."""

    def register(decoder: DecoderT) -> DecoderT:
        EXECUTORS[op_class] = decoder
        return decoder

    return register
