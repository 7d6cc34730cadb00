"""Running a program: issue, schedules, messages, the debugger."""

from __future__ import annotations
