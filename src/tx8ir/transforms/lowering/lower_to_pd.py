"""`lower-to-pd`: programs in MLIR's dialects become programs of `pd`, which the compiler takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import attrs

from tx8ir.core import Builder, Operation, Program, TensorType, Type, Value, at_location, detached
from tx8ir.core.attrs.builtin_types import array_type
from tx8ir.dialects import builtin
from tx8ir.passes import NumericGuarantee, Pass, register_pass
from tx8ir.rewriting.conversion_rewriter import ConversionPattern, ConversionRewriter, single
from tx8ir.rewriting.dialect_conversion import Conversion, ConversionTarget, convert
from tx8ir.rewriting.provenance import derived_location
from tx8ir.rewriting.structural_conversion import structural_patterns
from tx8ir.rewriting.type_converter import TypeConverter

from .counted_loops import expand_loops
from .numbers import NUMBERS
from .structured import expand_structured
from .tensors import TENSORS

__all__ = ["LowerToPd"]


@register_pass
@attrs.frozen
class LowerToPd(Pass):
    """Writes programs of `arith`, `math`, `index`, `tensor`, `linalg` and `scf` as programs of `pd`, `scf` and `func`.

    A number becomes a tensor of rank 0, `index` becomes `i64`, a vector a tensor; what a program takes and gives is
    the same array as before. `scf.for` and `scf.parallel` become `scf.while` with a counter, `scf.index_switch`
    choices. A structured operation (`linalg`) becomes operations on whole tensors: its region is computed for all
    places of the grid, and what it accumulates is summed along the dimensions that it reduces; so is a tensor that a
    region gives (`tensor.generate`, `tensor.pad`). `matmul` and `conv_2d_nchw_fchw` become those of `pd`. Elements of
    a tensor at places that are not known are gathered.

    Assumes: extents are known where tensors are changed in shape, made, or computed with in `linalg`. Guarantees: no
    operation of those dialects is left but `scf.while` and `scf.if`, or an error names each that has no lowering
    (unsigned division, `math.fma`, storage, …), and the program is as it was. Where MLIR has poison (a float that does
    not fit an integer), another number may come out. Cost: O(operations + elements of grids in constants). Statistics:
    `lowered` (operations).

    As MLIR's conversions between dialects; linalg's generalization and vectorization in one step.
    """

    name: ClassVar[str] = "lower-to-pd"
    guarantee: ClassVar[NumericGuarantee] = NumericGuarantee.ROUNDING

    def run(self, program: Program) -> None:
        module = program.module
        copy = module.clone()
        try:
            with detached():
                expand_loops(module, self.name)
                expand_structured(module, self.name)
            target = ConversionTarget().legal(builtin.ModuleOp)
            converter = _numbers_are_tensors()
            patterns = structural_patterns(target, converter)
            # The types in attributes of pd are element types.
            target.legal_dialect(
                "pd",
                "builtin",
                when=lambda op: all(converter.is_legal_type(v.type) for v in (*op.operands, *op.results)),
            )
            report = convert(module, [*patterns, _Lowering(converter)], target, mode=Conversion.FULL, by=self.name)
        except BaseException:
            module.take_regions(copy)
            raise
        self.count("lowered", report.rewrites.get(_Lowering.name, 0))


def _numbers_are_tensors() -> TypeConverter:
    """Numbers and vectors become tensors; what is not an array stays."""
    converter = TypeConverter()

    @converter.add_conversion
    def _(type: Type) -> Type:
        held = None if isinstance(type, TensorType) else array_type(type)
        return type if held is None else held.to_vtensor()

    return converter


class _Lowering(ConversionPattern[Operation]):
    """What the tables say of an operation."""

    name: ClassVar[str] = "lower-to-pd"
    roots = (*NUMBERS, *TENSORS)

    def convert(self, op: Operation, operands: Sequence[tuple[Value, ...]], rewriter: ConversionRewriter) -> bool:
        lower = NUMBERS.get(op.__class__) or TENSORS[op.__class__]
        with Builder.before(op), at_location(derived_location([op.location], rewriter.by)):
            made: Any = lower(op, *single(operands))
        if made is None:
            return False
        rewriter.replace(op, made)
        return True

    def why_not(self, op: Operation) -> str:
        return f"pd has nothing for {op.name} on these types, or an extent, offset or stride is not known"
