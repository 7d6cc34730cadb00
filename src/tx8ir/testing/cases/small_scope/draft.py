"""A program being written: one function, its inputs, weights and results, and operations from samples."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tx8ir.core import (
    Block,
    BlockArgument,
    Builder,
    DenseAttr,
    FunctionType,
    Operation,
    Program,
    RankedTensor,
    ScalarType,
    SymbolRefAttr,
    TensorType,
    Type,
    Value,
    VerifyError,
    VTensorType,
    i1,
    i32,
)
from tx8ir.dialects import builtin, func, pd, scf
from tx8ir.dialects.domains import ANYTHING, Domain
from tx8ir.dialects.samples import Operand, Sample, numbers_for
from tx8ir.interpreter.arrays import store_native
from tx8ir.testing.domains import input_domains
from tx8ir.testing.inputs import Flavour, draw_array, in_domain


class Unfit(Exception):
    """Samples that a wiring has no form for."""


def ranked(type_: Type) -> RankedTensor:
    """The type, of a tensor of static shape. Raises Unfit for another."""
    if not isinstance(type_, RankedTensor) or not type_.is_static:
        raise Unfit
    return type_


def stored(sample: Sample) -> Sample:
    """The sample on storage, but for operands that are indices or divisors. Raises Unfit where it does not take it."""
    found = _stored(sample)
    if found is None:
        raise Unfit
    return found


@functools.lru_cache(maxsize=1 << 13)
def _stored(sample: Sample) -> Sample | None:
    types = [
        o.type.to_tensor() if isinstance(o.type, RankedTensor) and o.domain.is_everything else o.type
        for o in sample.operands
    ]
    return sample.with_types(types) if any(isinstance(t, TensorType) for t in types) else None


def fitted(sample: Sample, place: int, type_: Type) -> Sample:
    """The sample with an operand of that type, and with it those of its type or element type.

    Raises:
        Unfit: the operation does not take it.
    """
    found = fit(sample, place, type_)
    if found is None:
        raise Unfit
    return found


@functools.lru_cache(maxsize=1 << 14)
def fit(sample: Sample, place: int, type_: Type) -> Sample | None:
    """As `fitted`, but None where the operation does not take the type."""
    types = list(sample.types)
    if place >= len(types):
        return None
    old = types[place]
    if old is type_:
        return sample
    if not isinstance(type_, RankedTensor) or not isinstance(old, RankedTensor) or not type_.is_static:
        return None
    if isinstance(old, TensorType) and isinstance(type_, VTensorType):
        return fit(sample, place, type_.to_tensor())  # what is written is a copy of the value
    element = old.element
    for index, other in enumerate(types):
        if not isinstance(other, RankedTensor):
            continue
        if other.to_tensor() is old.to_tensor():
            like = other
            types[index] = type_.to_tensor() if isinstance(like, TensorType) else type_.to_vtensor()
        elif other.element is element:
            types[index] = other.with_element(type_.element)
    types[place] = type_
    if not all(isinstance(t, RankedTensor) and t.is_static for t in types):
        return None  # nothing says that dynamic extents are those of the value
    changed = sample.with_types(types)
    try:
        return changed if changed.result_types else None
    except (VerifyError, OverflowError):
        return None


class Draft:
    """Writes the function `main` of a program, one block after the other.

    Attributes:
        program: the program.
        results: what `main` gives.
        made: the names of the operations that were made from samples.
        numbers: what constants that are one number may be, besides those of their element type.
    """

    def __init__(self, numbers: tuple[float, ...] = ()) -> None:
        self.program = Program.empty()
        with Builder.at_end(self.program.body):
            self.main = func.FuncOp(sym_name="main", function_type=FunctionType((), ()))
        self.results: list[Value] = []
        self.made: list[Operation] = []
        self.numbers = numbers
        self._domains: dict[Value, Domain] = {}

    def writing(self) -> Builder:
        """To write at the end of `main`: `with draft.writing(): …`."""
        return Builder.at_end(self.main.body.block)

    # --- values ----------------------------------------------------------------------------------------------------

    def input(self, type_: Type) -> Value:
        """A new input of that type."""
        return self.main.body.block.add_argument(type_)

    def inputs(self, sample: Sample) -> list[Value]:
        """A new input for each operand."""
        return [self.input(t) for t in sample.types]

    def weight(self, operand: Operand, *, mutable: bool = False) -> tuple[str, Value]:
        """A new variable with drawn contents, and a read of it as a value."""
        type_ = ranked(operand.type)
        name = f"w{len(self.program.weights)}"
        data = self._drawn(type_, operand.domain, 7)
        self.program.weights.add(name, data, type_.to_tensor(), is_mutable=mutable)
        return name, self._inside(self.read(name, type_), operand.domain)

    def read(self, name: str, type_: RankedTensor) -> Value:
        """A read of a variable as a value."""
        return builtin.get_parameter(parameter=name, out=type_.to_vtensor()).out

    def dense(self, operand: Operand, seed: int = 0) -> Value:
        """A constant with drawn numbers, for every third seed special ones among them."""
        type_ = ranked(operand.type).to_vtensor()
        drawn = DenseAttr(self._drawn(type_, operand.domain, seed, "mixed" if seed % 3 == 2 else "ordinary"), type_)
        return self._inside(builtin.constant(value=drawn).out, operand.domain)

    def splat(self, operand: Operand, turn: int) -> Value:
        """A constant of one number, the first for `turn` 0; made by `pd.full` for every other turn."""
        type_ = ranked(operand.type).to_vtensor()
        element = type_.element
        own = [n for n in self.numbers if element.is_float or float(n).is_integer()]
        choices = (*own, *numbers_for(element))
        number = choices[turn % len(choices)]
        if not element.is_float:
            low, high = element.format.integer_range
            held = np.asarray(min(max(int(number), low), high))
            if not operand.domain.contains(held).all():
                inside = operand.domain.numbers(low, high)
                held = np.asarray(inside[turn % len(inside)])
            number = float(held)
        if turn % 2:  # which rounds it
            made = pd.full(shape=type_.shape, value=number, dtype=element).out
        else:
            numbers = _rounded(np.full(type_.shape, number), element)
            made = builtin.constant(value=DenseAttr(numbers, type_)).out
        return self._inside(made, operand.domain)

    def _inside(self, value: Value, domain: Domain) -> Value:
        self._domains[value] = domain
        return value

    def _drawn(self, type_: RankedTensor, domain: Domain, seed: int, flavour: Flavour = "ordinary") -> NDArray[Any]:
        rng = np.random.default_rng(seed)
        format = type_.element.format
        return _rounded(in_domain(draw_array(rng, type_.shape, format, flavour), domain, format, rng), type_.element)

    def truth(self) -> Value:
        """A new input that says which way a branch goes."""
        return self.input(VTensorType((), i1))

    # --- operations ------------------------------------------------------------------------------------------------

    def apply(self, sample: Sample, values: Sequence[Value]) -> tuple[Value, ...]:
        """The operation of a sample on values: copied to storage, or held inside a domain, where it needs that."""
        op = sample.build([self._taken(v, o) for v, o in zip(values, sample.operands, strict=True)])
        self.made.append(op)
        return op.results

    def _taken(self, value: Value, operand: Operand) -> Value:
        if isinstance(operand.type, TensorType) and isinstance(value.type, VTensorType):
            return builtin.to_tensor(value).out
        if operand.domain.is_everything or self._is_inside(value, operand.domain):
            return value
        return clamped(value, operand.domain)

    def _is_inside(self, value: Value, domain: Domain) -> bool:
        """Whether the value holds numbers of a domain: it was made so, or it is an input, which will be drawn so."""
        if isinstance(value, BlockArgument):
            return isinstance(value.type, VTensorType) and value.parent_block is self.main.body.block
        known = self._domains.get(value, ANYTHING)
        return not known.is_everything and known.meet(domain) == known

    def write(self, x: Value, turn: int) -> None:
        """One of the ways to write storage."""
        type_ = x.type
        if not isinstance(type_, TensorType):
            raise Unfit
        ways: list[Callable[[], Any]] = []
        if type_.element is not i1:
            ways += [lambda: pd.relu_(x), lambda: pd.scale_(x, scale=2.0, bias=1.0), lambda: pd.fill_(x, value=1.0)]
            ways.append(lambda: pd.add_(x, x))
        if type_.is_static:
            ways.append(lambda: pd.assign_(x, self.input(type_.to_vtensor())))
            if type_.rank and type_.shape[0]:
                element = VTensorType((), type_.element)
                ways.append(lambda: pd.set_value_(x, self.input(element), axes=(0,), starts=(0,), ends=(1,)))
        if not ways:
            raise Unfit
        ways[turn % len(ways)]()

    # --- regions and functions -------------------------------------------------------------------------------------

    def branch(
        self, then: Callable[[], Sequence[Value]], otherwise: Callable[[Sequence[Value]], Sequence[Value]] | None = None
    ) -> Sequence[Value]:
        """An `scf.if`; `otherwise` is told what `then` gives."""
        given: list[Value] = []

        def first() -> Sequence[Value]:
            given.extend(then())
            return given if otherwise is not None else ()

        second = None if otherwise is None else (lambda: otherwise(given))
        return scf.IfOp.build(self.truth(), first, second).results

    def loop(
        self, trips: int, inits: Sequence[Value], body: Callable[[Sequence[Value]], Sequence[Value]]
    ) -> Sequence[Value]:
        """A loop of so many rounds over what it carries."""
        zero, one, end = (pd.full(shape=(), value=float(n), dtype=i32).out for n in (0, 1, trips))

        def after(*carried: Value) -> list[Value]:
            following = body(carried[1:])
            return [pd.add(carried[0], one).out, *following]

        loop = scf.WhileOp.build([zero, *inits], lambda *args: (pd.less_than(args[0], end).out, args), after)
        return loop.results[1:]

    def function(self, name: str, types: Sequence[Type], body: Callable[[Sequence[Value]], Sequence[Value]]) -> None:
        """A function of the program besides `main`."""
        with Builder.at_end(self.program.body):
            made = func.FuncOp(sym_name=name, function_type=FunctionType(types, ()))
        block: Block = made.body.block
        with Builder.at_end(block):
            results = body(block.args)
            func.ReturnOp(results)
        made.set_attribute("function_type", FunctionType(types, [v.type for v in results]))

    def call(self, name: str, values: Sequence[Value]) -> Sequence[Value]:
        """A call of such a function."""
        results = self.program.function(name).function_type.results
        return func.call(values, callee=SymbolRefAttr(name), outputs=results).results

    # --- ending ----------------------------------------------------------------------------------------------------

    def give(self, *values: Value) -> None:
        """Makes values results of the program."""
        self.results += values

    def finish(self) -> Program:
        """The program, verified. Raises Unfit when no input makes it evaluate."""
        body = self.main.body.block
        with Builder.at_end(body):
            func.ReturnOp(self.results)
        types = FunctionType([a.type for a in body.args], [v.type for v in self.results])
        self.main.set_attribute("function_type", types)
        self.program.verify()
        for name, domain in input_domains(self.program).items():
            type_ = self.program.inputs.get(name)
            if isinstance(type_, RankedTensor) and not domain.numbers(*type_.element.format.integer_range):
                raise Unfit
        return self.program


def _rounded(array: NDArray[Any], element: ScalarType) -> NDArray[Any]:
    """Numbers as a variable or constant of that element type holds them."""
    if not element.is_float:
        return array.astype(element.dtype)
    with np.errstate(over="ignore"):
        return store_native(array.astype(np.float64), element)


def clamped(value: Value, domain: Domain) -> Value:
    """Whole numbers brought into the range of a domain."""
    type_ = value.type
    assert isinstance(type_, RankedTensor)

    def number(n: int) -> Value:
        return pd.full(shape=(), value=float(n), dtype=type_.element).out

    low, high = type_.element.format.integer_range
    first = 1 if domain.low is None and 0 in domain.without else domain.low
    if domain.high is not None and domain.high < high:
        value = pd.minimum(value, number(domain.high)).out
    return pd.maximum(value, number(first)).out if first is not None and first > low else value


def computed(value: Value) -> Value:
    """A value computed from another: its opposite, or the number after it."""
    type_ = value.type
    if not isinstance(type_, VTensorType):
        raise Unfit
    if type_.element is i1:
        return pd.logical_not(value).out
    return pd.scale(value, scale=-1.0).out if type_.element.is_float else pd.scale(value, bias=1.0).out
