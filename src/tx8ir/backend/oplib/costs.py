"""What recorded instructions cost and whether their descriptors can say them, asked of the tx8 instructions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

import attrs

from tx8ir.backend.oplib.kernel import InstructionDraft
from tx8ir.core import VerifyError
from tx8ir.core.ir.builder import detached
from tx8ir.dialects import tx8
from tx8ir.target.chip import Target

__all__ = ["InstructionCosts", "Price", "instruction_class"]


@attrs.frozen
class Price:
    """Cycles of an instruction on its engine, with DDR shared by all tiles, and what of it no instruction can do."""

    cycles: int
    illegal: str | None


def instruction_class(name: str) -> type[tx8.Instruction]:
    """The tx8 operation of a recorded instruction. Raises KeyError when there is none of that name."""
    return cast("type[tx8.Instruction]", tx8.DIALECT.ops[f"tx8.{name}"])


class InstructionCosts:
    """Prices of recorded instructions on a target.

    The tx8 operation says them (`tx8.Instruction.work` and `verify_fields`). One is made for each set of fields that
    differs in more than addresses, which neither depends on: a transfer is taken to start with a bank of DDR.
    """

    def __init__(self, target: Target) -> None:
        self.target = target
        self._prices: dict[tuple[str, tuple[tuple[str, object], ...]], Price] = {}

    def price(self, instruction: InstructionDraft) -> Price:
        """The price of an instruction."""
        cls = instruction_class(instruction.name)
        addresses = cls.address_fields()
        fields = tuple((key, 0 if key in addresses else value) for key, value in instruction.fields.items())
        key = (instruction.name, fields)
        found = self._prices.get(key)
        if found is None:
            found = self._prices[key] = self._price(cls, dict(fields), addresses)
        return found

    def _price(self, cls: type[tx8.Instruction], fields: Mapping[str, object], addresses: frozenset[str]) -> Price:
        given = {key: (0,) if key in addresses else value for key, value in fields.items()}
        with detached():
            op = cast("Callable[..., Any]", cls)(tiles=(0,), **given)
        try:
            op.verify_fields(self.target)
        except VerifyError as error:
            return Price(0, f"{cls.name}: {error.message}")
        return Price(int(op.cycles(self.target)), None)
