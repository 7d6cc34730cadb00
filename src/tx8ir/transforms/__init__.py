"""Passes that fit any target: the pass manager, the rewriter, and the passes that clean up and prepare a `pd` graph.

Importing this package registers its passes.
"""

from __future__ import annotations

from .alias import AliasAnalysis, Effects
from .analysis import AnalysisManager
from .append_backward import Gradients, append_backward
from .auto_mixed_precision import AutoMixedPrecision
from .canonicalize import Canonicalize, canonicalization, canonicalization_patterns
from .canonicalize_reductions import CanonicalizeReductions
from .constant_fold import ConstantFold
from .convert_dtype import ConvertDtype, Dtype
from .convert_element_types import ConvertElementTypes
from .cse import CommonSubexpressionElimination, eliminate_common_subexpressions
from .dce import DeadCodeElimination, eliminate_dead_code
from .externalize_constants import ExternalizeConstants
from .fold_copies import FoldCopies
from .fold_transpose_into_matmul import FoldTransposeIntoMatmul
from .fuse_conv_activation import FuseConvActivation
from .fuse_conv_bn import FuseConvBn
from .fuse_elementwise import FuseElementwise
from .greedy import ConvergenceError, GreedyResult, rewrite_greedily
from .inline import Inline
from .inline_fusions import InlineFusions
from .legalize_conv_padding import LegalizeConvPadding
from .lift_cf_to_scf import LiftCfToScf
from .loop_invariant_motion import LoopInvariantMotion
from .materialize_broadcast import MaterializeBroadcast
from .nhwc import Nhwc
from .pad_matmul import PadMatmul
from .pass_manager import (
    Atomic,
    Instrumentation,
    Nest,
    OperationPass,
    Pass,
    PassError,
    PassManager,
    PassRun,
    PipelineReport,
    StageReport,
    all_passes,
    all_pipelines,
    describe_options,
    option,
    register_pass,
    register_pipeline,
)
from .preparation import PREPARATION
from .promise import Promise
from .recognize_attention import RecognizeAttention
from .recognize_gelu import RecognizeGelu
from .recognize_layer_norm import RecognizeLayerNorm
from .recognize_rms_norm import RecognizeRmsNorm
from .recognize_softmax import RecognizeSoftmax
from .remove_dead_buffers import RemoveDeadBuffers
from .remove_unused_functions import RemoveUnusedFunctions
from .rewriter import FunctionPattern, RewritePattern, Rewriter, pattern
from .sccp import Sccp
from .simplify_control_flow import SimplifyControlFlow
from .split_large_ops import SplitLargeOps
from .to_inplace import ToInplace
from .to_value_semantics import ToValueSemantics
from .topological_sort import TopologicalSort
from .unfuse_bn import UnfuseBn
from .unroll import Unroll

__all__ = [
    "AliasAnalysis",
    "all_passes",
    "all_pipelines",
    "AnalysisManager",
    "append_backward",
    "Gradients",
    "Atomic",
    "AutoMixedPrecision",
    "canonicalization",
    "canonicalization_patterns",
    "Canonicalize",
    "CanonicalizeReductions",
    "CommonSubexpressionElimination",
    "ConstantFold",
    "ConvergenceError",
    "ConvertDtype",
    "ConvertElementTypes",
    "DeadCodeElimination",
    "describe_options",
    "Dtype",
    "Effects",
    "eliminate_common_subexpressions",
    "eliminate_dead_code",
    "ExternalizeConstants",
    "FoldCopies",
    "FoldTransposeIntoMatmul",
    "FuseConvActivation",
    "FuseConvBn",
    "FuseElementwise",
    "FunctionPattern",
    "GreedyResult",
    "Inline",
    "InlineFusions",
    "Instrumentation",
    "LegalizeConvPadding",
    "LiftCfToScf",
    "LoopInvariantMotion",
    "MaterializeBroadcast",
    "Nest",
    "Nhwc",
    "OperationPass",
    "option",
    "PadMatmul",
    "Pass",
    "PassError",
    "PassManager",
    "PassRun",
    "pattern",
    "PipelineReport",
    "PREPARATION",
    "Promise",
    "RecognizeAttention",
    "RecognizeGelu",
    "RecognizeLayerNorm",
    "RecognizeRmsNorm",
    "RecognizeSoftmax",
    "register_pass",
    "register_pipeline",
    "RemoveDeadBuffers",
    "RemoveUnusedFunctions",
    "rewrite_greedily",
    "RewritePattern",
    "Rewriter",
    "Sccp",
    "SplitLargeOps",
    "SimplifyControlFlow",
    "StageReport",
    "ToInplace",
    "ToValueSemantics",
    "TopologicalSort",
    "UnfuseBn",
    "Unroll",
]
