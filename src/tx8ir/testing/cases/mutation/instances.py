"""Programs that match the left side of a declarative rule, built of its own nodes.

Operands first: each node becomes an operation of its kind with attributes that its constraints allow, on what its
operand patterns became; a `Var` becomes an input, a `Number` or `Constant` a constant. Where a node leaves something
open, a sample of the operation decides. What cannot be built, or does not match, is tried again otherwise.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Iterable, Sequence
from typing import Any

import attrs

from tx8ir.core import (
    Block,
    Builder,
    FunctionType,
    IrError,
    Op,
    Operation,
    Program,
    RankedTensor,
    ScalarType,
    Value,
    VTensorType,
    bf16,
    detached,
    f16,
    f32,
    f64,
    i8,
    i16,
    i32,
    i64,
    tf32,
    ui8,
)
from tx8ir.dialects import func
from tx8ir.dialects.samples import Sample
from tx8ir.rewriting.declarative import Attr, Constant, Node, Number, OneOf, Pattern, Rule, Var
from tx8ir.rewriting.declarative.constraints import Constraint
from tx8ir.testing.guidance.extraction import op_classes
from tx8ir.testing.guidance.pattern_builder import PatternBuilder, holds
from tx8ir.testing.guidance.terms import OpTerm, ParameterVar, as_pattern

from .fitting import NUMBERS, Material, adapted, attribute_values, fitted_to, new_operand, samples
from .values import add_input, add_results, number, numbers, stretched, telling_numbers, values_before, variable

_SHAPES = ((2, 3), (2, 2), (3,), (), (1, 2, 3), (2, 2, 2), (1, 2, 3, 3), (2, 4), (1, 3), (1,))
_ELEMENTS = (f32, f32, f32, f16, bf16, f64, i32, i8, i64, ui8)
_FORMATS = (f32, f16, bf16, f64, tf32, i8, ui8, i16, i32, i64)
_TRIALS = 12


def empty_program() -> Program:
    """A program whose `main` takes nothing and returns nothing."""
    program = Program.empty()
    with Builder.at_end(program.body):
        main = func.FuncOp(sym_name="main", function_type=FunctionType((), ()))
    with Builder.at_end(main.body.block):
        func.ReturnOp(())
    return program


def instance(rule: Rule, rng: random.Random, material: Material) -> Program | None:
    """A program that the rule matches, or one that it nearly matches; None when none could be built."""
    nearly: Program | None = None
    for _ in range(_TRIALS):
        program = empty_program()
        try:
            with detached():
                root = _Instance(program, rng, material).build(rule.left)
                add_results(program, root.results)
                if rng.random() < 0.3:
                    inner = [v for v in values_before(root) if v.defining_op is not None]
                    add_results(program, rng.sample(inner, min(1, len(inner))))
            program.verify()
            if rule.match(root) is not None:
                return program
        except Exception:  # a constraint may raise anything about a value that it was not written for
            continue
        nearly = program
    return nearly


def instance_of_shape(root: OpTerm, rng: random.Random, material: Material) -> Program | None:
    """A program of the shape that a pass asks for; None when none could be built."""
    for _ in range(_TRIALS):
        program = empty_program()
        try:
            left = as_pattern(root, rng, _sampled_kinds, op_classes())
            with detached():
                made = _Instance(program, rng, material)
                end = made.build(left)
                results: list[Value] = [r for r in end.results if isinstance(r.type, RankedTensor)]
                if rng.random() < 0.25:
                    inner = [v for v in values_before(end) if v.defining_op is not None]
                    results += rng.sample(inner, min(1, len(inner)))
                add_results(program, results)
            program.verify()
        except Exception:  # operands that do not fit, or a shape of no operation that there are samples of
            continue
        return program
    return None


def is_instantiable(root: OpTerm) -> bool:
    """Whether there are samples of what it may be, and it says more than any operation would."""
    asks = root.operands or root.every is not None or root.attributes
    return bool(asks) and 0 < len(_sampled(tuple(root.kinds))) <= 60


def _sampled_kinds(kinds: Iterable[type[Any]]) -> Sequence[str]:
    return _sampled(tuple(kinds))


@functools.lru_cache(maxsize=1024)
def _sampled(kinds: tuple[type[Any], ...]) -> tuple[str, ...]:
    """The operations with samples that are of one of some kinds."""
    found = [
        name
        for name, cls in op_classes().items()
        if any(issubclass(cls, k) or k in cls.info.traits or k in cls.info.interfaces for k in kinds)
    ]
    return tuple(name for name in found if samples(name))


class _Instance:
    """One attempt."""

    def __init__(self, program: Program, rng: random.Random, material: Material) -> None:
        self.program = program
        self.rng = rng
        self.material = material
        self.at = program.main.body.block.terminator
        element = rng.choice(material.elements or _ELEMENTS) if rng.random() < 0.5 else rng.choice(_ELEMENTS)
        self.usual = VTensorType(rng.choice(_SHAPES), element)
        self.uses_samples = rng.random() < 0.5
        self.builder = PatternBuilder(rng.choice, self._operation)
        self.values: dict[str, Value] = {}
        self.attributes: dict[str, Any] = {}
        self.formats: dict[str, ScalarType] = {}

    def build(self, left: Node | OneOf) -> Operation:
        """The root. Raises IrError when something does not fit."""
        return self.builder.build(left)

    def _operation(self, node: Node, operands: Sequence[Pattern]) -> Operation:
        rng = self.rng
        name = rng.choice(_names(node))
        sample = _sample(name, rng)
        patterns: list[Pattern | None] = [*operands]
        swaps = node.commutative if node.commutative is not None else len(patterns) == 2
        if swaps and len(patterns) >= 2 and rng.random() < 0.3 and "Commutative" in str(op_classes()[name].info.traits):
            patterns[:2] = patterns[1::-1]
        count = max(len(patterns), len(sample.types))
        patterns += [None] * (count - len(patterns))
        values: list[Value | None] = [self._known(p) for p in patterns]
        for place, value in enumerate(values):
            if value is not None and place < len(sample.types):
                sample = adapted(sample, place, value.type, rng)
                break
        filled = [
            value if value is not None else self._leaf(pattern, sample, place, [v for v in values if v is not None])
            for place, (pattern, value) in enumerate(zip(patterns, values, strict=True))
        ]
        if rng.random() < 0.5 and len(filled) == len(sample.types):
            sample = fitted_to(sample, filled, rng)
        attributes = dict(sample.attributes)
        for key, value in attributes.items():
            # Formats that are in the program already: casts there and back, and two that are alike.
            if isinstance(value, ScalarType) and rng.random() < 0.6:
                types = [v.type for v in (*self._inputs(), *(v for v in values if v is not None))]
                elements = [t.element for t in types if isinstance(t, RankedTensor)]
                attributes[key] = self.formats.get(name) or rng.choice([*elements, value, rng.choice(_FORMATS)])
                if name in self.formats and rng.random() < 0.5:
                    attributes[key] = rng.choice([*elements, value])
                self.formats[name] = attributes[key]
        for key, wanted in node.attributes.items():
            found = self._attribute(name, key, wanted)
            if found is not None:
                attributes[key] = found
        with Builder.before(self.at):
            return attrs.evolve(sample, attributes=attributes).build(filled)

    def _inputs(self) -> Sequence[Value]:
        return self.program.main.body.block.args

    def _known(self, pattern: Pattern | None) -> Value | None:
        made = self.builder.value(pattern)
        if made is not None:
            return made
        return self.values.get(pattern.name) if isinstance(pattern, Var | Number | Constant) and pattern.name else None

    def _leaf(self, pattern: Pattern | None, sample: Sample, place: int, others: Sequence[Value]) -> Value:
        rng = self.rng
        wanted = sample.types[place] if place < len(sample.types) else self.usual
        if not isinstance(wanted, RankedTensor):
            raise IrError(f"an operand of type {wanted}")
        if not self.uses_samples or place >= len(sample.types):
            near = next((v.type for v in others if isinstance(v.type, RankedTensor)), self.usual)
            wanted = near.to_vtensor()
        if isinstance(pattern, Number):
            known = telling_numbers(wanted.element) if rng.random() < 0.4 else (*self.material.numbers, *NUMBERS)
            if not pattern.constraints and rng.random() < 0.35:
                return self._named(pattern, numbers(self.at, wanted, rng))
            allowed = [x for x in known if holds(pattern.constraints, x)]
            if not allowed:
                raise IrError("no number is known that the constraints allow")
            shape = rng.choice([(), (), wanted.shape, (1,)])
            value = number(self.at, wanted.with_shape(shape), rng.choice(allowed), rng)
        elif isinstance(pattern, Constant):
            value = numbers(self.at, wanted, rng)
        elif isinstance(pattern, ParameterVar):
            value = variable(self.program, self.at, wanted, rng, mutable=rng.random() < 0.5)
        elif pattern is not None and isinstance(pattern, Var):
            if others and wanted.rank and rng.random() < 0.3:
                wanted = stretched(wanted, rng)
            value = add_input(self.program, self._allowed(pattern, wanted))
        else:
            domain = sample.operands[place].domain
            value = new_operand(self.program, self.at, wanted, domain, values_before(self.at), rng, self.material)
        return self._named(pattern, value)

    def _named(self, pattern: Pattern | None, value: Value) -> Value:
        """`value`, which other places of that name get, too."""
        if isinstance(pattern, Var | Number | Constant) and pattern.name:
            self.values[pattern.name] = value
        return value

    def _allowed(self, pattern: Var, wanted: RankedTensor) -> RankedTensor:
        """That type, or one that the constraints of the pattern allow."""
        types = [wanted, *(wanted.with_shape(shape) for shape in _SHAPES)]
        types += [t.with_element(element) for t in types[:3] for element in dict.fromkeys(_ELEMENTS)]
        return next((t for t in types if holds(pattern.constraints, Block([t]).args[0])), wanted)

    def _attribute(self, op: str, key: str, wanted: Any) -> Any:
        """A value that the pattern allows; None where it leaves the choice to the sample."""
        if isinstance(wanted, Attr):
            if wanted.name in self.attributes:
                return self.attributes[wanted.name]
            found = None if wanted.constraint is None else self._attribute(op, key, wanted.constraint)
            if found is not None:
                self.attributes[wanted.name] = found
            return found
        if not isinstance(wanted, Constraint):
            return wanted
        known = [*attribute_values(op).get(key, ()), *_defaults(op, key), *self.material.numbers]
        known += [*sorted(self.material.words), True, False, 0, 1, 2, -1, -2, None]
        allowed = [value for value in known if holds((wanted,), value)]
        return self.rng.choice(allowed) if allowed else None


def _names(node: Node) -> Sequence[str]:
    """The operations that a node may be."""
    sampled = _sampled(node.kinds)
    if not sampled:
        raise IrError("no operation of the kind has samples")
    return sampled


def _sample(name: str, rng: random.Random) -> Sample:
    choices = samples(name)
    return choices[rng.randrange(min(4, len(choices)))] if rng.random() < 0.5 else rng.choice(choices)


def _defaults(op: str, key: str) -> list[Any]:
    cls = op_classes()[op]
    fields = cls.definition.attributes if issubclass(cls, Op) else ()
    return [f.default for f in fields if f.name == key]
