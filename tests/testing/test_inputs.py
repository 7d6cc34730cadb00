"""Sets of inputs: special numbers meet in all pairs of places, in every format, and whatever the sizes are."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pytest

import tx8ir
from tx8ir.core import ScalarType
from tx8ir.testing.inputs import Array, input_sets, paired_numbers

SHAPES = ["", "2x", "3x", "2x2x", "2x3x", "7x", "2x5x", "3x6x"]


def program_of(*types: str) -> tx8ir.Program:
    arguments = ", ".join(f"%x{i}: !pd.vtensor<{t}>" for i, t in enumerate(types))
    return tx8ir.parse(f"module {{\n  func.func @main({arguments}) {{\n    return\n  }}\n}}")


def places(array: Array, numbers: Array) -> list[int]:
    """Where each number of an array is among those that are tiled; their bits say which is which."""
    names = [n.tobytes() for n in numbers]
    return [names.index(n.tobytes()) for n in array.reshape(-1)]


@pytest.mark.parametrize("element", ["f32", "bf16", "i32", "i8"])
@pytest.mark.parametrize("many", [False, True], ids=["few", "many"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("other", ["same", "scalar"])
def test_every_two_special_numbers_meet(shape: str, other: str, many: bool, element: str) -> None:
    """In two elements of two inputs, also where one is broadcast, and in two elements of one input."""
    program = program_of(*[f"{shape if i == 0 or other == 'same' else ''}{element}" for i in range(3)])
    numbers = paired_numbers(ScalarType.of(element).format, many=many)
    across: dict[tuple[int, int], set[tuple[int, int]]] = {pair: set() for pair in itertools.combinations(range(3), 2)}
    within: set[frozenset[int]] = set()
    for given in input_sets(program, many=many):
        if given.kind != "paired":
            continue
        try:
            arrays = [places(a, numbers) for a in given.arrays.values()]
        except ValueError:
            continue  # of the other tiling
        arrays = [a * len(arrays[0]) if len(a) == 1 else a for a in arrays]
        for left, right in across:
            across[left, right] |= set(zip(arrays[left], arrays[right], strict=True))
        within |= {frozenset(pair) for pair in itertools.combinations(arrays[0], 2) if len(set(pair)) == 2}
    p = len(numbers)
    if other == "same":
        assert {pair: len(met) for pair, met in across.items()} == dict.fromkeys(across, p * p)
    else:
        assert len(across[0, 1]) == len(across[0, 2]) == p * p
    if shape:
        assert len(within) == p * (p - 1) // 2


@pytest.mark.parametrize("count", [1, 2, 3])
def test_all_truth_values_of_few_inputs_meet(count: int) -> None:
    program = program_of("2xf32", *["i1"] * count)
    met = {tuple(bool(a) for a in list(given.arrays.values())[1:]) for given in input_sets(program)}
    assert len(met) == 2**count


def test_sets_are_for_something() -> None:
    kinds = Counter(given.kind for given in input_sets(program_of("?x3xf32", "3xf32")))
    assert kinds["ordinary"] == 4  # for the extents that a dynamic one may have
    assert set(kinds) == {"ordinary", "mixed", "large", "tiny", "offset", "cancelling", "close", "paired"}
    assert list(Counter(given.kind for given in input_sets(program_of()))) == ["ordinary"]


@pytest.mark.parametrize("element", ["f32", "bf16", "f16"])
def test_large_numbers_overflow_and_tiny_ones_vanish(element: str) -> None:
    sets = {given.kind: given.arrays["arg0"] for given in input_sets(program_of(f"11x{element}"))}
    with np.errstate(all="ignore"):
        assert np.isinf(np.exp(sets["large"])).any()
        assert np.isfinite(sets["large"]).all()
        assert (np.tanh(sets["large"]) == 1).any()
        assert (sets["tiny"] * sets["tiny"] == 0).any()
        assert ((1 + sets["tiny"]) == 1).any()
    offset = sets["offset"].astype(np.float64)
    assert 0 < offset.std() < offset.mean() / 3
    wide = np.abs(sets["cancelling"].astype(np.float64))
    assert math.fsum(sets["cancelling"].astype(np.float64)) < wide.sum() / 4


THRESHOLD = """
module {
  func.func @main(%x: !pd.vtensor<2x3xf32>) -> !pd.vtensor<2x3xi1> {
    %0 = "pd.full"() {dtype = f32, shape = array<i64>, value = 6.0 : f64} : () -> !pd.vtensor<f32>
    %1 = "pd.less_equal"(%x, %0) : (!pd.vtensor<2x3xf32>, !pd.vtensor<f32>) -> !pd.vtensor<2x3xi1>
    return %1 : !pd.vtensor<2x3xi1>
  }
}
"""


def test_numbers_that_a_program_names_are_inputs_with_their_neighbours() -> None:
    given = next(g for g in input_sets(tx8ir.parse(THRESHOLD)) if g.kind == "named")
    six = np.float32(6)
    assert {six, np.nextafter(six, np.float32(7)), np.nextafter(six, np.float32(5)), -six} <= set(
        given.arrays["arg0"].reshape(-1).tolist()
    )


def test_an_index_stays_in_its_domain() -> None:
    program = tx8ir.parse(
        """
module {
  func.func @main(%x: !pd.vtensor<3x2xf32>, %i: !pd.vtensor<4xi32>) -> !pd.vtensor<4x2xf32> {
    %0 = "pd.gather"(%x, %i) {axis = 0} : (!pd.vtensor<3x2xf32>, !pd.vtensor<4xi32>) -> !pd.vtensor<4x2xf32>
    return %0 : !pd.vtensor<4x2xf32>
  }
}
"""
    )
    indices = np.concatenate([given.arrays["arg1"] for given in input_sets(program)])
    assert set(indices.tolist()) == {0, 1, 2}


def test_a_large_program_is_evaluated_on_the_first_sets_only() -> None:
    lines = "\n".join(f'    %{i + 1} = "pd.relu"(%{i}) : (!pd.vtensor<f32>) -> !pd.vtensor<f32>' for i in range(2000))
    text = f"module {{\n  func.func @main(%0: !pd.vtensor<f32>) -> !pd.vtensor<f32> {{\n{lines}\n    return %2000 : "
    assert len(list(input_sets(tx8ir.parse(f"{text}!pd.vtensor<f32>\n  }}\n}}")))) == 9
