"""`convert-element-types`: element types that the target does not compute in give way to those it does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import attrs

from tx8ir.core import Compute, Inplace, IrError, Operation, Program, ScalarType, element_type, i1
from tx8ir.core.context import default_context
from tx8ir.dialects import pd
from tx8ir.passes import NumericGuarantee, Pass, option, register_pass
from tx8ir.rewriting.dialect_conversion import ConversionTarget, convert
from tx8ir.rewriting.type_conversion import Casts, ComputeBetweenCasts
from tx8ir.rewriting.type_converter import ElementTypeConverter
from tx8ir.transforms.cleanup.dce import eliminate_dead_code

from .convert_program_types import retype


@register_pass
@attrs.frozen
class ConvertElementTypes(Pass):
    """Replaces element types that the target does not have, and lets single operations compute in others, by casts.

    `replace` is for the whole program: values through regions, arguments of blocks, functions and calls, and lists;
    constants and immutable parameters, which are converted once (`w` becomes a new variable `w.f32`; integers that do
    not fit are an error, finite floats stay finite). What keeps its type is cast at the border: mutable parameters,
    and inputs and outputs of the program unless `signatures`. `compute` is for kinds of operations: `pd.exp:bf16:f32`
    lets the exponential of a bf16 tensor be computed in f32, its operand cast before and its result rounded after, as
    often as before. A cast is shared by all users of a value; one that would take back an exact one is left out.

    After BladeDISC's element type converter, which lets a backend support a type while only its cast is implemented.
    `convert-dtype` is the same with one float format for everything.

    Assumes: computed integers fit in the new types; integers of constants and parameters are checked, those of inputs
    must be by the caller. Guarantees: no value has a replaced type, but for what the border keeps; no operation of a
    kind in `compute` has an operand or result of that type; a float operation computed in a wider format between casts
    keeps its bits, and an integer one that overflows wraps as before. Idempotent.
    Cost: O(operations + elements converted). Raises `IrError` for an entry that says nothing sensible;
    `UnsupportedError` for an integer that does not fit, and an alias of something that keeps its type (see `retype`);
    `ConversionError` listing the operations that cannot compute in the type they should, such as views of storage.
    Statistics: `values`, `constants` and `parameters` converted, `casts` made, `removed` (casts between types that have
    become one), `saturated` numbers, `compute-between-casts` (operations).
    """

    name: ClassVar[str] = "convert-element-types"
    guarantee: ClassVar[NumericGuarantee] = NumericGuarantee.FORMATS

    replace: tuple[str, ...] = option(
        ("f64:f32", "i64:i32", "ui64:ui32"), "element types to replace everywhere, each with its replacement"
    )
    compute: tuple[str, ...] = option((), "kinds of operations, the element type they lack, and the one to compute in")
    signatures: bool = option(False, "whether inputs and outputs of the program change their types too")

    def run(self, program: Program) -> None:
        everywhere = _elements(self.replace)
        for old, new in everywhere.items():
            if old.is_float != new.is_float or i1 in (old, new):
                raise IrError(
                    f"{old} cannot be replaced by {new} everywhere: an operation on one may not exist on the other"
                )
        per_kind = _per_kind(self.compute)
        if everywhere:
            retype(
                program, ElementTypeConverter(everywhere), signatures=self.signatures, count=self.count, by=self.name
            )
        if per_kind:
            self._compute_elsewhere(program, per_kind)

    def _compute_elsewhere(self, program: Program, per_kind: Mapping[type[Operation], ElementTypeConverter]) -> None:
        def is_legal(op: Operation) -> bool:
            converter = per_kind.get(op.__class__)
            return converter is None or converter.is_legal(op)

        casts = Casts(program, self.count)
        pattern = ComputeBetweenCasts(lambda op: per_kind.get(op.__class__), casts)
        target = ConversionTarget().legal(Operation, when=is_legal)
        report = convert(program.module, [pattern], target, by=self.name)
        for what, n in report.rewrites.items():
            self.count(what, n)
        casts.drop_unused(self.name)
        if report.rewrites:
            eliminate_dead_code(program.module, by=self.name)


def _elements(entries: tuple[str, ...]) -> dict[ScalarType, ScalarType]:
    """A table from entries `old:new`. Raises `IrError` for one that says nothing, or not the same as another."""
    table: dict[ScalarType, ScalarType] = {}
    for entry in entries:
        parts = entry.split(":")
        if len(parts) != 2:
            raise IrError(f"{entry!r} is not a replacement; expected an old and a new element type, as in f64:f32")
        old, new = (_scalar(part, entry) for part in parts)
        if old.is_float and not new.is_float:
            raise IrError(f"{entry!r}: {new} cannot hold fractions of {old}")
        if old is new or table.setdefault(old, new) is not new:
            raise IrError(f"{entry!r} replaces {old} by {new if old is new else f'{new} and by {table[old]}'}")
    for old, new in table.items():
        if new in table:
            raise IrError(f"{new} takes the place of {old} and gives way to {table[new]}; write {old}:{table[new]}")
    return table


def _per_kind(entries: tuple[str, ...]) -> dict[type[Operation], ElementTypeConverter]:
    grouped: dict[type[Operation], list[str]] = {}
    for entry in entries:
        kind, _, replacement = entry.partition(":")
        cls = default_context().op_class(kind)
        if cls is None or replacement.count(":") != 1:
            reason = f"there is no operation {kind!r}" if cls is None else "expected one as in pd.exp:bf16:f32"
            raise IrError(f"{entry!r} does not say what an operation computes in: {reason}")
        if Compute not in cls.info.interfaces or Inplace in cls.info.traits or cls is pd.CastOp:
            raise IrError(f"{entry!r}: {kind} cannot compute in another type between casts")
        grouped.setdefault(cls, []).append(replacement)
    return {cls: ElementTypeConverter(_elements(tuple(replacements))) for cls, replacements in grouped.items()}


def _scalar(name: str, entry: str) -> ScalarType:
    try:
        return element_type(name)
    except ValueError as error:
        raise IrError(f"{entry!r}: {error}") from error
