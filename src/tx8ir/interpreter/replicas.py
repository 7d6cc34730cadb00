"""One program on several replicas, each with inputs of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from numpy.typing import ArrayLike, NDArray

from tx8ir.core import Program

from .arrays import EvaluationError
from .evaluator import Interpreter
from .interfaces import PrecisionLike
from .meetings import together


def evaluate_replicas(
    program: Program, inputs: Sequence[Mapping[str, ArrayLike]], precision: PrecisionLike = "native"
) -> list[dict[str, NDArray[Any]]]:
    """Run `main` of `program` on as many replicas as there are inputs; see `Interpreter`.

    They run in lockstep: one that comes to an operation of `ccl` waits for the others of its group.

    Args:
        program: what all of them run. It must not write parameters, which would be the same for all.
        inputs: those of each replica, by name.
        precision: see `Precision`.

    Returns:
        The results of each replica, by name.

    Raises:
        EvaluationError: see `Interpreter.run`; also where replicas come to different operations, or one ends while
            another waits for it.
    """
    written = sorted(program.mutable_parameters())
    if written:
        raise EvaluationError(f"writes the parameters {', '.join(written)}, which replicas would share")
    runs = [Interpreter(program, precision).start(given, number) for number, given in enumerate(inputs)]
    return together(runs)
