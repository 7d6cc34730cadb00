"""Compiles the left side of a rule to a list of steps (`match_steps`), which are written out as a Python function and
which explain why it does not match.

The steps read slots and fill slots: `o0` is the root operation, `o1`, … those that values come from, `v0`, … values,
`c0`, … numbers and constants, `a0`, … attributes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from typing import Any

from tx8ir.analysis.constants import splat_value
from tx8ir.core import Commutative, Operation, OpResult, Value
from tx8ir.core.opdef.op import Op
from tx8ir.rewriting.greedy import constant_value

from .constraints import Constraint, describe
from .explanation import Explanation, MatchFailure
from .match_steps import Alternatives, AnyStep, Choice, Env, MatchStep, Swap, explain_steps, write_steps
from .nodes import Attr, Constant, Contents, Given, Match, Node, Number, OneOf, Pattern, ResultOf, Var, contents


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


class Matcher:
    """The left side of one rule.

    Args:
        name: of the rule.
        root: the pattern.
        where: constraints on the whole match.

    Raises:
        TypeError: the pattern can never match, or is too large.
    """

    def __init__(self, name: str, root: Node | OneOf, where: Sequence[Constraint]) -> None:
        self.name = name
        self.kinds = root_kinds(name, root)
        self._steps: list[AnyStep] = []
        self._filled: set[str] = set()
        self._inside = 0  # how many choices
        self._unsure: set[str] = set()  # filled by some patterns of a `OneOf` only
        self._alternatives: dict[tuple[OneOf, frozenset[str]], Alternatives] = {}
        self._contents: dict[OneOf, Contents] = {}
        self._names: dict[str, Any] = {
            "OpResult": OpResult,
            "splat_value": splat_value,
            "constant_value": constant_value,
            "once": (None,),
        }
        self._node_slots: dict[Node, str] = {}
        self._node_names: dict[str, str] = {}
        self._choice_slots: dict[OneOf, str] = {}
        self._value_slots: dict[str, str] = {}
        self._constant_slots: dict[str, str] = {}
        self._attribute_slots: dict[str, str] = {}
        self._leaves: dict[str, Pattern] = {}
        self._counts = {"v": 0, "o": 0, "c": 0, "a": 0, "k": 0}
        slot = self._new("o")
        if isinstance(root, Node):
            self._node(root, slot)
        else:
            self._choice(root, slot, self._root)
        for constraint in where:
            self._match_constraint(constraint)
        self.source = write_steps(name, self._steps, self._slots, self._alternatives.values())

    # -- use ------------------------------------------------------------------------------------------------------

    @cached_property
    def compiled(self) -> Callable[[Operation], tuple[Any, ...] | None]:
        """The function that `source` defines; compiled when it is first needed, which for most rules is never."""
        scope = dict(self._names)
        exec(compile(self.source, f"<rule {self.name}>", "exec"), scope)
        return scope["match"]

    def match(self, op: Operation) -> Match | None:
        """What matches with `op`, of a kind that fits, as the root."""
        found = self.compiled(op)
        return None if found is None else self.read(found)

    def read(self, found: tuple[Any, ...]) -> Match:
        """The `Match` of what the compiled function gives."""
        return self._match_of(dict(zip(self._slots, found, strict=True)))

    def value_of(self, source: Given, found: Match) -> Value:
        """The value that a part of the pattern has matched."""
        if isinstance(source, ResultOf):
            return self.op_of(source.node, found).results[source.index]
        if isinstance(source, Node):
            return self.op_of(source, found).result
        return found.values[source.name]

    @property
    def nodes(self) -> Collection[Node]:
        """The nodes of the pattern."""
        return self._node_slots.keys()

    @property
    def value_names(self) -> Collection[str]:
        """The names of values in the pattern."""
        return self._value_slots.keys()

    @property
    def attribute_names(self) -> Collection[str]:
        """The names of attributes in the pattern."""
        return self._attribute_slots.keys()

    def op_of(self, node: Node, found: Match) -> Operation:
        """The operation that a node has matched."""
        return found.ops[self._shown[self._node_slots[node]]]

    def require(self, source: Given | Attr) -> None:
        """Raises `TypeError` when a right side uses something that this left side does not have."""
        if isinstance(source, ResultOf):
            source = source.node
        if isinstance(source, Node):
            slot, what = self._node_slots.get(source), "a node"
            missing = "a node on its right side that is not on its left"
        else:
            slots = self._attribute_slots if isinstance(source, Attr) else self._value_slots
            slot, what = slots.get(source.name), repr(source.name)
            missing = f"nothing named {what} on its left side"
        if slot is None:
            raise TypeError(f"rule {self.name!r} has {missing}")
        if slot in self._unsure:
            raise TypeError(f"rule {self.name!r} uses {what} on its right side, which only some alternatives have")

    def explain(self, op: Operation) -> Explanation:
        """Whether `op` matches as the root; the failure that got furthest comes first."""
        test = KindTest(self.kinds)
        if not test[op.__class__]:
            return Explanation(self.name, op, (MatchFailure(op, (), "kind", str(test), op.name),))
        return Explanation(self.name, op, explain_steps(self._steps, op))

    # -- compiling ------------------------------------------------------------------------------------------------

    def _new(self, letter: str) -> str:
        slot = f"{letter}{self._counts[letter]}"
        self._counts[letter] += 1
        return slot

    def _keep(self, thing: Any) -> str:
        slot = self._new("k")
        self._names[slot] = thing
        return slot

    def _check(self, source: Sequence[str], explain: Callable[[Env], MatchFailure | None]) -> None:
        self._steps.append(MatchStep(tuple(source), explain))

    @property
    def _slots(self) -> list[str]:
        """The slots that a match gives, in order."""
        return [
            *(() if "o0" in self._node_slots.values() else ("o0",)),
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
        if self._unsure:
            slots = {slot: found for slot, found in slots.items() if found is not None or slot not in self._unsure}

        def by_name(names: Mapping[str, str]) -> dict[str, Any]:
            return {name: slots[slot] for name, slot in names.items() if slot in slots}

        return Match(
            slots["o0"],
            by_name(self._value_slots),
            {name: slots[slot] for slot, name in self._shown.items() if slot in slots},
            by_name(self._constant_slots),
            by_name(self._attribute_slots),
        )

    def _choice(self, choice: OneOf, subject: str, add: Callable[[Any, str], None]) -> None:
        """Adds the step for what is one of several patterns; `add` adds the steps for one of them."""
        given = self._mentioned(choice) & self._filled
        found = self._alternatives.get((choice, given))
        if found is None:
            found = self._compile_choice(choice, subject, given, add)
            self._alternatives[choice, given] = found
        elif not self._unsure.isdisjoint(found.fills):
            raise TypeError(f"rule {self.name!r} uses in several places what only some alternatives of one have")
        self._filled |= found.certain
        self._unsure |= set(found.fills) - found.certain
        self._steps.append(Choice(subject, found))

    def _compile_choice(
        self, choice: OneOf, subject: str, given: frozenset[str], add: Callable[[Any, str], None]
    ) -> Alternatives:
        outer, before, unsure = self._steps, self._filled, self._unsure
        steps: list[tuple[AnyStep, ...]] = []
        certain: list[frozenset[str]] = []
        possible: list[frozenset[str]] = []
        self._inside += 1
        for pattern in choice.patterns:
            self._steps, self._filled, self._unsure = [], set(before), set(unsure)
            add(pattern, subject)
            steps.append(tuple(self._steps))
            certain.append(frozenset(self._filled - before))
            possible.append(frozenset((self._filled | self._unsure) - before - unsure))
        self._inside -= 1
        self._steps, self._filled, self._unsure = outer, before, unsure
        return Alternatives(
            f"choice{len(self._alternatives)}",
            subject,
            tuple(sorted(given)),
            tuple(steps),
            tuple(possible),
            tuple(sorted(frozenset[str]().union(*possible))),
            certain[0].intersection(*certain[1:]),
        )

    def _mentioned(self, choice: OneOf) -> frozenset[str]:
        """The slots of nodes and names in a choice, of those that there are so far, which its steps may read."""
        found = self._contents.get(choice)
        if found is None:
            found = self._contents[choice] = contents(choice)
        slots = {self._node_slots.get(node) for node in found.nodes}
        slots.update(self._choice_slots.get(inner) for inner in found.choices)
        for name in found.names:
            slots.add(self._value_slots.get(name))
            slots.add(self._constant_slots.get(name))
        slots.update(self._attribute_slots.get(name) for name in found.attributes)
        return frozenset(slot for slot in slots if slot is not None)

    def _root(self, pattern: Node | OneOf, subject: str) -> None:
        """Adds the steps for one of several roots."""
        if isinstance(pattern, OneOf):
            self._choice(pattern, subject, self._root)
            return
        slot = self._node_slots.get(pattern) or self._new("o")
        test = KindTest(pattern.kinds)

        def explain(env: Env) -> MatchFailure | None:
            op = env.slots[slot] = env.slots[subject]
            env.paths[slot] = env.paths[subject]
            return None if test[op.__class__] else _mismatch(env, subject, "kind", str(test), op.name)

        self._check([f"{slot} = {subject}", f"if not {self._keep(test)}[{slot}.__class__]: FAIL"], explain)
        self._node(pattern, slot)

    def _node(self, node: Node, slot: str) -> None:
        """Adds the steps for what is known to be an operation of the right kind."""
        self._node_slots[node] = slot
        self._filled.add(slot)
        if node.name:
            other = self._node_names.get(node.name, slot)  # of another alternative, it may have the same name
            if (other != slot and other in self._filled | self._unsure) or node.name in self._value_slots:
                raise TypeError(f"rule {self.name!r} uses the name {node.name!r} for two things")
            self._node_names[node.name] = slot
        count = len(node.operands)
        at_least = "at least " if node.any_more else ""
        self._check(
            [f"if len({slot}._operands) {'<' if node.any_more else '!='} {count}: FAIL"],
            lambda env: (
                None
                if (n := len(env.slots[slot].op_operands)) == count or (node.any_more and n > count)
                else MatchFailure(env.slots[slot], env.paths[slot], "operands", f"{at_least}{count}", str(n))
            ),
        )
        for key, wanted in node.attributes.items():
            self._attribute(node, slot, key, wanted)
        for constraint in node.where:
            self._constraint(constraint, slot, slot, "operation")
        operands = [self._new("v") for _ in node.operands]
        start = 0
        if count >= 2 and self._is_commutative(node) and not _alike(*node.operands[:2]):
            self._steps.append(Swap(slot, (operands[0], operands[1])))
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
        def fill(env: Env) -> None:
            env.slots[value] = env.slots[op].operands[index]
            env.paths[value] = (*env.paths[op], index)

        self._check([f"{value} = {op}._operands[{index}]._value"], fill)

    def _pattern(self, pattern: Pattern, value: str) -> None:
        """Adds the steps for a value."""
        if isinstance(pattern, Node):
            self._definer(pattern, value, None)
        elif isinstance(pattern, ResultOf):
            self._definer(pattern.node, value, pattern.index)
        elif isinstance(pattern, OneOf):
            slot = self._choice_slots.get(pattern) or self._new("v")
            self._choice_slots[pattern] = slot
            self._require_sure(slot, "one of several patterns")
            if slot in self._filled:
                self._same(slot, value, "one of several patterns")
                return
            self._choice(pattern, value, self._pattern)
            self._filled.add(slot)
            self._copy(slot, value)
        elif not pattern.name:
            subject = value if isinstance(pattern, Var) else self._constant(pattern, value, self._new("c"))
            for constraint in pattern.constraints:
                self._constraint(constraint, subject, value, "operand")
        else:
            name = pattern.name
            if not _alike_leaf(self._leaves.setdefault(name, pattern), pattern) or name in self._node_names:
                raise TypeError(f"rule {self.name!r} uses the name {name!r} for two things")
            slot = self._value_slots.get(name) or (self._new("v") if self._inside else value)
            self._value_slots[name] = slot
            self._require_sure(slot, repr(name))
            if slot in self._filled:
                self._same(slot, value, repr(name))
                return
            self._filled.add(slot)
            if slot != value:
                self._copy(slot, value)
            subject = value
            if isinstance(pattern, Number | Constant):
                if name not in self._constant_slots:
                    self._constant_slots[name] = self._new("c")
                subject = self._constant(pattern, value, self._constant_slots[name])
                self._filled.add(subject)
            for constraint in pattern.constraints:
                self._constraint(constraint, subject, value, f"'{pattern.name}'")

    def _require_sure(self, slot: str, what: str) -> None:
        if slot in self._unsure:
            raise TypeError(f"rule {self.name!r} uses {what} again, which only some alternatives have")

    def _copy(self, slot: str, value: str) -> None:
        """Fills a slot of its own: that of a value, which may be another one in another alternative."""

        def explain(env: Env) -> None:
            env.slots[slot], env.paths[slot] = env.slots[value], env.paths[value]

        self._check([f"{slot} = {value}"], explain)

    def _same(self, first: str, value: str, what: str) -> None:
        self._check(
            [f"if {value} is not {first}: FAIL"],
            lambda env: (
                None
                if env.slots[value] is env.slots[first]
                else _mismatch(env, value, what, "the same value in both places", describe(env.slots[value]))
            ),
        )

    def _definer(self, node: Node, value: str, index: int | None) -> None:
        """A value that is a result of an operation: the only one, or result `index`."""
        slot = self._node_slots.get(node) or self._new("o")
        self._require_sure(slot, "a node")
        known = slot in self._filled
        test = KindTest(node.kinds)
        kinds = self._keep(test)
        lines = [f"if {value}.__class__ is not OpResult: FAIL"]
        if known:
            lines.append(f"if {value}._owner is not {slot}: FAIL")
        else:
            lines += [f"{slot} = {value}._owner", f"if not {kinds}[{slot}.__class__]: FAIL"]
        lines.append(f"if len({slot}._results) != 1: FAIL" if index is None else f"if {value}.index != {index}: FAIL")

        def explain(env: Env) -> MatchFailure | None:
            given: Value = env.slots[value]
            op = given.defining_op
            if op is None:
                return _mismatch(env, value, "kind", str(test), "an argument")
            if known and op is not env.slots[slot]:
                return _mismatch(env, value, "kind", f"the same {env.slots[slot].name} in both places", op.name)
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

    def _constant(self, pattern: Number | Constant, value: str, slot: str) -> str:
        """Adds the step that reads a constant into `slot`, and gives the slot."""
        number = isinstance(pattern, Number)
        read: Callable[[Value], Any] = splat_value if number else constant_value

        def explain(env: Env) -> MatchFailure | None:
            env.slots[slot] = read(env.slots[value])
            if env.slots[slot] is not None:
                return None
            expected = "a constant whose elements are one number" if number else "a constant"
            what = repr(pattern.name) if pattern.name else "operand"
            return _mismatch(env, value, what, expected, describe(env.slots[value]))

        self._check([f"{slot} = {read.__name__}({value})", f"if {slot} is None: FAIL"], explain)
        return slot

    def _constraint(self, constraint: Constraint, subject: str, place: str, what: str) -> None:
        holds = self._keep(constraint.holds)

        def explain(env: Env) -> MatchFailure | None:
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
            found = operation.attributes.get(key)
            return None if found is None else getattr(found, "value", found)

        slot = first = self._new("a")
        bound = wanted if isinstance(wanted, Attr) else None
        constraint = bound.constraint if bound is not None else wanted if isinstance(wanted, Constraint) else None
        lines = [f"{slot} = {op}.{key}" if declared else f"{slot} = {self._keep(read)}({op})"]
        if bound is not None:
            first = self._attribute_slots.setdefault(bound.name, slot)
            self._require_sure(first, repr(bound.name))
            if first in self._filled:
                lines.append(f"if {slot} != {first}: FAIL")
            elif first != slot:
                lines.append(f"{first} = {slot}")
        elsewhere = first if first in self._filled else None
        if bound is not None:
            self._filled.add(first)
        if constraint is not None:
            lines.append(f"if not {self._keep(constraint.holds)}({slot}): FAIL")
        elif bound is None:
            lines.append(f"if {slot} != {self._keep(wanted)}: FAIL")

        def explain(env: Env) -> MatchFailure | None:
            found = env.slots[slot] = read(env.slots[op])
            what = f"attribute '{key}'"
            if elsewhere is not None and found != env.slots[elsewhere]:
                return _mismatch(env, op, what, f"{env.slots[elsewhere]!r} as elsewhere", repr(found))
            env.slots[first] = found
            if constraint is not None:
                holds = constraint.holds(found)
                return None if holds else _mismatch(env, op, what, constraint.name, constraint.found(found))
            return None if bound is not None or found == wanted else _mismatch(env, op, what, repr(wanted), repr(found))

        self._check(lines, explain)

    def _match_constraint(self, constraint: Constraint) -> None:
        slots = self._slots

        def holds(*found: Any) -> bool:
            return constraint.holds(self._match_of(dict(zip(slots, found, strict=True))))

        def explain(env: Env) -> MatchFailure | None:
            found = self._match_of({slot: env.slots.get(slot) for slot in slots})
            if constraint.holds(found):
                return None
            given = "it does not hold" if constraint.found is describe else constraint.found(found)
            return MatchFailure(env.slots["o0"], (), "the match", constraint.name, given)

        self._check([f"if not {self._keep(holds)}({', '.join(slots)}): FAIL"], explain)


def _mismatch(env: Env, slot: str, constraint: str, expected: str, found: str) -> MatchFailure:
    subject = env.slots[slot]
    op = subject if isinstance(subject, Operation) else subject.defining_op
    path = env.paths[slot]
    if op is None:  # an argument: the operation that reads it
        op = env.slots["o0"]
        for index in path[:-1]:
            op = op.operands[index].defining_op
    return MatchFailure(op, path, constraint, expected, found)


def root_kinds(rule: str, root: Node | OneOf) -> tuple[type[Any], ...]:
    """What the root of a rule may be.

    Raises:
        TypeError: one of several roots is not a `Node`.
    """
    kinds: dict[type[Any], None] = {}
    work: list[Any] = [root]
    while work:
        pattern = work.pop(0)
        if isinstance(pattern, OneOf):
            work = [*pattern.patterns, *work]
        elif isinstance(pattern, Node):
            kinds.update(dict.fromkeys(pattern.kinds))
        else:
            raise TypeError(f"each root of rule {rule!r} is a Node, not {pattern!r}")
    return tuple(kinds)


def _declares(kind: type[Any], key: str) -> bool:
    return issubclass(kind, Op) and any(field.name == key for field in kind.definition.attributes)


def _alike(a: Pattern, b: Pattern) -> bool:
    """Whether swapping two operand patterns changes nothing: unconstrained values under names of their own."""
    return isinstance(a, Var) and isinstance(b, Var) and not a.constraints and not b.constraints and a.name == b.name


def _alike_leaf(a: Pattern, b: Pattern) -> bool:
    return a.__class__ is b.__class__ and (
        a is b or getattr(b, "constraints", ()) in ((), getattr(a, "constraints", ()))
    )
