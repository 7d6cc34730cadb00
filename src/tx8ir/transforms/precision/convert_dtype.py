"""One floating-point format for the whole program, and 32-bit integers in place of 64-bit ones."""

from __future__ import annotations

from collections.abc import Collection
from typing import ClassVar, Final

import attrs

from tx8ir.analysis.constants import read_constant
from tx8ir.analysis.effects import mutable_parameters
from tx8ir.core import Operation, Program, RankedTensor, ScalarType, bf16, f16, f32, f64, i32, i64, tf32, ui32, ui64
from tx8ir.dialects import builtin, pd
from tx8ir.passes import NumericGuarantee, Pass, register_pass
from tx8ir.passes.options import ElementChoice
from tx8ir.passes.snapshot import Snapshot
from tx8ir.rewriting.type_converter import ElementTypeConverter
from tx8ir.transforms.cleanup.constant_fold import ConstantFold

from .convert_program_types import retype


class Dtype(ElementChoice):
    """The floating-point formats that a program can be computed in."""

    F32 = "f32"
    BF16 = "bf16"
    F16 = "f16"


_FLOATS = (f64, f32, tf32, bf16, f16)
_INTEGERS: Final = {i64: i32, ui64: ui32}


@register_pass
@attrs.frozen
class ConvertDtype(Pass):
    """Gives every floating-point value the format `dtype`, and every 64-bit integer 32 bits.

    All types change, those of function arguments and results too: whoever runs the compiled program converts at its
    border. Constants and immutable parameters are converted once, rounded to nearest even; a converted parameter is a
    new variable (`w` becomes `w.bf16`), since other programs may share the store. A finite number beyond the range of
    `dtype` becomes the largest finite one of its sign (a mask of -3.4e38 must not become -inf). A mutable parameter
    keeps its format, with casts after what reads it and before what writes it. `convert-element-types` does the
    same for a table of types of one's own, and for the formats of single operations.

    What 64-bit integers are computed from constants alone is folded first, with all its bits; a float that is computed
    from some, where these do not fit in 32 bits.

    Assumes: other computed integers fit in 32 bits; integers of constants and parameters are checked, those of inputs
    must be by the caller. Guarantees: no value has another float format than `dtype` (if given), none is i64 or ui64,
    except what mutable parameters hold. Raises `IrError` naming the first integer that does not fit. Idempotent.
    Cost: O(operations + elements converted).
    Statistics: `values`, `constants` and `parameters` converted, `casts` made, `removed` (casts between formats that
    have become one), `saturated` (numbers cut to the largest finite one).

    dtype: f32, bf16 or f16; none keeps float formats.
    """

    name: ClassVar[str] = "convert-dtype"
    guarantee: ClassVar[NumericGuarantee] = NumericGuarantee.FORMATS

    dtype: Dtype | None = None

    def run(self, program: Program) -> None:
        elements = dict(_INTEGERS)
        if self.dtype is not None:
            elements |= dict.fromkeys(_FLOATS, ScalarType.of(self.dtype.value))
        # What is folded before a number turns out not to fit is taken back.
        folds = any(_computes_64_bits(op) and _is_of_constants(op) for op in program.module.walk())
        with Snapshot.around(program, active=folds):
            if folds:
                fold, mutable = ConstantFold().fold, mutable_parameters(program)
                fold(program.module, program, lambda op: _computes_64_bits(op) and not _gives_floats(op))
                fold(program.module, program, lambda op: _takes_too_large_constants(op, program, mutable))
            retype(program, ElementTypeConverter(elements), signatures=True, count=self.count, by=self.name)


def _is_of_constants(op: Operation) -> bool:
    """Whether it computes from constants alone, or nothing; what does may be folded."""
    if isinstance(op, builtin.ConstantOp) or op.regions:
        return False
    return all(isinstance(value.defining_op, builtin.ConstantOp | pd.FullOp) for value in op.operands)


def _computes_64_bits(op: Operation) -> bool:
    """Whether it takes or gives some."""
    kinds = [value.type for value in (*op.operands, *op.results)]
    return any(isinstance(kind, RankedTensor) and kind.element in _INTEGERS for kind in kinds)


def _gives_floats(op: Operation) -> bool:
    return any(isinstance(r.type, RankedTensor) and r.type.element.is_float for r in op.results)


def _takes_too_large_constants(op: Operation, program: Program, mutable: Collection[str]) -> bool:
    """Whether it takes an integer that 32 bits do not hold."""
    for value in op.operands:
        kind = value.type
        narrow = _INTEGERS.get(kind.element) if isinstance(kind, RankedTensor) else None
        array = read_constant(value, program, mutable) if narrow is not None else None
        if narrow is not None and array is not None and array.size:
            low, high = narrow.format.limits
            if not low <= array.min() <= array.max() <= high:
                return True
    return False
