"""The steps of a match: written out as a Python function, and followed one by one to explain why there is none.

A step checks or fills slots. In the function a failed check returns None. Operands in either order are a `for` loop
around all later steps, in which a failed check tries the next order: every combination is tried before the match fails.
A choice between patterns is a generator function, which gives the slots that each pattern that fits fills, and a loop
over it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, TypeAlias

import attrs

from tx8ir.core import Operation

from .explanation import MatchFailure

_MOST_LOOPS: Final = 15  # Python nests at most 20 blocks


class Env:
    """The slots while a match is explained, and by which operands each operation was reached."""

    def __init__(self, root: Operation) -> None:
        self.slots: dict[str, Any] = {"o0": root}
        self.paths: dict[str, tuple[int, ...]] = {"o0": ()}

    def copy(self) -> Env:
        """The same slots, to go on with in another way."""
        other = Env(self.slots["o0"])
        other.slots.update(self.slots)
        other.paths.update(self.paths)
        return other


@attrs.frozen
class MatchStep:
    """A check or an assignment.

    Attributes:
        source: lines of Python, where FAIL stands for what a failed check does.
        explain: does the same, and says what failed.
    """

    source: tuple[str, ...]
    explain: Callable[[Env], MatchFailure | None]


@attrs.frozen
class Swap:
    """Operands in either order.

    Attributes:
        op: the slot of the operation.
        values: the slots of its first two operands.
    """

    op: str
    values: tuple[str, str]


@attrs.frozen(eq=False)
class Alternatives:
    """The patterns of a `OneOf`, compiled for places where the slots `given` are filled.

    Attributes:
        function: the name of the generator function.
        parameter: the slot of the value (for the root: of the operation) that it is about.
        given: the slots filled before that its steps read.
        steps: those of each pattern.
        filled: the slots that each pattern fills, or may fill.
        fills: all of these; one that the pattern which fits does not fill is None.
        certain: those of them that every pattern fills.
    """

    function: str
    parameter: str
    given: tuple[str, ...]
    steps: tuple[tuple[AnyStep, ...], ...]
    filled: tuple[frozenset[str], ...]
    fills: tuple[str, ...]
    certain: frozenset[str]


@attrs.frozen(eq=False)
class Choice:
    """One of several patterns has to fit the value in slot `subject`."""

    subject: str
    alternatives: Alternatives


AnyStep: TypeAlias = "MatchStep | Swap | Choice"


# -- writing ----------------------------------------------------------------------------------------------------------


def write_steps(rule: str, steps: Sequence[AnyStep], slots: Iterable[str], choices: Iterable[Alternatives]) -> str:
    """The source of a function `match(o0)` that gives a tuple of `slots`, or None; and of those that it calls.

    Raises:
        TypeError: too many loops, one in the other, for Python.
    """
    lines: list[str] = []
    for choice in choices:
        lines.append(f"def {choice.function}({', '.join((choice.parameter, *choice.given))}):")
        for inner, filled in zip(choice.steps, choice.filled, strict=True):
            lines.append("    for _ in once:")
            given = "".join(f"{slot if slot in filled else None}, " for slot in choice.fills)
            _write(rule, lines, inner, 2, f"yield ({given})")
    lines.append("def match(o0):")
    if _write(rule, lines, steps, 1, f"return ({''.join(f'{slot}, ' for slot in slots)})") > 1:
        lines.append("    return None")
    return "\n".join(lines) + "\n"


def _write(rule: str, lines: list[str], steps: Sequence[AnyStep], depth: int, end: str) -> int:
    """Adds the lines of `steps`, and `end` where all have succeeded; how deep in loops that is."""
    first = depth
    for step in steps:
        pad = "    " * depth
        if isinstance(step, MatchStep):
            fail = "return None" if depth == 1 else "continue"
            lines.extend(pad + line.replace("FAIL", fail) for line in step.source)
            continue
        if isinstance(step, Swap):
            a, b = step.values
            lines.append(f"{pad}x, y = {step.op}._operands[0]._value, {step.op}._operands[1]._value")
            lines.append(f"{pad}for {a}, {b} in ((x, y), (y, x)):")
        else:
            choice = step.alternatives
            slots = "".join(f"{slot}, " for slot in choice.fills)
            lines.append(f"{pad}for ({slots}) in {choice.function}({', '.join((step.subject, *choice.given))}):")
        depth += 1
    if depth - first > _MOST_LOOPS:
        raise TypeError(f"rule {rule!r} has more than {_MOST_LOOPS} choices or operands in either order in a row")
    lines.append("    " * depth + end)
    return depth


# -- explaining -------------------------------------------------------------------------------------------------------


def explain_steps(steps: Sequence[AnyStep], root: Operation) -> tuple[MatchFailure, ...]:
    """Why the steps fail for an operation, the failure after the most successful checks first; nothing if it matches.

    Every order of operands and every alternative is tried.
    """
    failures: list[tuple[int, MatchFailure]] = []
    if _follow(Env(root), steps, 0, failures, lambda env, passed: True):
        return ()
    failures.sort(key=lambda failure: -failure[0])  # stable: of equal ones the first order
    return tuple(dict.fromkeys(mismatch for _, mismatch in failures))


def _follow(
    env: Env,
    steps: Sequence[AnyStep],
    passed: int,
    failures: list[tuple[int, MatchFailure]],
    then: Callable[[Env, int], bool],
) -> bool:
    """Whether `steps`, and what comes `then`, succeed; `passed` counts the checks that did on the way here."""
    for number, step in enumerate(steps):
        if isinstance(step, MatchStep):
            mismatch = step.explain(env)
            if mismatch is not None:
                failures.append((passed, mismatch))
                return False
            passed += 1
            continue
        rest = steps[number + 1 :]
        if isinstance(step, Swap):
            return any(_follow(other, rest, passed, failures, then) for other in _orders(env, step))

        def go_on(env: Env, passed: int, rest: Sequence[AnyStep] = rest) -> bool:
            return _follow(env, rest, passed, failures, then)

        return any(
            _follow(_entered(env, step), pattern, passed, failures, go_on) for pattern in step.alternatives.steps
        )
    return then(env, passed)


def _orders(env: Env, swap: Swap) -> Iterable[Env]:
    """The slots with the operands in each order."""
    op = env.slots[swap.op]
    for order in ((0, 1), (1, 0)):
        other = env.copy()
        for slot, index in zip(swap.values, order, strict=True):
            other.slots[slot] = op.operands[index]
            other.paths[slot] = (*env.paths[swap.op], index)
        yield other


def _entered(env: Env, choice: Choice) -> Env:
    """The slots as the steps of an alternative see them."""
    other = env.copy()
    other.slots[choice.alternatives.parameter] = env.slots[choice.subject]
    other.paths[choice.alternatives.parameter] = env.paths[choice.subject]
    return other
