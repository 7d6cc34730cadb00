"""The passes that come with tx8ir: the module and the class of each name.

A pipeline imports the passes that it names, and no others: `cse` does not wait for the backend. A test compares the
table with what the modules register.
"""

from __future__ import annotations

import importlib
from typing import Any, Final

PASSES: Final = {
    "auto-mixed-precision": "transforms.precision.auto_mixed_precision:AutoMixedPrecision",
    "canonicalize": "transforms.cleanup.canonicalize:Canonicalize",
    "canonicalize-reductions": "transforms.legalize.canonicalize_reductions:CanonicalizeReductions",
    "constant-fold": "transforms.cleanup.constant_fold:ConstantFold",
    "convert-dtype": "transforms.precision.convert_dtype:ConvertDtype",
    "convert-element-types": "transforms.precision.convert_element_types:ConvertElementTypes",
    "copy-elision": "transforms.storage.copy_elision:CopyElision",
    "cse": "transforms.cleanup.cse:CommonSubexpressionElimination",
    "dce": "transforms.cleanup.dce:DeadCodeElimination",
    "externalize-constants": "transforms.cleanup.externalize_constants:ExternalizeConstants",
    "fold-transpose-into-matmul": "transforms.legalize.fold_transpose_into_matmul:FoldTransposeIntoMatmul",
    "fuse-conv-activation": "transforms.fusion.fuse_conv_activation:FuseConvActivation",
    "fuse-conv-bn": "transforms.fusion.fuse_conv_bn:FuseConvBn",
    "fuse-elementwise": "transforms.fusion.fuse_elementwise:FuseElementwise",
    "inline": "transforms.control_flow.inline:Inline",
    "inline-fusions": "transforms.fusion.inline_fusions:InlineFusions",
    "legalize-conv-padding": "transforms.legalize.legalize_conv_padding:LegalizeConvPadding",
    "lift-cf-to-scf": "transforms.control_flow.lift_cf_to_scf:LiftCfToScf",
    "loop-invariant-motion": "transforms.control_flow.loop_invariant_motion:LoopInvariantMotion",
    "lower-to-pd": "transforms.lowering.lower_to_pd:LowerToPd",
    "materialize-broadcast": "transforms.legalize.materialize_broadcast:MaterializeBroadcast",
    "nhwc": "transforms.legalize.nhwc:Nhwc",
    "pad-matmul": "transforms.legalize.pad_matmul:PadMatmul",
    "recognize-attention": "transforms.recognize.attention:RecognizeAttention",
    "recognize-gelu": "transforms.recognize.gelu:RecognizeGelu",
    "recognize-layer-norm": "transforms.recognize.layer_norm:RecognizeLayerNorm",
    "recognize-rms-norm": "transforms.recognize.rms_norm:RecognizeRmsNorm",
    "recognize-softmax": "transforms.recognize.softmax:RecognizeSoftmax",
    "reconcile-unrealized-casts": "transforms.cleanup.reconcile_unrealized_casts:ReconcileUnrealizedCasts",
    "remove-dead-buffers": "transforms.storage.remove_dead_buffers:RemoveDeadBuffers",
    "remove-unused-functions": "transforms.cleanup.remove_unused_functions:RemoveUnusedFunctions",
    "sccp": "transforms.cleanup.sccp:Sccp",
    "int-range-optimizations": "transforms.cleanup.int_range_optimizations:IntRangeOptimizations",
    "simplify-control-flow": "transforms.control_flow.simplify_control_flow:SimplifyControlFlow",
    "split-large-ops": "transforms.legalize.split_large_ops:SplitLargeOps",
    "to-inplace": "transforms.storage.to_inplace:ToInplace",
    "to-value-semantics": "transforms.storage.to_value_semantics:ToValueSemantics",
    "topological-sort": "transforms.cleanup.topological_sort:TopologicalSort",
    "unfuse-bn": "transforms.fusion.unfuse_bn:UnfuseBn",
    "unroll": "transforms.control_flow.unroll:Unroll",
    # For the chip.
    "allocate-ddr": "backend.memory.allocate_ddr:AllocateDdr",
    "check-ranges": "backend.lowering.check_ranges:CheckRanges",
    "generate-tx8": "backend.codegen.generate_tx8:GenerateTx8",
    "group-barriers": "backend.grouping.group_barriers:GroupBarriers",
    "group-default": "backend.grouping.group_default:GroupDefault",
    "group-fuse": "backend.search.group_fuse:GroupFuse",
    "group-load-store": "backend.grouping.group_load_store:GroupLoadStore",
    "group-mapping": "backend.grouping.group_mapping:GroupMapping",
    "group-partition": "backend.grouping.group_partition:GroupPartition",
    "layout-align": "backend.layout.layout_align:LayoutAlign",
    "layout-init": "backend.layout.layout_init:LayoutInit",
    "layout-optimize": "backend.layout.layout_optimize:LayoutOptimize",
    "layout-transmit": "backend.layout.layout_transmit:LayoutTransmit",
    "lift-state": "backend.lowering.lift_state:LiftState",
    "load-constants": "backend.constants.load_constants:LoadConstants",
    "lower-to-tx8be": "backend.lowering.lower_to_tx8be:LowerToTx8be",
    "schedule-groups": "backend.nest.schedule_groups:ScheduleGroups",
    "set-target": "backend.set_target:SetTarget",
    "value-signature": "backend.lowering.value_signature:ValueSignature",
}
"""Name to module, relative to `tx8ir`, and class."""

ALIASES: Final = {
    "fold-copies": "copy-elision",
    "licm": "loop-invariant-motion",
}
"""Other names of them."""

PIPELINES_IN: Final = {"prepare": "transforms.preparation", "straighten": "transforms.preparation"}
"""The named pipelines that come with tx8ir, and the module that registers each."""


def load_pass(name: str) -> type[Any] | None:
    """The shipped pass of that name or alias, or None."""
    place = PASSES.get(ALIASES.get(name, name))
    if place is None:
        return None
    module, _, cls = place.partition(":")
    return getattr(importlib.import_module(f"tx8ir.{module}"), cls)


def load_pipeline(name: str) -> None:
    """Imports what registers the shipped pipeline of that name, if there is one."""
    if name in PIPELINES_IN:
        importlib.import_module(f"tx8ir.{PIPELINES_IN[name]}")
