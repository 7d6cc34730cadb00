"""Taking back what a failing pass has done."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import attrs

from tx8ir.core import Operation, Program, Variable

_FIELDS = tuple(field.name for field in attrs.fields(Variable))


class Snapshot:
    """A program as it is: its module, the names of its variables, and their fields.

    Making one replaces `program.module` by a copy, so that the module kept is never touched, down to the identity of
    its operations. O(operations + variables); the data of variables is shared, not copied.
    """

    def __init__(self, program: Program) -> None:
        self._program = program
        self._module: Operation = program.module
        self._variables = dict(program.weights)
        self._fields = {
            name: tuple(getattr(variable, field) for field in _FIELDS) for name, variable in self._variables.items()
        }
        self._store = program.weights
        program.module = self._module.clone()

    def restore(self) -> None:
        """Makes the program what it was: the very module, store and variables."""
        self._program.module = self._module
        store = self._store
        self._program.weights = store
        for name in list(store):
            del store[name]
        for name, variable in self._variables.items():
            store[name] = variable
            for field, value in zip(_FIELDS, self._fields[name], strict=True):
                object.__setattr__(variable, field, value)

    @classmethod
    @contextmanager
    def around(cls, program: Program, *, active: bool) -> Generator[None]:
        """Restores `program` when the `with` block raises anything. Does nothing unless `active`."""
        if not active:
            yield
            return
        before = cls(program)
        try:
            yield
        except BaseException:
            before.restore()
            raise
