"""The pipeline `prepare`: what a tensor program goes through before a backend lowers it.

In this order: calls give way to bodies; values instead of storage; branches resolved as far as they are known;
composite operations recognised while they still have the form that exporters give them; number formats; channels last;
what the machine cannot do rewritten; then cleaned up; and what is elementwise fused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from .canonicalize import Canonicalize
from .constant_fold import ConstantFold
from .convert_dtype import ConvertDtype
from .cse import CommonSubexpressionElimination
from .dce import DeadCodeElimination
from .fold_copies import FoldCopies
from .fold_transpose_into_matmul import FoldTransposeIntoMatmul
from .fuse_conv_activation import FuseConvActivation
from .fuse_conv_bn import FuseConvBn
from .fuse_elementwise import FuseElementwise
from .inline import Inline
from .legalize_conv_padding import LegalizeConvPadding
from .nhwc import Nhwc
from .pass_manager import Pass, register_pipeline
from .recognize_attention import RecognizeAttention
from .recognize_gelu import RecognizeGelu
from .recognize_layer_norm import RecognizeLayerNorm
from .recognize_rms_norm import RecognizeRmsNorm
from .recognize_softmax import RecognizeSoftmax
from .remove_unused_functions import RemoveUnusedFunctions
from .sccp import Sccp
from .simplify_control_flow import SimplifyControlFlow
from .split_large_ops import SplitLargeOps
from .to_value_semantics import ToValueSemantics
from .unroll import Unroll

_PASSES: Final[tuple[tuple[type[Pass], bool], ...]] = (
    (Inline, True),
    (RemoveUnusedFunctions, True),
    (ToValueSemantics, True),
    (FoldCopies, True),
    (Sccp, True),
    (SimplifyControlFlow, True),
    (Unroll, True),
    (RecognizeGelu, False),
    (RecognizeLayerNorm, False),
    (RecognizeRmsNorm, False),
    (RecognizeSoftmax, False),
    (RecognizeAttention, False),
    (ConvertDtype, True),
    (FuseConvBn, False),
    (Nhwc, True),
    (FuseConvActivation, False),
    (LegalizeConvPadding, True),
    (SplitLargeOps, True),
    (Canonicalize, False),
    (FoldTransposeIntoMatmul, False),
    (ConstantFold, False),
    (CommonSubexpressionElimination, False),
    (DeadCodeElimination, True),
    (FuseElementwise, False),
)

PREPARATION: Final = tuple(kind.name for kind, _ in _PASSES)
"""The names of the passes, in order; each one is there once."""

REQUIRED: Final = frozenset(kind.name for kind, required in _PASSES if required)
"""Those of `PREPARATION` without which a program may have a form that the TX8 backend does not take. The others make
the graph smaller or faster."""

OPTIONS: Final[Mapping[str, str]] = {
    "unroll": "max-trips=64",
    "split-large-ops": "joins=false",
    "fuse-elementwise": "horizontal=false",
}
"""Options of passes, as text. A loop that stays cannot be compiled, so more than the usual are unrolled; sharding cuts
what `split-large-ops` could join; a group on the chip stores one result, so horizontal fusion would bring nothing."""

register_pipeline("prepare", ",".join(f"{p}{{{OPTIONS[p]}}}" if p in OPTIONS else p for p in PREPARATION))
