"""The error of the kernel-author API, and the line of the kernel that it is about."""

from __future__ import annotations

import sys

from tx8ir.core import IrError
from tx8ir.core.location import THREAD, Location, python_location

_INSIDE = ("tx8ir.kernels", "contextlib")  # the builder, and what enters its context managers


class KernelError(IrError):
    """A kernel asks for what the machine does not have; `location` is the line of the kernel."""

    def __init__(self, message: str) -> None:
        super().__init__(message, location=kernel_line())


def kernel_line() -> Location:
    """The Python line outside of this package that is being executed, or the location given by `at_location`."""
    if THREAD.build.location is not None:
        return THREAD.build.location
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(_INSIDE):
        frame = frame.f_back
    return python_location(frame.f_code, frame.f_lasti)
