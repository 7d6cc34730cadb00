"""Batch normalisation by constants as the affine map that it is: what folding it away needs."""

from __future__ import annotations

from collections.abc import Callable, Collection

import numpy as np
from numpy.typing import NDArray

from tx8ir.analysis.constants import make_constant, read_constant
from tx8ir.analysis.effects import mutable_parameters
from tx8ir.core import Operation, Program, Value, VTensorType, detached
from tx8ir.dialects import pd
from tx8ir.target.formats import F64, Format
from tx8ir.target.rounding import convert
from tx8ir.transforms.cleanup.dce import eliminate_dead_code


def rewrite_batch_norms(
    root: Operation, program: Program, rewrite: Callable[[pd.BatchNormOp, Program, Collection[str]], bool], by: str
) -> int:
    """Hands every batch normalisation inside `root` to `rewrite`, with the names of mutable parameters.

    Returns how many it has rewritten; what only they needed is removed. `by`: the pass.
    """
    norms = [op for op in root.walk() if isinstance(op, pd.BatchNormOp)]
    if not norms:
        return 0
    mutable = mutable_parameters(program)
    with detached():
        rewritten = sum(rewrite(op, program, mutable) for op in norms)
    if rewritten:
        eliminate_dead_code(root, by=by)
    return rewritten


def affine_form(
    norm: pd.BatchNormOp, program: Program, mutable: Collection[str]
) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """(k, c), one number per channel each in fp64, such that out = k·x + c.

    k = scale / √(variance + ε) and c = bias - mean·k. None when one of the operands is not a constant (see
    `constants.is_constant`), or when k or c is not finite: 0·∞ is not what the operation computes.
    """
    parts: list[NDArray[np.float64]] = []
    for value, default in ((norm.mean, 0.0), (norm.variance, 1.0), (norm.scale, 1.0), (norm.bias, 0.0)):
        if value is None:
            parts.append(np.full(1, default))
            continue
        array = read_constant(value, program, mutable)
        if array is None:
            return None
        parts.append(array.astype(np.float64))
    mean, variance, scale, bias = parts
    with np.errstate(all="ignore"):
        factor = scale / np.sqrt(variance + norm.epsilon)
        shift = bias - mean * factor
    if not (np.isfinite(factor).all() and np.isfinite(shift).all()):
        return None
    return factor, shift


def rounded(array: NDArray[np.float64], target: Format) -> NDArray[np.generic] | None:
    """`array` rounded once, to nearest even, in the format's dtype; None when a number becomes infinite or NaN."""
    result = convert(array, F64, target)
    return result if np.isfinite(result.astype(np.float64)).all() else None


def insert_constant(
    array: NDArray[np.generic], kind: VTensorType, name: str, program: Program, anchor: Operation
) -> Value:
    """`array` (in the dtype of `kind`) as a constant before `anchor`, with its location."""
    made = make_constant(array, kind, program, name)
    made.location = anchor.location
    block = anchor.parent
    assert block is not None  # it was found by walking
    block.insert_before(made, anchor)
    return made.results[0]
