"""Executables on a chip that others share: order, memory, binding, state, errors."""

from __future__ import annotations

import re
import threading
from pathlib import Path

import attrs
import numpy as np
import pytest

import tx8ir
from support.summing import ONE, summing_from
from tx8ir.core import IrError, WeightStore
from tx8ir.executable import Executable
from tx8ir.runtime import BindError, Device, DeviceMemoryError, Session, SessionClosedError
from tx8ir.sim import SimError
from tx8ir.target.chip import TX8


@pytest.fixture(scope="module")
def summing() -> Executable:
    return summing_from(0)


def first(outputs: dict[str, np.ndarray]) -> float:
    return float(outputs["before"][0, 0])


def test_runs_on_a_chip_are_in_the_order_of_their_submission(summing: Executable) -> None:
    with Device() as chip, Session(summing, chip, "a") as a, Session(summing, chip, "b") as b:
        gate = threading.Event()
        chip.submit("gate", lambda: ((gate.wait() and {}) or {}, 1.0))
        events = [session.submit(x=n * ONE) for n in (1, 2, 3) for session in (a, b)]
        assert not any(event.is_done for event in events)
        assert "waiting" in repr(events[0])
        assert not events[-1].wait(timeout=0)
        gate.set()
        assert [first(event.result()) for event in events] == [0, 0, 1, 1, 3, 3]
        cost = summing.estimate().microseconds
        starts = [event.started for event in events]
        np.testing.assert_allclose(starts, 1 + cost * np.arange(6))
        np.testing.assert_allclose([event.ended for event in events], np.asarray(starts) + cost)
        assert chip.microseconds == events[-1].ended
        assert summing.state["total"].numpy()[0, 0] == 0  # sessions have state of their own
        assert a.profile is not None
        assert a.profile.microseconds == cost


def test_sessions_share_the_memory_of_a_chip(summing: Executable) -> None:
    size = sum(summing.report.compilation.ddr_bytes.values())
    chip = Device(attrs.evolve(TX8, ddr_bytes=2 * size + size // 2), name="small chip")
    first_session = Session(summing, chip, "first")
    with Session(summing, chip, "second"):
        assert chip.free_bytes == size // 2
        assert "first" in str(chip.table)
        with pytest.raises(
            DeviceMemoryError, match=rf"third needs {size:,} bytes of DDR on small chip, which has .*; second has"
        ):
            Session(summing, chip, "third")
    first_session.run(x=ONE)
    Session(summing, chip, "third").close()
    first_session.close()
    first_session.close()
    assert chip.free_bytes == chip.target.ddr_bytes
    with pytest.raises(SessionClosedError, match="first is closed"):
        first_session.submit(x=ONE)
    chip.close()
    with pytest.raises(IrError, match="small chip is closed"):
        chip.submit("late", lambda: ({}, 0.0))


def test_bound_arrays_are_read_and_written_in_place(summing: Executable) -> None:
    x, before = ONE.copy(), np.empty((2, 4), np.float32)
    with Session(summing) as session:
        session.bind(x=x, before=before)
        for value in (5, 7):
            x[:] = value
            outputs = session.run()
            assert outputs["before"] is before
        assert before[0, 0] == 5
        session.run(x=100 * ONE)
        assert before[0, 0] == 12


@pytest.mark.parametrize(
    ("name", "array", "message"),
    [
        ("y", ONE, "no input or output is named 'y'; expected: x: 2x4xf32, before: 2x4xf32"),
        ("x", ONE.T, "'x: 2x4xf32' is bound to an array of float32 [4, 2]; expected float32 [2, 4]"),
        ("x", ONE.astype(np.float64), "'x: 2x4xf32' is bound to an array of float64"),
        ("x", [[1.0]], "'x' is bound to a list; expected a NumPy array"),
        ("before", np.broadcast_to(ONE[:1], (2, 4)), "the output 'before' is bound to an array that cannot be written"),
    ],
)
def test_what_cannot_be_bound_is_said(summing: Executable, name: str, array: object, message: str) -> None:
    with Session(summing) as session:
        with pytest.raises(BindError, match=re.escape(message)):
            session.bind({"x": ONE, name: array})  # type: ignore[dict-item]
        with pytest.raises(tx8ir.InputError, match="missing input 'x'"):
            session.run()


def test_an_error_of_a_run_leaves_the_session_usable(summing: Executable) -> None:
    with Session(summing) as session:
        session.run(x=ONE)
        wrong = session.submit(x=ONE[0])
        after = session.submit(x=ONE)
        assert isinstance(wrong.error, tx8ir.InputError)
        assert "failed: InputError" in repr(wrong)
        assert first(after.result()) == 1
        assert after.started == session.device.microseconds - session.executable.estimate().microseconds


def test_a_fault_of_the_machine_is_an_error_of_the_run(summing: Executable) -> None:
    with Session(summing) as session:
        simulator = session.executable._simulator
        simulator.disabled = frozenset(op.name for op in simulator.instructions)
        simulator.forget()
        with pytest.raises(SimError, match="is disabled in this simulator"):
            session.run(x=ONE)
        simulator.disabled = frozenset()
        simulator.forget()
        assert first(session.run(x=ONE)) == 0
        assert first(session.run(x=ONE)) == 1


def test_a_folder_is_a_session_and_a_store_is_shared(summing: Executable, tmp_path: Path) -> None:
    summing.save(tmp_path / "sum.tx8")
    store = WeightStore()
    store.add("total", 4 * ONE, is_mutable=True)
    with Device() as chip, Session(tmp_path / "sum.tx8", chip) as a, Session(summing, chip) as b:
        assert "sum.tx8" in repr(a)
        a.state = b.state = store
        assert [first(session.run(x=ONE)) for session in (a, b, a)] == [4, 5, 6]


def test_callbacks_hear_of_the_end(summing: Executable) -> None:
    heard: list[str] = []
    with Session(summing, name="s") as session:
        session.submit(x=ONE).when_done(lambda event: heard.append(event.name))
    assert heard == ["s"]


def test_an_executable_for_another_chip_is_refused(summing: Executable) -> None:
    with pytest.raises(IrError, match="session is compiled for tx8, and chip 0 is other"):
        Session(summing, Device(attrs.evolve(TX8, name="other")))
