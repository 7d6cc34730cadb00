"""The runtime: executables on simulated chips, as a program that serves them would use hardware.

    from tx8ir.runtime import Device, Session
    with Device() as chip, Session("model.tx8", chip) as session:
        session.run(x=x)            # waits
        event = session.submit(x=x) # comes back at once; runs on a chip are in the order of their submission
        event.result()

`device` is a chip with its memory and its queue, `session` an executable that is loaded on one, `event` a run.
"""

from __future__ import annotations

from .device import Device, DeviceMemoryError
from .event import Event
from .session import BindError, Session, SessionClosedError

__all__ = ["BindError", "Device", "DeviceMemoryError", "Event", "Session", "SessionClosedError"]
