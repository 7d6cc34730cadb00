"""A program in the making: how templates write control flow, storage, variables and operations."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from tx8ir.core import (
    Block,
    Builder,
    DenseAttr,
    FunctionType,
    Op,
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
    f16,
    f32,
    i1,
    i8,
    i32,
    i64,
)
from tx8ir.dialects import builtin, func, pd, scf

from .fitting import Material, grow
from .operations import change_attribute_of
from .values import add_input, variable_data

_SHAPES: Final = ((), (2,), (1,), (2, 2), (2, 3))
_ELEMENTS: Final = (f32, f32, f32, f16, bf16, i32, i32)
_INTEGERS: Final = (i32, i32, i64, i8)
_ASKS_KIND: Final = frozenset({"is_float", "is_integer", "integer_range"})
"""What a pass asks an element type that is right for one kind of numbers alone."""
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
        if _ASKS_KIND & material.words and rng.random() < 0.3:
            element = rng.choice(_INTEGERS)
        self.type = VTensorType(rng.choice(_SHAPES), element)
        self._condition: Value | None = None
        self._arguments: Sequence[Value] | None = None

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
            if self._condition is not None and self.perhaps(0.12):  # what decides is computed with, too
                return pd.where(self._condition, x, second if other is type_ else pd.abs(x)).out
            if isinstance(other, RankedTensor) and self.perhaps(0.7) and other.to_vtensor() is type_.to_vtensor():
                kinds = _BINARY[:4] if not type_.element.is_float else _BINARY
                named = [kind for kind in kinds if kind.name in self.material.direction.ops]
                return rng.choice(named if named and self.perhaps(0.7) else kinds)(x, second).out
            if self.perhaps(0.2):  # one with attributes
                return pd.scale(x, scale=rng.choice((2.0, 3.0, 1.0, -1.0)), bias=rng.choice((0.0, 1.0))).out
            choices = _UNARY if type_.element.is_float else (pd.abs, pd.relu)
            return rng.choice(choices)(x).out

    def again(self, ops: Sequence[Operation], mapping: dict[Value, Value], *, exactly: bool = False) -> None:
        """Copies of operations at the end of the block, on what `mapping` says, which is told their results.

        Where it need not be `exactly`, an attribute or an operand may become another one.
        """
        copies: list[Operation] = []
        for op in ops:
            copies.append(op.clone(mapping))
            self.block.append(copies[-1])
        if exactly or not copies:
            return
        chosen = self.rng.choice(copies)
        if isinstance(chosen, Op) and chosen.definition.attributes and self.perhaps(0.6):
            change_attribute_of(chosen, self.rng, self.material)
        elif len(chosen.operands) > 1 and self.perhaps():
            place = self.rng.randrange(len(chosen.operands))
            fitting = [v for v in mapping.values() if v.type is chosen.operands[place].type]
            fitting = [v for v in fitting if v.defining_op not in copies]
            if fitting:
                chosen.set_operand(place, self.rng.choice(fitting))

    def condition(self) -> Value:
        """A truth value: an input, mostly the one of before; a constant, or a comparison."""
        how = self.rng.random()
        if how < 0.12:
            return self.number(float(self.perhaps()), i1)
        if self._arguments is not None:  # inputs of `main` are not seen
            return self._condition_of(self._arguments)
        if self._condition is None or how > 0.8:
            self._condition = self.input(VTensorType((), i1))
        return self._condition

    def _condition_of(self, arguments: Sequence[Value]) -> Value:
        """One of a function's arguments that is a truth value, or whether the largest element of one is positive."""
        for value in self.rng.sample(arguments, len(arguments)):
            type_ = value.type
            if not isinstance(type_, RankedTensor) or type_.num_elements == 0:
                continue
            with self.at(self.block):
                if isinstance(type_, TensorType):
                    value = builtin.to_vtensor(value).out
                if type_.element is i1:
                    return value
                zero = pd.full(shape=(), value=0.0, dtype=type_.element).out
                return pd.greater_than(pd.max(value) if type_.rank else value, zero).out
        return self.number(float(self.perhaps()), i1)

    # --- structure -------------------------------------------------------------------------------------------------

    def inside(
        self, block: Block, write: Callable[[], Sequence[Value]], end: Callable[[Sequence[Value]], object]
    ) -> None:
        """Writes a block: what `write` writes, and the terminator on the values it returns, in the block it ends in."""
        outer, self.block = self.block, block
        try:
            values = write()
            with self.at(self.block):
                end(values)
        finally:
            self.block = outer

    def choice(
        self,
        condition: Value,
        then: Callable[[], Sequence[Value]],
        otherwise: Callable[[], Sequence[Value]] | None,
        types: Sequence[Type] | None,
    ) -> list[Value]:
        """An `scf.if`; without types, of those of what the first side gives."""
        blocks: list[Region] = []
        for write in (then, otherwise):
            if write is None:
                blocks.append(Region())
                continue
            block = Block()
            self.inside(block, write, scf.YieldOp)
            blocks.append(Region([block]))
            end = block.terminator
            assert end is not None
            types = [v.type for v in end.operands] if types is None else types
        with self.at(self.block):
            return list(scf.IfOp(condition, then_region=blocks[0], else_region=blocks[1], outputs=types or ()).results)

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

    def is_below(self, counter: Value, bound: float) -> Value:
        """Whether a loop that counts goes on."""
        number = self.number(bound)
        with self.at(self.block):
            return pd.less_than(counter, number).out

    def one_more(self, counter: Value) -> Value:
        """What a loop counts next."""
        one = self.number(1)
        with self.at(self.block):
            return pd.add(counter, one).out

    def function(self, types: Sequence[Type], write: Callable[[Sequence[Value]], Sequence[Value]]) -> func.FuncOp:
        """A function of the module."""
        name = f"f{sum(1 for _ in self.program.body)}"
        with self.at(self.program.body):
            made = func.FuncOp(sym_name=name, function_type=FunctionType(types, ()))
        block = made.body.block
        outer = self._condition, self._arguments
        self._condition, self._arguments = None, block.args
        self.inside(block, lambda: write(block.args), func.ReturnOp)
        self._condition, self._arguments = outer
        end = made.body.blocks[-1].terminator
        assert end is not None
        made.set_attribute("function_type", FunctionType(types, [v.type for v in end.operands]))
        return made

    def again_as_function(self, function: func.FuncOp) -> func.FuncOp:
        """Another function of the module with the same body, or nearly."""
        copy = function.clone()
        copy.set_attribute("sym_name", f"f{sum(1 for _ in self.program.body)}")
        self.program.body.append(copy)
        inner = [op for op in copy.walk() if isinstance(op, Op) and op.definition.attributes and op is not copy]
        inner = [op for op in inner if op.operands]
        if inner and self.perhaps(0.6):
            change_attribute_of(self.rng.choice(inner), self.rng, self.material)
        return copy

    def call(self, function: func.FuncOp, values: Sequence[Value]) -> list[Value]:
        with self.at(self.block):
            made = func.call(values, callee=SymbolRefAttr(function.sym_name), outputs=function.function_type.results)
        return list(made.results)

    def variable(self, data: np.ndarray | None = None, *, mutable: bool) -> str:  # pyright: ignore[reportMissingTypeArgument, reportUnknownParameterType]
        name = self.program.weights.unique_name("w")
        if data is None:
            data = variable_data(self.type, self.rng)
        self.program.weights.add(name, data, self.type.to_tensor(), is_mutable=mutable)
        return name

    def read(self, name: str) -> Value:
        with self.at(self.block):
            return builtin.get_parameter(parameter=name, out=self.program.weights[name].type.to_vtensor()).out

    def store(self, name: str, value: Value) -> None:
        """A value becomes the contents of a variable, or what the variable held in the beginning does again."""
        with self.at(self.block):
            if self.perhaps(0.12):
                held = self.program.weights[name]
                value = builtin.ConstantOp(value=DenseAttr(np.array(held.numpy()), held.type.to_vtensor())).out
            builtin.set_parameter(value, parameter=name)

    def write(self, storage: Value, value: Value | None = None) -> Value | None:
        """A write to storage, mostly one that the pass names; the other name that storage then has, if any."""
        named = [name for name in self.material.ops if name.endswith("_")]
        if named and self.perhaps(0.3):
            with self.at(self.block):
                mark = builtin.to_vtensor(storage)
            made = grow(self.program, mark, self.rng.choice(named), self.rng, self.material, on=storage)
            if made is not None:
                return made.results[0]
        with self.at(self.block):
            how = self.rng.randrange(6)
            if value is not None and how < 3:
                return (pd.assign_, pd.assign_, pd.add_)[how](storage, value).out
            if how == 3:
                return pd.relu_(storage).out
            if how == 4:
                return pd.scale_(storage, scale=2.0, bias=1.0).out
            return pd.fill_(storage, value=self.rng.choice((0.0, 1.0, 2.0, 5.0))).out

    def effect(self, storage: Value, value: Value) -> None:
        """A write to storage, plainly or where a pass has to look for it: by another name, in a region, in a call."""
        how = self.rng.choice(("plain",) * 4 + ("view", "branch", "loop", "call", "call"))
        if how == "plain":
            self.write(storage, value)
        elif how == "view":
            type_ = storage.type
            assert isinstance(type_, TensorType)
            with self.at(self.block):
                other = pd.reshape(storage, shape=type_.shape).out
            self.write(other, value)
        elif how == "branch":

            def write() -> Sequence[Value]:
                self.write(storage, value)
                return []

            self.choice(self.condition(), write, None, [])
        elif how == "loop":

            def after(args: Sequence[Value]) -> Sequence[Value]:
                self.write(storage, value)
                return [self.one_more(args[0])]

            rounds = self.rng.choice((0, 1, 2))
            self.loop([self.number(0)], lambda args: (self.is_below(args[0], rounds), args), after)
        else:

            def body(args: Sequence[Value]) -> Sequence[Value]:
                self.write(*args)
                return [args[1]] if self.perhaps(0.3) else []

            self.call(self.function([storage.type, value.type], body), [storage, value])
