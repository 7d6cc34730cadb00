"""Programs with branches, loops, blocks and calls, in the shapes that passes over control flow look for.

A template fixes what decides whether such a pass does something: a loop of so many rounds that carries a value
unchanged, say, or two sides that are equal but for one attribute. What is computed inside is drawn, mostly from what
the pass under test is about.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tx8ir.core import (
    Block,
    Operation,
    RankedTensor,
    Region,
    ScalarType,
    Value,
    VTensorType,
    f16,
    f32,
    i1,
    i32,
    i64,
)
from tx8ir.dialects import builtin, cf, func, pd

from .decisions import COMPARISONS, comparison
from .draft import Draft

_COUNTER = VTensorType((), i32)

# --- branches --------------------------------------------------------------------------------------------------------


def equal_or_nearly_equal_sides(draft: Draft) -> Sequence[Value]:
    """A branch whose sides are the same, differ in an attribute, an operand or what they yield, or one is empty.

    Sides may write, too: both or one, in the same way or not, and what they give may be nothing of their own.
    """
    compares = draft.perhaps()
    if compares and draft.perhaps():
        draft.type = draft.type.with_shape(draft.rng.choice(((), (1,))))
    x, y = draft.input(), draft.input()
    if draft.perhaps(0.4):
        value = 0.0 if draft.perhaps(0.3) else draft.rng.choice(draft.material.numbers)
        y = x if draft.perhaps(0.2) else draft.number(value, _of(x), _shape(x))
    condition = _comparison(draft, x, y) if compares else draft.condition()
    third = draft.input() if draft.perhaps() else y
    stored = [draft.input(draft.type.to_tensor()) for _ in range(draft.rng.choice((0, 0, 1, 1, 2)))]
    name = draft.variable(mutable=True) if draft.perhaps(0.3) else None
    written: list[Operation] = []
    given: list[Value] = []

    def act(made: list[Value]) -> None:
        if name is not None and draft.perhaps():
            draft.store(name, draft.rng.choice((x, y, made[-1])))
        if stored and draft.perhaps():
            draft.effect(draft.rng.choice(stored), made[-1])
        if stored and draft.perhaps(0.3):
            with draft.at(draft.block):
                made.append(builtin.to_vtensor(draft.rng.choice(stored)).out)

    def first() -> Sequence[Value]:
        block = draft.block
        made = [draft.rng.choice((x, y))]
        for _ in range(draft.rng.choice((0, 1, 1, 1, 2))):
            act(made)
            made.append(draft.op(made[-1], y))
        act(made)
        written.extend(block)
        if draft.perhaps(0.2):
            given.extend(draft.rng.choice(((x,), (x, y), (y,), ())))
        else:
            given.extend([made[-1], draft.rng.choice(made)] if draft.perhaps(0.2) else made[-1:])
        return given

    def again() -> Sequence[Value]:
        mapping = {v: v for v in (x, y, third, *stored)} | ({y: third} if draft.perhaps(0.3) else {})
        draft.again(written, mapping, exactly=draft.perhaps(0.3))
        if stored and draft.perhaps(0.3):
            draft.effect(draft.rng.choice(stored), x)
        return [mapping.get(v, v) for v in given]

    def other() -> Sequence[Value]:
        act([x])
        is_same = all(v in (x, y) for v in given) and draft.perhaps()
        return [v if is_same else draft.op(x, y) if draft.perhaps() else draft.rng.choice((x, y)) for v in given]

    how = again if draft.perhaps(0.6) else other
    made = draft.choice(condition, first, how, None)
    with draft.at(draft.block):
        made += [builtin.to_vtensor(v).out for v in stored]
    if name is not None:
        made.append(draft.read(name))
    return [*made, x] if draft.perhaps(0.2) or not made else made


def _comparison(draft: Draft, x: Value, y: Value) -> Value:
    """A comparison of scalars of two values; where they have more elements, of all of them."""
    kind = COMPARISONS[comparison(draft)]
    with draft.at(draft.block):
        found = kind(x, y).out
        type_ = found.type
        assert isinstance(type_, RankedTensor)
        if type_.num_elements == 1 and (not type_.rank or draft.perhaps()):
            return found
        return pd.cast(pd.min(pd.cast(found, dtype=i32)), dtype=i1).out


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
    """A loop of a known number of rounds: start, step and end are constants, and the step need not divide the way.

    A counter of floating-point numbers may take steps that are rounded. Storage that a round writes may be read by the
    test, and after the write.
    """
    rng = draft.rng
    x = draft.input()
    y = x if draft.perhaps(0.15) else draft.input()
    if draft.perhaps(0.15):
        y = draft.number(rng.choice((0.0, 1.0, 2.0)), _of(x), _shape(x))
    start, step = rng.choice((0, 0, 0, 1, 2)), rng.choice((1, 1, 2, 3, 2))
    end = start + rng.choice((0, 1, 1, 2, 3, 4, 5, -1))
    element = rng.choice((i32, i32, i64, f32, f32, f16))
    rounds = element.is_float and draft.perhaps(0.6)
    if rounds:
        unit = rng.choice((0.1, 0.3, 0.7, 1 / 3))
        start, step, end = start * unit, unit, (start + rng.randrange(1, 12)) * unit
    outside = draft.perhaps()
    limit = draft.number(end, element) if outside else None
    stride = draft.number(step, element) if outside else None
    early = draft.perhaps(0.15)
    stores = draft.variable(mutable=True) if draft.perhaps(0.2) else None
    stored = draft.input(draft.type.to_tensor()) if draft.perhaps(0.2) else None
    test_reads, round_reads = draft.perhaps(0.3), draft.perhaps(0.3)
    forward = rng.choice(("same",) * 5 + ("exchanged", "computed", "dropped"))
    body = rng.choice(
        (
            "accumulate", "accumulate", "exchange", "unchanged", "invariant", "one unchanged", "replace", "twins",
            "of the counter",
        )
    )  # fmt: skip
    if body == "twins" and draft.perhaps(0.7):
        y = x
    elif body == "of the counter":
        x, y = (draft.input(VTensorType((), element)) for _ in range(2))
    kind = rng.choice((pd.less_than,) * 4 + (pd.less_equal, pd.not_equal))
    if pd.LessEqualOp.name in draft.material.direction.ops and draft.perhaps():
        kind = pd.less_equal
    if kind is pd.not_equal and (rounds or not (start <= end and (end - start) % step == 0)):
        kind = pd.less_than
    outer = draft.perhaps()

    def before(args: Sequence[Value]) -> tuple[Value, Sequence[Value]]:
        bound = draft.number(end, element) if limit is None else limit
        with draft.at(draft.block):
            more = kind(args[0], bound).out
            if early:
                more = pd.logical_and(more, draft.condition()).out
        count, a, b = args
        if stored is not None and test_reads:
            with draft.at(draft.block):
                a = builtin.to_vtensor(stored).out
        if forward == "exchanged":
            return more, [count, b, a]
        if forward == "computed":
            return more, [count, draft.op(a, b), b]
        return more, ([count, a, b] if forward != "dropped" else [count, b, b])

    def after(args: Sequence[Value]) -> Sequence[Value]:
        count, a, b = args
        if body == "accumulate":
            following = [draft.op(a, y if outer else b), b]
        elif body == "exchange":
            following = [b, a]
        elif body == "unchanged":
            following = [a, b]
        elif body == "invariant":
            following = [draft.op(draft.op(x, y), a), b]
        elif body == "one unchanged":
            following = [a, draft.op(b, a)]
        elif body == "of the counter":
            made = draft.op(count)
            following = [made, b] if draft.perhaps() else [draft.op(a, made), made]
        elif body == "twins":  # the same for both, or nearly
            other = draft.number(rng.choice((1.0, 2.0)), _of(x), _shape(x)) if draft.perhaps() else x
            length = len(draft.block)
            made = draft.op(a, other)
            mapping = {v: v for v in (x, y, other)} | {a: b}
            if draft.perhaps(0.3):
                mapping[other] = draft.number(rng.choice((1.0, 3.0)), _of(x), _shape(x))
            draft.again(list(draft.block)[length : length + 1], mapping, exactly=draft.perhaps(0.4))
            following = [made, mapping.get(made, b)]
        else:
            following = [draft.op(x, y), a]
        if stores:
            draft.store(stores, following[0])
        if stored is not None:
            draft.effect(stored, rng.choice((following[0], a, y)))
            if round_reads:
                with draft.at(draft.block):
                    following = [draft.op(following[0], builtin.to_vtensor(stored).out), following[1]]
        with draft.at(draft.block):
            one = pd.add(count, draft.number(step, element) if stride is None else stride).out
        return [one, *following]

    results = draft.loop([draft.number(start, element), x, y], before, after)
    kept = [results[1:], results, results[1:2], results[2:]][rng.randrange(4)]
    if stored is not None:
        with draft.at(draft.block):
            kept = [*kept, builtin.to_vtensor(stored).out]
    return [*kept, draft.read(stores)] if stores else kept


def idle_or_odd_loop(draft: Draft) -> Sequence[Value]:
    """A loop whose condition is a constant or an input, that ends after one round at most; `before` may compute.

    The test and the round may write, too.
    """
    x, y = draft.input(), draft.input()
    how = draft.rng.randrange(3)
    more = draft.condition()
    computes, changes = draft.perhaps(0.6), draft.perhaps(0.7)
    stored = draft.input(draft.type.to_tensor()) if draft.perhaps(0.35) else None

    def act(value: Value) -> None:
        if stored is not None and draft.perhaps(0.6):
            draft.effect(stored, value)

    def before(args: Sequence[Value]) -> tuple[Value, Sequence[Value]]:
        act(args[0])
        values = [draft.op(args[0], args[1]), args[1]] if computes else [args[1], args[0]] if how == 1 else args
        return (draft.number(0, i1) if how else args[2]), [*values[:2], *args[2:]]

    def after(args: Sequence[Value]) -> Sequence[Value]:
        act(args[1])
        first = draft.op(args[0], args[1]) if changes else args[0]
        return [first, args[1], *([] if how else [draft.number(0, i1)])]

    results = draft.loop([x, y, *([] if how else [more])], before, after)[:2]
    if stored is not None:
        with draft.at(draft.block):
            results.append(builtin.to_vtensor(stored).out)
    return results


# --- blocks ----------------------------------------------------------------------------------------------------------


def _main_ends_with(draft: Draft, region: Region, block: Block) -> None:
    """Goes on in another block of `main`, which gets its return."""
    region.append(block)
    draft.block = block


def _passed_on(draft: Draft, values: Sequence[Value], count: int) -> list[Value]:
    """So many of the values: in their order, in another one, or some twice; or numbers of their types."""
    how = draft.rng.randrange(3)
    if how and len(values) >= count:
        chosen = list(values[:count])
        if how == 2:
            draft.rng.shuffle(chosen)
    else:
        chosen = [draft.rng.choice(values) for _ in range(count)]
    numbers = draft.perhaps(0.3)
    return [
        draft.number(draft.rng.choice((0.0, 1.0, 2.0)), _of(v), _shape(v)) if numbers and draft.perhaps() else v
        for v in chosen
    ]


def diamond_of_blocks(draft: Draft) -> Sequence[Value]:
    """A `cf.cond_br` to two blocks, to one and the join, or to the join twice; with equal or different operands.

    A block on the way may take arguments, and do nothing but pass them on. Where both ways meet, what decided may
    decide again.
    """
    x, y, condition = draft.input(), draft.input(), draft.condition()
    region = draft.block.parent
    assert region is not None
    count = 2 if draft.perhaps(0.5) else 1
    join = Block([x.type, y.type][:count])
    computes = draft.perhaps(0.3)

    def given(pool: Sequence[Value]) -> list[Value]:
        return _passed_on(draft, [draft.op(*pool[:2]), *pool] if computes else pool, count)

    start = draft.block
    sides: list[Block] = []
    operands: list[list[Value]] = []
    direct = draft.rng.choice(((0, 1), (0, 1), (0,), (1,), ()))
    for number in range(2):
        if number in direct:
            operands.append(given((x, y)))
            sides.append(join)
        else:
            taken = _passed_on(draft, (x, y), count) if draft.perhaps() else []
            side = Block([v.type for v in taken])
            region.append(side)
            pool = (*side.args, *(() if taken and draft.perhaps(0.6) else (x, y)))
            draft.inside(side, lambda pool=pool: given(pool), lambda values: cf.br(values, dest=join))
            operands.append(taken)
            sides.append(side)
    if draft.perhaps(0.2):
        operands[1], sides[1] = operands[0], sides[0]
    with draft.at(start):
        cf.cond_br(condition, operands[0], operands[1], true_dest=sides[0], false_dest=sides[1])
    _main_ends_with(draft, region, join)
    if draft.perhaps(0.3):
        with draft.at(join):
            return [pd.where(condition, join.args[0], pd.abs(join.args[-1])).out, *join.args]
    return [draft.op(*join.args)] if draft.perhaps(0.3) else list(join.args)


def chain_of_blocks(draft: Draft) -> Sequence[Value]:
    """Blocks after one another, some empty, with arguments that are passed on in some order, or values from before."""
    values: list[Value] = [draft.input(), draft.input()] if draft.perhaps(0.7) else [draft.input()]
    region = draft.block.parent
    assert region is not None
    computes = draft.perhaps(0.6)
    count = draft.rng.choice((0, 1, 2, 2))
    for _ in range(draft.rng.choice((1, 2, 2, 3))):
        if computes and draft.perhaps(0.6):
            values.append(draft.op(*values[-2:]))
        count = count if draft.perhaps(0.8) else draft.rng.choice((0, 1, 2))
        given = _passed_on(draft, values, count)
        following = Block([v.type for v in given])
        with draft.at(draft.block):
            cf.br(given, dest=following)
        _main_ends_with(draft, region, following)
        values = [*following.args] if given and draft.perhaps(0.7) else [*values, *following.args]
    return [draft.op(*values[:2])] if draft.perhaps(0.4) else values[-3:]


def loop_of_blocks(draft: Draft) -> Sequence[Value]:
    """A loop of blocks of 0 to 3 rounds: a header that tests, a body that goes back to it, and a block after them."""
    x, y = draft.input(), draft.input()
    region = draft.block.parent
    assert region is not None
    zero = draft.number(0, i32)
    header = Block([_COUNTER, x.type, y.type] if draft.perhaps(0.6) else [_COUNTER, x.type])
    with draft.at(draft.block):
        cf.br([zero, *_passed_on(draft, (x, y), len(header.args) - 1)], dest=header)
    body, after = Block(), Block([x.type] if draft.perhaps(0.3) else [])
    for block in (header, body):
        region.append(block)
    draft.block = header
    bound = draft.number(draft.rng.choice((0, 1, 2, 3)), i32)
    with draft.at(header):
        more = pd.less_than(header.args[0], bound).out
        cf.cond_br(more, [], [header.args[1]][: len(after.args)], true_dest=body, false_dest=after)
    draft.block = body
    carried: list[Value] = list(header.args[1:])
    if draft.perhaps(0.7):
        carried.insert(0, draft.op(*carried, y))
    one = draft.number(1, i32)
    with draft.at(body):
        following = pd.add(header.args[0], one).out
        cf.br([following, *_passed_on(draft, carried, len(header.args) - 1)], dest=header)
    _main_ends_with(draft, region, after)
    return [*after.args, *header.args[1:]]


# --- calls -----------------------------------------------------------------------------------------------------------


def calls(draft: Draft) -> Sequence[Value]:
    """A function, pure or with effects at some depth, called once or twice, its result used or not."""
    rng = draft.rng
    x, y, condition = draft.input(), draft.input(), draft.condition()
    name = draft.variable(mutable=True)
    effect = rng.choice(
        ("none", "store", "store in a branch", "store in a loop", "call", "write", "return early", "exchange")
    )

    def store(value: Value) -> None:
        old = draft.read(name)
        with draft.at(draft.block):
            draft.store(name, pd.add(old, value).out if draft.perhaps() else value)

    def return_early(a: Value, b: Value, c: Value) -> None:
        """Goes on in another block, unless what is given, or computed, is returned right away."""
        region = draft.block.parent
        assert region is not None
        early, rest = Block(), Block()
        region.append(early)
        region.append(rest)
        draft.inside(early, lambda: [draft.op(a, b) if draft.perhaps() else a], func.ReturnOp)
        blocks = [early, rest] if draft.perhaps() else [rest, early]
        with draft.at(draft.block):
            cf.cond_br(c, [], [], true_dest=blocks[0], false_dest=blocks[1])
        draft.block = rest

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
                    return draft.is_below(args[0], 2), args

                def after(args: Sequence[Value]) -> Sequence[Value]:
                    store(a)
                    return [draft.one_more(args[0])]

                draft.loop([zero], before, after)
            elif kind == "call" and called is not None:
                draft.call(called, args)
            elif kind == "write":
                with draft.at(draft.block):
                    own = builtin.to_tensor(a).out
                draft.write(own, b)
                with draft.at(draft.block):
                    return [builtin.to_vtensor(own).out]
            elif kind == "return early":
                return_early(a, b, c)
            elif kind == "exchange":
                return rng.sample(args, rng.choice((len(args), len(args), 2)))
            return [draft.op(a, b) if draft.perhaps(0.8) else rng.choice((a, b))]

        return body

    types = [x.type, y.type, condition.type]
    called = (
        draft.function(types, write(rng.choice(("store", "store in a branch")), None)) if effect == "call" else None
    )
    first = draft.function(types, write(effect, called))
    second = first
    if draft.perhaps(0.4):  # another function that is equal, or nearly
        second = draft.again_as_function(first) if draft.perhaps(0.7) else draft.function(types, write("none", None))
    if draft.perhaps(0.25):  # one that nobody calls
        unused = draft.function(types, write(rng.choice(("none", "store", "call")), first))
        if draft.perhaps(0.3):
            unused.set_attribute("sym_visibility", "public")

    def given(c: Value, *values: Value) -> list[Value]:
        """Arguments: these values, in another order, or numbers."""
        chosen = [draft.number(rng.choice(pool), _of(v), _shape(v)) if draft.perhaps(numbers) else v for v in values]
        return [*(reversed(chosen) if draft.perhaps(0.2) else chosen), c]

    numbers = rng.choice((0.0, 0.0, 0.0, 0.0, 0.7, 1.0))
    pool = rng.choice(((2.0, 2.0, 3.0), (2.0, 3.0, 0.0), (0.0, -0.0)))
    if numbers and draft.perhaps():
        condition = draft.number(1.0, i1)
    results = draft.call(first, given(condition, x, y))
    if draft.perhaps(0.6) or second is not first:
        results += draft.call(second, given(condition, x, y))
    if draft.perhaps(0.25):  # a function that calls it, too
        caller = draft.function(types, lambda args: draft.call(first, given(args[2], *args[:2])))
        results += draft.call(caller, [x, y, condition])
    used = results if draft.perhaps(0.6) else results[1:]
    return [*used, draft.read(name)] if draft.perhaps(0.8) else used or [x]


def calls_of_results(draft: Draft) -> Sequence[Value]:
    """A function of one or two values, a chain of operations, that is given what it gives; something may be between."""
    rng = draft.rng
    x, y = draft.input(), draft.input()
    count = rng.choice((1, 1, 2))

    def body(args: Sequence[Value]) -> Sequence[Value]:
        made = args[0]
        for _ in range(rng.choice((1, 1, 2, 2, 3))):
            number = draft.number(rng.choice((*draft.material.numbers, 1.5)), _of(x), _shape(x))
            made = draft.op(made, rng.choice((args[-1], number, number)))
        return [made]

    called = draft.function([x.type] * count, body)
    other = draft.again_as_function(called) if draft.perhaps(0.3) else called
    first = draft.call(called, [x, y][:count])
    between = [draft.op(*first, y)] if draft.perhaps(0.25) else first
    results = draft.call(other, [*between, y][:count])
    if draft.perhaps(0.3):
        results += first
    return [*results, *draft.call(called, results[:1] * count)] if draft.perhaps(0.3) else results


def calls_in_a_loop(draft: Draft) -> Sequence[Value]:
    """A loop that calls a function, with what is carried or with values from outside; both may use one variable."""
    rng = draft.rng
    x, y = draft.input(), draft.input()
    name = draft.variable(mutable=True)
    reads, writes = draft.perhaps(0.6), draft.perhaps(0.15)
    stored = draft.perhaps(0.6)

    def compute(args: Sequence[Value]) -> Sequence[Value]:
        a, b = args
        made = draft.op(a, draft.read(name)) if reads else draft.op(a, b)
        if writes:
            draft.store(name, made)
        return [draft.op(made, b) if draft.perhaps(0.3) else made]

    called = draft.function([x.type, y.type], compute)

    def before(args: Sequence[Value]) -> tuple[Value, Sequence[Value]]:
        return draft.is_below(args[0], rng.choice((0, 1, 2, 3))), args

    def after(args: Sequence[Value]) -> Sequence[Value]:
        count, a = args
        if stored and draft.perhaps(0.3):
            draft.store(name, draft.op(a, x))
        given = [x, y] if draft.perhaps(0.6) else [a, y]
        made = draft.call(called, given)[0]
        following = draft.op(a, made) if draft.perhaps(0.7) else made
        if stored:
            draft.store(name, rng.choice((a, made, following)))
        return [draft.one_more(count), following]

    return [draft.loop([draft.number(0), x], before, after)[1], draft.read(name)]


def _of(value: Value) -> ScalarType:
    assert isinstance(value.type, RankedTensor)
    return value.type.element


def _shape(value: Value) -> Sequence[int]:
    assert isinstance(value.type, RankedTensor)
    return value.type.shape
