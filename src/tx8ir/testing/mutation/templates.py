"""Programs with control flow, storage and variables, in the shapes that passes over them look for.

A template fixes what decides whether such a pass does something, a loop of so many rounds that carries a value
unchanged, say, or two reads of a variable with a write between. What is computed inside is drawn, mostly from what the
pass under test is about.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

import numpy as np

from tx8ir.core import (
    Block,
    Builder,
    FunctionType,
    Program,
    RankedTensor,
    Region,
    ScalarType,
    SymbolRefAttr,
    TensorType,
    Type,
    Value,
    VTensorType,
    bf16,
    detached,
    f16,
    f32,
    i1,
    i32,
    i64,
)
from tx8ir.dialects import builtin, cf, func, pd, scf
from tx8ir.testing.inputs import draw_array

from .fitting import Material, grow
from .values import add_input, set_results

_SHAPES: Final = ((), (2,), (1,), (2, 2), (2, 3))
_ELEMENTS: Final = (f32, f32, f32, f16, bf16, i32)
_UNARY: Final = (pd.relu, pd.abs, pd.exp, pd.reciprocal, pd.square, pd.floor)
_BINARY: Final = (pd.add, pd.subtract, pd.multiply, pd.maximum, pd.divide)


class Draft:
    """A program in the making.

    Attributes:
        program: the program; its `main` ends with a return of nothing yet.
        rng: chooses.
        material: what operations are made of.
        block: where operations go.
        type: what most values are.
    """

    def __init__(self, program: Program, rng: random.Random, material: Material) -> None:
        self.program = program
        self.rng = rng
        self.material = material
        self.block = program.main.body.block
        element = rng.choice(material.elements) if material.elements and rng.random() < 0.3 else rng.choice(_ELEMENTS)
        self.type = VTensorType(rng.choice(_SHAPES), element)
        self._condition: Value | None = None

    # --- values ----------------------------------------------------------------------------------------------------

    def input(self, type_: Type | None = None) -> Value:
        return add_input(self.program, type_ or self.type)

    def perhaps(self, share: float = 0.5) -> bool:
        return self.rng.random() < share

    def at(self, block: Block) -> Builder:
        return Builder.at_end(block)

    def number(self, value: float, element: ScalarType = i32, shape: Sequence[int] = ()) -> Value:
        """A constant, at the end of the block."""
        with self.at(self.block):
            if self.perhaps():
                return pd.full(shape=tuple(shape), value=value, dtype=element).out
            with np.errstate(all="ignore"):
                data = np.full(tuple(shape), value, np.float64).astype(element.dtype)
            return builtin.ConstantOp(value=data).out  # pyright: ignore[reportArgumentType]  converted

    def op(self, *values: Value) -> Value:
        """An operation on some of these values, mostly one that the pass is about; of the type of the first."""
        rng = self.rng
        x = values[0]
        type_ = x.type
        assert isinstance(type_, RankedTensor)
        if self.perhaps(0.4):
            with self.at(self.block):
                mark = builtin.to_vtensor(x) if isinstance(type_, TensorType) else pd.assign(x)
            for name in rng.sample(self.material.ops, min(2, len(self.material.ops))):
                made = grow(self.program, mark, name, rng, self.material, on=mark.operands[0])
                fit = None if made is None else next((r for r in made.results if r.type is type_.to_vtensor()), None)
                if fit is not None:
                    return fit
                if made is not None and not any(r.has_uses for r in made.results):
                    made.erase()
        with self.at(self.block):
            second = values[-1]
            other = second.type if second is not x else None
            if isinstance(other, RankedTensor) and self.perhaps(0.7) and other.to_vtensor() is type_.to_vtensor():
                return rng.choice(_BINARY[:4] if not type_.element.is_float else _BINARY)(x, second).out
            choices = _UNARY if type_.element.is_float else (pd.abs, pd.relu)
            return rng.choice(choices)(x).out

    def condition(self) -> Value:
        """A truth value: an input, mostly the one of before; a constant, or a comparison."""
        how = self.rng.random()
        if how < 0.12:
            return self.number(float(self.perhaps()), i1)
        if self._condition is None or how > 0.8:
            self._condition = self.input(VTensorType((), i1))
        return self._condition

    # --- structure -------------------------------------------------------------------------------------------------

    def inside(
        self, block: Block, write: Callable[[], Sequence[Value]], end: Callable[[Sequence[Value]], object]
    ) -> None:
        """Writes a block: what `write` writes, and the terminator on the values it returns."""
        outer, self.block = self.block, block
        try:
            values = write()
            with self.at(block):
                end(values)
        finally:
            self.block = outer

    def choice(
        self,
        condition: Value,
        then: Callable[[], Sequence[Value]],
        otherwise: Callable[[], Sequence[Value]] | None,
        types: Sequence[Type],
    ) -> list[Value]:
        """An `scf.if`."""
        blocks: list[Region] = []
        for write in (then, otherwise):
            if write is None:
                blocks.append(Region())
                continue
            block = Block()
            self.inside(block, write, scf.YieldOp)
            blocks.append(Region([block]))
        with self.at(self.block):
            return list(scf.IfOp(condition, then_region=blocks[0], else_region=blocks[1], outputs=types).results)

    def loop(
        self,
        inits: Sequence[Value],
        before: Callable[[Sequence[Value]], tuple[Value, Sequence[Value]]],
        after: Callable[[Sequence[Value]], Sequence[Value]],
    ) -> list[Value]:
        """An `scf.while`; `before` returns the condition and what is carried on."""
        first = Block([v.type for v in inits])
        carried: list[Value] = []

        def test() -> Sequence[Value]:
            more, values = before(first.args)
            carried[:] = values
            return (more, *values)

        self.inside(first, test, lambda values: scf.ConditionOp(values[0], values[1:]))
        types = [v.type for v in carried]
        second = Block(types)
        self.inside(second, lambda: after(second.args), scf.YieldOp)
        with self.at(self.block):
            made = scf.WhileOp(inits, before=Region([first]), after=Region([second]), outputs=types)
        return list(made.results)

    def function(self, types: Sequence[Type], write: Callable[[Sequence[Value]], Sequence[Value]]) -> func.FuncOp:
        """A function of the module."""
        name = f"f{sum(1 for _ in self.program.body)}"
        with self.at(self.program.body):
            made = func.FuncOp(sym_name=name, function_type=FunctionType(types, ()))
        block = made.body.block
        self.inside(block, lambda: write(block.args), func.ReturnOp)
        end = block.terminator
        assert end is not None
        made.set_attribute("function_type", FunctionType(types, [v.type for v in end.operands]))
        return made

    def call(self, function: func.FuncOp, values: Sequence[Value]) -> list[Value]:
        with self.at(self.block):
            made = func.call(values, callee=SymbolRefAttr(function.sym_name), outputs=function.function_type.results)
        return list(made.results)

    def variable(self, data: np.ndarray | None = None, *, mutable: bool) -> str:  # pyright: ignore[reportMissingTypeArgument, reportUnknownParameterType]
        name = self.program.weights.unique_name("w")
        if data is None:
            rng = np.random.default_rng(self.rng.randrange(1 << 30))
            data = draw_array(rng, self.type.shape, self.type.element.format, "ordinary")
        self.program.weights.add(name, data, self.type.to_tensor(), is_mutable=mutable)
        return name

    def read(self, name: str) -> Value:
        with self.at(self.block):
            return builtin.get_parameter(parameter=name, out=self.program.weights[name].type.to_vtensor()).out

    def store(self, name: str, value: Value) -> None:
        with self.at(self.block):
            builtin.set_parameter(value, parameter=name)

    def write(self, storage: Value, value: Value | None = None) -> None:
        """A write to storage."""
        with self.at(self.block):
            how = self.rng.randrange(4)
            if value is not None and how < 2:
                (pd.assign_ if how else pd.add_)(storage, value)
            elif how == 2:
                pd.relu_(storage)
            else:
                pd.fill_(storage, value=self.rng.choice((0.0, 1.0, 2.0)))


Template: TypeAlias = Callable[[Draft], Sequence[Value]]
"""Writes into the draft; returns what the program returns."""


# --- branches --------------------------------------------------------------------------------------------------------


def equal_or_nearly_equal_sides(draft: Draft) -> Sequence[Value]:
    """A branch whose sides are the same, differ in what they yield, or where one is empty."""
    x, y = draft.input(), draft.input()
    if draft.perhaps(0.4):
        y = x if draft.perhaps(0.2) else draft.number(draft.rng.choice(draft.material.numbers), _of(x), _shape(x))
    condition = draft.condition() if draft.perhaps(0.5) else _comparison(draft, x, y)

    def side(full: bool, second: Value = y) -> Callable[[], Sequence[Value]]:
        def write() -> Sequence[Value]:
            if not full:
                return [draft.rng.choice((x, y))]
            return [draft.op(x, second)] if draft.perhaps(0.8) else [draft.op(draft.op(x, second), y)]

        return write

    full = draft.perhaps(0.7)
    third = draft.input() if draft.perhaps() else y

    def again() -> Sequence[Value]:
        """The same operations, perhaps on another operand."""
        draft.rng.setstate(state)
        return side(True, third)()

    otherwise = again if full and draft.perhaps(0.4) else side(draft.perhaps())
    state = draft.rng.getstate()
    made = draft.choice(condition, side(full), otherwise, [x.type])
    return [*made, x] if draft.perhaps(0.2) else made


def _comparison(draft: Draft, x: Value, y: Value) -> Value:
    """A comparison of scalars of two values; where they have more elements, of all of them."""
    kind = draft.rng.choice((pd.equal, pd.less_than, pd.greater_than, pd.greater_equal, pd.not_equal, pd.less_equal))
    with draft.at(draft.block):
        found = kind(x, y).out
        type_ = found.type
        assert isinstance(type_, RankedTensor)
        if type_.rank == 0:
            return found
        return pd.cast(pd.min(pd.cast(found, dtype=i32)), dtype=i1).out


def effects_in_a_side(draft: Draft) -> Sequence[Value]:
    """A branch that writes to storage, or to a variable, on one side or both, and yields values."""
    t, x = draft.input(draft.type.to_tensor()), draft.input()
    name = draft.variable(mutable=True)
    read = draft.read(name) if draft.perhaps() else x
    in_storage = draft.perhaps()

    def side(has: bool) -> Callable[[], Sequence[Value]]:
        def write() -> Sequence[Value]:
            result = draft.op(x, read)
            if has and in_storage:
                draft.write(t, result if draft.perhaps() else x)
            elif has:
                draft.store(name, result if draft.perhaps() else x)
            return [result] if gives else []

        return write

    gives = draft.perhaps(0.7)
    one = draft.perhaps()
    condition = draft.condition()
    other = side(not one or draft.perhaps(0.2)) if gives or draft.perhaps() else None
    made = draft.choice(condition, side(one or other is None), other, [x.type] if gives else [])
    with draft.at(draft.block):
        last = builtin.to_vtensor(t).out
    return [*made, last, draft.read(name)] if draft.perhaps(0.7) else [*made, draft.op(read, draft.read(name))]


def nested(draft: Draft) -> Sequence[Value]:
    """A branch in a branch, mostly on the same condition; or two after each other."""
    x, y = draft.input(), draft.input()
    outer, inner = draft.condition(), draft.condition()

    def two() -> Sequence[Value]:
        return draft.choice(inner, lambda: [draft.op(x, y)], lambda: [draft.op(y, x)], [x.type])

    if draft.perhaps(0.6):
        sides: list[Callable[[], Sequence[Value]]] = [two, lambda: [draft.op(y)]]
        if draft.perhaps():
            sides.reverse()
        return draft.choice(outer, sides[0], sides[1], [x.type])
    first = two()
    second = draft.choice(outer, lambda: [draft.op(*first)], lambda: [draft.op(y, x)], [x.type])
    return [*first, *second]


# --- loops -----------------------------------------------------------------------------------------------------------


def counted_loop(draft: Draft) -> Sequence[Value]:
    """A loop of a known number of rounds: start, step and end are constants, and the step need not divide the way."""
    rng = draft.rng
    x, y = draft.input(), draft.input()
    start, step = rng.choice((0, 0, 0, 1, 2)), rng.choice((1, 1, 2, 3, 2))
    end = start + rng.choice((0, 1, 1, 2, 3, 4, 5, -1))
    element = rng.choice((i32, i32, i64, f32))
    outside = draft.perhaps()
    limit = draft.number(end, element) if outside else None
    stride = draft.number(step, element) if outside else None
    early = draft.perhaps(0.15)
    stores = draft.variable(mutable=True) if draft.perhaps(0.2) else None
    forward = rng.choice(("same",) * 5 + ("exchanged", "computed", "dropped"))
    body = rng.choice(("accumulate", "exchange", "unchanged", "invariant", "one unchanged", "replace"))
    kind = rng.choice((pd.less_than,) * 4 + (pd.less_equal, pd.not_equal))

    def before(args: Sequence[Value]) -> tuple[Value, Sequence[Value]]:
        bound = limit or draft.number(end, element)
        with draft.at(draft.block):
            more = (kind if start <= end and (end - start) % step == 0 else pd.less_than)(args[0], bound).out
            if early:
                more = pd.logical_and(more, draft.condition()).out
        count, a, b = args
        if forward == "exchanged":
            return more, [count, b, a]
        if forward == "computed":
            return more, [count, draft.op(a, b), b]
        return more, ([count, a, b] if forward != "dropped" else [count, b, b])

    def after(args: Sequence[Value]) -> Sequence[Value]:
        count, a, b = args
        if body == "accumulate":
            following = [draft.op(a, b), b]
        elif body == "exchange":
            following = [b, a]
        elif body == "unchanged":
            following = [a, b]
        elif body == "invariant":
            following = [draft.op(draft.op(x, y), a), b]
        elif body == "one unchanged":
            following = [a, draft.op(b, a)]
        else:
            following = [draft.op(x, y), a]
        if stores:
            draft.store(stores, following[0])
        with draft.at(draft.block):
            one = pd.add(count, stride or draft.number(step, element)).out
        return [one, *following]

    results = draft.loop([draft.number(start, element), x, y], before, after)
    kept = [results[1:], results, results[1:2], results[2:]][rng.randrange(4)]
    return [*kept, draft.read(stores)] if stores else kept


def idle_or_odd_loop(draft: Draft) -> Sequence[Value]:
    """A loop whose condition is a constant or an input, that ends after one round at most; `before` may compute."""
    x, y = draft.input(), draft.input()
    how = draft.rng.randrange(3)
    more = draft.condition()
    computes, changes = draft.perhaps(0.6), draft.perhaps(0.7)

    def before(args: Sequence[Value]) -> tuple[Value, Sequence[Value]]:
        values = [draft.op(args[0], args[1]), args[1]] if computes else [args[1], args[0]] if how == 1 else args
        return (draft.number(0, i1) if how else args[2]), [*values[:2], *args[2:]]

    def after(args: Sequence[Value]) -> Sequence[Value]:
        first = draft.op(args[0], args[1]) if changes else args[0]
        return [first, args[1], *([] if how else [draft.number(0, i1)])]

    return draft.loop([x, y, *([] if how else [more])], before, after)[:2]


# --- blocks ----------------------------------------------------------------------------------------------------------


def _main_ends_with(draft: Draft, region: Region, block: Block) -> None:
    """Goes on in another block of `main`, which gets its return."""
    region.append(block)
    draft.block = block


def diamond_of_blocks(draft: Draft) -> Sequence[Value]:
    """A `cf.cond_br` to two blocks, to one and the join, or to the join twice; with equal or different operands."""
    x, y, condition = draft.input(), draft.input(), draft.condition()
    region = draft.block.parent
    assert region is not None
    join = Block([x.type, y.type] if draft.perhaps(0.4) else [x.type])
    count = len(join.args)

    def given() -> list[Value]:
        pool = [x, y, draft.op(x, y)] if draft.perhaps(0.3) else [x, y]
        return [draft.rng.choice(pool) for _ in range(count)]

    start = draft.block
    sides: list[Block] = []
    operands: list[list[Value]] = []
    direct = draft.rng.choice(("both", "both", "one", "none"))
    for number in range(2):
        if direct == "both" or (direct == "one" and number):
            operands.append(given())
            sides.append(join)
        else:
            side = Block()
            region.append(side)
            draft.inside(side, given, lambda values: cf.br(values, dest=join))
            operands.append([])
            sides.append(side)
    if draft.perhaps(0.2):
        operands[1], sides[1] = operands[0], sides[0]
    with draft.at(start):
        cf.cond_br(condition, operands[0], operands[1], true_dest=sides[0], false_dest=sides[1])
    _main_ends_with(draft, region, join)
    return [draft.op(*join.args)] if draft.perhaps(0.3) else list(join.args)


def chain_of_blocks(draft: Draft) -> Sequence[Value]:
    """Blocks after one another, with arguments or values from before."""
    x = draft.input()
    region = draft.block.parent
    assert region is not None
    for _ in range(draft.rng.choice((1, 2))):
        made = draft.op(x)
        following = Block([x.type] if draft.perhaps() else [])
        with draft.at(draft.block):
            cf.br([draft.rng.choice((made, x))] if following.args else [], dest=following)
        _main_ends_with(draft, region, following)
        x = following.args[0] if following.args else made
    return [draft.op(x)]


# --- calls -----------------------------------------------------------------------------------------------------------


def calls(draft: Draft) -> Sequence[Value]:
    """A function, pure or with effects at some depth, called once or twice, its result used or not."""
    rng = draft.rng
    x, y, condition = draft.input(), draft.input(), draft.condition()
    name = draft.variable(mutable=True)
    effect = rng.choice(("none", "store", "store in a branch", "store in a loop", "call", "write"))
    state = rng.getstate()

    def store(value: Value) -> None:
        old = draft.read(name)
        with draft.at(draft.block):
            draft.store(name, pd.add(old, value).out if draft.perhaps() else value)

    def write(kind: str, called: func.FuncOp | None) -> Callable[[Sequence[Value]], Sequence[Value]]:
        def body(args: Sequence[Value]) -> Sequence[Value]:
            a, b, c = args
            if kind == "store":
                store(a)
            elif kind == "store in a branch":
                draft.choice(c, lambda: store(a) or [], None if draft.perhaps() else list, [])
            elif kind == "store in a loop":
                zero = draft.number(0)

                def before(args: Sequence[Value]) -> tuple[Value, Sequence[Value]]:
                    with draft.at(draft.block):
                        return pd.less_than(args[0], draft.number(2)).out, args

                def after(args: Sequence[Value]) -> Sequence[Value]:
                    store(a)
                    with draft.at(draft.block):
                        return [pd.add(args[0], draft.number(1)).out]

                draft.loop([zero], before, after)
            elif kind == "call" and called is not None:
                draft.call(called, args)
            elif kind == "write":
                with draft.at(draft.block):
                    own = builtin.to_tensor(a).out
                draft.write(own, b)
                with draft.at(draft.block):
                    return [builtin.to_vtensor(own).out]
            return [draft.op(a, b)]

        return body

    types = [x.type, y.type, condition.type]
    called = (
        draft.function(types, write(rng.choice(("store", "store in a branch")), None)) if effect == "call" else None
    )
    state = rng.getstate()
    first = draft.function(types, write(effect, called))
    second = first
    if draft.perhaps(0.35):  # another function that is equal, or nearly
        if draft.perhaps(0.7):
            later, _ = rng.getstate(), rng.setstate(state)
            second = draft.function(types, write(effect, called))
            rng.setstate(later)
        else:
            second = draft.function(types, write("none", None))
    results = draft.call(first, [x, y, condition])
    if draft.perhaps(0.6) or second is not first:
        results += draft.call(second, [x, y, condition] if draft.perhaps(0.7) else [y, x, condition])
    used = results if draft.perhaps(0.6) else results[1:]
    return [*used, draft.read(name)] if draft.perhaps(0.8) else used or [x]


# --- variables and storage -------------------------------------------------------------------------------------------


def variables(draft: Draft) -> Sequence[Value]:
    """Reads and stores of one or two variables in a row, some inside a branch; contents may be equal or nearly so."""
    rng = draft.rng
    x, y = draft.input(), draft.input()
    numbers = [_contents(draft, None)]
    numbers.append(_contents(draft, numbers[0]))
    mutable = [draft.perhaps(0.7), draft.perhaps(0.4)]
    names = [draft.variable(data, mutable=m) for data, m in zip(numbers, mutable, strict=True)]
    values: list[Value] = [x, y]
    kept: list[Value] = []
    for _ in range(rng.randrange(2, 6)):
        name = names[0] if draft.perhaps(0.7) else names[1]
        how = rng.choice(("read", "read", "store", "store old", "branch", "op"))
        if how == "read" or not draft.program.weights[name].is_mutable:
            values.append(draft.read(name))
            kept.append(values[-1])
        elif how == "store":
            draft.store(name, rng.choice((x, y, x)))
        elif how == "store old":
            draft.store(name, rng.choice(kept or values))
        elif how == "branch":

            def stores(name: str = name) -> Sequence[Value]:
                draft.store(name, rng.choice(values[-3:]))
                return []

            draft.choice(draft.condition(), stores, None, [])
        else:
            values.append(draft.op(values[-1], x))
            kept.append(values[-1])
    last = [draft.read(name) for name in names if draft.perhaps(0.7)]
    if draft.perhaps(0.3):
        with draft.at(draft.block):
            return [pd.divide(x, v).out for v in (*kept, *last)] or [x]
    return [*kept[-3:], *last] or [x]


def _contents(draft: Draft, old: np.ndarray | None) -> np.ndarray:  # pyright: ignore[reportMissingTypeArgument, reportUnknownParameterType]
    """What a variable holds: the numbers of another one, the same with a sign or an element changed, or others."""
    rng, type_ = draft.rng, draft.type
    generator = np.random.default_rng(rng.randrange(1 << 30))
    flavour = "mixed" if draft.perhaps(0.4) else "ordinary"
    made = _zeros(draft) if draft.perhaps(0.3) else draw_array(generator, type_.shape, type_.element.format, flavour)
    if old is None or draft.perhaps(0.25):
        return made
    made = np.array(old)
    with np.errstate(all="ignore"):
        if draft.perhaps(0.6):
            zeros = made == 0
            made[zeros] = -made[zeros]
    return made


def _zeros(draft: Draft) -> np.ndarray:  # pyright: ignore[reportMissingTypeArgument, reportUnknownParameterType]
    """Zeros of both signs, and ones."""
    choices = np.array((0.0, -0.0, 1.0, 0.0), np.float64)
    generator = np.random.default_rng(draft.rng.randrange(1 << 30))
    return np.asarray(generator.choice(choices, draft.type.shape)).astype(draft.type.element.dtype)


def storage(draft: Draft) -> Sequence[Value]:
    """Copies of storage, views of them, writes and reads in a row; everything that is written is read at the end."""
    rng = draft.rng
    x = draft.input(draft.type.to_tensor()) if draft.perhaps(0.4) else draft.input()
    with draft.at(draft.block):
        first = builtin.to_tensor(x).out
    stored: list[Value] = [first]
    read: list[Value] = []
    for _ in range(rng.randrange(2, 6)):
        source = rng.choice(stored[-2:])
        type_ = source.type
        assert isinstance(type_, TensorType)
        how = rng.choice(("copy", "copy", "write", "write", "view", "read", "op"))
        with draft.at(draft.block):
            if how == "copy":
                stored.append(builtin.to_tensor(source).out)
            elif how == "write":
                draft.write(source, builtin.to_vtensor(rng.choice(stored)).out if draft.perhaps(0.2) else None)
            elif how == "view":
                shape = (*type_.shape, 1) if draft.perhaps() else (type_.num_elements,)
                stored.append(pd.reshape(source, shape=shape).out)
            elif how == "read":
                read.append(builtin.to_vtensor(source).out)
            else:
                read.append(draft.op(builtin.to_vtensor(source).out))
    with draft.at(draft.block):
        read += [builtin.to_vtensor(t).out for t in stored if draft.perhaps(0.8)]
    return read or [x]


def _of(value: Value) -> ScalarType:
    assert isinstance(value.type, RankedTensor)
    return value.type.element


def _shape(value: Value) -> Sequence[int]:
    assert isinstance(value.type, RankedTensor)
    return value.type.shape


# --- the choice ------------------------------------------------------------------------------------------------------

_TEMPLATES: Final[tuple[tuple[Template, frozenset[str]], ...]] = (
    (equal_or_nearly_equal_sides, frozenset({"scf.if", "scf.yield"})),
    (effects_in_a_side, frozenset({"scf.if", "builtin.set_parameter", "pd.assign_"})),
    (nested, frozenset({"scf.if"})),
    (counted_loop, frozenset({"scf.while", "scf.condition"})),
    (idle_or_odd_loop, frozenset({"scf.while", "scf.condition"})),
    (diamond_of_blocks, frozenset({"cf.cond_br", "cf.br"})),
    (chain_of_blocks, frozenset({"cf.br"})),
    (calls, frozenset({"func.call", "func.func"})),
    (variables, frozenset({"builtin.get_parameter", "builtin.set_parameter"})),
    (storage, frozenset({"builtin.to_tensor", "builtin.to_vtensor"})),
)
"""Each template, and the operations that a pass names for which it is made."""


def templates(material: Material) -> tuple[Template, ...]:
    """Those for what the pass is about; none when it names nothing of control flow, storage or variables."""
    return tuple(template for template, ops in _TEMPLATES if ops & material.direction.ops)


def all_templates() -> tuple[Template, ...]:
    """Every template."""
    return tuple(template for template, _ in _TEMPLATES)


def from_template(template: Template, program: Program, rng: random.Random, material: Material) -> Program | None:
    """`program`, which is empty, written by a template; None when what was drawn does not fit."""
    try:
        with detached():
            draft = Draft(program, rng, material)
            end = draft.block.terminator
            assert end is not None
            end.detach()
            results = template(draft)
            with draft.at(draft.block):
                func.ReturnOp(results)
            _set_main(program, draft.block)
        program.verify()
    except Exception:  # whatever an operation raises about operands that do not fit
        return None
    return program


def _set_main(program: Program, block: Block) -> None:
    end = block.terminator
    assert isinstance(end, func.ReturnOp)
    if block is program.main.body.blocks[-1]:
        set_results(program)
        return
    types = [v.type for v in end.operands]
    program.main.set_attribute("function_type", FunctionType(program.main.function_type.inputs, types))
    program.main.set_attribute("result_names", tuple(f"result{i}" for i in range(len(types))))
