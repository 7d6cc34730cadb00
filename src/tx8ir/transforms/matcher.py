"""Compiles the left side of a rule to a Python function, and explains from the same steps why it does not match.

A pattern becomes a list of steps that read slots and fill slots: `o0` is the root operation, `o1`, … those that
values come from, `v0`, … values, `c0`, … numbers and constants, `a0`, … attributes. The steps are written out as the
body of one function, in which a failed check returns None. Operands in either order are a `for` loop around all later
steps, in which a failed check tries the next order: every combination is tried before the match fails.
"""

# Matching reads the slots of values and operations.
# pyright: reportPrivateUsage=false
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import attrs

from tx8ir.core import Commutative, Operation, OpResult, Value
from tx8ir.core.op import Op

from .constants import splat_value
from .constraints import Constraint, describe
from .explanation import Explanation, Mismatch
from .greedy import constant_value
from .pattern_nodes import Attr, Constant, Match, Node, Number, Pattern, ResultOf, Var

_MOST_SWAPS: Final = 15  # Python nests at most 20 blocks


class KindTest(dict[type[Operation], bool]):
    """Whether operations of a class are of a kind: `test[op.__class__]`. A class is looked at once."""

    def __init__(self, kinds: tuple[type[Any], ...]) -> None:
        super().__init__()
        self.kinds = kinds

    def __missing__(self, cls: type[Operation]) -> bool:
        info = cls.info
        self[cls] = any(issubclass(cls, k) or k in info.traits or k in info.interfaces for k in self.kinds)
        return self[cls]

    def __str__(self) -> str:
        return " or ".join(getattr(kind, "name", "") or f"an operation that is {kind.__name__}" for kind in self.kinds)


class _Env:
    """The slots while a match is explained, and by which operands each operation was reached."""

    def __init__(self, root: Operation) -> None:
        self.slots: dict[str, Any] = {"o0": root}
        self.paths: dict[str, tuple[int, ...]] = {"o0": ()}

    def copy(self) -> _Env:
        other = _Env(self.slots["o0"])
        other.slots.update(self.slots)
        other.paths.update(self.paths)
        return other


@attrs.frozen
class _Step:
    """A check or an assignment. `source`: lines of Python, where FAIL stands for what a failed check does."""

    source: tuple[str, ...]
    explain: Callable[[_Env], Mismatch | None]


@attrs.frozen
class _Swap:
    """Operands in either order: fills two slots, in two ways."""

    op: str
    values: tuple[str, str]


class Matcher:
    """The left side of one rule.

    Args:
        name: of the rule.
        root: the pattern.
        where: constraints on the whole match.

    Raises:
        TypeError: the pattern can never match, or is too large.
    """

    def __init__(self, name: str, root: Node, where: Sequence[Constraint]) -> None:
        self.name = name
        self._steps: list[_Step | _Swap] = []
        self._names: dict[str, Any] = {
            "OpResult": OpResult,
            "splat_value": splat_value,
            "constant_value": constant_value,
        }
        self._node_slots: dict[Node, str] = {}
        self._node_names: dict[str, str] = {}
        self._value_slots: dict[str, str] = {}
        self._constant_slots: dict[str, str] = {}
        self._attribute_slots: dict[str, str] = {}
        self._leaves: dict[str, Pattern] = {}
        self._counts = {"v": 0, "o": 0, "c": 0, "a": 0, "k": 0}
        self._node(root, self._new("o"))
        for constraint in where:
            self._match_constraint(constraint)
        if sum(isinstance(step, _Swap) for step in self._steps) > _MOST_SWAPS:
            raise TypeError(f"rule {name!r} has more than {_MOST_SWAPS} operations with operands in either order")
        self.source = self._write()
        scope = dict(self._names)
        exec(compile(self.source, f"<rule {name}>", "exec"), scope)
        self.compiled: Callable[[Operation], tuple[Any, ...] | None] = scope["match"]

    # -- use ------------------------------------------------------------------------------------------------------

    def match(self, op: Operation) -> Match | None:
        """What matches with `op`, of a kind that fits, as the root."""
        found = self.compiled(op)
        return None if found is None else self.read(found)

    def read(self, found: tuple[Any, ...]) -> Match:
        """The slots that the compiled function gives, by name."""
        return self._match_of(dict(zip(self._slots, found, strict=True)))

    def value_of(self, source: Pattern, found: Match) -> Value:
        """The value that a part of the pattern has matched."""
        if isinstance(source, ResultOf):
            return self._op_of(source.node, found).results[source.index]
        if isinstance(source, Node):
            return self._op_of(source, found).result
        return found.values[source.name]

    def _op_of(self, node: Node, found: Match) -> Operation:
        return found.ops[self._shown[self._node_slots[node]]]

    def require(self, source: Pattern | Attr) -> None:
        """Raises `TypeError` when a right side uses something that this left side does not have."""
        if isinstance(source, ResultOf):
            source = source.node
        if isinstance(source, Node):
            if source not in self._node_slots:
                raise TypeError(f"rule {self.name!r} has a node on its right side that is not on its left")
        elif source.name not in (self._attribute_slots if isinstance(source, Attr) else self._value_slots):
            raise TypeError(f"rule {self.name!r} has nothing named {source.name!r} on its left side")

    def explain(self, op: Operation) -> Explanation:
        """Whether `op` matches as the root; the failure that got furthest comes first."""
        root = next(iter(self._node_slots))
        test = KindTest(root.kinds)
        if not test[op.__class__]:
            return Explanation(self.name, op, (Mismatch(op, (), "kind", str(test), op.name),))
        failures: list[tuple[int, Mismatch]] = []
        if self._try(_Env(op), 0, failures):
            return Explanation(self.name, op, ())
        failures.sort(key=lambda failure: -failure[0])  # stable: of equal ones the first order
        return Explanation(self.name, op, tuple(dict.fromkeys(mismatch for _, mismatch in failures)))

    def _try(self, env: _Env, start: int, failures: list[tuple[int, Mismatch]]) -> bool:
        for number in range(start, len(self._steps)):
            step = self._steps[number]
            if isinstance(step, _Swap):
                op = env.slots[step.op]
                for order in ((0, 1), (1, 0)):
                    inner = env.copy()
                    for slot, index in zip(step.values, order, strict=True):
                        inner.slots[slot] = op._operands[index]._value
                        inner.paths[slot] = (*env.paths[step.op], index)
                    if self._try(inner, number + 1, failures):
                        return True
                return False
            mismatch = step.explain(env)
            if mismatch is not None:
                failures.append((number, mismatch))
                return False
        return True

    # -- compiling ------------------------------------------------------------------------------------------------

    def _new(self, letter: str) -> str:
        slot = f"{letter}{self._counts[letter]}"
        self._counts[letter] += 1
        return slot

    def _keep(self, thing: Any) -> str:
        slot = self._new("k")
        self._names[slot] = thing
        return slot

    def _check(self, source: Sequence[str], explain: Callable[[_Env], Mismatch | None]) -> None:
        self._steps.append(_Step(tuple(source), explain))

    @property
    def _slots(self) -> list[str]:
        """The slots that a match gives, in order."""
        return [
            *self._node_slots.values(),
            *self._value_slots.values(),
            *self._constant_slots.values(),
            *self._attribute_slots.values(),
        ]

    @property
    def _shown(self) -> dict[str, str]:
        """Slots of operations to what the match calls them."""
        return {slot: node.name or f"op{i}" for i, (node, slot) in enumerate(self._node_slots.items())}

    def _match_of(self, slots: dict[str, Any]) -> Match:
        return Match(
            slots["o0"],
            {name: slots[slot] for name, slot in self._value_slots.items()},
            {name: slots[slot] for slot, name in self._shown.items()},
            {name: slots[slot] for name, slot in self._constant_slots.items()},
            {name: slots[slot] for name, slot in self._attribute_slots.items()},
        )

    def _write(self) -> str:
        lines = ["def match(o0):"]
        depth = 1
        for step in self._steps:
            pad = "    " * depth
            if isinstance(step, _Swap):
                a, b = step.values
                lines.append(f"{pad}x, y = {step.op}._operands[0]._value, {step.op}._operands[1]._value")
                lines.append(f"{pad}for {a}, {b} in ((x, y), (y, x)):")
                depth += 1
                continue
            fail = "return None" if depth == 1 else "continue"
            lines.extend(pad + line.replace("FAIL", fail) for line in step.source)
        lines.append(f"{'    ' * depth}return ({''.join(f'{slot}, ' for slot in self._slots)})")
        if depth > 1:
            lines.append("    return None")
        return "\n".join(lines) + "\n"

    def _node(self, node: Node, slot: str) -> None:
        """Adds the steps for what is known to be an operation of the right kind."""
        self._node_slots[node] = slot
        if node.name:
            if node.name in self._node_names or node.name in self._value_slots:
                raise TypeError(f"rule {self.name!r} uses the name {node.name!r} for two things")
            self._node_names[node.name] = slot
        count = len(node.operands)
        at_least = "at least " if node.any_more else ""
        self._check(
            [f"if len({slot}._operands) {'<' if node.any_more else '!='} {count}: FAIL"],
            lambda env: (
                None
                if (n := len(env.slots[slot]._operands)) == count or (node.any_more and n > count)
                else Mismatch(env.slots[slot], env.paths[slot], "operands", f"{at_least}{count}", str(n))
            ),
        )
        for key, wanted in node.attributes.items():
            self._attribute(node, slot, key, wanted)
        for constraint in node.where:
            self._constraint(constraint, slot, slot, "operation")
        operands = [self._new("v") for _ in node.operands]
        start = 0
        if count >= 2 and self._is_commutative(node) and not _alike(*node.operands[:2]):
            self._steps.append(_Swap(slot, (operands[0], operands[1])))
            start = 2
        for index in range(start, count):
            self._operand(slot, index, operands[index])
        for pattern, value in zip(node.operands, operands, strict=True):
            self._pattern(pattern, value)

    def _is_commutative(self, node: Node) -> bool:
        if node.commutative is not None:
            return node.commutative
        return all(k is Commutative or (issubclass(k, Operation) and Commutative in k.info.traits) for k in node.kinds)

    def _operand(self, op: str, index: int, value: str) -> None:
        def fill(env: _Env) -> None:
            env.slots[value] = env.slots[op]._operands[index]._value
            env.paths[value] = (*env.paths[op], index)

        self._check([f"{value} = {op}._operands[{index}]._value"], fill)

    def _pattern(self, pattern: Pattern, value: str) -> None:
        """Adds the steps for a value."""
        if isinstance(pattern, Node):
            self._definer(pattern, value, None)
        elif isinstance(pattern, ResultOf):
            self._definer(pattern.node, value, pattern.index)
        elif pattern.name in self._value_slots:
            if not _alike_leaf(self._leaves[pattern.name], pattern):
                raise TypeError(f"rule {self.name!r} uses the name {pattern.name!r} for two things")
            self._same(self._value_slots[pattern.name], value, pattern.name)
        else:
            if pattern.name in self._node_names:
                raise TypeError(f"rule {self.name!r} uses the name {pattern.name!r} for two things")
            self._value_slots[pattern.name] = value
            self._leaves[pattern.name] = pattern
            subject = value
            if isinstance(pattern, Number | Constant):
                subject = self._constant(pattern, value)
            for constraint in pattern.constraints:
                self._constraint(constraint, subject, value, f"'{pattern.name}'")

    def _same(self, first: str, value: str, name: str) -> None:
        self._check(
            [f"if {value} is not {first}: FAIL"],
            lambda env: (
                None
                if env.slots[value] is env.slots[first]
                else _mismatch(env, value, f"'{name}'", "the same value in both places", describe(env.slots[value]))
            ),
        )

    def _definer(self, node: Node, value: str, index: int | None) -> None:
        """A value that is a result of an operation: the only one, or result `index`."""
        known = self._node_slots.get(node)
        slot = known or self._new("o")
        test = KindTest(node.kinds)
        kinds = self._keep(test)
        lines = [f"if {value}.__class__ is not OpResult: FAIL"]
        if known:
            lines.append(f"if {value}._owner is not {known}: FAIL")
        else:
            lines += [f"{slot} = {value}._owner", f"if not {kinds}[{slot}.__class__]: FAIL"]
        lines.append(f"if len({slot}._results) != 1: FAIL" if index is None else f"if {value}.index != {index}: FAIL")

        def explain(env: _Env) -> Mismatch | None:
            given: Value = env.slots[value]
            op = given.defining_op
            if op is None:
                return _mismatch(env, value, "kind", str(test), "an argument")
            if known and op is not env.slots[known]:
                return _mismatch(env, value, "kind", f"the same {env.slots[known].name} in both places", op.name)
            if not test[op.__class__]:
                return _mismatch(env, value, "kind", str(test), op.name)
            if index is None and len(op.results) != 1:
                return _mismatch(env, value, "results", "1", str(len(op.results)))
            if index is not None and given.index != index:
                return _mismatch(env, value, "result", f"result {index} of {op.name}", f"result {given.index}")
            if not known:
                env.slots[slot] = op
                env.paths[slot] = env.paths[value]
            return None

        self._check(lines, explain)
        if not known:
            self._node(node, slot)

    def _constant(self, pattern: Number | Constant, value: str) -> str:
        slot = self._constant_slots[pattern.name] = self._new("c")
        number = isinstance(pattern, Number)
        read: Callable[[Value], Any] = splat_value if number else constant_value

        def explain(env: _Env) -> Mismatch | None:
            env.slots[slot] = read(env.slots[value])
            if env.slots[slot] is not None:
                return None
            expected = "a constant whose elements are one number" if number else "a constant"
            return _mismatch(env, value, f"'{pattern.name}'", expected, describe(env.slots[value]))

        self._check([f"{slot} = {read.__name__}({value})", f"if {slot} is None: FAIL"], explain)
        return slot

    def _constraint(self, constraint: Constraint, subject: str, place: str, what: str) -> None:
        holds = self._keep(constraint.holds)

        def explain(env: _Env) -> Mismatch | None:
            found = env.slots[subject]
            if constraint.holds(found):
                return None
            return _mismatch(env, place, what, constraint.name, constraint.found(found))

        self._check([f"if not {holds}({subject}): FAIL"], explain)

    def _attribute(self, node: Node, op: str, key: str, wanted: Any) -> None:
        declared = all(_declares(kind, key) for kind in node.kinds)
        if not declared and any(_declares(kind, key) for kind in node.kinds):
            raise TypeError(f"rule {self.name!r} asks for {key!r}, which only some of {KindTest(node.kinds)} have")
        if (
            not declared
            and any(issubclass(kind, Op) for kind in node.kinds)
            and not isinstance(wanted, Constraint | Attr)
        ):
            raise TypeError(f"rule {self.name!r} asks for the attribute {key!r}, which {KindTest(node.kinds)} has not")

        def read(operation: Operation) -> Any:
            if declared:
                return getattr(operation, key)
            found = operation._attributes.get(key)
            return None if found is None else getattr(found, "value", found)

        slot = self._new("a")
        bound = wanted if isinstance(wanted, Attr) else None
        constraint = bound.constraint if bound is not None else wanted if isinstance(wanted, Constraint) else None
        lines = [f"{slot} = {op}.{key}" if declared else f"{slot} = {self._keep(read)}({op})"]
        if bound is not None:
            if bound.name in self._attribute_slots:
                lines.append(f"if {slot} != {self._attribute_slots[bound.name]}: FAIL")
            else:
                self._attribute_slots[bound.name] = slot
        first = self._attribute_slots[bound.name] if bound is not None else slot
        if constraint is not None:
            lines.append(f"if not {self._keep(constraint.holds)}({slot}): FAIL")
        elif bound is None:
            lines.append(f"if {slot} != {self._keep(wanted)}: FAIL")

        def explain(env: _Env) -> Mismatch | None:
            found = env.slots[slot] = read(env.slots[op])
            what = f"attribute '{key}'"
            if bound is not None and found != env.slots[first]:
                return _mismatch(env, op, what, f"{env.slots[first]!r} as elsewhere", repr(found))
            if constraint is not None:
                holds = constraint.holds(found)
                return None if holds else _mismatch(env, op, what, constraint.name, constraint.found(found))
            return None if bound is not None or found == wanted else _mismatch(env, op, what, repr(wanted), repr(found))

        self._check(lines, explain)

    def _match_constraint(self, constraint: Constraint) -> None:
        slots = self._slots

        def holds(*found: Any) -> bool:
            return constraint.holds(self._match_of(dict(zip(slots, found, strict=True))))

        def explain(env: _Env) -> Mismatch | None:
            found = self._match_of({slot: env.slots[slot] for slot in slots})
            if constraint.holds(found):
                return None
            given = "it does not hold" if constraint.found is describe else constraint.found(found)
            return Mismatch(env.slots["o0"], (), "the match", constraint.name, given)

        self._check([f"if not {self._keep(holds)}({', '.join(slots)}): FAIL"], explain)


def _mismatch(env: _Env, slot: str, constraint: str, expected: str, found: str) -> Mismatch:
    subject = env.slots[slot]
    op = subject if isinstance(subject, Operation) else subject.defining_op
    path = env.paths[slot]
    if op is None:  # an argument: the operation that reads it
        op = env.slots["o0"]
        for index in path[:-1]:
            op = op.operands[index].defining_op
    return Mismatch(op, path, constraint, expected, found)


def _declares(kind: type[Any], key: str) -> bool:
    return issubclass(kind, Op) and any(field.name == key for field in kind.definition.attributes)


def _alike(a: Pattern, b: Pattern) -> bool:
    """Whether swapping two operand patterns changes nothing: unconstrained values under names of their own."""
    return isinstance(a, Var) and isinstance(b, Var) and not a.constraints and not b.constraints and a.name == b.name


def _alike_leaf(a: Pattern, b: Pattern) -> bool:
    return a.__class__ is b.__class__ and (
        a is b or getattr(b, "constraints", ()) in ((), getattr(a, "constraints", ()))
    )
