"""Decides rewrite rules of element-wise operations for all numbers.

A rule is applied to small programs on scalars, one for each element type and each combination of attributes, and the
programs before and after are compared as functions: on all inputs where there are few enough (f16 and bf16 with one
input, 8 bits with two), on the most telling ones and by an SMT solver otherwise. As in Alive2 (Lopes et al., PLDI
2021), a proof holds for all numbers; here, in each rounding mode too.
"""

from __future__ import annotations

import importlib
import importlib.util
import itertools
from collections.abc import Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any, Final, Literal, TypeAlias, cast

import attrs

from tx8ir.core import Program, RankedTensor, ScalarType, bf16, detached, f16, f32, i1, i8, i16, i32, i64, tf32, ui8
from tx8ir.passes import NumericGuarantee
from tx8ir.rewriting import RewritePattern, Rewriter
from tx8ir.target.rounding import Rounding
from tx8ir.testing.passes.counterexample import PassLike, stages_of
from tx8ir.testing.passes.perturbation import rounded_format

from .comparison import Comparison
from .generality import is_reordered, is_special_case
from .instances import Instance, instances
from .modes import NAMES, ROUNDINGS
from .numbers import Grid, grid
from .proof import Check, Proof, Refutation, Status
from .scalars import ProofError, check_elementwise, formula, input_formats, on_scalars, operations

Method: TypeAlias = Literal["exhaustion", "solver"]
"""How to decide: by evaluating both programs on all numbers, or on many; or by the solver z3."""

ELEMENT_TYPES: Final = (f32, f16, bf16, tf32, i8, ui8, i16, i32, i64, i1)
"""The element types that a rule is tried on."""
HAS_Z3: Final = importlib.util.find_spec("z3") is not None
MOST: Final = 400
"""Of so many programs that a rule fits, at most, the proof is made."""


def prove(
    rule: RewritePattern[Any] | PassLike,
    *,
    program: Program | None = None,
    guarantee: NumericGuarantee | None = None,
    element_types: Sequence[ScalarType] = ELEMENT_TYPES,
    roundings: Sequence[Rounding] = ROUNDINGS,
    methods: Sequence[Method] | None = None,
    seconds: float | None = 10.0,
    rlimit: int | None = None,
) -> Proof:
    """Decides whether a rule of element-wise operations keeps what programs give, for all numbers.

    Args:
        rule: a declarative rule or another pattern; or a pass, pipeline or function of a program, with `program=`.
        program: what to apply it to, of element-wise operations; without one, small programs that the rule fits.
        guarantee: what it is to keep; by default what the pass guarantees, BITWISE for a pattern. Of ROUNDING only
            what is exact can be proved or refuted, of NO_NANS only proved.
        element_types: of the programs that are made.
        roundings: rounding modes; the first is the one that `Proof.status` is about.
        methods: by default both, where z3 is installed.
        seconds: how long the solver may take for each question; None: as long as it takes.
        rlimit: the same in steps of the solver, in place of `seconds`: the answer is the same on every machine.

    Raises:
        ProofError: operations that are not element-wise, an element type that proofs are not about (f64), a rule that
            fits none of the programs, a pass that changes nothing, or the guarantee FORMATS.
        ImportError: the method "solver" is asked for without z3.
        TypeError: a pass without `program=`.
    """
    modes = tuple(dict.fromkeys(roundings))
    if not modes or any(mode not in ROUNDINGS for mode in modes):
        raise ValueError(f"roundings is {list(roundings)}; expected one or more of {', '.join(NAMES.values())}")
    name, kept = _name(rule), guarantee or _guarantee(rule)
    if kept is NumericGuarantee.FORMATS:
        raise ProofError(f"{name} guarantees FORMATS: it changes number formats, so there is nothing equal to prove")
    judge = _Judge(name, kept, modes, _solver(methods), methods is None or "exhaustion" in methods, seconds, rlimit)
    checks: list[Check] = []
    count, note = 0, ""
    for before, after in _rewritten(rule, program, element_types):
        if count == MOST:
            note = f"only the first {MOST} programs that it fits were looked at"
            break
        checks += judge.checks(before, after)
        count += 1
    if not checks:
        raise ProofError(f"{name} changes none of the programs it was tried on; give prove one that it does change")
    return Proof(name, kept, modes, tuple(checks), note)


def _name(rule: RewritePattern[Any] | PassLike) -> str:
    return rule.name if isinstance(rule, RewritePattern) else ", ".join(stage.name for stage in stages_of(rule))


def _guarantee(rule: RewritePattern[Any] | PassLike) -> NumericGuarantee:
    """The weakest of the guarantees of the steps."""
    guarantees = () if isinstance(rule, RewritePattern) else [stage.guarantee for stage in stages_of(rule)]
    return max(guarantees, key=list(NumericGuarantee).index, default=NumericGuarantee.BITWISE)


def _solver(methods: Sequence[Method] | None) -> ModuleType | None:
    """The module that asks z3, or None when it is not to be asked."""
    if methods is None and not HAS_Z3:
        return None
    if methods is not None and "solver" not in methods:
        return None
    return importlib.import_module("tx8ir.testing.proving.solver")


# --- programs before and after ---------------------------------------------------------------------------------------


def _rewritten(
    rule: RewritePattern[Any] | PassLike, program: Program | None, element_types: Sequence[ScalarType]
) -> Iterator[tuple[Program, Program]]:
    """Programs before and after, on scalars."""
    name = _name(rule)
    if isinstance(rule, RewritePattern):
        pattern = cast("RewritePattern[Any]", rule)
        found = instances(pattern, element_types) if program is None else _roots(on_scalars(program), pattern)
        candidates = _general(pattern, found)
    elif program is None:
        raise TypeError(f"{name} is a pass: prove needs program=, a program that it changes")
    else:
        before = on_scalars(program)
        after = before.clone()
        for stage in stages_of(rule):
            stage.run(after)
        candidates = iter([(before, None if str(before) == str(after) else after)])
    for before, after in candidates:
        if after is not None:
            after.verify()
            check_elementwise(after, made_by=name)
            if before.inputs != after.inputs or before.outputs != after.outputs:
                raise ProofError(f"{name} changes the inputs or outputs of the program; prove compares its results")
            yield before, on_scalars(after)


def _roots(program: Program, rule: RewritePattern[Any]) -> Iterator[Instance]:
    """The operations of a program that the rule may fit, one after another."""
    return (Instance(program, op) for op in operations(program) if rule.fits(op.__class__))


def _general(rule: RewritePattern[Any], found: Iterator[Instance]) -> Iterator[tuple[Program, Program | None]]:
    """What the rule makes of those instances that it fits, and that are not special cases of others."""
    reordered: set[tuple[str, ...]] = set()
    for instance in found:
        before, after = instance.program, _applied(rule, instance)
        if after is None or is_special_case(instance, after, lambda other: _applied(rule, other)):
            continue
        if is_reordered(before, after):
            types = (*map(str, before.inputs.values()), *map(str, before.outputs.values()))
            kind = (formula(before, "number"), formula(after, "number"), *types)
            if kind in reordered:
                continue
            reordered.add(kind)
        yield before, after


def _applied(rule: RewritePattern[Any], instance: Instance) -> Program | None:
    """The program after the rule was applied once, to the root; None where it does not fit."""
    place = operations(instance.program).index(instance.root)
    clone = instance.program.clone()
    root = operations(clone)[place]
    with detached():
        try:
            return clone if rule.match_and_rewrite(root, Rewriter(root, by="prove")) else None
        except Exception as error:
            said = f"{type(error).__name__}: {error}"
            raise ProofError(f"{rule.name} raises on {_typed(instance.program)}: {said}") from error


def _typed(program: Program) -> str:
    return f"{formula(program)} with {', '.join(f'{name}: {kind}' for name, kind in program.inputs.items())}"


# --- deciding --------------------------------------------------------------------------------------------------------


@attrs.frozen(eq=False)
class _Judge:
    name: str
    guarantee: NumericGuarantee
    modes: tuple[Rounding, ...]
    solver: ModuleType | None
    evaluates: bool
    seconds: float | None
    rlimit: int | None

    @property
    def compared(self) -> NumericGuarantee:
        """What is compared: of ROUNDING and NO_NANS, that values are equal."""
        return (
            NumericGuarantee.VALUES
            if self.guarantee in (NumericGuarantee.ROUNDING, NumericGuarantee.NO_NANS)
            else self.guarantee
        )

    def checks(self, before: Program, after: Program) -> list[Check]:
        """A check for each rounding mode; where nothing rounds, one evaluation and one question answer for all."""
        rounds = any(rounded_format(op) is not None for op in itertools.chain(*map(operations, (before, after))))
        asked = self.modes if rounds else self.modes[:1]
        formats = input_formats(before)
        numbers = grid(tuple(formats.values()))
        found: dict[Rounding, Refutation | None] = dict.fromkeys(asked)
        if self.evaluates:
            comparison = Comparison(before, after)
            inputs = dict(zip(formats, numbers.arrays, strict=True))
            for mode in asked:
                wrong = comparison.counterexample(inputs, mode, self.compared)
                found[mode] = None if wrong is None else self._refutation(before, after, wrong, mode)
        open_ = [mode for mode in asked if found[mode] is None and not (self.evaluates and numbers.is_complete)]
        answers: Mapping[Rounding, Any] = {}
        if self.solver is not None and open_:
            answers = self.solver.ask(before, after, self.compared, open_, seconds=self.seconds, rlimit=self.rlimit)
        labels = "+".join(dict.fromkeys(f.name for f in formats.values())) or _result_formats(before)
        decided = {
            mode: self._decide(before, after, mode, found[mode], numbers, answers.get(mode), rounds) for mode in asked
        }
        made: list[Check] = []
        for mode in self.modes:
            status, said, refutation = decided[mode if rounds else asked[0]]
            complete = self.evaluates and numbers.is_complete
            evaluated = numbers.count if self.evaluates else 0
            made.append(
                Check(formula(before), formula(after), labels, mode, status, evaluated, complete, said, refutation)
            )
        return made

    def _decide(
        self,
        before: Program,
        after: Program,
        mode: Rounding,
        refutation: Refutation | None,
        numbers: Grid,
        answer: Any,
        rounds: bool,
    ) -> tuple[Status, str, Refutation | None]:
        said = ""
        status: Status = "proved" if self.evaluates and numbers.is_complete else "undecided"
        if answer is not None and refutation is None:
            if answer.verdict == "same":
                status, said = "proved", "z3 for all inputs"
            elif answer.verdict == "unknown":
                said = answer.reason
            else:
                comparison = Comparison(before, after)
                inputs = {name: array.reshape(1) for name, array in answer.inputs.items()}
                wrong = comparison.counterexample(inputs, mode, self.compared)
                said = "z3 found numbers" if wrong else "z3 found numbers that the interpreter does not confirm"
                refutation = None if wrong is None else self._refutation(before, after, wrong, mode)
        if refutation is not None:
            status = "refuted"
            if self.guarantee is NumericGuarantee.NO_NANS or (self.guarantee is NumericGuarantee.ROUNDING and rounds):
                return "undecided", "not equal; by how much is not proved here, but measured by fuzz", None
        return status, said, refutation

    def _refutation(self, before: Program, after: Program, inputs: Mapping[str, Any], mode: Rounding) -> Refutation:
        return Refutation(self.name, before, after, dict(inputs), mode, self.compared)


def _result_formats(program: Program) -> str:
    kinds = [kind for kind in program.outputs.values() if isinstance(kind, RankedTensor)]
    return "+".join(dict.fromkeys(kind.element.format.name for kind in kinds))
