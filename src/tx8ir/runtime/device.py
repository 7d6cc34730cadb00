"""`Device`: a simulated chip that several sessions share."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Any

from numpy.typing import NDArray

from tx8ir.core import IrError
from tx8ir.support.table import Table
from tx8ir.target.chip import TX8, Target

from .event import Event, Ran

__all__ = ["Device", "DeviceMemoryError"]


class DeviceMemoryError(IrError, MemoryError):
    """The DDR of a chip has no room for a session. The message says how much it needs and who has the rest."""


class Device:
    """A simulated chip: DDR that sessions reserve, one queue of runs, and its own clock.

    Runs are executed one at a time, in the order in which they are submitted, by a thread of the device. The clock
    counts simulated time: it stands while no run is there, and each run moves it on by what the run costs.

    Args:
        target: the chip; its `ddr_bytes` are what sessions share.
        name: for people.
    """

    def __init__(self, target: Target = TX8, name: str = "chip 0") -> None:
        self.target = target
        self.name = name
        self._reserved: dict[object, tuple[str, int]] = {}
        self._now = 0.0
        self._queue = ThreadPoolExecutor(max_workers=1, thread_name_prefix=name)

    @property
    def microseconds(self) -> float:
        """The time of the chip: what all runs have cost that are over."""
        return self._now

    @property
    def free_bytes(self) -> int:
        """Bytes of DDR that no session has reserved."""
        return self.target.ddr_bytes - sum(size for _, size in self._reserved.values())

    def reserve(self, owner: object, name: str, size: int) -> None:
        """Keeps bytes of DDR for an owner, until it releases them.

        Raises DeviceMemoryError when there are not so many left.
        """
        if size > self.free_bytes:
            others = "; ".join(f"{other} has {taken:,}" for other, taken in self._reserved.values()) or "nobody has any"
            raise DeviceMemoryError(
                f"{name} needs {size:,} bytes of DDR on {self.name}, which has {self.free_bytes:,} of "
                f"{self.target.ddr_bytes:,} left: {others}"
            )
        self._reserved[owner] = (name, size)

    def release(self, owner: object) -> None:
        """Gives back what an owner has reserved; nothing happens when that is nothing."""
        self._reserved.pop(owner, None)

    def submit(self, name: str, run: Callable[[], tuple[dict[str, NDArray[Any]], float]]) -> Event:
        """Puts a run behind those that were submitted before.

        run: executes it, and gives the outputs and the cost in microseconds. What it raises is the event's error; a
            run that fails takes no time of the chip.

        Raises IrError when the device is closed.
        """

        def execute() -> Ran:
            outputs, cost = run()
            started = self._now
            self._now += cost
            return Ran(outputs, started, self._now)

        try:
            future: Future[Ran] = self._queue.submit(execute)
        except RuntimeError as error:
            raise IrError(f"{self.name} is closed") from error
        return Event(name, self._now, future)

    def drain(self) -> None:
        """Waits for all runs that were submitted."""
        self._queue.submit(int).result()

    def close(self) -> None:
        """Waits for all runs that were submitted; no more are taken."""
        self._queue.shutdown(wait=True)

    def __enter__(self) -> Device:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    @property
    def table(self) -> Table:
        """Who has reserved how much of its DDR."""
        rows = [(name, f"{size:,}") for name, size in self._reserved.values()]
        return Table(f"{self.name}: bytes of DDR", ("session", "bytes"), (*rows, ("free", f"{self.free_bytes:,}")))

    def __repr__(self) -> str:
        return (
            f"<Device: {self.name}, {len(self._reserved)} sessions, {self.free_bytes:,} bytes of DDR free, "
            f"at {self._now:.1f} us>"
        )

    def _repr_html_(self) -> str:
        return self.table.to_html()
