"""The table of executors: how each instruction class is decoded into a step that runs on the memories."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

import numpy as np

from tx8ir.dialects.tx8 import Instruction
from tx8ir.sim.exceptions import ExceptionRegisters
from tx8ir.sim.memory import Memory, Placed
from tx8ir.target.chip import Target


class Machine:
    """What steps run on: the memories, the chip, the generator for stochastic rounding, and the exception registers.

    `exceptions` is None where no instruction of the program reads or writes them.
    """

    __slots__ = ("exceptions", "memory", "rng", "target")

    def __init__(self, target: Target, memory: Memory, seed: int, exceptions: ExceptionRegisters | None = None) -> None:
        self.exceptions = exceptions
        self.target = target
        self.memory = memory
        self.rng = np.random.default_rng(seed)


Step: TypeAlias = Callable[[Machine, tuple[Placed, ...]], None]
"""Executes a decoded instruction on its placed accesses, which are in the order of the instruction's `effects`."""

OpT = TypeVar("OpT", bound=Instruction)
DecoderT = TypeVar("DecoderT", bound=Callable[[Any], Step])

EXECUTORS: dict[type[Instruction], Callable[[Any], Step]] = {}
"""Instruction class to its decoder, which reads all fields once and gives the step. Every class has an entry."""


def executes(op_class: type[OpT]) -> Callable[[DecoderT], DecoderT]:
    """Register the decorated function as the decoder of `op_class`."""

    def register(decoder: DecoderT) -> DecoderT:
        EXECUTORS[op_class] = decoder
        return decoder

    return register
