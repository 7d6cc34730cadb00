"""The operations that programs are made of, with their samples in the order in which they show something new."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import attrs

from tx8ir.core import DYNAMIC, IrError, Op, RankedTensor, ScalarType, default_context
from tx8ir.core.opdef.fields import AttributeField
from tx8ir.dialects import builtin, pd
from tx8ir.dialects.samples import Sample, Sampled, samples_of
from tx8ir.testing.guidance.direction import Direction


def sampled_ops() -> tuple[type[Op], ...]:
    """The shipped operations on tensors that have samples."""
    return tuple(op for op in map(_as_sampled, (*pd.DIALECT.ops.values(), *builtin.DIALECT.ops.values())) if op)


def _as_sampled(op: type[Any] | None) -> type[Op] | None:
    return op if op is not None and issubclass(op, Op) and Sampled in op.info.interfaces else None


def features_of(sample: Sample) -> frozenset[str]:
    """What a sample shows of its operation: element types, ranks, extents, attributes, and how many operands it has."""
    name = sample.op.name
    found = {name, f"{name} operands {len(sample.types)}"}
    for type_ in sample.types:
        if isinstance(type_, RankedTensor):
            found |= {f"{name} {type_.element}", f"{name} rank {type_.rank}"}
            if 0 in type_.shape:
                found.add(f"{name} empty")
            if DYNAMIC in type_.shape:
                found.add(f"{name} dynamic")
    found |= {f"{name} {key}={value}" for key, value in sample.attributes.items()}
    return frozenset(found)


class Catalogue:
    """Operations and their samples, for a direction.

    Attributes:
        ops: all of them.
        near: those of the direction; empty when it has none.
    """

    def __init__(self, direction: Direction, ops: Sequence[type[Op]] | None = None) -> None:
        shipped = sampled_ops() if ops is None else tuple(ops)
        named = [_as_sampled(default_context().op_class(name)) for name in sorted(direction.ops)]
        self.ops: tuple[type[Op], ...] = (*shipped, *(op for op in named if op is not None and op not in shipped))
        self.near = tuple(op for op in self.ops if op.name in direction.ops)
        self._direction = direction
        self._samples: dict[type[Op], tuple[Sample, ...]] = {}

    def samples(self, op: type[Op]) -> tuple[Sample, ...]:
        """The samples of an operation: those that the direction asks for first, then those that show something new."""
        found = self._samples.get(op)
        if found is None:
            usual = list(samples_of(op))
            wanted = list(self._wanted(op, usual)) if op in self.near else []
            preferred = self._direction.element_types
            usual.sort(key=lambda s: not _elements(s) & preferred)  # stable
            found = self._samples[op] = (*usual[:1], *wanted, *_new_first(usual)[1:])
        return found

    def _wanted(self, op: type[Op], usual: Sequence[Sample]) -> Iterator[Sample]:
        """Samples with the numbers and attributes of the direction."""
        fields = {f.name: f for f in op.definition.attributes}
        changes: list[tuple[str, Any]] = [pair for pair in self._direction.attributes if pair[0] in fields]
        for name, field in fields.items():
            changes += [(name, held) for n in self._direction.numbers if (held := _as_attribute(field, n)) is not None]
        bases = list({tuple(_elements(s)): s for s in reversed(usual[:60])}.values())[::-1][:3]
        for name, value in changes:
            for base in bases:
                changed = attrs.evolve(base, attributes={**base.attributes, name: value})
                if _is_valid(changed):
                    yield changed


def _as_attribute(field: AttributeField, number: float) -> float | int | None:
    kind = str(field.annotation).split(" | ")[0]
    if kind == "float":
        return float(number)
    return int(number) if kind == "int" and float(number).is_integer() and abs(number) < 2**31 else None


def _is_valid(sample: Sample) -> bool:
    try:
        return bool(sample.result_types)
    except (IrError, TypeError, ValueError, OverflowError):
        return False


def _elements(sample: Sample) -> frozenset[ScalarType]:
    return frozenset(t.element for t in sample.types if isinstance(t, RankedTensor))


def _new_first(samples: Iterable[Sample]) -> list[Sample]:
    """Those that show something that none before them shows, then the others."""
    seen: set[str] = set()
    new: list[Sample] = []
    rest: list[Sample] = []
    for sample in samples:
        found = features_of(sample)
        (rest if found <= seen else new).append(sample)
        seen |= found
    return new + rest
