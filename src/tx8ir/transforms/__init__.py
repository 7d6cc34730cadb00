"""The passes on tensor programs that fit any target, in folders by what they do.

A pass is imported when it is first touched, or named by a pipeline. `preparation` has the default pipeline; in the
tables of the folders, *always* says that a pass is in it with `opt_graph="required"` too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tx8ir.passes.shipped import PASSES
from tx8ir.support.lazy_names import lazy_names

if TYPE_CHECKING:
    from .cleanup.canonicalize import Canonicalize, canonicalization, canonicalization_patterns
    from .cleanup.constant_fold import ConstantFold
    from .cleanup.cse import CommonSubexpressionElimination, eliminate_common_subexpressions
    from .cleanup.dce import DeadCodeElimination, eliminate_dead_code
    from .cleanup.externalize_constants import ExternalizeConstants
    from .cleanup.int_range_optimizations import IntRangeOptimizations
    from .cleanup.reconcile_unrealized_casts import ReconcileUnrealizedCasts
    from .cleanup.remove_unused_functions import RemoveUnusedFunctions
    from .cleanup.sccp import Sccp
    from .cleanup.topological_sort import TopologicalSort
    from .control_flow.inline import Inline
    from .control_flow.lift_cf_to_scf import LiftCfToScf
    from .control_flow.loop_invariant_motion import LoopInvariantMotion
    from .control_flow.simplify_control_flow import SimplifyControlFlow
    from .control_flow.unroll import Unroll
    from .fusion.fuse_conv_activation import FuseConvActivation
    from .fusion.fuse_conv_bn import FuseConvBn
    from .fusion.fuse_elementwise import FuseElementwise
    from .fusion.inline_fusions import InlineFusions
    from .fusion.unfuse_bn import UnfuseBn
    from .legalize.canonicalize_reductions import CanonicalizeReductions
    from .legalize.fold_transpose_into_matmul import FoldTransposeIntoMatmul
    from .legalize.legalize_conv_padding import LegalizeConvPadding
    from .legalize.materialize_broadcast import MaterializeBroadcast
    from .legalize.nhwc import Nhwc
    from .legalize.pad_matmul import PadMatmul
    from .legalize.split_large_ops import SplitLargeOps
    from .lowering.lower_to_pd import LowerToPd
    from .precision.auto_mixed_precision import AutoMixedPrecision
    from .precision.convert_dtype import ConvertDtype, Dtype
    from .precision.convert_element_types import ConvertElementTypes
    from .preparation import PREPARATION
    from .recognize.attention import RecognizeAttention
    from .recognize.gelu import RecognizeGelu
    from .recognize.layer_norm import RecognizeLayerNorm
    from .recognize.rms_norm import RecognizeRmsNorm
    from .recognize.softmax import RecognizeSoftmax
    from .storage.copy_elision import CopyElision
    from .storage.remove_dead_buffers import RemoveDeadBuffers
    from .storage.to_inplace import ToInplace
    from .storage.to_value_semantics import ToValueSemantics

__all__ = [
    "AutoMixedPrecision",
    "canonicalization",
    "canonicalization_patterns",
    "Canonicalize",
    "CanonicalizeReductions",
    "CommonSubexpressionElimination",
    "ConstantFold",
    "ConvertDtype",
    "ConvertElementTypes",
    "DeadCodeElimination",
    "Dtype",
    "eliminate_common_subexpressions",
    "eliminate_dead_code",
    "ExternalizeConstants",
    "CopyElision",
    "FoldTransposeIntoMatmul",
    "FuseConvActivation",
    "FuseConvBn",
    "FuseElementwise",
    "Inline",
    "InlineFusions",
    "LegalizeConvPadding",
    "LiftCfToScf",
    "LoopInvariantMotion",
    "LowerToPd",
    "MaterializeBroadcast",
    "Nhwc",
    "PadMatmul",
    "PREPARATION",
    "RecognizeAttention",
    "RecognizeGelu",
    "RecognizeLayerNorm",
    "RecognizeRmsNorm",
    "RecognizeSoftmax",
    "RemoveDeadBuffers",
    "ReconcileUnrealizedCasts",
    "RemoveUnusedFunctions",
    "IntRangeOptimizations",
    "Sccp",
    "SplitLargeOps",
    "SimplifyControlFlow",
    "ToInplace",
    "ToValueSemantics",
    "TopologicalSort",
    "UnfuseBn",
    "Unroll",
]

_HERE = "transforms."
if not TYPE_CHECKING:  # to whom a `__getattr__` says that there is every name
    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            **{
                cls: module.removeprefix(_HERE)
                for module, cls in (place.split(":") for place in PASSES.values() if place.startswith(_HERE))
            },
            "canonicalization": "cleanup.canonicalize",
            "canonicalization_patterns": "cleanup.canonicalize",
            "eliminate_common_subexpressions": "cleanup.cse",
            "eliminate_dead_code": "cleanup.dce",
            "Dtype": "precision.convert_dtype",
            "PREPARATION": "preparation",
        },
    )
