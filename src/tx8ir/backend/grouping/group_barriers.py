"""`group-barriers`: layers of independent groups, and one barrier per layer."""

from __future__ import annotations

from typing import Any, ClassVar

import attrs

from tx8ir.backend.graph import backend_ops, main_block
from tx8ir.backend.nest.solutions import Solutions
from tx8ir.core import Program
from tx8ir.dialects import tx8be
from tx8ir.passes import Pass, register_pass


@register_pass
@attrs.frozen
class GroupBarriers(Pass):
    """Sorts the groups into layers and lets the tiles synchronise only between layers.

    A group's `layer` is 1 + the largest layer among the groups that read its results, 0 when there is none. A group
    that aliases DDR (`group_tag` 2) runs nothing, so it adds no layer: it has the layer of its deepest reader, and what
    it reads is one deeper. Groups are sorted by layer, deepest first, keeping their order inside one; only the last
    group of a layer that runs anything keeps `need_barrier`. DDR lifetimes count in layers.

    Assumes: `group-load-store` ran. Guarantees: `layer` and `need_barrier` on every group; a group reads only results
    of deeper layers (or of aliases in its own). Cost: O(groups log groups + uses).
    """

    name: ClassVar[str] = "group-barriers"
    preserves: ClassVar[frozenset[type[Any]]] = frozenset({Solutions})

    def run(self, program: Program) -> None:
        groups = [op for op in backend_ops(program) if isinstance(op, tx8be.GroupOp)]
        layers: dict[object, int] = {}
        for group in reversed(groups):
            readers = [layers[user] for out in group.outs for user in out.users if isinstance(user, tx8be.GroupOp)]
            alias = group.group_tag == 2
            layers[group] = 0 if not readers else max(readers) + (0 if alias else 1)
        ordered = sorted(groups, key=lambda group: -layers[group])
        anchor = next((op for op in main_block(program) if isinstance(op, tx8be.TupleOp | tx8be.OutputOp)), None)
        last: dict[int, tx8be.GroupOp] = {}
        for group in ordered:
            if anchor is not None:
                group.move_before(anchor)
            group.set_attribute("layer", layers[group])
            group.set_attribute("need_barrier", False)
            if group.group_tag != 2:
                last[layers[group]] = group
        for group in last.values():
            group.set_attribute("need_barrier", True)
        self.count("layers", len(last))
        self.count("groups", len(groups))
