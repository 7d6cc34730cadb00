"""Walks that go into regions without recursion: a task yields the tasks that come before the rest of it."""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeAlias

Task: TypeAlias = "Generator[Task]"
"""A generator; what it yields is run to its end before it goes on."""


def run_trampoline(task: Task) -> None:
    """Run a task and those it yields, to any depth. When one raises, those that wait are closed, innermost first."""
    stack = [task]
    try:
        while stack:
            inner = next(stack[-1], None)
            if inner is None:
                stack.pop()
            else:
                stack.append(inner)
    finally:
        while stack:
            stack.pop().close()
