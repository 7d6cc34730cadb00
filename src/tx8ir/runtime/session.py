"""`Session`: an executable that is loaded on a chip."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tx8ir.core import IrError, WeightStore
from tx8ir.executable import Executable
from tx8ir.signature import InputError, Port
from tx8ir.sim import SimReport

from .device import Device
from .event import Event

__all__ = ["BindError", "Session", "SessionClosedError"]


class BindError(InputError):
    """An array cannot be bound: no input or output has the name, or its shape, type or memory does not fit."""


class SessionClosedError(IrError):
    """A session is used after it was closed."""


class Session:
    """An executable on a chip: its constants and its state are in DDR until the session is closed.

    A session has state of its own (`Executable.state`), at first that of the executable; it may be assigned a store
    that others use as well. After a run that fails it goes on as if that run had not been.

    Args:
        executable: what to run, or the folder that `Executable.save` wrote.
        device: the chip; by default one that nobody else uses, and that is closed with the session.
        name: for people; by default that of the folder.

    Raises:
        DeviceMemoryError: the chip has no room for it.
        IrError: the executable is for another chip than the device is; or what `Executable.load` raises.
    """

    def __init__(self, executable: Executable | str | Path, device: Device | None = None, name: str = "") -> None:
        if not isinstance(executable, Executable):
            name = name or Path(executable).name
            executable = Executable.load(executable)
        self.name = name or "session"
        self._own = device is None
        self.device = Device(executable.target) if device is None else device
        if executable.target.name != self.device.target.name:
            raise IrError(f"{self.name} is compiled for {executable.target.name}, and {self.device.name} is "
                          f"{self.device.target.name}")  # fmt: skip
        self._executable = executable.copy()
        self._bound: dict[str, NDArray[Any]] = {}
        self._into: dict[str, NDArray[Any]] = {}
        self._profile: SimReport | None = None
        self._is_closed = False
        self.device.reserve(self, self.name, self.reserved_bytes)

    @property
    def executable(self) -> Executable:
        """What runs, with what only this session has: its state and the report of its latest run."""
        return self._executable

    @property
    def state(self) -> WeightStore:
        """What the program keeps from run to run; see `Executable.state`."""
        return self._executable.state

    @state.setter
    def state(self, store: WeightStore) -> None:
        self._executable.state = store

    @property
    def reserved_bytes(self) -> int:
        """Bytes of DDR that it needs: constants, inputs, outputs, state, and what groups hand on to others."""
        return sum(self._executable.report.compilation.ddr_bytes.values())

    @property
    def profile(self) -> SimReport | None:
        """What the latest run cost; None before the first."""
        return self._profile

    def bind(self, arrays: Mapping[str, NDArray[Any]] | None = None, **named: NDArray[Any]) -> None:
        """Lets runs read inputs from these arrays, and write outputs into them.

        No copy is kept: a run reads what an array holds when it begins. Arrays that are given to `run` go before bound
        ones. A name that is an input and an output is bound as both.

        Args:
            arrays: by name; of the shape and the NumPy type that the program declares, outputs writeable.
            named: the same as keywords.

        Raises:
            BindError: an array does not fit; then nothing is bound.
        """
        given = {**(arrays or {}), **named}
        signature = self._executable.signature
        inputs = {port.name: port for port in signature.inputs}
        outputs = {port.name: port for port in signature.outputs}
        for name, array in given.items():
            if name not in inputs and name not in outputs:
                known = ", ".join(map(str, (*signature.inputs, *signature.outputs)))
                raise BindError(f"no input or output is named '{name}'; expected: {known}")
            _check(name, array, inputs.get(name), outputs.get(name))
        self._bound |= {name: array for name, array in given.items() if name in inputs}
        self._into |= {name: array for name, array in given.items() if name in outputs}

    def run(self, inputs: Mapping[str, ArrayLike] | None = None, **named: ArrayLike) -> dict[str, NDArray[Any]]:
        """Runs the program, behind all runs that the chip has already, and returns its outputs by name.

        Outputs that are bound are the bound arrays. Raises what `Executable.run` raises.
        """
        return self.submit(inputs, **named).result()

    def submit(self, inputs: Mapping[str, ArrayLike] | None = None, **named: ArrayLike) -> Event:
        """Puts a run into the queue of the chip, and returns at once.

        Inputs are read when the run begins: an array must stay as it is until the event is done.

        Raises:
            SessionClosedError: the session is closed. What is wrong with inputs is an error of the event.
        """
        if self._is_closed:
            raise SessionClosedError(f"{self.name} is closed")
        given = {**self._bound, **(inputs or {}), **named}
        return self.device.submit(self.name, lambda: self._execute(given))

    def _execute(self, inputs: Mapping[str, ArrayLike]) -> tuple[dict[str, NDArray[Any]], float]:
        outputs = self._executable.run(inputs)
        for name, array in self._into.items():
            np.copyto(array, outputs[name])
            outputs[name] = array
        run = self._executable.report.run
        assert run is not None  # it has just been
        self._profile = run.sim
        return outputs, run.sim.microseconds

    def close(self) -> None:
        """Waits for the runs that were submitted, and gives back the memory. A closed session stays closed."""
        if self._is_closed:
            return
        self._is_closed = True
        if self._own:
            self.device.close()
        else:
            self.device.drain()
        self.device.release(self)

    def __enter__(self) -> Session:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "closed" if self._is_closed else f"{self.reserved_bytes:,} bytes of DDR on {self.device.name}"
        return f"<Session: {self.name}, {state}>"

    def _repr_html_(self) -> str:
        return self._executable.report._repr_html_()  # pyright: ignore[reportPrivateUsage]  # IPython's name


def _check(name: str, array: Any, taken: Port | None, given: Port | None) -> None:
    """Raises `BindError` where an array cannot be an input `taken` and an output `given`."""
    if not isinstance(array, np.ndarray):
        raise BindError(f"'{name}' is bound to a {type(array).__name__}; expected a NumPy array")
    array = cast("NDArray[Any]", array)
    for port in (taken, given):
        if port is not None and (array.shape != port.shape or array.dtype != port.dtype):
            raise BindError(f"'{port}' is bound to an array of {array.dtype} {list(array.shape)}; expected "
                            f"{port.dtype} {list(port.shape)}")  # fmt: skip
    if given is not None and not array.flags.writeable:
        raise BindError(f"the output '{name}' is bound to an array that cannot be written")
