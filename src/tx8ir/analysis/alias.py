"""Alias analysis: which tensors may share storage, and what each operation may read and write.

A `!pd.tensor` is a place in storage. Every tensor inside a value (a list has one per element) is a *node*; nodes that
may share storage are merged with union-find, so that the classes of nodes stand for storages. Views, in-place
operations, branches, loops, lists, parameters and inputs each merge what they connect, whatever the order of
operations. Each function has nodes of its own, also for the parameters and inputs it touches. A call merges what the
callee's *summary* says about arguments, results and names (computed callees first; functions that call each other
share one set of nodes); then, callers first, arguments that one call gives the same storage are merged in the callee.

Time: linear in the operations, plus the size of the callee's interface (arguments, results, names) for each call.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import attrs

from tx8ir.core import (
    OUTSIDE,
    Branch,
    CallableLike,
    CallLike,
    EffectKind,
    Element,
    MemoryEffects,
    NamedStorage,
    Operation,
    ParameterAccess,
    Program,
    RecursiveEffects,
    RegionBranch,
    StorageAliases,
    TensorType,
    Terminator,
    Value,
    relaxed_gc,
)
from tx8ir.core.ir.calls import returns_of
from tx8ir.core.ir.region_branch import region_branch_around
from tx8ir.core.ir.symbol_table import SymbolTables
from tx8ir.dialects import func

from .alias_kinds import (
    BRANCH,
    CALL,
    EFFECTS,
    END,
    FORWARD,
    INPLACE,
    NO_EFFECTS,
    NOTHING,
    OPAQUE,
    PARAMETER,
    READS,
    REGIONS,
    SHARING,
    VIEW,
    Effects,
    Kinds,
    joined,
)
from .call_graph import components_callees_first
from .control_flow import read_by_control, unforwarded
from .storage_nodes import StorageNodes


@attrs.frozen(eq=False)
class _Summary:
    """What callers need to know of the classes that the interface of a universe is in.

    Attributes:
        read: those that may be read.
        written: those that may be written.
        external: those that may exist outside.
    """

    read: frozenset[int]
    written: frozenset[int]
    external: frozenset[int]


@attrs.define(eq=False)
class _Universe:
    """The functions of one component of the call graph, which share nodes."""

    functions: list[Operation]
    names: dict[tuple[str, str], int] = attrs.field(factory=dict[tuple[str, str], int])
    arguments: dict[Operation, list[int]] = attrs.field(factory=dict[Operation, list[int]])
    results: dict[Operation, list[int]] = attrs.field(factory=dict[Operation, list[int]])
    calls: list[Operation] = attrs.field(factory=list[Operation])
    read: list[int] = attrs.field(factory=list[int])
    written: list[int] = attrs.field(factory=list[int])
    external: list[int] = attrs.field(factory=list[int])
    summary: _Summary | None = None
    opaque: bool = False
    visible: bool = False


class AliasAnalysis(StorageNodes):
    """Answers, by storage, for the program as it is when the analysis is made. Values made later are not known to it.

    A storage is named by an int that is only good for comparing (`storages`).

    Args:
        program: verified. `main` is called from outside with inputs that share no storage; another function that the
            program does not call may be called with anything.
    """

    def __init__(self, program: Program) -> None:
        super().__init__()
        self._kinds = Kinds()
        self._effects: dict[Operation, Effects] = {}
        self._call_effects: dict[Operation, tuple[list[int], list[int], _Universe]] = {}
        self._of_function: dict[Operation, _Universe] = {}
        self._fresh: set[Value] = set()
        self._functions: dict[str, Operation] = {
            op.attributes["sym_name"].value: op
            for op in program.body
            if CallableLike in op.info.interfaces and op.regions and len(op.regions[0])  # a declaration may do anything
        }
        self._analysed = frozenset(self._functions.values())
        self._tables = SymbolTables()
        self._callees: dict[Operation, Operation | None] = {}  # of each call; None: not known
        with relaxed_gc():
            self._build(program)

    def __repr__(self) -> str:
        return "<AliasAnalysis>"

    def _build(self, program: Program) -> None:
        functions = self._functions
        kinds = self._kinds
        inside = {f: [op for op in f.walk() if kinds[op.__class__] != NOTHING] for f in program.body}
        calls = {f: [op for op in ops if kinds[op.__class__] == CALL] for f, ops in inside.items()}
        edges = {f: [c for call in made if (c := self._callee(call)) is not None] for f, made in calls.items()}
        order = components_callees_first(edges)
        for component in order:
            universe = _Universe(component)
            for function in component:
                self._of_function[function] = universe
            for function in component:
                self._link_function(function, inside.pop(function), universe, function is functions.get("main"))
            self._summarize(universe)
        called = {callee for callees in edges.values() for callee in callees}
        for component in reversed(order):
            self._link_callees(self._of_function[component[0]], called)
        self._written = {self._find(node) for u in self._universes() for node in u.written}
        self._any_opaque = any(u.opaque for u in self._universes())
        self._external_roots = {self._find(node) for u in self._universes() for node in u.external}

    # -- questions ----------------------------------------------------------------------------------------------------

    def storages(self, value: Value) -> frozenset[int]:
        """The storages of the tensors in `value`: one for a tensor, none for a vtensor, several for a list."""
        return frozenset(self._find(node) for node in self._nodes.get(value, ()))

    def may_alias(self, a: Value, b: Value) -> bool:
        """Whether `a` and `b` may share storage. A vtensor shares it with nobody."""
        return not self.storages(a).isdisjoint(self.storages(b))

    def may_write(self, op: Operation, value: Value) -> bool:
        """Whether `op`, or something inside it or called by it, may change what `value` holds."""
        if not self._nodes.get(value):
            return False
        effects = self.effects(op)
        return effects.opaque or not effects.writes.isdisjoint(self.storages(value))

    def can_swap(self, first: Operation, second: Operation) -> bool:
        """Whether two operations of one block, next to each other, may change places.

        False when one uses a result of the other, or may write or allocate what the other may read or write, or both
        are seen from outside; also for terminators.
        """
        if first is second or first.has_trait(Terminator) or second.has_trait(Terminator):
            return False
        if _uses(first, second) or _uses(second, first):
            return False
        a, b = self.effects(first), self.effects(second)
        if a.opaque or b.opaque:
            return a.none or b.none
        if a.visible and b.visible:
            return False
        a_writes, b_writes = a.writes | self._made(first), b.writes | self._made(second)
        return a_writes.isdisjoint(b.reads | b_writes) and b_writes.isdisjoint(a.reads)

    def _made(self, op: Operation) -> frozenset[int]:
        """The storages that come into being with `op`: nothing that touches them may go before it."""
        kind = self._kinds[op.__class__]
        if kind != EFFECTS:
            return frozenset() if kind in SHARING else self._known(op.results)
        model = op.interface(MemoryEffects)
        effects = model.memory_effects() if model is not None else ()
        return self._known(e.storage for e in effects if e.kind is EffectKind.ALLOCATE and isinstance(e.storage, Value))

    def makes_storage(self, op: Operation) -> bool:
        """Whether a result of `op` may be storage that was not there before."""
        return bool(self._made(op))

    def is_written(self, value: Value) -> bool:
        """Whether anything in the function of `value`, or called there, may change what `value` holds at any time."""
        nodes = self._nodes.get(value)
        if not nodes:
            return False
        find, written = self._find, self._written
        for node in nodes:
            if find(node) in written:
                return True
        return self._any_opaque and self._universe_of(value).opaque

    def is_opaque(self, function: Operation) -> bool:
        """Whether `function` does something that is not known, and so may write any storage.

        What a function of a module inside the program does is not known.
        """
        universe = self._of_function.get(function)
        return universe is None or universe.opaque

    def is_external(self, value: Value) -> bool:
        """Whether the storage of `value` may exist outside of its function: arguments, parameters, inputs, results of
        calls that do not allocate them.
        """
        return not self.storages(value).isdisjoint(self._external_roots)

    def is_fresh(self, value: Value) -> bool:
        """Whether `value` is a result of a call that allocates its storage and keeps no other name for it."""
        return value in self._fresh

    def writes_parameter(self, name: str) -> bool:
        """Whether a function of the program may write the parameter: by `set_parameter`, or through an alias."""
        for universe in self._universes():
            node = universe.names.get(("parameter", name))
            if universe.opaque or (node is not None and self._find(node) in self._written):
                return True
        return False

    def effects(self, op: Operation) -> Effects:
        """What `op` may do, with everything inside it and called by it. O(operations inside), once."""
        known = self._effects.get(op)
        if known is None:
            known = self._effects[op] = self._effects_of(op)
        return known

    # -- building -----------------------------------------------------------------------------------------------------

    def _name(self, universe: _Universe, kind: str, name: str) -> int:
        node = universe.names.get((kind, name))
        if node is None:
            node = universe.names[kind, name] = self._new()
            universe.external.append(node)
        return node

    def _universes(self) -> list[_Universe]:
        return list(dict.fromkeys(self._of_function.values()))

    def _callee(self, call: Operation) -> Operation | None:
        if call in self._callees:
            return self._callees[call]
        model = call.interface(CallLike)
        found = self._tables.resolve(call, model.callee_reference()) if model is not None else None
        self._callees[call] = callee = found if found in self._analysed else None
        return callee

    def _universe_of(self, value: Value) -> _Universe:
        block = value.parent_block
        op = block.parent_op if block is not None else None
        while op is not None and op not in self._of_function:
            op = op.parent_op
        return self._of_function[op] if op is not None else _Universe([], opaque=True)

    def _link_function(
        self, function: Operation, inside: Sequence[Operation], universe: _Universe, is_main: bool
    ) -> None:
        """Merge what the operations inside a function connect, those that do something to storage."""
        for region in function.regions:
            for block in region.blocks[:1]:
                universe.arguments[function] = arguments = self._of_all(block.args)
                universe.external += arguments
                if is_main and isinstance(function, func.FuncOp):
                    names = function.arg_names or tuple(f"arg{i}" for i in range(len(block.args)))
                    for name, argument in zip(names, block.args, strict=True):
                        for node in self._of(argument):
                            self._union(node, self._name(universe, "feed", name))
        kinds = self._kinds
        for op in inside:
            self._link(op, kinds[op.__class__], universe)

    def _link(self, op: Operation, kind: int, universe: _Universe) -> None:
        """Merge what `op` connects, and note what it reads and writes in its function."""
        if kind == READS:
            universe.read += self._of_all(op.operands)
            for result in op.results:
                self._of(result)
        elif kind == INPLACE:
            operands = op.operands
            written = self._of(operands[0])
            self._share(op.results[0], written)
            universe.written += written
            universe.read += self._of_all(operands)
        elif kind == VIEW:
            base = self._of(op.operands[0])
            for result in op.results:
                self._share(result, base)
        elif kind == CALL:
            self._link_call(op, universe)
        elif kind == REGIONS:
            self._link_regions(op, universe)
        elif kind == END:
            self._link_end(op, universe)
        elif kind == PARAMETER:
            self._link_parameters(op, universe)
        elif kind == EFFECTS:
            self._link_effects(op, universe)
        elif kind == BRANCH:
            universe.read += self._of_all(read_by_control(op))
            branch = op.interface(Branch)
            for index, block in enumerate(op.successors):
                if branch is not None:
                    self._union_each(self._of_all(branch.successor_operands(index)), self._of_all(block.args))
        else:
            self._link_others(op, kind, universe)

    def _link_regions(self, op: Operation, universe: _Universe) -> None:
        branch = op.interface(RegionBranch)
        assert branch is not None  # its kind
        regions = op.regions
        for source in (None, *regions):
            end = op if source is None else source.blocks[-1].last_op if len(source) else None
            if end is None:
                continue
            operands = end.operands
            nodes = [self._of(value) for value in operands]
            if not any(nodes):  # no tensor goes this way, and none is read
                continue
            edges = branch.region_edges(source)
            for _, forwarded, inputs in edges:
                if forwarded and inputs:
                    for value, given in zip(inputs, nodes[forwarded.start : forwarded.stop], strict=True):
                        self._share(value, given)
            for read in unforwarded(nodes, edges):
                universe.read += read
        for region in regions:  # arguments that nothing is forwarded to: each is storage that is not known
            for block in region.blocks:
                for argument in block.args:
                    if argument not in self._nodes:
                        universe.external += self._of(argument)

    def _link_end(self, op: Operation, universe: _Universe) -> None:
        """The end of a function; ends of regions are linked with the operation around them."""
        function = op.parent_op
        if function is not None and function in universe.arguments:
            returned = self._of_all(op.operands)
            if function in universe.results:  # several returns, in a function of several blocks
                self._union_each(universe.results[function], returned)
            universe.results[function] = returned

    def _link_effects(self, op: Operation, universe: _Universe) -> None:
        """An operation that says what it does, and which of its results are storage that was there before."""
        aliases, effects = op.interface(StorageAliases), op.interface(MemoryEffects)
        known: set[int] = set()
        for shown, base in aliases.storage_aliases() if aliases is not None else ():
            if isinstance(shown, Value):
                if self._leaves[shown.type]:  # a vtensor is a copy
                    self._share(shown, self._nodes_of(base, universe))
                    known.update(self._of(shown))
                continue
            nodes = self._of_element(shown)
            if nodes:
                known.update(nodes)
                self._union_each(nodes, self._nodes_of(base, universe))
        for kind, storage in effects.memory_effects() if effects is not None else ():
            if storage is OUTSIDE:
                universe.visible = True
                continue
            nodes = self._nodes_of(storage, universe)
            if kind is EffectKind.READ:
                universe.read += nodes
            elif kind is EffectKind.ALLOCATE:
                known.update(nodes)
            else:
                universe.written += nodes
        unknown = [node for node in self._of_all(op.results) if node not in known]
        for node in [*unknown[1:], *self._of_all(op.operands)] if unknown else ():
            self._union(unknown[0], node)

    def _nodes_of(self, what: Value | Element | NamedStorage, universe: _Universe) -> list[int]:
        """The nodes of a value, of what it holds at an index or under a key, or of a named storage."""
        if isinstance(what, Value):
            return self._of(what)
        if isinstance(what, NamedStorage):
            return [self._name(universe, what.kind, what.name)]
        return self._of_element(what)

    def _link_parameters(self, op: Operation, universe: _Universe) -> None:
        access = op.interface(ParameterAccess)
        assert access is not None  # its kind
        results = self._of_all(op.results)
        for name, type_ in access.parameter_reads().items():
            node = self._name(universe, "parameter", name)
            universe.read.append(node)
            if isinstance(type_, TensorType):
                self._union(results.pop(0), node)
        if not op.results:
            universe.read += self._of_all(op.operands)
            universe.written += [self._name(universe, "parameter", n) for n in access.parameter_writes()]

    def _link_others(self, op: Operation, kind: int, universe: _Universe) -> None:
        """An operation that is known only by its traits: what comes out may be anything that goes in."""
        values = [*op.operands, *op.results]
        for region in op.regions:
            for block in region.blocks:
                values += block.args
                values += block.last_op.operands if block.last_op is not None else ()
        nodes = self._of_all(values)
        for node in nodes[1:]:
            self._union(nodes[0], node)
        universe.read += self._of_all(op.operands)
        if kind == OPAQUE and RecursiveEffects not in op.info.traits:
            universe.written += nodes
            universe.opaque = universe.opaque or not (op.regions and not nodes)
            universe.visible = universe.visible or not op.regions

    def _link_call(self, call: Operation, universe: _Universe) -> None:
        callee = self._callee(call)
        model = call.interface(CallLike)
        assert model is not None  # its kind
        arguments = model.call_arguments()
        operands, results = self._of_all(arguments), self._of_all(call.results)
        others = self._of_all(v for v in call.operands if v not in arguments) if call.operands != arguments else []
        universe.read += others
        if callee is None:
            universe.opaque = True
            return
        universe.calls.append(call)
        other = self._of_function[callee]
        if other is universe or other.summary is None:
            universe.external += results
            region = callee.regions[0]
            self._union_each(operands, self._of_all(region.block.args))
            for end in returns_of(region):
                self._union_each(results, self._of_all(end.operands))
            return
        here: dict[int, int] = {}  # a class of the callee -> a node here
        interface = [*zip(other.arguments[callee], operands, strict=True)]
        interface += zip(other.results.get(callee, results), results, strict=True)
        interface += [(node, self._name(universe, *name)) for name, node in other.names.items()]
        for theirs, ours in interface:
            self._union(here.setdefault(self._find(theirs), ours), ours)
        summary = other.summary
        given = [self._find(node) for node in other.results.get(callee, results)]
        known = {
            ours for ours, theirs in zip(results, given, strict=True) if theirs in summary.external or other.opaque
        }
        universe.external += known
        times = Counter(given)
        once = {ours for ours, theirs in zip(results, given, strict=True) if times[theirs] == 1} - known
        self._fresh.update(v for v in call.results if isinstance(v.type, TensorType) and self._of(v)[0] in once)
        read = [ours for theirs, ours in here.items() if theirs in summary.read]
        written = [ours for theirs, ours in here.items() if theirs in summary.written]
        universe.read += read
        universe.written += written
        universe.opaque = universe.opaque or other.opaque
        universe.visible = universe.visible or other.visible
        self._call_effects[call] = ([*read, *others], written, other)

    def _summarize(self, universe: _Universe) -> None:
        """Note what callers need, once: the interface is small beside what happens inside."""
        interface = {
            self._find(node)
            for nodes in (*universe.arguments.values(), *universe.results.values(), universe.names.values())
            for node in nodes
        }
        universe.summary = _Summary(
            frozenset(interface.intersection(map(self._find, universe.read))),
            frozenset(interface.intersection(map(self._find, universe.written))),
            frozenset(interface.intersection(map(self._find, universe.external))),
        )

    def _link_callees(self, universe: _Universe, called: set[Operation]) -> None:
        """Callers first: merge the arguments of callees that a call here gives the same storage."""
        for function in universe.functions:
            if (
                function not in called
                and CallableLike in function.info.interfaces
                and function is not self._functions.get("main")
            ):
                nodes = [*universe.arguments.get(function, ()), *universe.names.values()]
                for node in nodes[1:]:
                    self._union(nodes[0], node)
        for call in universe.calls:
            callee = self._callee(call)
            if callee is None or callee in universe.functions:
                continue
            other = self._of_function[callee]
            theirs: dict[int, int] = {}  # a class here -> an argument of the callee
            model = call.interface(CallLike)
            assert model is not None  # its kind
            for ours, argument in zip(self._of_all(model.call_arguments()), other.arguments[callee], strict=True):
                self._union(theirs.setdefault(self._find(ours), argument), argument)
            for name, node in other.names.items():
                ours = self._find(universe.names[name])
                self._union(theirs.setdefault(ours, node), node)

    # -- effects ------------------------------------------------------------------------------------------------------

    def _roots(self, nodes: Iterable[int]) -> frozenset[int]:
        return frozenset(map(self._find, nodes))

    def _known(self, values: Iterable[Value]) -> frozenset[int]:
        return frozenset(self._find(node) for value in values for node in self._nodes.get(value, ()))

    def _effects_of(self, op: Operation) -> Effects:
        if not op.regions:
            return self._own_effects(op)
        parts = [self._own_effects(op)]
        for region in op.regions:
            for block in region.blocks:
                parts += [self._inner_effects(inner) for inner in block]
        return joined(parts)

    def _inner_effects(self, op: Operation) -> Effects:
        """Effects of an operation inside one that is asked for; those deeper down are gathered without recursion."""
        if not op.regions or op in self._effects:
            return self.effects(op)
        nested = [o for o in op.walk() if o.regions]
        for inner in reversed(nested):  # innermost first: each finds those inside it known
            if inner not in self._effects:
                parts = [self._own_effects(inner)]
                parts += [self.effects(o) for r in inner.regions for b in r.blocks for o in b]
                self._effects[inner] = joined(parts)
        return self._effects[op]

    def _own_effects(self, op: Operation) -> Effects:
        """What `op` does itself."""
        kind = self._kinds[op.__class__]
        if kind in (NOTHING, VIEW):
            return NO_EFFECTS
        if kind in (REGIONS, BRANCH):
            reads = self._known(op.operands) and self._known(read_by_control(op))
            return Effects(reads) if reads else NO_EFFECTS
        if kind == END:
            reads = self._known(op.operands)
            return Effects(reads) if reads and region_branch_around(op) is not None else NO_EFFECTS
        if kind in (READS, FORWARD):
            reads = self._known(op.operands)
            return Effects(reads) if reads else NO_EFFECTS
        if kind == INPLACE:
            return Effects(self._known(op.operands), self._known(op.operands[:1]))
        if kind == CALL:
            return self._effects_of_call(op)
        universe = self._universe_at(op)
        if kind == EFFECTS:
            return self._stated_effects(op, universe)
        access = op.interface(ParameterAccess)
        if access is not None:
            names = universe.names
            reads = self._roots(names["parameter", name] for name in access.parameter_reads())
            written = () if op.results else access.parameter_writes()
            return Effects(reads | self._known(op.operands), self._roots(names["parameter", name] for name in written))
        if op.regions or RecursiveEffects in op.info.traits:
            nodes = self._known([*op.operands, *op.results])
            return Effects(nodes, nodes)
        return Effects(self._known(op.operands), self._known(op.operands), opaque=True, visible=True)

    def _stated_effects(self, op: Operation, universe: _Universe) -> Effects:
        model = op.interface(MemoryEffects)
        reads: list[int] = []
        writes: list[int] = []
        visible = False
        for kind, storage in model.memory_effects() if model is not None else ():
            if storage is OUTSIDE:
                visible = True
            elif kind is not EffectKind.ALLOCATE:
                nodes = self._nodes.get(storage, ()) if isinstance(storage, Value) else [universe.names[storage]]
                (reads if kind is EffectKind.READ else writes).extend(nodes)
        if not (reads or writes or visible):
            return NO_EFFECTS
        return Effects(self._roots(reads), self._roots(writes), visible=visible)

    def _effects_of_call(self, call: Operation) -> Effects:
        known = self._call_effects.get(call)
        if known is not None:
            read, written, other = known
            return Effects(self._roots(read), self._roots(written), other.opaque, other.visible)
        universe = self._universe_at(call)
        if self._callee(call) is None:
            return Effects(opaque=True, visible=True)
        return Effects(self._roots(universe.read), self._roots(universe.written), universe.opaque, universe.visible)

    def _universe_at(self, op: Operation) -> _Universe:
        for ancestor in op.ancestors():
            if ancestor in self._of_function:
                return self._of_function[ancestor]
        return _Universe([], opaque=True)


def _uses(op: Operation, other: Operation) -> bool:
    """Whether `op`, or something inside it, uses a result of `other`."""
    if not other.results:
        return False
    for inner in op.walk() if op.regions else (op,):
        for value in inner.operands:
            if value.defining_op is other:
                return True
    return False
