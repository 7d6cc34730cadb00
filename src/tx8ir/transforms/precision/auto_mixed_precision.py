"""`auto-mixed-precision`: products in a narrow floating-point format, what needs digits in f32."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from typing import ClassVar, Final

import attrs

from tx8ir.analysis.constants import is_constant
from tx8ir.analysis.effects import mutable_parameters
from tx8ir.core import IrError, Operation, Program, RankedTensor, ScalarType, Value, VTensorType, f32
from tx8ir.core.context import default_context
from tx8ir.dialects import pd
from tx8ir.dialects.pd.declaration import Elementwise
from tx8ir.passes import NumericGuarantee, Pass, option, register_pass
from tx8ir.passes.options import ElementChoice
from tx8ir.rewriting.dialect_conversion import ConversionTarget, convert
from tx8ir.rewriting.type_conversion import Casts, ComputeBetweenCasts, can_compute_between_casts
from tx8ir.rewriting.type_converter import ElementTypeConverter
from tx8ir.transforms.cleanup.dce import eliminate_dead_code


class NarrowFormat(ElementChoice):
    """What products are computed in."""

    BF16 = "bf16"
    F16 = "f16"


ALLOW: Final[tuple[type[Operation], ...]] = (
    pd.MatmulOp, pd.Conv2dOp, pd.DepthwiseConv2dOp, pd.FusedConv2dAddActOp, pd.ScaledDotProductAttentionOp,
)  # fmt: skip
"""Computed in the narrow format: they run faster there, and their sums are accumulated in f32."""

DENY: Final[tuple[type[Operation], ...]] = (
    pd.SumOp, pd.MeanOp, pd.SoftmaxOp, pd.LayerNormOp, pd.RmsNormOp, pd.CrossEntropyWithSoftmaxOp,
    pd.CrossEntropyWithSoftmaxGradOp, pd.SgdOp,
)  # fmt: skip
"""Kept in f32: they leave the range of the narrow format, magnify its rounding, or add up many numbers."""

INFER: Final[tuple[type[Operation], ...]] = (
    pd.BatchNormOp, pd.WhereOp, pd.MaxOp, pd.MinOp, pd.Pool2dOp, pd.ReshapeOp, pd.FlattenOp, pd.SqueezeOp,
    pd.UnsqueezeOp, pd.TransposeOp, pd.SliceOp, pd.SplitOp, pd.ConcatOp, pd.ExpandOp, pd.GatherOp, pd.EmbeddingOp,
    pd.SetValueOp, pd.PadOp,
)  # fmt: skip
"""Computed in the format of what they use: in the narrow one when all of it is."""


def usual_list(kind: type[Operation]) -> str:
    """The list that an operation is on where no option says otherwise: "allow", "deny" or "infer".

    An element-wise operation says it itself, the others are in the lists of this module. What is on none is denied.
    """
    if issubclass(kind, Elementwise):
        return kind.mixed_precision
    return "allow" if issubclass(kind, ALLOW) else "infer" if issubclass(kind, INFER) else "deny"


@register_pass
@attrs.frozen
class AutoMixedPrecision(Pass):
    """Lets matrix products and convolutions compute in `dtype`, accumulating in f32, and keeps f32 where it matters.

    An operation on f32 tensors that is on the *allow* list is computed in the narrow format, one on the *deny* list in
    f32, one on the *infer* list in the narrow format when all that it uses is: results of such operations, and
    constants. Others stay in f32. The lists are `ALLOW`, `DENY` and `INFER` of the module, and what element-wise
    operations say of themselves; the options overrule them, `deny` before `allow` before `infer`. Values are cast where
    both meet, once each, right after the value, so outside of loops that it is not in; between two narrow operations
    there is no cast. A constant or immutable parameter is converted once, into a new variable (`w` becomes `w.bf16`),
    finite numbers staying finite.

    The lists are those of PyTorch's `torch.autocast`, where "promote" is our infer, with the elementwise functions that
    TensorFlow infers (grappler's `auto_mixed_precision`); also after BladeDISC's basic mixed precision.

    Assumes: nothing; tensors with storage are f32 wherever they may be seen. Guarantees: types of inputs, outputs,
    variables, loop-carried values and results of calls stay; operations on the deny list compute in f32; the error is
    one rounding to `dtype` for each operand and result of a narrow operation, its sums being rounded once. Idempotent.
    Cost: O(operations + elements converted). Raises `IrError` for a name that is not an operation.
    Statistics: `narrow` operations, `casts`, `parameters` and `constants` converted, `saturated` numbers.

    dtype: the narrow format, bf16 or f16.
    """

    name: ClassVar[str] = "auto-mixed-precision"
    guarantee: ClassVar[NumericGuarantee] = NumericGuarantee.FORMATS

    dtype: NarrowFormat = NarrowFormat.BF16
    allow: tuple[str, ...] = option((), "further operations to compute in the narrow format")
    deny: tuple[str, ...] = option((), "further operations to keep in f32")
    infer: tuple[str, ...] = option((), "further operations that follow what they use")
    convert_constants: bool = option(True, "whether constants are rounded now instead of whenever the program runs")

    def run(self, program: Program) -> None:
        narrow = self._narrow_operations(program)
        if not narrow:
            return
        converter = ElementTypeConverter({f32: ScalarType.of(self.dtype.value)})
        casts = Casts(program, self.count, constants=self.convert_constants)
        pattern = ComputeBetweenCasts(lambda op: converter if op in narrow else None, casts)
        target = ConversionTarget().legal(Operation, when=lambda op: op not in narrow)
        report = convert(program.module, [pattern], target, by=self.name)
        self.count("narrow", sum(report.rewrites.values()))
        casts.drop_unused(self.name)
        eliminate_dead_code(program.module, by=self.name)

    def _narrow_operations(self, program: Program) -> AbstractSet[Operation]:
        """The operations to compute in the narrow format; one pass in program order."""
        listed: dict[type[Operation], str] = {}
        for word, names in (("infer", self.infer), ("allow", self.allow), ("deny", self.deny)):
            listed.update(dict.fromkeys(map(_kind, names), word))
        mutable = mutable_parameters(program)
        narrow: set[Operation] = set()
        results: set[Value] = set()
        for op in program.module.walk():
            kind = op.__class__
            word = next((listed[base] for base in kind.__mro__ if base in listed), None) or usual_list(kind)
            if word == "deny" or not can_compute_between_casts(op):
                continue
            used = [value for value in op.operands if _is_f32(value)]
            varying = [value for value in used if not is_constant(value, program, mutable)]
            if word == "infer" and not (varying and results.issuperset(varying)):
                continue
            if used:
                narrow.add(op)
                results.update(r for r in op.results if isinstance(r.type, VTensorType))
        return narrow


def _is_f32(value: Value) -> bool:
    return isinstance(value.type, RankedTensor) and value.type.element is f32


def _kind(name: str) -> type[Operation]:
    found = default_context().op_class(name)
    if found is None:
        raise IrError(f"there is no operation {name!r} to list for mixed precision")
    return found
