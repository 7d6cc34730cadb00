"""The pipeline `prepare`: what a tensor program goes through before a backend lowers it.

In this order: straight code on values; composite operations recognised while they still have the form that exporters
give them; number formats; channels last; what the machine cannot do rewritten; then cleaned up; and what is elementwise
fused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tx8ir.passes import Pass, register_pipeline

from .cleanup.canonicalize import Canonicalize
from .cleanup.constant_fold import ConstantFold
from .cleanup.cse import CommonSubexpressionElimination
from .cleanup.dce import DeadCodeElimination
from .cleanup.remove_unused_functions import RemoveUnusedFunctions
from .cleanup.sccp import Sccp
from .control_flow.inline import Inline
from .control_flow.lift_cf_to_scf import LiftCfToScf
from .control_flow.simplify_control_flow import SimplifyControlFlow
from .control_flow.unroll import Unroll
from .fusion.fuse_conv_activation import FuseConvActivation
from .fusion.fuse_conv_bn import FuseConvBn
from .fusion.fuse_elementwise import FuseElementwise
from .legalize.fold_transpose_into_matmul import FoldTransposeIntoMatmul
from .legalize.legalize_conv_padding import LegalizeConvPadding
from .legalize.nhwc import Nhwc
from .legalize.split_large_ops import SplitLargeOps
from .precision.convert_dtype import ConvertDtype
from .recognize.attention import RecognizeAttention
from .recognize.gelu import RecognizeGelu
from .recognize.layer_norm import RecognizeLayerNorm
from .recognize.rms_norm import RecognizeRmsNorm
from .recognize.softmax import RecognizeSoftmax
from .storage.copy_elision import CopyElision
from .storage.to_value_semantics import ToValueSemantics

_STRAIGHTEN: Final[tuple[tuple[type[Pass], str], ...]] = (
    (LiftCfToScf, ""),
    (Inline, ""),
    (RemoveUnusedFunctions, ""),
    (Sccp, ""),
    (Unroll, "max-trips=64"),
    (SimplifyControlFlow, "speculate=1000"),
    (ToValueSemantics, ""),
    (CopyElision, ""),
    (DeadCodeElimination, ""),
)
"""The passes that make code straight, with options. Each decides something for the others: a known branch says which
storage is written, a value that replaces storage makes a condition known, a known condition ends a loop. So they are
repeated. A loop or choice that stays cannot be compiled: more rounds than usual are written out, and both sides of a
choice are computed where that is possible."""

_ROUNDS: Final = 8
"""How often at most; programs whose control flow is known, or can be selected, take two or three rounds."""

register_pipeline(
    "straighten",
    "builtin.module("
    + ",".join(f"{kind.name}{{{options}}}" if options else kind.name for kind, options in _STRAIGHTEN)
    + f"){{max-iterations={_ROUNDS}}}",
)

_STAGES: Final[tuple[tuple[str, bool], ...]] = (
    ("straighten", True),
    (RecognizeGelu.name, False),
    (RecognizeLayerNorm.name, False),
    (RecognizeRmsNorm.name, False),
    (RecognizeSoftmax.name, False),
    (RecognizeAttention.name, False),
    (ConvertDtype.name, True),
    (FuseConvBn.name, False),
    (Nhwc.name, True),
    (FuseConvActivation.name, False),
    (LegalizeConvPadding.name, True),
    (SplitLargeOps.name, True),
    (Canonicalize.name, False),
    (FoldTransposeIntoMatmul.name, False),
    (ConstantFold.name, False),
    (CommonSubexpressionElimination.name, False),
    (DeadCodeElimination.name, True),
    (FuseElementwise.name, False),
)

PREPARATION: Final = tuple(name for name, _ in _STAGES)
"""The names of the stages, in order: passes, and the pipeline `straighten`. Each one is there once."""

REQUIRED: Final = frozenset(name for name, required in _STAGES if required)
"""Those of `PREPARATION` without which a program may have a form that the TX8 backend does not take. The others make
the graph smaller or faster."""

OPTIONS: Final[Mapping[str, str]] = {
    "split-large-ops": "joins=false",
    "fuse-elementwise": "horizontal=false",
}
"""Options of passes, as text. Sharding cuts what `split-large-ops` could join; a group on the chip stores one result,
so horizontal fusion would bring nothing."""

register_pipeline("prepare", ",".join(f"{p}{{{OPTIONS[p]}}}" if p in OPTIONS else p for p in PREPARATION))
