"""Extents of dynamic dimensions: each operation against the shapes that it infers, programs against runs."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

import tx8ir
from tx8ir.analysis.shape_ranges import Extents, broadcast_extents, shape_ranges
from tx8ir.core import Block, InferTypes, IrError, Operation, Program, RankedTensor, VerifyError, detached
from tx8ir.core.ir.shape_range import InferShapeRange
from tx8ir.dialects import pd
from tx8ir.dialects.samples import Sample, Sampled
from tx8ir.interpreter import Interpreter

# --- extents ---------------------------------------------------------------------------------------------------------


def holding(extents: Extents, most: int = 6) -> list[int]:
    return [n for n in range(most) if extents.low <= n and (extents.high is None or n <= extents.high)]


def test_broadcasting_two_dimensions_against_all_extents() -> None:
    every = [Extents(low, high) for low in range(4) for high in [*range(low, 4), None]]
    for x in every:
        for y in every:
            pairs = [(a, b) for a in holding(x) for b in holding(y) if a == b or 1 in (a, b)]
            results = {b if a == 1 else a for a, b in pairs}
            assert results <= set(holding(broadcast_extents(x, y)))
            assert results <= set(holding(x.join(y)))
            if results:
                assert results >= set(holding(broadcast_extents(x, y), 4)) - {0}


def test_how_extents_are_written() -> None:
    assert [str(e) for e in (Extents(2, 2), Extents(1, 8), Extents(0, None))] == ["2", "1..8", "0.."]


# --- operations ------------------------------------------------------------------------------------------------------

INFERRING = [
    cls for cls in pd.DIALECT.ops.values() if InferShapeRange in cls.info.interfaces and issubclass(cls, Sampled)
]


def shapes_of(cls: Any) -> Iterator[Sample]:
    """Samples of tensors, one for each set of shapes and attributes, twenty at most."""
    seen: set[Any] = set()
    for sample in cls.samples():
        if not all(isinstance(t, RankedTensor) for t in sample.types) or len(seen) == 20:
            continue
        key = (tuple(t.shape for t in sample.types), str(sample.attributes))  # pyright: ignore[reportAttributeAccessIssue]
        if key not in seen:
            seen.add(key)
            yield sample


def inferred(op: Operation, shapes: Sequence[Sequence[int]]) -> Sequence[Any] | None:
    """The shapes of the results for operands of some shapes; None where these do not fit."""
    types = [v.type.with_shape(s) for v, s in zip(op.operands, shapes, strict=True)]  # pyright: ignore[reportAttributeAccessIssue]
    with detached():
        made = type(op).create(Block(types).args, [r.type for r in op.results], op.attributes)
    try:
        return [t.shape for t in made.interface(InferTypes).infer_types()]
    except VerifyError:
        return None


@pytest.mark.parametrize("cls", INFERRING, ids=lambda cls: cls.name)
def test_shapes_that_an_operation_infers_are_in_the_ranges_that_it_infers(cls: Any) -> None:
    """Extents that are equal in the sample stay equal, so that most of what is tried fits together."""
    rng = random.Random(cls.name)
    tried = 0
    for sample in shapes_of(cls):
        with detached():
            op = sample.build(Block(sample.types).args)
        for trial in range(6):
            shapes: list[list[tuple[int, int]]] = [
                [(max(e, 0) or 3, rng.randrange(2)) for e in t.shape]  # pyright: ignore[reportAttributeAccessIssue]
                for t in sample.types
            ]
            ranges = {
                key: Extents(max(0, key[0] - rng.randrange(3)), key[0] + rng.randrange(3)) for s in shapes for key in s
            }
            if trial % 2:  # only the first operand varies
                ranges.update({key: Extents(key[0], key[0]) for s in shapes[1:] for key in s})
            model = op.interface(InferShapeRange)
            assert model is not None
            found = model.infer_shapes([tuple(ranges[key] for key in shape) for shape in shapes])
            for _ in range(6):
                chosen = {key: rng.randint(e.low, e.high or 0) for key, e in ranges.items()}
                results = inferred(op, [[chosen[key] for key in shape] for shape in shapes])
                for result, known in zip(results or (), found, strict=False):
                    if known is not None:
                        tried += 1
                        assert all(n == -1 or n in holding(e, n + 1) for n, e in zip(result, known, strict=True))
    assert tried


# --- programs --------------------------------------------------------------------------------------------------------

TEXT = """
module {
  func.func @main(%x: !pd.vtensor<?x4xf32>, %y: !pd.vtensor<?x4xf32>, %c: !pd.vtensor<i1>)
      -> (!pd.vtensor<?x4xf32>, !pd.vtensor<?xf32>, !pd.vtensor<?x4xf32>, !pd.vtensor<?x4xf32>)
      attributes {arg_names = ["x", "y", "c"]} {
    %both = "pd.concat"(%x, %y) {axis = 0} : (!pd.vtensor<?x4xf32>, !pd.vtensor<?x4xf32>) -> !pd.vtensor<?x4xf32>
    %flat = "pd.flatten"(%both) {start_axis = 0, stop_axis = 1} : (!pd.vtensor<?x4xf32>) -> !pd.vtensor<?xf32>
    %some = "scf.if"(%c) ({
      "scf.yield"(%x) : (!pd.vtensor<?x4xf32>) -> ()
    }, {
      "scf.yield"(%both) : (!pd.vtensor<?x4xf32>) -> ()
    }) : (!pd.vtensor<i1>) -> !pd.vtensor<?x4xf32>
    %loop = "scf.while"(%x) ({
    ^bb0(%a: !pd.vtensor<?x4xf32>):
      %no = "pd.logical_and"(%c, %c) : (!pd.vtensor<i1>, !pd.vtensor<i1>) -> !pd.vtensor<i1>
      "scf.condition"(%no, %a) : (!pd.vtensor<i1>, !pd.vtensor<?x4xf32>) -> ()
    }, {
    ^bb0(%a: !pd.vtensor<?x4xf32>):
      %next = "pd.concat"(%a, %a) {axis = 0} : (!pd.vtensor<?x4xf32>, !pd.vtensor<?x4xf32>) -> !pd.vtensor<?x4xf32>
      "scf.yield"(%next) : (!pd.vtensor<?x4xf32>) -> ()
    }) : (!pd.vtensor<?x4xf32>) -> !pd.vtensor<?x4xf32>
    return %both, %flat, %some, %loop : MAT, !pd.vtensor<?xf32>, MAT, MAT
  }
}
""".replace("MAT", "!pd.vtensor<?x4xf32>")


def returned(program: Program, inputs: Mapping[str, Any]) -> list[str]:
    found = shape_ranges(program, inputs)
    end = program.main.body.block.terminator
    assert end is not None
    return ["x".join(map(str, found.shape_of(v) or ())) for v in end.operands]


def test_extents_go_through_choices_and_loops() -> None:
    program = tx8ir.parse(TEXT)
    inputs = {"x": ((1, 8), (4, 4)), "y": ((2, 3), (0, None))}
    assert returned(program, inputs) == ["3..11x4", "12..44", "1..11x4", "1..x4"]
    assert returned(program, {}) == ["0..x4", "0..", "0..x4", "0..x4"]


@pytest.mark.parametrize("rows", [1, 5, 8])
def test_what_a_run_makes_is_in_range(rows: int) -> None:
    program = tx8ir.parse(TEXT)
    found = shape_ranges(program, {"x": ((1, 8), (4, 4)), "y": ((2, 3), (0, None))})

    def look(op: Operation, results: tuple[Any, ...]) -> None:
        for value, held in zip(op.results, results, strict=True):
            known = found.shape_of(value)
            assert known is not None
            assert all(n in holding(e, n + 1) for n, e in zip(np.shape(held), known, strict=True))

    given = {"x": np.ones((rows, 4), np.float32), "y": np.ones((2, 4), np.float32), "c": np.array(False)}
    Interpreter(program, observer=look).run(given)


def test_inputs_that_are_not_there() -> None:
    program = tx8ir.parse(TEXT)
    with pytest.raises(IrError, match="no tensor is an input of the name 'z'; there are x, y, c"):
        shape_ranges(program, {"z": ((1, 2),)})
    with pytest.raises(IrError, match="input 'x' has rank 2; extents of 1 dimensions are given"):
        shape_ranges(program, {"x": ((1, 2),)})
