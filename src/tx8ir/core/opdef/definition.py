"""What an op class declares: its fields by kind, their codecs, and what in an operation breaks the declaration."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Any, Final, cast

from tx8ir.core.attrs.attributes import DenseArrayAttr
from tx8ir.core.attrs.codecs import Codec, codec_for
from tx8ir.core.attrs.types import Type, i32
from tx8ir.core.errors import IrError
from tx8ir.core.ir.interfaces import InferTypes
from tx8ir.core.ir.operation import Operation
from tx8ir.core.ir.readers import declared_parts

from .fields import (
    MISSING,
    AttributeField,
    Field,
    Operand,
    OptionalOperand,
    RegionField,
    Result,
    SuccessorField,
    ValueField,
    VariadicOperand,
    VariadicRegionField,
    VariadicResult,
)

SEGMENTS: Final = "operandSegmentSizes"
"""The attribute that says how many operands each field has, where several fields vary; of i32, as in MLIR."""


def segment_sizes(sizes: Iterable[int]) -> DenseArrayAttr:
    """The attribute `SEGMENTS` for these numbers of operands."""
    return DenseArrayAttr(sizes, i32)


class OpDef:
    """The fields of an op class by kind, and the attribute codecs, found when first asked for."""

    def __init__(self, op_class: type[Operation], fields: dict[str, Field]) -> None:
        self.op_class = op_class
        self.operands = [f for f in fields.values() if isinstance(f, (Operand, OptionalOperand, VariadicOperand))]
        self.results = [f for f in fields.values() if isinstance(f, (Result, VariadicResult))]
        self.attributes = [f for f in fields.values() if isinstance(f, AttributeField)]
        self.regions = [f for f in fields.values() if isinstance(f, RegionField)]
        self.has_variadic_region = bool(self.regions) and isinstance(self.regions[-1], VariadicRegionField)
        if any(isinstance(f, VariadicRegionField) for f in self.regions[:-1]):
            raise TypeError(f"{op_class.__name__} has regions after those of a variadic one, which is the last")
        self.successors = [f for f in fields.values() if isinstance(f, SuccessorField)]
        self.varying = [f for f in self.operands if f.count != "one"]
        self.uses_segments = len(self.varying) > 1
        if len([f for f in self.results if f.count == "many"]) > 1:
            raise TypeError(f"{op_class.__name__} has several variadic results; at most one can be told apart")
        self._codecs: dict[str, tuple[Codec, bool]] | None = None
        self.verified: set[Any] = set()
        self.inferred: dict[Any, tuple[Type, ...]] = {}

    @property
    def codecs(self) -> dict[str, tuple[Codec, bool]]:
        """Attribute field names to their codec and whether they may be absent."""
        if self._codecs is None:
            self._codecs = {f.name: self._codec(f) for f in self.attributes}
        return self._codecs

    def _codec(self, field: AttributeField) -> tuple[Codec, bool]:
        annotation = field.annotation
        if isinstance(annotation, str):
            module = sys.modules[field.owner.__module__].__dict__
            try:
                annotation = eval(annotation, module)  # the class body's own source, as typing.get_type_hints does
            except NameError as error:
                raise TypeError(f"{field.owner.__name__}.{field.name}: annotation {annotation!r}: {error}") from None
        return codec_for(annotation)

    def required_attributes(self) -> tuple[str, ...]:
        return tuple(f.key for f in self.attributes if f.default is MISSING)

    def operand_range(self, op: Operation, field: ValueField) -> tuple[int, int]:
        """The half-open range of operand indices that `field` stands for in `op`."""
        position = self.operands.index(cast(Any, field))
        count = len(op.op_operands)
        if self.uses_segments:
            sizes = op.attributes.get(SEGMENTS)
            if isinstance(sizes, DenseArrayAttr) and len(sizes.value) == len(self.operands):
                start = sum(sizes.value[:position])
                return start, start + sizes.value[position]
            return 0, 0
        start, extra = 0, count - (len(self.operands) - len(self.varying))
        for earlier in self.operands[:position]:
            start += 1 if earlier.count == "one" else extra
        return start, start + (1 if field.count == "one" else extra)

    def result_range(self, op: Operation, field: ValueField) -> tuple[int, int]:
        """The half-open range of result indices that `field` stands for in `op`."""
        position = self.results.index(cast(Any, field))
        extra = len(op.results) - len(self.results) + 1
        start = sum(1 if f.count == "one" else extra for f in self.results[:position])
        return start, start + (1 if field.count == "one" else extra)


def declared_faults(d: OpDef, op: Operation) -> list[str]:
    """What in `op` breaks its declaration: numbers and types of operands and results, attributes, regions, traits.

    Depends on types, attributes and counts alone, so a combination that was found right is remembered per class.
    """
    key = declared_parts(op)
    if key in d.verified:
        return _NO_FAULTS
    faults = [
        *_value_faults(d, op, d.operands, [v.type for v in op.operands], "operand"),
        *_value_faults(d, op, d.results, [r.type for r in op.results], "result"),
        *_attribute_faults(d, op),
    ]
    if d.has_variadic_region:
        if len(op.regions) < len(d.regions) - 1:
            faults.append(f"has {len(op.regions)} regions, expected at least {len(d.regions) - 1}")
    elif len(op.regions) != len(d.regions):
        faults.append(f"has {len(op.regions)} regions, expected {len(d.regions)}")
    if len(op.successors) != len(d.successors):
        faults.append(f"has {len(op.successors)} successors, expected {len(d.successors)}")
    if faults:
        return faults
    for hook in op.info.verify_hooks:
        try:
            hook(op)
        except IrError as error:
            faults.append(error.message)
    if not faults and isinstance(op, InferTypes) and d.results:
        faults += _inference_faults(op)
    if not faults:
        d.verified.add(key)
    return faults


_NO_FAULTS: Final[list[str]] = []


def _value_faults(d: OpDef, op: Operation, fields: Sequence[ValueField], types: Sequence[Type], kind: str) -> list[str]:
    least = sum(f.count == "one" for f in fields)
    most = least + sum(f.count == "optional" for f in fields) if all(f.count != "many" for f in fields) else None
    if len(types) < least or (most is not None and len(types) > most):
        wanted = f"{least}" if most == least else f"{least} to {most}" if most is not None else f"at least {least}"
        return [f"has {len(types)} {kind}s, expected {wanted}"]
    if kind == "operand" and d.uses_segments:
        sizes = op.attributes.get(SEGMENTS)
        if (
            not isinstance(sizes, DenseArrayAttr)
            or sizes.type is not i32
            or len(sizes.value) != len(fields)
            or sum(sizes.value) != len(types)
        ):
            return [f"attribute {SEGMENTS} must split {len(types)} operands into {len(fields)} fields, it is {sizes}"]
        for f, size in zip(fields, sizes.value, strict=True):
            if (f.count == "one" and size != 1) or (f.count == "optional" and size > 1) or size < 0:
                return [f"attribute {SEGMENTS} gives operand {f.name} {size} values"]
    faults: list[str] = []
    for f in fields:
        if f.constraint is None:
            continue
        start, end = d.operand_range(op, f) if kind == "operand" else d.result_range(op, f)
        for i in range(start, end):
            if not f.accepts(types[i]):
                faults.append(f"{kind} {f.name} is {types[i]}, expected {f.expected()}")
    return faults


def _attribute_faults(d: OpDef, op: Operation) -> list[str]:
    faults: list[str] = []
    for f in d.attributes:
        found = op.attributes.get(f.key)
        codec, optional = d.codecs[f.name]
        if found is None:
            if f.default is MISSING and not optional:
                faults.append(f"lacks the attribute {f.key}, expected {codec.expected}")
        elif not codec.accepts(found):
            faults.append(f"attribute {f.key} is {found}, expected {codec.expected}")
    return faults


def _inference_faults(op: Operation) -> list[str]:
    try:
        inferred = tuple(cast(InferTypes, op).infer_types())
    except IrError as error:
        return [error.message]
    given = tuple(r.type for r in op.results)
    if inferred != given:
        return [f"result types are ({', '.join(map(str, given))}), its operands give ({', '.join(map(str, inferred))})"]
    return []
