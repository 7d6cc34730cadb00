"""Steps that look back: at an operation written before, or at a place that is read, written and read again.

Rules of compilers relate operations: two equal ones, two whose operands are exchanged, one after another of its kind,
two reads with a write between them. Steps drawn one by one seldom are related; these are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tx8ir.core import Operation, RankedTensor, TensorType, Terminator, Value, i1
from tx8ir.dialects import builtin, pd
from tx8ir.dialects.domains import OperandDomains

from .arithmetic import binary_kinds, broadcast, combined_truths, unary, unary_choices
from .control import around
from .storage import write_to
from .views import view_choices
from .writer import Writer, ranked

_NOT_REPEATED = (pd.FeedOp, pd.FetchOp)
"""Their names are given once."""
_CHAINED = (
    pd.ElementwiseBinaryOp,
    pd.ComparisonOp,
    pd.ViewOp,
    pd.CastOp,
    pd.AssignOp,
    pd.LogicalNotOp,
    pd.ReluOp,
    pd.ScaleOp,
    pd.AbsOp,
    pd.SquareOp,
    pd.FloorOp,
    pd.ExpOp,
    pd.TanhOp,
    pd.ReciprocalOp,
    pd.SqrtOp,
)


def _earlier(writer: Writer) -> list[Operation]:
    """The operations that can be written again at the end of the block, the newest first."""
    made = dict.fromkeys(v.defining_op for v in reversed(writer.pool) if v.defining_op is not None)
    effects = [op for op in reversed(writer.block) if not op.results and op.operands]
    return [
        op
        for op in (*made, *effects)
        if not op.regions and not op.has_trait(Terminator) and not isinstance(op, _NOT_REPEATED)
    ]


def repeat(writer: Writer) -> Sequence[Value]:
    """An earlier operation once more: the same, with two operands exchanged, or with another operand or number."""
    earlier = _earlier(writer)
    if not earlier:
        return unary(writer)
    op = writer.newest(earlier)
    copy: Operation = op.clone()
    operands = list(copy.operands)
    how = writer.one_of(("same", "exchanged", "another"))
    says = op.interface(OperandDomains)  # not every value of the right type is an index
    free = [i for i in range(len(operands)) if says is None or says.operand_domains()[i].is_everything]
    if how == "exchanged":
        pairs = [(i, j) for j in free for i in free if i < j and operands[i].type is operands[j].type]
        if pairs:
            i, j = writer.one_of(pairs)
            operands[i], operands[j] = operands[j], operands[i]
    elif how == "another" and free:
        index = free[writer.number(0, len(free) - 1)]
        alike = [v for v in (*op.results, *reversed(writer.pool)) if v.type is operands[index].type]
        if alike:
            operands[index] = writer.newest(alike)
    elif how == "another" and isinstance(copy, pd.FullOp):
        copy.set_attribute("value", writer.literal(ranked(copy.out).element))
    copy.set_operands(operands)
    writer.block.append(copy)
    return copy.results


def chain(writer: Writer) -> Sequence[Value]:
    """An operation on the result of an earlier one of its kind: a view of a view, a cast back, (x + y) - y."""
    found = [
        v for v in reversed(writer.pool) if isinstance(v.type, RankedTensor) and isinstance(v.defining_op, _CHAINED)
    ]
    if not found:
        return unary(writer)
    x = writer.newest(found)
    op = x.defining_op
    assert op is not None
    if isinstance(op, pd.ElementwiseBinaryOp):
        return _binary_chain(writer, x, op)
    if isinstance(op, pd.ComparisonOp):
        return combined_truths(writer, x)
    if isinstance(op, pd.ViewOp):
        views = view_choices(writer, x, (op.perm,) if isinstance(op, pd.TransposeOp) else ())
        same = op.name in views and (writer.perhaps() or isinstance(op, pd.TransposeOp))
        make = views[op.name] if same else writer.one_of(list(views.values()))
        return writer.insert(make)
    back = (ranked(op.operands[0]).element, *writer.features.elements)
    make = unary_choices(writer, x, back).get(op.name)
    return writer.insert(make) if make is not None else ()


def _binary_chain(writer: Writer, x: Value, op: Operation) -> Sequence[Value]:
    """The same operation, or another, on the result and one of the operands, or any value."""
    element = ranked(x).element
    y = writer.one_of(op.operands)
    if not writer.number(0, 2):
        other = writer.value(lambda t: t.element is element and broadcast(t.shape, ranked(x).shape))
        y = y if other is None else other
    same = isinstance(op, tuple(binary_kinds(element))) and writer.perhaps()
    kind: Any = type(op) if same else writer.one_of(binary_kinds(element))
    swap = writer.perhaps()
    return writer.insert(lambda: kind(y, x) if swap else kind(x, y))


def look_write_look(writer: Writer) -> Sequence[Value]:
    """Storage or a variable that is read, written, and read again in the same way.

    The write may be inside a branch or a loop, or both the first read and the write.
    """
    features = writer.features
    variable = writer.variable(mutable=True) if features.parameters and writer.perhaps() else None
    if variable is not None:
        return _variable_looked_at(writer, *variable)
    return _storage_looked_at(writer) if features.aliases else ()


def _storage_looked_at(writer: Writer) -> Sequence[Value]:
    x = writer.value(lambda t: isinstance(t, TensorType) and t.element is not i1)
    if x is None:
        y = writer.value(lambda t: t.element is not i1)
        if y is None:
            return ()
        x = writer.insert(lambda: builtin.to_tensor(y))[0]
    looks = [lambda: builtin.to_vtensor(x)] * 5
    looks += [*unary_choices(writer, x).values(), *view_choices(writer, x).values()]
    look = writer.by_habit("look", looks)

    def look_and_write(w: Writer) -> Sequence[Value]:
        seen = w.insert(look)
        w.pool += [x, *seen]
        return write_to(w, x)

    if writer.number(0, 2) == 2:
        around(writer, look_and_write)
        return (x, *writer.insert(look))
    first = writer.insert(look)
    looked_by = first[0].defining_op
    assert looked_by is not None
    through = first[0] if isinstance(first[0].type, TensorType) and writer.perhaps() else x
    target = through if ranked(through).element is not i1 else x
    around(writer, lambda w: write_to(w, target))
    again: Operation = looked_by.clone()
    writer.block.append(again)
    return (x, *first, *again.results)


def _variable_looked_at(writer: Writer, name: str, type_: RankedTensor) -> Sequence[Value]:
    shared = writer.features.aliases and type_.element is not i1 and writer.number(0, 2) == 2
    out = type_.to_tensor() if shared else type_.to_vtensor()

    def look(w: Writer) -> Value:
        return w.insert(lambda: builtin.get_parameter(parameter=name, out=out))[0]

    def write(w: Writer, seen: Value) -> Sequence[Value]:
        if shared:
            return write_to(w, seen)
        if w.perhaps():
            content = w.value_of(out)
        elif type_.element is i1:
            content = w.insert(lambda: pd.logical_not(seen))[0]
        else:
            content = w.insert(lambda: pd.scale(seen, scale=w.literal(type_.element), bias=1.0))[0]
        return w.insert(lambda: builtin.set_parameter(content, parameter=name))

    first: list[Value] = []
    if not shared and writer.perhaps():
        content = writer.value_of(out)
        writer.insert(lambda: builtin.set_parameter(content, parameter=name))
    if writer.perhaps():
        around(writer, lambda w: write(w, look(w)))
    else:
        first = [look(writer)]
        around(writer, lambda w: write(w, first[0]))
    again = writer.insert(lambda: builtin.get_parameter(parameter=name, out=type_.to_vtensor()))[0]
    return (*first, again)
