"""Hypothesis strategies for tensor programs that can be evaluated (needs the extra `test`).

    from hypothesis import given
    from tx8ir.testing import assert_preserves
    from tx8ir.testing.programs import tensor_programs

    @given(tensor_programs())
    def test_my_pass(program): assert_preserves("my-pass", program)

Each program is valid, ends, and is evaluated without error on the inputs that `inputs.draw_inputs` draws. It is written
step by step from a pool of the values so far; the newest value is the simplest choice and nothing the simplest step,
so that Hypothesis shrinks a failing program to the few operations that matter. Programs have habits: each prefers a few
kinds of steps and operations, so that rules that need two of a kind, or none of another, are met too (swarm testing:
Groce et al., ISSTA 2012).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias, TypeVar

import attrs
import numpy as np
from hypothesis import reject
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from tx8ir.backend.errors import CompileError
from tx8ir.core import (
    Block,
    Builder,
    FunctionType,
    Operation,
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
)
from tx8ir.dialects import builtin, cf, func, pd, scf
from tx8ir.executable import lower
from tx8ir.transforms import PassError

from .inputs import draw_array

T = TypeVar("T")
Level: TypeAlias = Literal["pd", "tx8be"]
Step: TypeAlias = "Callable[[Writer], Sequence[Value]]"
"""Writes operations at the end of a `Writer`'s block, from values of its pool, and gives the values they make."""

SHAPES: tuple[tuple[int, ...], ...] = ((2,), (2, 2), (), (1,), (2, 3), (1, 2), (2, 2, 2), (3, 1, 2), (1, 2, 3, 3))
ELEMENTS: tuple[ScalarType, ...] = (f32, i32, bf16, i1, f16)
NUMBERS: tuple[float, ...] = (0.0, 1.0, -0.0, 2.0, -1.0, 0.5)
LARGEST = 200
"""Values of more elements are not operated on."""
TRIPS = 3
"""A loop runs this often at most."""


@attrs.frozen
class Features:
    """What programs may have besides operations on values.

    Attributes:
        aliases: tensors with storage, in-place operations on them, and views of them.
        branches: `scf.if`.
        loops: `scf.while`, of at most `TRIPS` rounds.
        blocks: `cf.cond_br` and blocks that join.
        calls: other functions.
        lists: `builtin.combine`, `slice` and `split`.
        parameters: reads and writes of variables, mutable and not.
        sums: operations whose rounding depends on the order of summation.
        elements: element types of inputs and results of casts.
    """

    aliases: bool = True
    branches: bool = True
    loops: bool = True
    blocks: bool = True
    calls: bool = True
    lists: bool = True
    parameters: bool = True
    sums: bool = False
    elements: tuple[ScalarType, ...] = ELEMENTS


VALUES = Features(aliases=False, branches=False, loops=False, blocks=False, calls=False, lists=False)
"""Straight programs on values, with parameters."""
EVERYTHING = Features()
"""All but sums: what an operation computes is the same bits wherever it stands."""
LOWERABLE = attrs.evolve(VALUES, elements=(f32,), sums=True)
"""What `lower-to-tx8be` takes, for the most part."""


def tensor_programs(
    features: Features = EVERYTHING,
    *,
    level: Level = "pd",
    max_ops: int = 16,
    steps: Sequence[Step] = (),
    inputs: Sequence[RankedTensor] = (),
) -> SearchStrategy[Program]:
    """Programs with a function `main` of one to three inputs, and their variables.

    Nearly every operation leads to a result.

    Args:
        features: what they may have.
        level: "pd" as a frontend makes them, or "tx8be" after `lower-to-tx8be`, as far as that takes them
            (`LOWERABLE` features).
        max_ops: how many steps are written; a loop or branch is one step, with steps of its own inside.
        steps: steps of your own, such as the operations that a pass looks for:

                def double_negation(writer: Writer) -> Sequence[Value]:
                    x = writer.value(lambda t: t.element.is_float)
                    if x is None:
                        return ()
                    with Builder.at_end(writer.block):
                        return pd.scale(pd.scale(x, scale=-1.0), scale=-1.0).results

            One of them is written into `main` of each program at least, and more of them anywhere.
        inputs: types of further inputs, for steps that need values of these types.
    """
    source = _programs(features, max_ops, tuple(steps), tuple(inputs))
    return _lowered(source) if level == "tx8be" else source


@st.composite
def _lowered(draw: st.DrawFn, programs: SearchStrategy[Program]) -> Program:
    source = draw(programs)
    try:
        with detached():
            return lower(source, through="lower-to-tx8be")
    except (PassError, CompileError):  # an operation that has no form in the backend graph
        reject()


@st.composite
def _programs(
    draw: st.DrawFn, features: Features, max_ops: int, steps: tuple[Step, ...], inputs: tuple[RankedTensor, ...]
) -> Program:
    program = Program.empty()
    types = [*draw(st.lists(_types(features), min_size=0 if inputs else 1, max_size=3)), *inputs]
    with Builder.at_end(program.body):
        main = func.FuncOp(sym_name="main", function_type=FunctionType(types, ()))
    writer = Writer(draw, features, program, main.body.block, list(main.body.block.args), extra=steps)
    if steps:
        writer.write(max_ops // 2)
        writer.take(writer.one_of(steps))
        writer.write(max_ops // 2)
    else:
        writer.write(max_ops)
    results = writer.unused()[-6:] + writer.some(0, 2)
    with Builder.at_end(writer.block):
        func.ReturnOp(results)
    main.set_attribute("function_type", FunctionType(types, [v.type for v in results]))
    program.verify()
    return program


@st.composite
def _types(draw: st.DrawFn, features: Features) -> RankedTensor:
    shape = draw(st.sampled_from(SHAPES))
    element = draw(st.just(features.elements[0]) | st.sampled_from(features.elements))
    kind = TensorType if features.aliases and draw(st.booleans()) else VTensorType
    return kind(shape, element)


def ranked(value: Value) -> RankedTensor:
    """Its type, a tensor."""
    assert isinstance(value.type, RankedTensor)
    return value.type


class Writer:
    """Writes the operations of one block, and of those that follow it in its region.

    Attributes:
        block: where the next operation goes.
        pool: the values that operations may use there, oldest first.
        depth: how many regions and functions are around.
        extra: steps besides those of `Features`.
    """

    def __init__(
        self,
        draw: st.DrawFn,
        features: Features,
        program: Program,
        block: Block,
        pool: list[Value],
        depth: int = 0,
        extra: Sequence[Step] = (),
    ) -> None:
        self.draw = draw
        self.features = features
        self.program = program
        self.block = block
        self.pool = pool
        self.depth = depth
        self.extra = extra
        self.habits: dict[str, list[int]] = {}
        self.can_branch = isinstance(block.parent_op, func.FuncOp)

    # --- drawing ---------------------------------------------------------------------------------------------------

    def one_of(self, choices: Sequence[T]) -> T:
        """One of them; the first is the simplest."""
        return self.draw(st.sampled_from(choices))

    def by_habit(self, site: str, choices: Sequence[T], size: int = 2) -> T:
        """One of them: mostly one of the few that this program prefers at that site."""
        last = len(choices) - 1
        if site not in self.habits:
            self.habits[site] = [self.draw(st.integers(0, last)) for _ in range(size)]
        preferred = self.habits[site]
        which = self.draw(st.integers(0, size))
        number = preferred[which] if which < size else self.draw(st.integers(0, last))
        return choices[number % len(choices)]

    def newest(self, found: Sequence[T]) -> T:
        """The first of them every other time."""
        return found[self.draw(st.just(0) | st.integers(0, len(found) - 1))]

    def value(self, fits: Callable[[RankedTensor], bool] = lambda _: True) -> Value | None:
        """A value of the pool whose type fits, the newest for preference."""
        found = [v for v in reversed(self.pool) if isinstance(v.type, RankedTensor) and fits(v.type)]
        return self.newest(found) if found else None

    def some(self, low: int, high: int) -> list[Value]:
        """Values of the pool."""
        return [self.newest(self.pool[::-1]) for _ in range(self.draw(st.integers(low, high)))]

    def unused(self) -> list[Value]:
        """Tensors of the pool that nothing uses, but for arguments."""
        return [v for v in self.pool if isinstance(v.type, RankedTensor) and v.defining_op and not v.has_uses]

    def two_alike(self) -> list[Value]:
        """One value, or two, of one type where there are."""
        first = self.newest(self.pool[::-1])
        alike = [v for v in reversed(self.pool) if v.type is first.type and v is not first]
        if not self.draw(st.booleans()):
            return [first]
        return [first, self.newest(alike) if alike else self.newest(self.pool[::-1])]

    def value_of(self, type_: Type) -> Value:
        """A value of exactly that type: of the pool, or made of zeros."""
        found = [v for v in reversed(self.pool) if v.type is type_]
        if found:
            return self.newest(found)
        assert isinstance(type_, RankedTensor)
        with Builder.at_end(self.block):
            zeros = pd.full(shape=type_.shape, value=0.0, dtype=type_.element)
            return builtin.to_tensor(zeros).out if isinstance(type_, TensorType) else zeros.out

    def condition(self) -> Value:
        """A truth value of one element: of the pool, or what is made of another value."""
        x = self.value()
        assert x is not None  # the pool never runs dry
        type_ = ranked(x)
        with Builder.at_end(self.block):
            if type_.num_elements != 1:
                axes = tuple(range(type_.rank))
                zeros = (0,) * type_.rank
                x = pd.slice(x, axes=axes, starts=zeros, ends=(1,) * type_.rank, decrease_axis=axes).out
            if type_.element is not i1:
                x = pd.greater_than(x, pd.full(shape=(), value=0.0, dtype=type_.element)).out
        return x

    # --- steps -----------------------------------------------------------------------------------------------------

    def write(self, max_steps: int) -> None:
        """Draws and writes up to that many steps."""
        for _ in range(self.draw(st.integers(0, max_steps) | st.just(max_steps))):
            self.take(self.by_habit("step", self._steps(), 4))

    def take(self, step: Step) -> None:
        """Writes one step; operations may use what it makes from then on."""
        made = step(self)
        self.pool += [v for v in made if not isinstance(v.type, RankedTensor) or v.type.num_elements <= LARGEST]

    def _steps(self) -> list[Step]:
        features = self.features
        types = [v.type for v in self.pool if isinstance(v.type, RankedTensor)]
        storage = any(isinstance(t, TensorType) for t in types)
        steps: list[Step] = [
            Writer.nothing,
            Writer.unary,
            Writer.binary,
            Writer.view,
            Writer.movement,
            Writer.reduction,
            Writer.unary,
        ]
        steps += [Writer.binary, Writer.view]
        if any(t.element is i1 for t in types):
            steps.append(Writer.select)
        if features.sums:
            steps += [Writer.sum, Writer.matmul]
        if features.parameters:
            steps.append(Writer.read)
            if features.aliases or features.branches:
                steps += [Writer.write_parameter, Writer.read]
        if features.aliases:
            steps += [Writer.copy, Writer.copy]
            if storage:
                steps += [Writer.in_place, Writer.in_place, Writer.in_place, Writer.tensor_view, Writer.tensor_view]
        if features.lists:
            steps.append(Writer.list_of_values)
        if self.depth < 2:
            steps += (
                [Writer.branch] * features.branches + [Writer.loop] * features.loops + [Writer.call] * features.calls
            )
        if features.blocks and self.can_branch:
            steps.append(Writer.jump)
        steps += self.extra
        return steps

    def _insert(self, make: Callable[[], Operation]) -> Sequence[Value]:
        with Builder.at_end(self.block):
            return make().results

    def nothing(self) -> Sequence[Value]:
        """No operation."""
        return ()

    def unary(self) -> Sequence[Value]:
        """An operation on each element of one value."""
        x = self.value()
        assert x is not None
        element = ranked(x).element
        choices: list[Callable[[], Any]] = [
            lambda: pd.assign(x),
            lambda: pd.cast(x, dtype=self.by_habit("cast", self.features.elements)),
        ]
        if i1 in self.features.elements:
            choices.append(lambda: pd.logical_not(x))
        if element is not i1:
            choices += [
                lambda: pd.relu(x),
                lambda: pd.scale(x, scale=self._number(element), bias=self._number(element)),
                lambda: pd.abs(x),
                lambda: pd.square(x),
            ]
        if element.is_float:
            choices += [lambda: pd.floor(x), lambda: pd.exp(x), lambda: pd.tanh(x), lambda: pd.reciprocal(x)]
        return self._insert(self.by_habit("unary", choices))

    def _number(self, element: ScalarType) -> float:
        return self.by_habit("number", NUMBERS if element.is_float else NUMBERS[:5])

    def binary(self) -> Sequence[Value]:
        """An operation on two values that broadcast."""
        x = self.value(lambda t: t.element is not i1)
        if x is None:
            return ()
        type_ = ranked(x)
        y = self.value(lambda t: t.element is type_.element and _broadcast(t.shape, type_.shape))
        if self.draw(st.integers(0, 2)) == 2:
            shape = self.one_of([(), type_.shape])
            with Builder.at_end(self.block):
                y = pd.full(shape=shape, value=self._number(type_.element), dtype=type_.element).out
        assert y is not None
        ops: list[Any] = [pd.add, pd.subtract, pd.multiply, pd.maximum, pd.minimum]
        if i1 in self.features.elements:
            ops += [pd.greater_than, pd.equal]
        op, swap = self.by_habit("binary", ops), self.draw(st.booleans())
        return self._insert(lambda: op(y, x) if swap else op(x, y))

    def select(self) -> Sequence[Value]:
        """A choice between two values by truth values."""
        c = self.value(lambda t: t.element is i1)
        x = self.value(lambda t: c is None or _broadcast(t.shape, ranked(c).shape))
        if c is None or x is None:
            return ()
        y = self.value(
            lambda t: (
                t.element is ranked(x).element
                and _broadcast(t.shape, ranked(x).shape)
                and _broadcast(t.shape, ranked(c).shape)
            )
        )
        return self._insert(lambda: pd.where(c, x, y)) if y is not None else ()

    def view(self, x: Value | None = None) -> Sequence[Value]:
        """Elements of a value at other places."""
        x = x if x is not None else self.value()
        assert x is not None
        shape = ranked(x).shape
        rank = len(shape)
        choices: list[Callable[[], Any]] = [
            lambda: pd.reshape(x, shape=self.one_of([(-1,), (1, -1), (-1, 1), shape[::-1]])),
            lambda: pd.unsqueeze(x, axis=(self.draw(st.integers(0, rank)),)),
            lambda: pd.squeeze(x),
        ]
        if rank:
            axis = self.draw(st.integers(0, rank - 1))
            low = self.draw(st.integers(0, shape[axis] - 1))
            high = self.draw(st.integers(low + 1, shape[axis]))
            dropped = (axis,) if high == low + 1 and self.draw(st.booleans()) else ()
            choices = [
                lambda: pd.slice(x, axes=(axis,), starts=(low,), ends=(high,), decrease_axis=dropped),
                lambda: pd.transpose(x, perm=tuple(self.draw(st.permutations(range(rank))))),
                *choices,
                lambda: pd.split(x, sections=(low, -1) if low else (-1,), axis=axis),
                lambda: pd.flatten(x, start_axis=0, stop_axis=rank - 1),
            ]
        return self._insert(self.by_habit("view", choices))

    def movement(self) -> Sequence[Value]:
        """Elements copied to other places."""
        x = self.value()
        assert x is not None
        shape = ranked(x).shape
        choices: list[Callable[[], Any]] = [lambda: pd.expand(x, shape=self.one_of([shape, (2, *shape)]))]
        if shape:
            axis = self.draw(st.integers(0, len(shape) - 1))
            y = self.value(lambda t: t.shape == shape and t.element is ranked(x).element)
            choices.append(lambda: pd.concat([x, y or x], axis=axis))
        return self._insert(self.by_habit("movement", choices))

    def reduction(self) -> Sequence[Value]:
        """The largest or smallest element over some axes."""
        x = self.value(lambda t: t.element is not i1 and t.rank > 0)
        if x is None:
            return ()
        axes = tuple(self.draw(st.lists(st.integers(0, ranked(x).rank - 1), unique=True, max_size=2)))
        op, keepdim = self.one_of([pd.max, pd.min]), self.draw(st.booleans())
        return self._insert(lambda: op(x, axis=axes, keepdim=keepdim))

    def sum(self) -> Sequence[Value]:
        """A sum over some axes."""
        x = self.value(lambda t: t.element.is_float and t.rank > 0)
        if x is None:
            return ()
        axis = self.draw(st.integers(0, ranked(x).rank - 1))
        choices: list[Callable[[], Any]] = [
            lambda: pd.sum(x, axis=(axis,), keepdim=self.draw(st.booleans())),
            lambda: pd.mean(x, axis=(axis,), keepdim=self.draw(st.booleans())),
            lambda: pd.softmax(x, axis=axis),
        ]
        return self._insert(self.by_habit("sum", choices))

    def matmul(self) -> Sequence[Value]:
        """A product of a matrix and another."""
        x = self.value(lambda t: t.element.is_float and t.rank >= 2)
        if x is None:
            return ()
        k = ranked(x).shape[-1]
        y = self.value(lambda t: t.element is ranked(x).element and t.rank == 2 and k in t.shape)
        if y is None:
            return self._insert(lambda: pd.matmul(x, x, transpose_y=True))
        return self._insert(lambda: pd.matmul(x, y, transpose_y=ranked(y).shape[0] != k))

    # --- lists, parameters, storage --------------------------------------------------------------------------------

    def list_of_values(self) -> Sequence[Value]:
        """Values put into a list and taken out again."""
        items = self.two_alike()
        with Builder.at_end(self.block):
            made = builtin.combine(items).out
            if self.draw(st.booleans()):
                return builtin.split(made).outputs
            return builtin.slice_(made, index=self.draw(st.integers(0, len(items) - 1))).results

    def parameter(self, type_: RankedTensor, *, mutable: bool = False) -> Value:
        """A read of a new variable of that type, with drawn contents."""
        weights = self.program.weights
        name = f"w{len(weights)}"
        rng = np.random.default_rng(self.draw(st.integers(0, 3)))
        data = draw_array(rng, type_.shape, type_.element.format, "ordinary")
        weights.add(name, data, type_.to_tensor(), is_mutable=mutable)
        with Builder.at_end(self.block):
            return builtin.get_parameter(parameter=name, out=type_.to_vtensor()).out

    def _variable(self) -> tuple[str, RankedTensor]:
        """A variable, an old or a new one."""
        weights = self.program.weights
        names = list(weights)
        if names and (len(names) == 3 or self.draw(st.integers(0, 2))):
            chosen = self.one_of(names)
            return chosen, weights[chosen].type
        shape = self.one_of(SHAPES)
        element = self.draw(st.just(self.features.elements[0]) | st.sampled_from(self.features.elements))
        name = f"w{len(names)}"
        mutable = (self.features.aliases or self.features.branches) and self.draw(st.booleans())
        data = draw_array(np.random.default_rng(len(names)), shape, element.format, "ordinary")
        weights.add(name, data, TensorType(shape, element), is_mutable=mutable)
        return name, TensorType(shape, element)

    def read(self) -> Sequence[Value]:
        """A read of a variable; a mutable one may be read as a tensor, which shares its storage."""
        name, type_ = self._variable()
        shares = self.features.aliases and self.program.weights[name].is_mutable and self.draw(st.booleans())
        out = type_.to_tensor() if shares else type_.to_vtensor()
        return self._insert(lambda: builtin.get_parameter(parameter=name, out=out))

    def write_parameter(self) -> Sequence[Value]:
        """A new content for a mutable variable."""
        name, type_ = self._variable()
        if not self.program.weights[name].is_mutable:
            return ()
        value = self.value(lambda t: t.to_vtensor() is type_.to_vtensor())
        if value is None:
            value = self.value_of(type_.to_vtensor())
        return self._insert(lambda: builtin.set_parameter(value, parameter=name))

    def copy(self) -> Sequence[Value]:
        """A value in storage of its own, or what storage holds now."""
        x = self.value()
        assert x is not None
        held = isinstance(x.type, TensorType) and self.draw(st.booleans())
        return self._insert(lambda: builtin.to_vtensor(x) if held else builtin.to_tensor(x))

    def tensor_view(self) -> Sequence[Value]:
        """A view of storage."""
        x = self.value(lambda t: isinstance(t, TensorType))
        return self.view(x) if x is not None else ()

    def in_place(self) -> Sequence[Value]:
        """An operation that writes storage."""
        x = self.value(lambda t: isinstance(t, TensorType) and t.element is not i1)
        if x is None:
            return ()
        type_ = ranked(x)
        choices: list[Callable[[], Any]] = [
            lambda: pd.scale_(x, scale=self._number(type_.element), bias=1.0),
            lambda: pd.relu_(x),
            lambda: pd.fill_(x, value=self._number(type_.element)),
        ]
        # What is read comes from anywhere, the storage written included.
        y = self.value(lambda t: t.element is type_.element and _stretches(t.shape, type_.shape))
        if y is not None:
            choices += [lambda: pd.add_(x, y), lambda: pd.subtract_(x, y), lambda: pd.multiply_(x, y)]
            if ranked(y).shape == type_.shape:
                choices.append(lambda: pd.assign_(x, y))
            if type_.rank:
                axis = self.draw(st.integers(0, type_.rank - 1))
                low = self.draw(st.integers(0, type_.shape[axis] - 1))
                part = [1 if i == axis else extent for i, extent in enumerate(type_.shape)]
                if _stretches(ranked(y).shape, tuple(part)):
                    choices.append(lambda: pd.set_value_(x, y, axes=(axis,), starts=(low,), ends=(low + 1,)))
        return self._insert(self.by_habit("in_place", choices))

    # --- control flow ----------------------------------------------------------------------------------------------

    def _inside(self, block: Block, arguments: Sequence[Value]) -> Writer:
        inner = Writer(
            self.draw, self.features, self.program, block, [*self.pool, *arguments], self.depth + 1, self.extra
        )
        inner.habits = self.habits
        return inner

    def branch(self) -> Sequence[Value]:
        """An `scf.if`; either region may be empty but for what it yields."""
        condition = self.condition()
        regions: list[Region] = []
        types: list[Type] | None = None
        for _ in range(2):
            inner = self._inside(Block(), ())
            inner.write(3)
            given = inner.some(0, 2) if types is None else [inner.value_of(t) for t in types]
            types = [v.type for v in given]
            regions.append(_ended(inner.block, lambda given=given: scf.yield_(given)))
        return self._insert(lambda: scf.IfOp(condition, then_region=regions[0], else_region=regions[1], outputs=types))

    def loop(self) -> Sequence[Value]:
        """An `scf.while` that counts to a small number, and may end earlier."""
        trips = self.draw(st.integers(0, TRIPS))
        carried = self.two_alike()
        with Builder.at_end(self.block):
            inits = [pd.full(shape=(), value=0.0, dtype=i32).out, *carried]
        types = [v.type for v in inits]
        before, after = Block(types), Block(types)

        inner = self._inside(before, before.args[1:])
        with Builder.at_end(before):
            more: Value = pd.less_than(before.args[0], pd.full(shape=(), value=float(trips), dtype=i32)).out
        if self.draw(st.booleans()):
            inner.write(2)
            early = inner.condition()
            with Builder.at_end(before):
                more = pd.logical_and(more, pd.reshape(early, shape=())).out
        first = _ended(before, lambda: scf.condition(more, before.args))

        inner = self._inside(after, after.args[1:])
        inner.write(3)
        following = [inner.value_of(t) for t in types[1:]]
        with Builder.at_end(after):
            count = pd.add(after.args[0], pd.full(shape=(), value=1.0, dtype=i32)).out
        second = _ended(after, lambda: scf.yield_([count, *following]))
        return self._insert(lambda: scf.WhileOp(inits, before=first, after=second, outputs=types))

    def jump(self) -> Sequence[Value]:
        """A `cf.cond_br` to two blocks that join again; what follows is written into the join."""
        condition = self.condition()
        region = self.block.parent
        assert region is not None
        sides = [Block(), Block()]
        for side in sides:
            region.append(side)
        with Builder.at_end(self.block):
            cf.cond_br(condition, (), (), true_dest=sides[0], false_dest=sides[1])
        given: list[list[Value]] = []
        for side in sides:
            inner = self._inside(side, ())
            inner.can_branch = False
            inner.write(3)
            given.append([inner.value_of(v.type) for v in given[0]] if given else inner.some(0, 2))
        join = Block([v.type for v in given[0]])
        region.append(join)
        for side, values in zip(sides, given, strict=True):
            with Builder.at_end(side):
                cf.br(values, dest=join)
        self.block = join
        return join.args

    def call(self) -> Sequence[Value]:
        """A call of a new function."""
        arguments = self.two_alike()
        types = [v.type for v in arguments]
        name = f"f{len(self.program.body)}"
        with Builder.at_end(self.program.body):
            function = func.FuncOp(sym_name=name, function_type=FunctionType(types, ()))
        body = function.body.block
        inner = self._inside(body, body.args)
        inner.pool = list(body.args)
        inner.write(4)
        results = inner.some(0, 2)
        with Builder.at_end(inner.block):
            func.ReturnOp(results)
        function.set_attribute("function_type", FunctionType(types, [v.type for v in results]))
        return self._insert(lambda: func.call(arguments, callee=SymbolRefAttr(name), outputs=[v.type for v in results]))


def _ended(block: Block, end: Callable[[], Operation]) -> Region:
    """A region of the block, with that terminator."""
    with Builder.at_end(block):
        end()
    return Region([block])


def _broadcast(a: Sequence[int], b: Sequence[int]) -> bool:
    return all(m == n or 1 in (m, n) for m, n in zip(reversed(a), reversed(b), strict=False))


def _stretches(a: Sequence[int], b: Sequence[int]) -> bool:
    """Whether a tensor of shape `a` broadcasts to exactly `b`."""
    return len(a) <= len(b) and all(m in (1, n) for m, n in zip(reversed(a), reversed(b), strict=False))
