"""Small programs on scalars that a rule may fit: the left side of a declarative one, or operations around a root.

Of a declarative rule, each alternative, operation, number and attribute that its constraints allow is tried. A pattern
that is a function says only what its root is; it is tried on inputs, on one input twice, on constants, and on the
results of the operations that its code names.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import attrs

from tx8ir.core import (
    Builder,
    IrError,
    Op,
    Operation,
    Program,
    RankedTensor,
    ScalarType,
    Value,
    VTensorType,
    detached,
    i1,
)
from tx8ir.dialects import pd
from tx8ir.rewriting import RewritePattern, rewrite_greedily
from tx8ir.rewriting.declarative import Attr, Constant, Node, Number, OneOf, Pattern, Rule, Var
from tx8ir.rewriting.declarative.constraints import Constraint
from tx8ir.testing.cases.mutation.fitting import NUMBERS, attribute_values, samples
from tx8ir.testing.cases.mutation.instances import empty_program
from tx8ir.testing.cases.mutation.values import add_input, add_results
from tx8ir.testing.guidance.direction import Direction
from tx8ir.testing.guidance.extraction import op_classes, read_pass
from tx8ir.testing.guidance.pattern_builder import PatternBuilder, holds

from .choices import Choices, every_way
from .scalars import ProofError, is_constant, is_elementwise

TRIED: Final = 4000
"""Ways of building an instance that are tried for one element type and one root."""
_NAMED: Final = 5
"""A function that names more operations names its roots; on the results of all of them it would be tried too often."""


@attrs.frozen(eq=False)
class Instance:
    """A program that a rule may fit.

    Attributes:
        program: on scalars; it returns the result of `root`.
        root: the operation that the rule would be applied to.
    """

    program: Program
    root: Operation


def instances(rule: RewritePattern[Any], elements: Sequence[ScalarType]) -> Iterator[Instance]:
    """Programs that the rule may fit, for each of these element types; all different.

    Raises:
        ProofError: it is about operations that are not element-wise.
    """
    direction = _direction(rule)
    if isinstance(rule, Rule):
        roots: Sequence[type[Operation] | None] = (None,)
    else:
        roots = [kind for kind in elementwise_ops() if rule.fits(kind)]
        if not roots:
            names = ", ".join(getattr(root, "name", "") or root.__name__ for root in rule.roots)
            raise ProofError(
                f"rule {rule.name!r} is about {names}, which is not element-wise: it depends on shapes or on other "
                "elements; prove takes rules of element-wise operations, fuzz takes all"
            )
    seen: set[str] = set()
    for root, element in itertools.product(roots, elements):
        make = _maker(rule, root, element, tuple(elements), direction)
        for made in itertools.islice(every_way(make), TRIED):
            if isinstance(made, Instance) and (text := str(made.program)) not in seen:
                seen.add(text)
                yield made


@functools.cache
def elementwise_ops() -> tuple[type[Op], ...]:
    """The element-wise operations that there are."""
    return tuple(kind for kind in op_classes().values() if is_elementwise(kind) and issubclass(kind, Op))


@functools.cache
def _are_conditions(kind: type[Operation]) -> tuple[bool, ...]:
    """For each operand of an operation, whether it takes truth values only."""
    assert issubclass(kind, Op)
    taken: list[set[ScalarType]] = [set() for _ in kind.definition.operands]
    for sample in samples(kind.name):
        for elements, type_ in zip(taken, sample.types, strict=False):
            if isinstance(type_, RankedTensor):
                elements.add(type_.element)
    return tuple(elements == {i1} for elements in taken)


def _direction(rule: RewritePattern[Any]) -> Direction:
    def apply(program: Program) -> None:
        rewrite_greedily(program.module, [rule])

    return read_pass(apply).direction


def _maker(
    rule: RewritePattern[Any],
    root: type[Operation] | None,
    element: ScalarType,
    elements: tuple[ScalarType, ...],
    direction: Direction,
) -> Callable[[Choices], Instance | bool]:
    """One attempt as a function of the choices; False where they do not go together."""

    def make(choices: Choices) -> Instance | bool:
        try:
            with detached():
                writer = _Writer(choices, element, elements, direction)
                op = writer.matching(rule.left) if isinstance(rule, Rule) else writer.around(root)
                add_results(writer.program, op.results)
            writer.program.verify()
        except ProofError:
            raise
        except (IrError, TypeError, ValueError, OverflowError):
            return False
        return Instance(writer.program, op)

    return make


class _Writer:
    """Writes one instance."""

    def __init__(
        self, choices: Choices, element: ScalarType, elements: tuple[ScalarType, ...], direction: Direction
    ) -> None:
        self.choices = choices
        self.element = element
        self.elements = elements
        self.direction = direction
        self.program = empty_program()
        self.at = self.program.main.body.block.terminator
        self.numbers = tuple(dict.fromkeys(str(float(x)) for x in (*NUMBERS, 3.0, *direction.numbers)))
        self.values: dict[str, Value] = {}
        self.attributes: dict[str, Any] = {}
        self.builder = PatternBuilder(choices.pick, self._node)

    # --- a declarative rule ------------------------------------------------------------------------------------------

    def matching(self, left: Node | OneOf) -> Operation:
        """What the left side of a rule describes; the root of it."""
        return self.builder.build(left)

    def _operand(self, node: Node, place: int, pattern: Pattern) -> Value:
        made = self.builder.value(pattern)
        if made is not None:
            return made
        assert isinstance(pattern, Var | Number | Constant)
        if pattern.name in self.values:
            return self.values[pattern.name]
        conditions = [_are_conditions(kind) for kind in _kinds(node) if is_elementwise(kind)]
        element = i1 if any(place < len(c) and c[place] for c in conditions) else self.element
        if isinstance(pattern, Var):
            given = tuple(dict.fromkeys((element, i1))) if pattern.constraints else (element,)
            value = self._input(self.choices.pick(given))
        else:
            value = self._number(pattern.constraints if isinstance(pattern, Number) else (), element)
        if pattern.name:
            self.values[pattern.name] = value
        return value

    def _node(self, node: Node, patterns: Sequence[Pattern]) -> Operation:
        operands = [self._operand(node, place, pattern) for place, pattern in enumerate(patterns)]
        kinds = _kinds(node)
        fitting = [kind for kind in kinds if is_elementwise(kind) or is_constant(kind)]
        if not fitting:
            raise ProofError(
                f"the rule is about {', '.join(k.name for k in kinds) or 'no operation'}, which is not element-wise: "
                "it depends on shapes or on other elements; prove takes rules of element-wise operations, fuzz all"
            )
        kind = self.choices.pick(fitting)
        given: dict[str, Any] = {}
        for key, wanted in node.attributes.items():
            given[key] = self._attribute(kind, key, wanted)
        return self._make(kind, operands, given)

    def _attribute(self, kind: type[Operation], key: str, wanted: Any) -> Any:
        if isinstance(wanted, Attr):
            if wanted.name not in self.attributes:
                inner = wanted.constraint
                self.attributes[wanted.name] = self._attribute(kind, key, inner or Constraint("anything", _always))
            return self.attributes[wanted.name]
        if not isinstance(wanted, Constraint):
            return wanted
        known = [*self._attribute_values(kind, key), *map(float, self.numbers), True, False, 0, 1, 2, -1]
        allowed = [value for value in known if holds((wanted,), value)]
        if not allowed:
            raise IrError(f"no value of attribute {key!r} is known that the constraint allows")
        return self.choices.pick(allowed)

    # --- a function --------------------------------------------------------------------------------------------------

    def around(self, root: type[Operation] | None) -> Operation:
        """An operation of that class on an inner one, inputs and constants; at most one operand is an inner one."""
        assert root is not None
        operands: list[Value] = []
        has_inner = False
        for is_condition in _are_conditions(root):
            source = self.choices.pick(("input", "again", "number", "inner")[: 3 + (not has_inner)])
            has_inner |= source == "inner"
            operands.append(self._inner(root) if source == "inner" else self._leaf(source, is_condition))
        return self._make(root, operands, {})

    def _inner(self, root: type[Operation]) -> Value:
        """The result of an operation on inputs: one that the rule names, or of the root's class."""
        named = [kind for kind in elementwise_ops() if kind.name in self.direction.ops or kind is root]
        kind = self.choices.pick(named if len(named) <= _NAMED else [k for k in named if k is root])
        inner = [
            self._leaf(self.choices.pick(("input", "again")), is_condition) for is_condition in _are_conditions(kind)
        ]
        return self._make(kind, inner, {}, few=True).results[0]

    def _leaf(self, source: str, is_condition: bool) -> Value:
        element = i1 if is_condition else self.element
        if source == "number":
            return self._number((), element)
        if source == "input":
            return self._input(element)
        known = [v for v in self.program.main.body.block.args if v.type is VTensorType((), element)]
        if not known:
            raise IrError("there is no input of the type yet")
        return self.choices.pick(known)

    # --- values ------------------------------------------------------------------------------------------------------

    def _input(self, element: ScalarType) -> Value:
        return add_input(self.program, VTensorType((), element))

    def _number(self, constraints: Sequence[Constraint], element: ScalarType) -> Value:
        numbers = [x for x in map(float, self.numbers) if _is_number_of(x, element) and holds(constraints, x)]
        if not numbers:
            raise IrError("no number is known that the constraints allow")
        with Builder.before(self.at):
            return pd.full(shape=(), value=self.choices.pick(numbers), dtype=element).out

    def _make(
        self, kind: type[Operation], operands: Sequence[Value], given: dict[str, Any], *, few: bool = False
    ) -> Operation:
        """The operation, its attributes as given or among those of its samples; of numbers two, if `few`."""
        make: Any = kind
        assert issubclass(kind, Op)
        for field in kind.definition.attributes:
            if field.name not in given:
                values = self._attribute_values(kind, field.name)
                if few and any(isinstance(value, float) for value in values):
                    values = values[:2]
                if values:
                    given[field.name] = self.choices.pick(values)
        with Builder.before(self.at):
            return make(*operands, **given)

    def _attribute_values(self, kind: type[Operation], key: str) -> list[Any]:
        """What the samples have, and numbers that the rule names."""
        known = [*attribute_values(kind.name).get(key, ())]
        if any(isinstance(value, float) for value in known):
            known += [x for x in map(float, self.direction.numbers) if repr(x) not in map(repr, known)]
        return [value for value in known if not isinstance(value, ScalarType) or value in (*self.elements, i1)]


def _kinds(node: Node) -> list[type[Operation]]:
    """The operations that a node may be."""
    return [
        kind
        for kind in op_classes().values()
        if any(issubclass(kind, k) or k in kind.info.traits or k in kind.info.interfaces for k in node.kinds)
    ]


def _is_number_of(x: float, element: ScalarType) -> bool:
    format = element.format
    if format.is_float:
        return True
    if format.is_bool:
        return x in (0.0, 1.0) and str(x) != "-0.0"
    return x.is_integer() and str(x) != "-0.0" and (x >= 0 or format.is_signed) and abs(x) < 1 << (format.bits - 1)


def _always(_: Any) -> bool:
    return True
