"""`assert_preserves`: that a pass keeps what programs compute, as an assertion for tests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import Executor
from typing import overload

from numpy.typing import ArrayLike

from tx8ir.core import Program
from tx8ir.testing.passes.counterexample import Counterexample, PassLike
from tx8ir.testing.passes.observe import NumericGuarantee
from tx8ir.testing.passes.preserve import PipelineCheck, check

from . import FuzzResult, fuzz


@overload
def assert_preserves(
    pass_: PassLike,
    program: Program,
    *,
    inputs: Mapping[str, ArrayLike] | None = None,
    guarantee: NumericGuarantee | None = None,
    seed: int = 0,
    reduce: bool = True,
) -> PipelineCheck: ...


@overload
def assert_preserves(
    pass_: PassLike,
    program: None = None,
    *,
    guarantee: NumericGuarantee | None = None,
    seed: int = 0,
    reduce: bool = True,
    seconds: float = 60.0,
    examples: int | None = None,
    programs: Iterable[Program] | None = None,
    changed: float = 0.0,
    executor: Executor | None = None,
) -> FuzzResult: ...


def assert_preserves(
    pass_: PassLike,
    program: Program | None = None,
    *,
    inputs: Mapping[str, ArrayLike] | None = None,
    guarantee: NumericGuarantee | None = None,
    seed: int = 0,
    reduce: bool = True,
    seconds: float = 60.0,
    examples: int | None = None,
    programs: Iterable[Program] | None = None,
    changed: float = 0.0,
    executor: Executor | None = None,
) -> PipelineCheck | FuzzResult:
    """Asserts that a pass or pipeline preserves what programs compute.

    With a program, that one is checked: see `check` for the arguments and the result. Without one, the fuzzer looks for
    a program that the pass gets wrong: see `fuzz` for the arguments and the result.

    Raises:
        AssertionError: it does not. The text says which pass changes which answer, on which inputs, and holds the
            reduced program and a script that fails in the same way. Without a program, also when the pass was not
            tested: it changed no program, or fewer than the part `changed` of them.
    """
    if program is not None:
        checked = check(program, pass_, inputs=inputs, guarantee=guarantee, seed=seed, reduce=reduce)
        if checked.counterexample is not None:
            raise _failed(checked.counterexample, str(checked.counterexample)) from checked.counterexample.failure.cause
        return checked
    found = fuzz(
        pass_,
        seconds=seconds,
        examples=examples,
        seed=seed,
        programs=programs,
        guarantee=guarantee,
        changed=changed,
        executor=executor,
        reduce=reduce,
    )
    if found.counterexample is not None:
        raise _failed(found.counterexample, str(found.counterexample)) from found.counterexample.failure.cause
    if not found.tested:
        raise AssertionError(str(found))
    return found


def _failed(found: Counterexample, text: str) -> AssertionError:
    return AssertionError(f"{text}\n\nto run it again:\n\n{found.script}")
