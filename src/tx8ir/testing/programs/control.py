"""Steps with control flow: branches, loops, blocks and calls. Each writes further steps inside."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tx8ir.core import (
    Block,
    Builder,
    FunctionType,
    IndexType,
    IntAttr,
    Operation,
    Region,
    SymbolRefAttr,
    Type,
    Value,
    VTensorType,
    i1,
    i32,
)
from tx8ir.dialects import cf, func, index, pd, scf

from .features import TRIPS
from .writer import Writer, WriterStep

NESTING = 2
"""How many regions and functions are inside one another at most."""


def branch(writer: Writer) -> Sequence[Value]:
    """An `scf.if`; either region may be empty but for what it yields."""
    condition = writer.condition()
    regions: list[Region] = []
    types: list[Type] | None = None
    for _ in range(2):
        inner = writer.inside(Block(), writer.pool)
        inner.write(3)
        given = inner.some(0, 2) if types is None else [inner.value_of(t) for t in types]
        types = [v.type for v in given]
        regions.append(_ended(inner.block, lambda given=given: scf.yield_(given)))
    return writer.insert(lambda: scf.IfOp(condition, then_region=regions[0], else_region=regions[1], outputs=types))


def loop(writer: Writer) -> Sequence[Value]:
    """An `scf.while` that counts to a small number, and may end earlier."""
    trips = writer.number(0, TRIPS)
    carried = writer.two_alike()
    inits = [writer.filled((), 0.0, i32), *carried]
    types = [v.type for v in inits]
    before, after = Block(types), Block(types)

    inner = writer.inside(before, [*writer.pool, *before.args[1:]])
    more = _less(before, before.args[0], trips)
    if writer.perhaps():
        inner.write(2)
        early = inner.condition()
        with Builder.at_end(before):
            more = pd.logical_and(more, pd.reshape(early, shape=())).out
    first = _ended(before, lambda: scf.condition(more, before.args))

    inner = writer.inside(after, [*writer.pool, *after.args[1:]])
    inner.write(3)
    following = _following(inner, after.args[1:])
    count = _one_more(after, after.args[0])
    second = _ended(after, lambda: scf.yield_([count, *following]))
    return writer.insert(lambda: scf.WhileOp(inits, before=first, after=second, outputs=types))


def counted_loop(writer: Writer) -> Sequence[Value]:
    """An `scf.for` over a few numbers, for `tensor_programs(steps=…)`: to compile it, `lower-to-pd` comes first."""
    lower, upper, step = (_number(writer, n) for n in (0, writer.number(0, TRIPS), 1))
    carried = writer.two_alike()
    types = [v.type for v in carried]
    body = Block([lower.type, *types])
    inner = writer.inside(body, [*writer.pool, *body.args[1:]])
    inner.write(3)
    following = _following(inner, body.args[1:])
    region = _ended(body, lambda: scf.yield_(following))
    return writer.insert(lambda: scf.ForOp(lower, upper, step, carried, body=region, outputs=types))


def _number(writer: Writer, number: int) -> Value:
    (made,) = writer.insert(lambda: index.ConstantOp(value=IntAttr(number, IndexType())))
    return made


def _following(inner: Writer, carried: Sequence[Value]) -> list[Value]:
    """What a loop carries into the next round: values of its body, or what it carries exchanged."""
    if len(carried) == 2 and carried[0].type is carried[1].type and inner.perhaps():
        return [carried[1], carried[0]]
    return [inner.value_of(v.type) for v in carried]


def around(writer: Writer, step: WriterStep) -> None:
    """Writes a step as it is, inside a branch that is taken or not, or inside a loop."""
    features = writer.features
    nests = writer.depth < NESTING
    how = writer.one_of(["plain"] + ["branch"] * (features.branches and nests) + ["loop"] * (features.loops and nests))
    if how == "plain":
        step(writer)
        return
    block = Block()
    if how == "branch":
        condition = writer.condition()
        step(writer.inside(block, writer.pool))
        then = _ended(block, lambda: scf.yield_([]))
        writer.insert(lambda: scf.IfOp(condition, then_region=then, else_region=Region(), outputs=()))
        return
    trips, first = writer.number(0, TRIPS), writer.filled((), 0.0, i32)
    before, block = Block([first.type]), Block([first.type])
    more = _less(before, before.args[0], trips)
    head = _ended(before, lambda: scf.condition(more, before.args))
    step(writer.inside(block, writer.pool))
    count = _one_more(block, block.args[0])
    body = _ended(block, lambda: scf.yield_([count]))
    writer.insert(lambda: scf.WhileOp([first], before=head, after=body, outputs=[first.type]))


def jump(writer: Writer) -> Sequence[Value]:
    """A `cf.cond_br` to two blocks that join again; what follows is written into the join."""
    condition = writer.condition()
    region = _region(writer)
    sides = [Block(), Block()]
    for side in sides:
        region.append(side)
    with Builder.at_end(writer.block):
        cf.cond_br(condition, (), (), true_dest=sides[0], false_dest=sides[1])
    given: list[list[Value]] = []
    for side in sides:
        inner = writer.inside(side, writer.pool)
        inner.can_branch = False
        inner.write(3)
        given.append([inner.value_of(v.type) for v in given[0]] if given else inner.some(0, 2))
    join = Block([v.type for v in given[0]])
    region.append(join)
    for side, values in zip(sides, given, strict=True):
        with Builder.at_end(side):
            cf.br(values, dest=join)
    writer.block = join
    return join.args


def loop_of_blocks(writer: Writer) -> Sequence[Value]:
    """A counting loop of three blocks, whose header takes what is carried; what follows is written after it."""
    carried = writer.two_alike()
    inits = [writer.filled((), 0.0, i32), *carried]
    region = _region(writer)
    header, body, behind = Block([v.type for v in inits]), Block(), Block()
    for block in (header, body, behind):
        region.append(block)
    with Builder.at_end(writer.block):
        cf.br(inits, dest=header)
    more = _less(header, header.args[0], writer.number(0, TRIPS))
    with Builder.at_end(header):
        cf.cond_br(more, (), (), true_dest=body, false_dest=behind)
    inner = writer.inside(body, [*writer.pool, *header.args[1:]])
    inner.can_branch = False
    inner.write(3)
    following = _following(inner, header.args[1:])
    count = _one_more(body, header.args[0])
    with Builder.at_end(body):
        cf.br([count, *following], dest=header)
    writer.block = behind
    return header.args[1:]


def call(writer: Writer) -> Sequence[Value]:
    """A call of a new function, or of one that there is."""
    if writer.functions and writer.perhaps():
        function = writer.one_of(writer.functions)
        callee = SymbolRefAttr(function.sym_name)
        calls = [op for v in writer.pool if isinstance(op := v.defining_op, func.CallOp)]
        alike = [op for op in calls if op.callee is callee]
        if alike and writer.perhaps():
            arguments = list(alike[-1].operands)
        else:
            arguments = [_argument(writer, type_) for type_ in function.function_type.inputs]
    else:
        arguments = writer.two_alike()
        function = _new_function(writer, [v.type for v in arguments])
    callee = SymbolRefAttr(function.sym_name)
    return writer.insert(lambda: func.call(arguments, callee=callee, outputs=function.function_type.results))


def _argument(writer: Writer, type_: Type) -> Value:
    """A value of the pool, or a number where that can be."""
    if isinstance(type_, VTensorType) and type_.element is not i1 and writer.perhaps():
        return writer.filled(type_.shape, writer.literal(type_.element), type_.element)
    return writer.value_of(type_)


def _new_function(writer: Writer, types: Sequence[Type]) -> func.FuncOp:
    name = f"f{len(writer.program.body)}"
    with Builder.at_end(writer.program.body):
        function = func.FuncOp(sym_name=name, function_type=FunctionType(types, ()))
    body = function.body.block
    inner = writer.inside(body, body.args)
    inner.in_main = False
    inner.write(4)
    results = inner.some(0, 2)
    with Builder.at_end(inner.block):
        func.ReturnOp(results)
    function.set_attribute("function_type", FunctionType(types, [v.type for v in results]))
    writer.functions.append(function)
    return function


def _region(writer: Writer) -> Region:
    region = writer.block.parent
    assert region is not None
    return region


def _less(block: Block, count: Value, trips: int) -> Value:
    with Builder.at_end(block):
        return pd.less_than(count, pd.full(shape=(), value=float(trips), dtype=i32)).out


def _one_more(block: Block, count: Value) -> Value:
    with Builder.at_end(block):
        return pd.add(count, pd.full(shape=(), value=1.0, dtype=i32)).out


def _ended(block: Block, end: Callable[[], Operation]) -> Region:
    """A region of the block, with that terminator."""
    with Builder.at_end(block):
        end()
    return Region([block])
