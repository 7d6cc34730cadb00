"""What a mutant is: a compiler pass with one mistake, where the mistake is from, and a program that shows it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias

import attrs

from tx8ir.core import Program
from tx8ir.passes import NumericGuarantee, Pass
from tx8ir.rewriting import RewritePattern, rewrite_greedily

Form: TypeAlias = Literal["function", "pass", "rule"]
"""How it is written: a function of a program, a `Pass`, or patterns that the greedy driver applies."""
Round: TypeAlias = Literal[1, 2, 3, 4]
Case: TypeAlias = "tuple[Program, Mapping[str, Any] | None]"
"""A program, and inputs; None: those that the oracle draws."""


@attrs.frozen(eq=False)
class Mutant:
    """A broken pass.

    Attributes:
        name: what the pass is called.
        pass_: what the oracle is given: a function of a program, or a `Pass`.
        guarantee: what it claims to keep.
        citation: the bug of a real compiler that it has, or the paper that describes such bugs.
        mistake: what is wrong with it, in one line.
        area: what kind of operations it concerns.
        form: how it is written.
        special_value: whether it is right on ordinary numbers: wrong on NaN, infinities, zeros of one sign, subnormal
            or overflowing numbers, or the ends of an integer format alone.
        witness: makes a smallest program, and inputs, on which it is wrong.
        control: makes a program that it changes rightly; None where there is nothing to show.
        round: in which it was drawn up; the results of the last one are for no one who improves the fuzzer.
    """

    name: str
    pass_: Pass | Callable[[Program], object]
    guarantee: NumericGuarantee
    citation: str
    mistake: str
    area: str
    form: Form
    special_value: bool
    witness: Callable[[], Case]
    control: Callable[[], Case] | None
    round: Round


class Area:
    """Collects the mutants of one area that are in one round.

    Args:
        name: of the area; all rounds have the same areas.
        round: where its mutants are.
    """

    def __init__(self, name: str, *, round: Round) -> None:
        self.name = name
        self.round: Round = round
        self.mutants: list[Mutant] = []

    def _add(
        self,
        name: str,
        subject: Pass | Callable[[Program], object],
        form: Form,
        guarantee: NumericGuarantee,
        *,
        citation: str,
        mistake: str,
        witness: Callable[[], Case],
        control: Callable[[], Case] | None,
        special_value: bool,
    ) -> None:
        mutant = Mutant(
            name, subject, guarantee, citation, mistake, self.name, form, special_value, witness, control, self.round
        )
        self.mutants.append(mutant)

    def mutant(
        self,
        *,
        citation: str,
        mistake: str,
        witness: Callable[[], Case],
        control: Callable[[], Case] | None = None,
        guarantee: NumericGuarantee = NumericGuarantee.BITWISE,
        special_value: bool = False,
    ) -> Callable[[Any], Any]:
        """Decorator: a function of a program, or a class of passes (which says its own guarantee), as a mutant."""

        def register(subject: Any) -> Any:
            given: dict[str, Any] = {"citation": citation, "mistake": mistake, "witness": witness}
            given |= {"control": control, "special_value": special_value}
            if isinstance(subject, type):
                instance: Pass = subject()
                self._add(instance.name, instance, "pass", instance.guarantee, **given)
            else:
                self._add(subject.__name__.replace("_", "-"), subject, "function", guarantee, **given)
            return subject

        return register

    def rules(
        self,
        name: str,
        *patterns: RewritePattern[Any],
        citation: str,
        mistake: str,
        witness: Callable[[], Case],
        control: Callable[[], Case] | None = None,
        guarantee: NumericGuarantee = NumericGuarantee.BITWISE,
        special_value: bool = False,
    ) -> None:
        """Registers patterns, applied greedily, as a mutant."""

        def apply(program: Program) -> None:
            rewrite_greedily(program.module, patterns, fold=False, by=name)

        apply.__name__ = name.replace("-", "_")
        self._add(
            name, apply, "rule", guarantee, citation=citation, mistake=mistake, witness=witness, control=control,
            special_value=special_value,
        )  # fmt: skip
