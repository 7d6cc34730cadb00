"""`jit`: a Python function of arrays, compiled and run on the simulated chip."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, Generic, ParamSpec, TypeVar

from tx8ir.compiler import CompileOptions, compile
from tx8ir.core import ElementLike
from tx8ir.executable import Executable
from tx8ir.reports import Report
from tx8ir.target.chip import Target

from .trace import Function, Trace, function, kind_of_arguments

P = ParamSpec("P")
R = TypeVar("R")


class Jitted(Generic[P, R]):
    """A function that is compiled when it is called, once for each kind of arguments, and simulated.

    Arguments that are not arrays belong to the kind, and must be hashable. Results are arrays, nested as the function
    nests its tensors.
    """

    def __init__(self, of: Function[P, R], target: Target | None, options: CompileOptions) -> None:
        self.function = of
        self._target = target
        self._options = options
        self._compiled: dict[Any, tuple[Trace, Executable]] = {}
        self._latest: Executable | None = None
        functools.update_wrapper(self, of.python)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        kind, arrays = kind_of_arguments(self.function, args, kwargs)
        traced, executable = self._for(kind, args, kwargs)
        self._latest = executable
        return traced.result(executable.run(traced.feeds(arrays)))

    def compile(self, *args: Any, **kwargs: Any) -> Executable:
        """The executable for such arguments: arrays, or types in their place."""
        kind, _ = kind_of_arguments(self.function, args, kwargs)
        return self._for(kind, args, kwargs)[1]

    @property
    def report(self) -> Report:
        """What the latest call compiled and what its run cost. Raises ValueError before the first call."""
        if self._latest is None:
            raise ValueError(
                f"{self.function.python.__qualname__} has not been called yet, so there is nothing to report"
            )
        return self._latest.report

    def _for(self, kind: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Trace, Executable]:
        found = self._compiled.get(kind)
        if found is None:
            traced = Trace(self.function, args, kwargs)
            found = self._compiled[kind] = (traced, compile(traced.program, self._target, self._options))
        return found

    def __repr__(self) -> str:
        python = self.function.python
        return f"<tx8ir.jit {python.__qualname__}{inspect.signature(python)}: {len(self._compiled)} compiled>"


def jit(
    python: Callable[P, R] | Function[P, R],
    *,
    dtype: ElementLike | None = None,
    target: Target | None = None,
    options: CompileOptions | None = None,
) -> Jitted[P, R]:
    """Makes a Python function of arrays one that runs on the simulated chip.

    Args:
        python: the function; it is traced as `tx8ir.function` says.
        dtype: the format of the floating-point computation; short for `options=CompileOptions(dtype=...)`.
        target: the chip; by default the TX8.
        options: how to compile.
    """
    if options is not None and dtype is not None:
        raise TypeError("jit takes dtype, or options with one, not both")
    return Jitted(function(python), target, CompileOptions(dtype) if options is None else options)
