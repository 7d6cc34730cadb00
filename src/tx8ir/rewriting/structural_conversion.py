"""Patterns that convert what only passes values on: signatures, calls, returns, branches, operations with regions.

    target = ConversionTarget()
    patterns = structural_patterns(target, converter)

They know operations by their interfaces, so a loop or a call of another dialect is converted as those of `scf` and
`func` are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Final

from tx8ir.core import (
    ArrayAttr,
    Attribute,
    Branch,
    CallableLike,
    CallLike,
    FunctionType,
    Operation,
    RegionBranch,
    StrAttr,
    Terminator,
    Type,
    TypeAttr,
    Value,
)
from tx8ir.core.ir.region_branch import insert_rebuilt, region_branch_around

from .conversion_rewriter import ConversionPattern, ConversionRewriter, flattened
from .dialect_conversion import ConversionTarget
from .type_converter import TypeConverter

_SEGMENTS: Final = "operandSegmentSizes"


def structural_patterns(target: ConversionTarget, converter: TypeConverter) -> list[ConversionPattern[Any]]:
    """The patterns of this module; `target` learns that what they convert is legal when its types are."""
    patterns: list[ConversionPattern[Any]] = [
        ConvertSignature(converter),
        ConvertCall(converter),
        ConvertRegionBranch(converter),
        ConvertBranch(converter),
        ConvertEnd(converter),
    ]
    for pattern in patterns:
        target.legal(*pattern.roots, when=converter.is_legal)
    return patterns


class ConvertSignature(ConversionPattern[Operation]):
    """A function with its type: what it takes and gives, and the arguments of its blocks.

    An argument that becomes several has its name with a number for each of them, and its attributes for each.
    """

    name: ClassVar[str] = "convert-signature"
    roots = (CallableLike,)

    def convert(self, op: Operation, operands: Sequence[tuple[Value, ...]], rewriter: ConversionRewriter) -> bool:
        attribute = op.attributes.get("function_type")
        kind = attribute.value if isinstance(attribute, TypeAttr) else None
        if not isinstance(kind, FunctionType) or self.converter.is_legal(op):
            return False
        inputs, results = self.converter.convert_all(kind.inputs), self.converter.convert_all(kind.results)
        if inputs is None or results is None:
            return False
        if not all(rewriter.convert_region(region, self.converter) for region in op.regions):
            return False
        changed: dict[str, Any] = {**op.attributes, "function_type": TypeAttr(FunctionType(inputs, results))}
        for types, keys in ((kind.inputs, ("arg_names", "arg_attrs")), (kind.results, ("result_names", "res_attrs"))):
            for key in keys:
                given = op.attributes.get(key)
                if isinstance(given, ArrayAttr) and len(given.elements) == len(types):
                    changed[key] = ArrayAttr(self._repeated(given.elements, types))
        with rewriter.modify(op):
            op.set_attributes(changed)
        return True

    def _repeated(self, entries: Sequence[Attribute], types: Sequence[Type]) -> list[Attribute]:
        found: list[Attribute] = []
        for entry, type in zip(entries, types, strict=True):
            count = len(self.converter.convert(type) or ())
            named = isinstance(entry, StrAttr) and count != 1
            found += [StrAttr(f"{entry.value}.{i}") if named else entry for i in range(count)]
        return found


class ConvertCall(ConversionPattern[Operation]):
    """A call that takes nothing but arguments."""

    name: ClassVar[str] = "convert-call"
    roots = (CallLike,)

    def convert(self, op: Operation, operands: Sequence[tuple[Value, ...]], rewriter: ConversionRewriter) -> bool:
        call = op.interface(CallLike)
        groups = [self.converter.convert(result.type) for result in op.results]
        if call is None or tuple(call.call_arguments()) != op.operands or None in groups:
            return False
        types = [type for group in groups for type in group or ()]
        made: Operation = type(op).create(flattened(operands), types, op.attributes, location=op.location)
        rewriter.insert(made)
        rewriter.replace(op, _grouped(made.results, groups))
        return True


class ConvertRegionBranch(ConversionPattern[Operation]):
    """An operation with regions: what it forwards, the arguments of its blocks, and its results."""

    name: ClassVar[str] = "convert-region-branch"
    roots = (RegionBranch,)

    def convert(self, op: Operation, operands: Sequence[tuple[Value, ...]], rewriter: ConversionRewriter) -> bool:
        branch = op.interface(RegionBranch)
        groups = [self.converter.convert(result.type) for result in op.results]
        arguments = [a.type for region in op.regions for block in region.blocks for a in block.args]
        if branch is None or None in groups or self.converter.convert_all(arguments) is None:
            return False
        if _SEGMENTS in op.attributes and any(len(group) != 1 for group in operands):
            return False
        types = [type for group in groups for type in group or ()]
        location = op.location
        made = insert_rebuilt(branch, flattened(operands), types, op.attributes)
        made.location = location
        for region in made.regions:
            rewriter.convert_region(region, self.converter)
            for block in region.blocks:
                if block.last_op is not None:
                    rewriter.worklist[block.last_op] = None
        rewriter.replace(op, _grouped(made.results, groups))
        return True


class ConvertBranch(ConversionPattern[Operation]):
    """A branch between blocks, which take converted arguments by then."""

    name: ClassVar[str] = "convert-branch"
    roots = (Branch,)

    def convert(self, op: Operation, operands: Sequence[tuple[Value, ...]], rewriter: ConversionRewriter) -> bool:
        branch = op.interface(Branch)
        if branch is None:
            return False
        counts = [len(branch.successor_operands(index)) for index in range(len(op.successors))]
        deciding = operands[: len(operands) - sum(counts)]
        if any(len(group) != 1 for group in deciding):
            return False
        start = len(deciding)
        passed: list[list[Value]] = []
        for count in counts:
            passed.append(flattened(operands[start : start + count]))
            start += count
        with rewriter.modify(op):
            for index, (value,) in enumerate(deciding):
                op.set_operand(index, value)
            branch.set_successor_operands(passed)
        return True


class ConvertEnd(ConversionPattern[Operation]):
    """The end of a function, or of a region of an operation that says where it goes."""

    name: ClassVar[str] = "convert-end"
    roots = (Terminator,)

    def convert(self, op: Operation, operands: Sequence[tuple[Value, ...]], rewriter: ConversionRewriter) -> bool:
        around = op.parent_op
        is_return = around is not None and CallableLike in around.info.interfaces
        if op.successors or not (is_return or region_branch_around(op) is not None):
            return False
        if _SEGMENTS in op.attributes and any(len(group) != 1 for group in operands):
            return False
        with rewriter.modify(op):
            op.set_operands(flattened(operands))
        return True


def _grouped(values: Sequence[Value], groups: Sequence[tuple[Type, ...] | None]) -> list[tuple[Value, ...]]:
    """Values in groups, one for each group of types."""
    found: list[tuple[Value, ...]] = []
    start = 0
    for group in groups:
        count = len(group or ())
        found.append(tuple(values[start : start + count]))
        start += count
    return found


__all__ = [
    "ConvertBranch",
    "ConvertCall",
    "ConvertEnd",
    "ConvertRegionBranch",
    "ConvertSignature",
    "structural_patterns",
]
