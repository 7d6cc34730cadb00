"""`Event`: a run that was submitted."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import attrs
from numpy.typing import NDArray

__all__ = ["Event", "Ran"]


@attrs.frozen(eq=False)
class Ran:
    """What a run gave, and when it was on the chip, in microseconds of the chip's time."""

    outputs: dict[str, NDArray[Any]]
    started: float
    ended: float


class Event:
    """A run that was submitted: whether it is over, what it gave, when the chip was busy with it.

    name: what is run, for people.
    submitted: when it was submitted, in microseconds of the chip's time: how far the runs before had come.
    """

    def __init__(self, name: str, submitted: float, future: Future[Ran]) -> None:
        self.name = name
        self.submitted = submitted
        self._future = future

    @property
    def is_done(self) -> bool:
        """Whether the run is over, or failed."""
        return self._future.done()

    @property
    def error(self) -> BaseException | None:
        """Why the run failed; None of one that did not. Waits for its end."""
        return self._future.exception()

    @property
    def started(self) -> float:
        """When the chip began, in microseconds of its time. Waits for the end of the run."""
        return self._future.result().started

    @property
    def ended(self) -> float:
        """When the chip was ready, in microseconds of its time. Waits for the end of the run."""
        return self._future.result().ended

    def wait(self, timeout: float | None = None) -> bool:
        """Waits for the end of the run, at most `timeout` seconds. Returns whether it is over."""
        try:
            self._future.exception(timeout)
        except TimeoutError:
            return False
        return True

    def result(self, timeout: float | None = None) -> dict[str, NDArray[Any]]:
        """The outputs by name. Waits for the end of the run, at most `timeout` seconds.

        Raises TimeoutError, and what the run raised (see `tx8ir.Executable.run`).
        """
        return self._future.result(timeout).outputs

    def when_done(self, call: Callable[[Event], object]) -> None:
        """Calls `call` with this event when the run is over, in the thread of the chip; at once if it is over.

        There `call` may submit further runs, but not wait for them.
        """
        self._future.add_done_callback(lambda _: call(self))

    def __repr__(self) -> str:
        if not self.is_done:
            return f"<Event: {self.name}, waiting>"
        error = self.error
        if error is not None:
            return f"<Event: {self.name}, failed: {type(error).__name__}>"
        return f"<Event: {self.name}, {self.started:.1f} to {self.ended:.1f} us>"
