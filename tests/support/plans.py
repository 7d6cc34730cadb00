"""Plans: plain data that describes a program. Hypothesis draws and shrinks plans; this module builds the programs.

A plan cannot be wrong. Numbers in it pick among what there is (`picks` are taken modulo the number of values in sight),
and what a pick needs but does not find is made on the spot.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Final, cast

import attrs
import numpy as np

from support import dialect as test
from tx8ir.core import (
    UNKNOWN,
    Attribute,
    Block,
    Builder,
    DenseAttr,
    FunctionType,
    IrContext,
    IrError,
    Location,
    Op,
    Operation,
    Program,
    RankedTensor,
    Region,
    Type,
    Value,
    VTensorType,
    WeightStore,
    at_location,
    bf16,
    f32,
)
from tx8ir.core.opdef.definition import SEGMENTS
from tx8ir.dialects import builtin, func, pd
from tx8ir.dialects.pd.declaration import Elementwise

_DEFAULT: Final = VTensorType((2,), f32)
_ALIENS: Final = IrContext()


@attrs.frozen
class OpPlan:
    """One operation: its kind, which values it uses, types for its results, runtime attributes, and its regions."""

    kind: str
    picks: tuple[int, ...] = ()
    types: tuple[Type, ...] = ()
    attributes: Mapping[str, Attribute] = attrs.field(factory=dict[str, Attribute])
    location: Location | None = None
    regions: tuple[tuple[BlockPlan, ...], ...] = ()


@attrs.frozen
class BlockPlan:
    """One block: its arguments, its operations, where it goes, and what it gives to whom it goes to."""

    arguments: tuple[Type, ...] = ()
    ops: tuple[OpPlan, ...] = ()
    goes_to: tuple[int, ...] = ()
    picks: tuple[int, ...] = ()


RegionPlan = tuple[BlockPlan, ...]


def build_program(plan: RegionPlan) -> Program:
    """A module with a function `main` whose body is `plan` and that returns its arguments, and a store of weights."""
    weights = WeightStore()
    shape = _Graph(plan)
    types = shape.arguments[0]
    region = Region([Block(arguments) for arguments in shape.arguments])
    returned = region.block.args[:2]
    builder = _Build(weights)
    builder.fill_graph(region, shape, [], lambda _plan, _values: func.ReturnOp(returned))
    module = builtin.ModuleOp()
    function = func.FuncOp(sym_name="main", function_type=FunctionType(types, [v.type for v in returned]), body=region)
    module.body.block.append(function)
    return Program(module, weights)


class _Graph:
    """Which block goes where, and what dominates what: plainly, by sets, so that it shares no code with the core."""

    def __init__(self, plan: RegionPlan) -> None:
        count = len(plan)
        self.plan = plan
        self.successors: list[list[int]] = [
            [1 + pick % (count - 1) for pick in block.goes_to] if count > 1 else [] for block in plan
        ]
        # A branch to two blocks gives them nothing, so they have no arguments.
        bare = {target for targets in self.successors if len(targets) == 2 for target in targets}
        self.arguments = [() if i in bare else block.arguments for i, block in enumerate(plan)]
        everything = set(range(count))
        self.dominators = [{0}, *[everything] * (count - 1)]
        for _ in range(count):
            for i in range(1, count):
                before = [p for p in range(count) if i in self.successors[p] and self.reaches(p)]
                self.dominators[i] = {i} | {d for d in everything if all(d in self.dominators[p] for p in before)}

    def reaches(self, block: int) -> bool:
        """Whether the entry reaches `block`."""
        seen, todo = {0}, [0]
        while todo:
            for target in self.successors[todo.pop()]:
                if target not in seen:
                    seen.add(target)
                    todo.append(target)
        return block in seen

    def order(self) -> list[int]:
        """All blocks, each after those that dominate it."""
        return sorted(range(len(self.plan)), key=lambda i: (not self.reaches(i), len(self.dominators[i]), i))

    def above(self, block: int) -> list[int]:
        """The blocks whose values `block` sees besides its own."""
        if not self.reaches(block):
            return []
        return sorted(self.dominators[block] - {block}, key=lambda i: len(self.dominators[i]))


class _Build:
    def __init__(self, weights: WeightStore) -> None:
        self._weights = weights

    # -- regions --------------------------------------------------------------------------------------------------

    def fill_graph(
        self,
        region: Region,
        graph: _Graph,
        outside: Sequence[Value],
        stop: Callable[[BlockPlan, list[Value]], Operation],
    ) -> None:
        """Fill the blocks of `region`, which are there already, with their operations and terminators."""
        defined: dict[int, list[Value]] = {}
        blocks = region.blocks
        for number in graph.order():
            block, plan = blocks[number], graph.plan[number]
            inherited = [*outside, *(value for i in graph.above(number) for value in defined[i])]
            values = self.fill_block(block, plan, inherited)
            defined[number] = values[len(inherited) :]
            with Builder.at_end(block):
                targets = [blocks[i] for i in graph.successors[number]]
                if len(targets) == 2:
                    test.BranchOp(self._pick(values, plan.picks, 0), yes=targets[0], no=targets[1])
                elif targets:
                    test.JumpOp([self._of_type(values, a.type) for a in targets[0].args], target=targets[0])
                else:
                    stop(plan, values)

    def fill_block(self, block: Block, plan: BlockPlan, outside: Sequence[Value]) -> list[Value]:
        """Append the operations of `plan`; all values in sight at the end."""
        values: list[Value] = [*outside, *block.args]
        with Builder.at_end(block) as builder:
            for op_plan in plan.ops:
                with at_location(op_plan.location or UNKNOWN):
                    op = self._op(op_plan, values)
                if op.parent is None:  # unregistered: made by `create`, which inserts nothing
                    builder.insert(op)
                declared = {SEGMENTS, *(f.key for f in op.definition.attributes)} if isinstance(op, Op) else set[str]()
                for key, value in op_plan.attributes.items():
                    if key not in declared:
                        op.set_attribute(key, value)
                values += op.results
        return values

    # -- values ---------------------------------------------------------------------------------------------------

    def _pick(self, values: list[Value], picks: Sequence[int], index: int) -> Value:
        """The `index`-th pick among the values in sight, or a new value when there is none."""
        if not values:
            values.append(test.SourceOp(outs=(_DEFAULT,)).outs[0])
        return values[-1 - (picks[index] if index < len(picks) else 0) % len(values)]

    def _picked(self, values: list[Value], picks: Sequence[int]) -> list[Value]:
        return [self._pick(values, picks, i) for i in range(len(picks))]

    def _of_type(self, values: list[Value], type: Type) -> Value:
        for value in reversed(values):
            if value.type is type:
                return value
        values.append(test.SourceOp(outs=(type,)).outs[0])
        return values[-1]

    # -- operations -----------------------------------------------------------------------------------------------

    def _op(self, plan: OpPlan, values: list[Value]) -> Operation:
        return getattr(self, f"_{plan.kind}")(plan, values)

    def _unary(self, plan: OpPlan, values: list[Value]) -> Operation:
        return test.UnaryOp(self._pick(values, plan.picks, 0))

    def _binary(self, plan: OpPlan, values: list[Value]) -> Operation:
        x = self._pick(values, plan.picks, 0)
        same = [v for v in values if v.type is x.type]
        return test.BinaryOp(x, self._pick(same, plan.picks, 1))

    def _source(self, plan: OpPlan, values: list[Value]) -> Operation:
        return test.SourceOp(outs=plan.types)

    def _many(self, plan: OpPlan, values: list[Value]) -> Operation:
        first, *others = plan.types or (_DEFAULT,)
        return test.ManyOp(self._picked(values, plan.picks), first=first, others=others)

    def _segments(self, plan: OpPlan, values: list[Value]) -> Operation:
        head, *rest = self._picked(values, plan.picks or (0,))
        return test.SegmentsOp(head, maybe=rest[0] if len(rest) > 1 else None, left=rest[1:2], right=rest[2:])

    def _pack(self, plan: OpPlan, values: list[Value]) -> Operation:
        return test.PackOp(self._picked(values, plan.picks))

    def _attributes(self, plan: OpPlan, values: list[Value]) -> Operation:
        made = test.AttributesOp(count=len(plan.picks), numbers=plan.picks, texts=tuple(plan.attributes))
        codecs = made.definition.codecs
        for value in plan.attributes.values():
            for field in made.definition.attributes:
                if codecs[field.name][0].accepts(value):
                    made.set_attribute(field.key, value)
        return made

    def _constant(self, plan: OpPlan, values: list[Value]) -> Operation:
        for value in plan.attributes.values():
            if isinstance(value, DenseAttr):
                return builtin.ConstantOp(value=value)
        return builtin.ConstantOp(value=DenseAttr(np.zeros(_static(plan).shape, np.float32)))

    def _parameter(self, plan: OpPlan, values: list[Value]) -> Operation:
        name = f"w{sum(plan.picks)}"
        if name not in self._weights:
            shape = _static(plan).shape
            data = np.arange(math.prod(shape), dtype=np.float32).reshape(shape)
            self._weights.add(name, data, is_mutable=False)
        return builtin.GetParameterOp(parameter=name, out=self._weights[name].type)

    def _scope(self, plan: OpPlan, values: list[Value]) -> Operation:
        regions = [self._single(r, values) for r in (*plan.regions, (BlockPlan(),), (BlockPlan(),))[:2]]
        return test.ScopeOp(self._picked(values, plan.picks), outs=plan.types, first=regions[0], second=regions[1])

    def _isolated(self, plan: OpPlan, values: list[Value]) -> Operation:
        body = self._single((*plan.regions, (BlockPlan(),))[0], ())
        return test.IsolatedOp(self._picked(values, plan.picks), outs=plan.types, body=body)

    def _graph(self, plan: OpPlan, values: list[Value]) -> Operation:
        body = self._several((*plan.regions, (BlockPlan(),))[0], values)
        return test.GraphOp(self._picked(values, plan.picks), outs=plan.types, body=body)

    def _alien(self, plan: OpPlan, values: list[Value]) -> Operation:
        cls = _ALIENS.unregistered(f"alien.op{len(plan.picks)}")
        return cls.create(self._picked(values, plan.picks), plan.types, plan.attributes)

    def _alien_region(self, plan: OpPlan, values: list[Value]) -> Operation:
        cls = _ALIENS.unregistered("alien odd")
        regions = [self._several(region, values) for region in plan.regions] or [Region()]
        return cls.create(self._picked(values, plan.picks), plan.types, plan.attributes, regions)

    def _single(self, plan: RegionPlan, outside: Sequence[Value]) -> Region:
        block = Block(plan[0].arguments)
        self.fill_block(block, plan[0], outside)
        return Region([block])

    def _several(self, plan: RegionPlan, outside: Sequence[Value]) -> Region:
        graph = _Graph(plan)
        region = Region([Block(arguments) for arguments in graph.arguments])
        self.fill_graph(region, graph, outside, lambda p, values: test.StopOp(self._picked(values, p.picks)))
        return region


def _static(plan: OpPlan) -> RankedTensor:
    for type in plan.types:
        if isinstance(type, RankedTensor) and type.is_static:
            return type
    return _DEFAULT


# -- pd -------------------------------------------------------------------------------------------------------------


def _shape(value: Value) -> tuple[int, ...]:
    return cast(RankedTensor, value.type).shape


_DECLARED: Final = tuple(op for op in pd.DIALECT.ops.values() if issubclass(op, Elementwise))
_UNARY: Final = (*(op for op in _DECLARED if len(op.definition.operands) == 1), pd.softmax, pd.flatten)
_BINARY: Final = (*(op for op in _DECLARED if len(op.definition.operands) == 2), pd.matmul, pd.embedding, pd.gather)
_REDUCTIONS: Final = (pd.sum, pd.mean, pd.max, pd.min)
_RECIPES: Final[tuple[Callable[[Value, Value, float], Operation], ...]] = (
    *[lambda x, _y, _n, make=make: make(x) for make in _UNARY],
    *[lambda x, y, _n, make=make: make(x, y) for make in _BINARY],
    *[lambda x, _y, _n, make=make: make(x, axis=(-1,), keepdim=True) for make in _REDUCTIONS],
    lambda x, _y, n: pd.pow(x, y=n),
    lambda x, _y, n: pd.scale(x, scale=n, bias=1.0),
    lambda x, _y, _n: pd.cast(x, dtype=bf16),
    lambda x, _y, _n: pd.isnan(x),
    lambda x, y, _n: pd.where(pd.greater_than(x, y), x, y),
    lambda x, _y, n: pd.full(shape=_shape(x), value=n),
    lambda x, y, _n: pd.layer_norm(x, bias=y),
    lambda x, y, _n: pd.rms_norm(x, norm_weight=y),
    lambda x, y, n: pd.scaled_dot_product_attention(x, y, y, scale=n, is_causal=True),
    lambda x, _y, _n: pd.reshape(x, shape=(-1,)),
    lambda x, _y, _n: pd.squeeze(x, axis=()),
    lambda x, _y, _n: pd.unsqueeze(x, axis=(0,)),
    lambda x, _y, _n: pd.transpose(x, perm=tuple(reversed(range(len(_shape(x)))))),
    lambda x, _y, _n: pd.slice(x, axes=(0,), starts=(0,), ends=(1,)),
    lambda x, _y, _n: pd.split(x, sections=(1, -1), axis=0),
    lambda x, y, _n: pd.concat((x, y), axis=0),
    lambda x, y, _n: pd.expand(x, shape=_shape(y)),
)


def build_pd_program(
    types: Sequence[RankedTensor], steps: Sequence[tuple[int, tuple[int, ...]]], numbers: Sequence[float]
) -> Program:
    """A straight function `main` over `types`. A step that the types do not allow is left out.

    Args:
        types: what main takes; the parameter `w` has the type of the first.
        steps: which operation, and which values it uses.
        numbers: for attributes and for the parameter, cycled.
    """
    module, weights = builtin.ModuleOp(), WeightStore()
    block = Block(types)
    weights.add("w", np.resize(np.array(numbers, np.float32), types[0].shape))
    with Builder.at_end(block):
        values: list[Value] = [*block.args, builtin.GetParameterOp(parameter="w", out=types[0].to_vtensor()).out]
        for index, picks in steps:
            x, y = values[-1 - picks[0] % len(values)], values[-1 - picks[-1] % len(values)]
            try:
                made = _RECIPES[index % len(_RECIPES)](x, y, numbers[index % len(numbers)])
            except IrError:
                continue
            values += made.results
        outputs = values[-2:]
        func.ReturnOp(outputs)
    function = func.FuncOp(
        sym_name="main",
        function_type=FunctionType(types, [v.type for v in outputs]),
        arg_names=tuple(f"in{i}" for i in range(len(types))),
        result_names=tuple(f"out{i}" for i in range(len(outputs))),
        body=Region([block]),
    )
    module.body.block.append(function)
    return Program(module, weights)
