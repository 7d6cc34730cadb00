"""`group-load-store`: the borders of groups as explicit loads and stores."""

from __future__ import annotations

from typing import ClassVar

import attrs

from tx8ir.backend.graph import CompileError, backend_ops
from tx8ir.backend.oplib.interface import OpLib, OpQuery
from tx8ir.core import Builder, Operation, OpOperand, Program, Value, at_location
from tx8ir.dialects import tx8be
from tx8ir.dialects.tx8be import BackendOp
from tx8ir.passes import Pass, register_pass


@register_pass
@attrs.frozen
class GroupLoadStore(Pass):
    """Inserts `LoadVar` after block arguments and `StoreVar` before results, and sets `group_tag`.

    An argument gets one `LoadVar`, which all operands that need a load (`need_load` bit) read; a result whose op has
    its `need_store` bit set is returned through a `StoreVar`, and so is an argument or a constant that is returned as
    it is. A group without any load or store is an alias of DDR and gets `group_tag` 2, every other one 0.

    Assumes: groups are made (`group-default`), layouts are set. Guarantees: `group_tag` on every group; loads and
    stores carry the `layout_str` and `dev_info` of the value they move. Cost: O(uses).
    Raises `CompileError` at an op without an `OpLib`.
    """

    name: ClassVar[str] = "group-load-store"

    def run(self, program: Program) -> None:
        layouts: dict[Value, BackendOp] = {}
        for op in backend_ops(program):
            if isinstance(op, tx8be.GroupOp):
                self._bound(op, layouts)
            elif op.results:
                layouts[op.results[0]] = op

    def _bound(self, group: tx8be.GroupOp, layouts: dict[Value, BackendOp]) -> None:
        """Insert the loads and stores of one group; `layouts` maps each value outside to the op whose layout it has."""
        body = group.body.block
        terminator = body.last_op
        assert isinstance(terminator, tx8be.ReturnOp)
        moved = 0
        for argument, outside in zip(body.args, group.inputs, strict=True):
            uses = [use for use in argument.uses if _needs_load(use)]
            if uses:
                load = _move(tx8be.LoadVarOp, argument, layouts[outside], Builder.at_start(body))
                for use in uses:
                    use.set(load)
                moved += 1
        for i, (value, outside) in enumerate(zip(list(terminator.xs), group.outs, strict=True)):
            producer = value.defining_op
            if not isinstance(producer, BackendOp):
                raise CompileError("a group returns a value that no op in it makes", op=group)
            layouts[outside] = producer
            if _needs_store(value, producer):
                terminator.set_operand(i, _move(tx8be.StoreVarOp, value, producer, Builder.before(terminator)))
                moved += 1
        group.set_attribute("group_tag", 0 if moved else 2)
        self.count("loads and stores", moved)
        self.count("aliases", not moved)


def _move(kind: type[tx8be.LoadVarOp | tx8be.StoreVarOp], value: Value, like: BackendOp, where: Builder) -> Value:
    """A load or store of `value` at `where`, in the layout of `like`."""
    with where, at_location(like.location):
        return kind(value, layout_str=like.layout_str, dev_info=like.dev_info).y


def _query(op: Operation) -> OpQuery:
    library = op.interface(OpLib)
    if library is None:
        raise CompileError(f"{op.name} has no kernel in the op library", op=op)
    return library.query()


def _needs_load(use: OpOperand) -> bool:
    # what a group returns as it came must pass through SPM to be stored
    return isinstance(use.owner, tx8be.ReturnOp) or _query(use.owner).loads(use.index)


def _needs_store(value: Value, producer: BackendOp) -> bool:
    if isinstance(producer, tx8be.LoadVarOp | tx8be.LoadConstOp):
        return True
    return _query(producer).stores(value.defining_op.results.index(value) if value.defining_op is not None else 0)
