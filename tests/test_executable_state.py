"""What an executable keeps from run to run."""

from __future__ import annotations

import copy
import pickle
import re
from pathlib import Path

import numpy as np
import pytest

import tx8ir
from support.summing import ONE, summing_from
from tx8ir.core import IrError, LoadError, WeightError, WeightStore
from tx8ir.executable import Executable


@pytest.fixture
def summing() -> Executable:
    return summing_from(10)


def total(executable: Executable) -> float:
    (found,) = set(executable.state["total"].numpy().reshape(-1))
    return float(found)


def test_each_run_begins_with_what_the_one_before_left(summing: Executable) -> None:
    assert [float(summing(x=n * ONE)[0, 0]) for n in (1, 2, 3)] == [10, 11, 13]
    assert total(summing) == 16
    assert summing.source is not None
    assert summing.source.weights["total"].numpy()[0, 0] == 10
    assert [str(port) for port in summing.signature.state] == ["total: 2x4xf32"]
    assert [port.name for port in summing.signature.inputs] == ["x"]


def test_a_run_that_is_refused_changes_nothing(summing: Executable) -> None:
    with pytest.raises(tx8ir.InputError):
        summing(x=np.ones(3, np.float32))
    assert total(summing) == 10


def test_state_is_saved_loaded_pickled_and_copied(summing: Executable, tmp_path: Path) -> None:
    summing(x=ONE)
    summing.save(tmp_path)
    loaded = Executable.load(tmp_path)
    for again in (loaded, pickle.loads(pickle.dumps(summing)), copy.deepcopy(summing)):
        again(x=ONE)
        assert total(again) == 12
    assert total(summing) == 11
    loaded.save(tmp_path)  # where its own data is mapped from
    assert total(Executable.load(tmp_path)) == 12


def test_a_saved_state_that_is_damaged_is_refused(summing: Executable, tmp_path: Path) -> None:
    summing.save(tmp_path)
    file = tmp_path / "state.safetensors"
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(data)
    with pytest.raises(LoadError, match=re.escape("files.state.safetensors")):
        Executable.load(tmp_path)
    file.unlink()
    with pytest.raises((LoadError, WeightError), match="state"):
        Executable.load(tmp_path)


def test_two_executables_share_a_store(summing: Executable) -> None:
    store = WeightStore()
    store.add("total", ONE, is_mutable=True)
    other = pickle.loads(pickle.dumps(summing))
    summing.state = other.state = store
    summing(x=ONE)
    other(x=ONE)
    assert store["total"].numpy()[0, 0] == 3


@pytest.mark.parametrize(
    ("store", "message"),
    [
        ({}, "the variable 'total: 2x4xf32', which the store lacks"),
        ({"total": ONE.T}, "the variable 'total: 2x4xf32'; in the store it is !pd.vtensor<4x2xf32>"),
        ({"total": ONE.astype(np.float64)}, "in the store it is !pd.vtensor<2x4xf64>"),
        ({"total": ONE}, "the program writes 'total', which the store says is not mutable"),
    ],
)
def test_a_store_that_does_not_fit_is_refused(summing: Executable, store: dict[str, np.ndarray], message: str) -> None:
    given = WeightStore()
    for name, array in store.items():
        given.add(name, array, is_mutable=array is not ONE)
    with pytest.raises(IrError, match=re.escape(message)):
        summing.state = given
    assert total(summing) == 10
