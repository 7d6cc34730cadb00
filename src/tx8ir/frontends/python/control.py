"""Control flow that is decided while the program runs: `cond` and `while_loop`, named as in Paddle and in JAX."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from tx8ir.core import IrError, Operation, RankedTensor, Type, Value, at_location
from tx8ir.core.ir.value import as_value
from tx8ir.core.ir.value_class import require_insertion_point
from tx8ir.core.location import caller_location
from tx8ir.dialects import scf
from tx8ir.dialects.pd.promotion import constant

from .trees import leaves, mapped, structure


def cond(condition: Any, then: Callable[..., Any], otherwise: Callable[..., Any], *operands: Any) -> Any:
    """What `then(*operands)` gives where the condition holds, and else what `otherwise(*operands)` gives.

    Args:
        condition: a tensor with one element of i1, or a Python bool, which decides now.
        then, otherwise: functions that give the same nesting of tensors of the same types. They may use values around
            them as well.
        operands: what they take.

    Raises:
        IrError: the condition is something else, or the functions give different things.
    """
    if isinstance(condition, (bool, np.bool_)):
        return then(*operands) if condition else otherwise(*operands)
    location = caller_location()
    require_insertion_point("cond")
    decides = _condition(condition, "cond")
    outcomes: list[Any] = []

    def filled(branch: Callable[..., Any]) -> Callable[[], list[Value]]:
        def fill() -> list[Value]:
            outcomes.append(branch(*operands))
            return [_tensor(leaf, "a branch of cond") for _, leaf in leaves(outcomes[-1])]

        return fill

    with at_location(location):
        op = scf.IfOp.build(decides, filled(then), filled(otherwise))
    given = [[value.type for value in _yielded(region)] for region in op.regions]
    if given[0] != given[1] or structure(outcomes[0]) != structure(outcomes[1]):
        op.erase("cond")
        raise IrError(
            f"the branches of cond give {_shown(given[0])} and {_shown(given[1])}; expected the same from both"
        )
    results = iter(op.results)
    return mapped(outcomes[0], lambda _: next(results))


def while_loop(condition: Callable[..., Any], body: Callable[..., Any], variables: Any) -> Any:
    """Runs `variables = body(*variables)` while `condition(*variables)` holds, and gives the last variables.

    Args:
        condition: takes the variables; gives a tensor with one element of i1.
        body: takes the variables; gives as many, of the same types.
        variables: a list or a tuple of tensors, numbers and arrays, or a single one.

    Raises:
        IrError: a function gives something else.
    """
    location = caller_location()
    require_insertion_point("while_loop")
    several = isinstance(variables, (list, tuple))
    given = cast("Sequence[Any]", variables) if several else (variables,)
    with at_location(location):
        first = [_tensor(variable, "a variable of while_loop") for variable in given]
    types = [value.type for value in first]

    def before(*now: Value) -> tuple[Value, list[Value]]:
        return _condition(condition(*now), "the condition of while_loop"), list(now)

    def after(*now: Value) -> list[Value]:
        outcome = body(*now)
        parts = cast("Sequence[Any]", outcome) if isinstance(outcome, (list, tuple)) else (outcome,)
        found = [_tensor(part, "the body of while_loop") for part in parts]
        if [value.type for value in found] != types:
            shown = _shown([value.type for value in found])
            raise IrError(f"the body of while_loop gives {shown}; expected {_shown(types)}, as the variables are")
        return found

    with at_location(location):
        op = scf.WhileOp.build(first, before, after)
    if not several:
        return op.results[0]
    return list(op.results) if isinstance(variables, list) else tuple(op.results)


def _condition(given: Any, what: str) -> Value:
    value = as_value(given, what) if isinstance(given, (Value, Operation)) else None
    kind = None if value is None else value.type
    if value is None or not isinstance(kind, RankedTensor) or str(kind.element) != "i1" or kind.num_elements != 1:
        shown = repr(given) if kind is None else f"a value of {kind}"
        raise IrError(f"{what} decides by a tensor with one element of i1, as x.sum() > 0 gives it, not by {shown}")
    return value


def _tensor(leaf: Any, what: str) -> Value:
    if isinstance(leaf, (Value, Operation)):
        return as_value(leaf, what)
    if isinstance(leaf, (bool, int, float, np.generic, np.ndarray)):
        return constant(np.asarray(leaf))
    raise IrError(f"{what} is {leaf!r}; expected tensors, numbers and arrays, nested in lists or dictionaries")


def _yielded(region: Any) -> Sequence[Value]:
    return region.block.terminator.operands


def _shown(types: Sequence[Type]) -> str:
    return f"({', '.join(map(str, types))})"
