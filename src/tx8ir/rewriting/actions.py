"""Actions: steps that change a program, each of which somebody may watch, or leave out.

A driver asks before it tries a pattern on an operation or folds it, and a pipeline before it runs a pass. Nobody is
asked, and nothing is slower, unless an `ActionHandler` is active. After MLIR's action tracing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final, Literal, TypeAlias, TypeVar

import attrs

from tx8ir.core import Operation

ActionKind: TypeAlias = Literal["pass", "pattern", "fold"]
SubjectT = TypeVar("SubjectT")


@attrs.frozen(eq=False)
class Action:
    """A step that is about to be tried.

    Attributes:
        kind: what it is: a pass on an operation, a pattern on its root, a fold.
        name: of the pass or the pattern; `fold`.
        op: the operation that it is tried on.
    """

    kind: ActionKind
    name: str
    op: Operation


class ActionHandler(ABC):
    """Watches actions, and says which of them are taken."""

    @abstractmethod
    def should_run(self, action: Action) -> bool:
        """Whether the action is taken. If not, its pattern does not match, its pass does nothing."""

    @contextmanager
    def active(self) -> Generator[None]:
        """Asked about all actions in the `with` block; a handler active around it is not."""
        token = _ACTIVE.set(self)
        try:
            yield
        finally:
            _ACTIVE.reset(token)


_ACTIVE: Final[ContextVar[ActionHandler | None]] = ContextVar("the active action handler", default=None)


def should_run(kind: ActionKind, name: str, op: Operation) -> bool:
    """Whether the active handler, if there is one, lets the action be taken."""
    handler = _ACTIVE.get()
    return handler is None or handler.should_run(Action(kind, name, op))


def asking(
    kind: ActionKind, name: str, apply: Callable[[Operation, SubjectT], bool]
) -> Callable[[Operation, SubjectT], bool]:
    """`apply`, which asks the handler that is active now before each action; `apply` itself where there is none."""
    handler = _ACTIVE.get()
    if handler is None:
        return apply

    def ask(op: Operation, subject: SubjectT) -> bool:
        return handler.should_run(Action(kind, name, op)) and apply(op, subject)

    return ask
