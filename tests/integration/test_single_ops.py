"""Programs of one operation compile and compute what the interpreter does, or are refused with a reason: a wide sweep.

Every sample of every operation stands in a program on its own, on weights and constants, on one value, between other
operations, with results unused or given twice. Every day a few programs of each operation, every night all of them.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tx8ir.backend.graph import CompileError
from tx8ir.core import Op, RankedTensor, VTensorType, bf16, f32, i1, i32
from tx8ir.dialects import pd
from tx8ir.dialects.samples import Sample, samples_of
from tx8ir.passes import PassError
from tx8ir.testing import check
from tx8ir.testing.cases.small_scope import ONE, program_of, sampled_ops

COMPILED = (
    "alone", "between_others", "on_weights", "one_value", "given_twice", "splat_last", "on_storage", "dense_last",
    "unused_in_part", "splat_first", "on_constants", "on_scalars_stretched", "unused", "twice", "exchanged",
    "on_its_result",
)  # fmt: skip
"""The wirings whose programs have no control flow."""
WIRINGS = {wiring.__name__: wiring for wiring in ONE if wiring.__name__ in COMPILED}

LARGE = {
    "pd.matmul": ((70, 65), (65, 66)),
    "pd.add": ((2, 1, 130), (130,)),
    "pd.subtract": ((70, 1), (1, 65)),
    "pd.exp": ((130,),),
    "pd.square": ((70, 1),),
    "pd.relu": ((1, 3, 1, 65),),
    "pd.softmax": ((2, 1, 66),),
    "pd.layer_norm": ((3, 66), (66,), (66,)),
    "pd.rms_norm": ((3, 130), (130,)),
    "pd.sum": ((70, 65),),
    "pd.max": ((2, 130),),
    "pd.transpose": ((70, 65),),
    "pd.concat": ((70, 65), (70, 65)),
    "pd.split": ((70, 65),),
    "pd.where": ((66,), (66,), (66,)),
}
"""Shapes beyond one block of channels, which are 64 or 128, of operations that handle blocks in different ways."""
ATTRIBUTES: dict[str, dict[str, Any]] = {
    "pd.layer_norm": {"begin_norm_axis": 1}, "pd.rms_norm": {"begin_norm_axis": 1}, "pd.sum": {"axis": (1,)},
    "pd.max": {"axis": (0,)}, "pd.transpose": {"perm": (1, 0)}, "pd.concat": {"axis": 1},
    "pd.split": {"sections": (1, 64), "axis": 1},
}  # fmt: skip

REASONS = (
    r"there is no lowering for this op",
    r"has a dynamic extent \(.*\), and the chip runs static shapes alone",
    r"tx8be\.\w+ (computes in|converts between) [\w, ]+, not \w+",
    r"the vector unit computes in floating point, and fp32 may not have every result in \w+",
    r"products of \w+ may need more bits than fp32 has",
    r"places are found in fp32, which has not every number of \w+",
    r"element type \w+ (is not computed by the TX8|packs several elements into a byte)",
    r"has no elements, which this op is not lowered for beside operands that have",
    r"the exponent is (not one number known at compile time|\S+; expected an integer from -64 to 64, or ±0\.5)",
    r"threshold is \S+; the TX8's softplus has none, so at least 20 is expected",
    r"beta is \S+; expected a finite number other than 0",
    r"each channel gives \d+, and filter and bias are not both immutable parameters",
    r"padding_idx is \d+ of a table that is not an immutable parameter",
    r"adaptive pooling of .* has windows of different sizes",
    r"where chooses between bool values",
    r"the sum is asked for in \w+; cast the operand first",
)
"""Why an operation may be refused."""

OPS = sampled_ops()
each_op = pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)


def sample_of(op: type[Op], element: Any, shapes: tuple[tuple[int, ...], ...]) -> Sample:
    """A sample of those shapes; the condition of `pd.where` is a truth value already in the first sample."""
    types: list[Any] = [VTensorType(shape, element) for shape in shapes]
    if op is pd.WhereOp:
        types[0] = next(samples_of(op)).types[0].with_shape(shapes[0])
    fields: tuple[Any, ...] = (tuple(types),) if op is pd.ConcatOp else tuple(types)
    fields += (None,) * (len(op.definition.operands) - len(fields))
    return Sample(op, fields, ATTRIBUTES.get(op.name, {}))


def samples(op: type[Op]) -> list[Sample]:
    """The samples of an operation; with large extents where those matter."""
    large = [sample_of(op, element, LARGE[op.name]) for element in (f32, bf16) if op.name in LARGE]
    return [*large, *samples_of(op)]


def is_for_the_chip(sample: Sample) -> bool:
    """Whether shapes are known and elements are in formats that the chip computes in."""
    tensors = [t for t in sample.types if isinstance(t, RankedTensor)]
    return all(t.is_static and t.element in (f32, bf16, i32, i1) for t in tensors)


def outcome(sample: Sample, wiring: str, turn: int) -> str | None:
    """What is wrong with a program; None when it agrees, is refused for one of `REASONS`, or does not exist."""
    program = program_of(WIRINGS[wiring], sample, turn=turn)
    if program is None:
        return None
    try:
        result = check(program)
    except (CompileError, PassError) as error:
        known = any(re.search(reason, str(error)) for reason in REASONS)
        return None if known and "loc(" in str(error) else f"refused: {error}"
    except Exception as error:  # what must not leave the compiler
        return f"{type(error).__name__}: {error}"
    return None if result.passed else f"the chip disagrees with the interpreter:\n{result}"


def faults(plans: Iterator[tuple[Sample, str, int]]) -> list[str]:
    with np.errstate(all="ignore"):
        found = [(sample, wiring, outcome(sample, wiring, turn)) for sample, wiring, turn in plans]
    return [f"{sample} {wiring}: {fault}" for sample, wiring, fault in found if fault]


@each_op
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_program_compiles_and_agrees(op: type[Op]) -> None:
    """One of each operation; operations that differ in little show different samples and wirings."""
    number = OPS.index(op)
    chosen = [sample for sample in samples(op) if is_for_the_chip(sample)]
    sample = chosen[number * 7 % len(chosen)]
    wirings = (COMPILED[(number + place) % len(COMPILED)] for place in range(len(COMPILED)))
    fitting = next(w for w in wirings if program_of(WIRINGS[w], sample, turn=number) is not None)
    assert faults(iter([(sample, fitting, number)])) == []


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_what_the_chip_does_not_compute_is_refused_with_a_reason() -> None:
    others = [s for op in OPS for s in samples_of(op) if not is_for_the_chip(s)]
    assert faults((sample, "alone", 0) for sample in others[::311]) == []


@pytest.mark.parametrize("name", LARGE)
def test_large_extents_compile_and_agree(name: str) -> None:
    op = pd.DIALECT.ops[name]
    assert faults(iter([(sample_of(op, f32, LARGE[name]), "alone", 0)])) == []


@pytest.mark.nightly
@each_op
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.timeout(3_600)
def test_every_program_compiles_and_agrees(op: type[Op]) -> None:
    plans = itertools.product(samples(op), COMPILED)
    assert faults((sample, wiring, turn) for turn, (sample, wiring) in enumerate(plans)) == []
