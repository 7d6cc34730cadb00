"""Groups made one: what one of them stores and another one loads stays in SPM."""

from __future__ import annotations

from collections.abc import Sequence

from tx8ir.backend.graph import mem_layout_of, storage_op
from tx8ir.core import Block, Builder, Operation, Region, Value, at_location
from tx8ir.core.ir.builder import detached
from tx8ir.dialects import tx8be

__all__ = ["is_alias", "merged_group", "replace_by"]


def is_alias(group: tx8be.GroupOp) -> bool:
    """Whether a group runs nothing: its results are the bytes of its operands."""
    return group.group_tag == 2


def merged_group(groups: Sequence[tx8be.GroupOp]) -> tx8be.GroupOp | None:
    """A detached group that computes what `groups`, given in block order, do; these stay as they are.

    Its operands are the values from outside, its results those that are used outside, in order. What several of them
    load is loaded once, a result that only they read is not stored. An alias among them computes in SPM.

    None where one of them addresses in DDR what another one makes, or loads it in another layout.
    """
    return _Merge(groups).result()


def replace_by(merged: tx8be.GroupOp, groups: Sequence[tx8be.GroupOp], before: Operation, by: str) -> None:
    """Put a merged group before an operation, in the place of `groups`."""
    outside = _outside(groups)
    with Builder.before(before) as builder:
        builder.insert(merged)
    for old, new in zip(outside, merged.outs, strict=True):
        old.replace_all_uses_with(new)
    for group in reversed(groups):
        group.erase(by=by)


def _outside(groups: Sequence[tx8be.GroupOp]) -> list[Value]:
    """The results of groups that others use."""
    members = set(groups)
    return [out for group in groups for out in group.outs if any(user not in members for user in out.users)]


class _Merge:
    def __init__(self, groups: Sequence[tx8be.GroupOp]) -> None:
        self.groups = groups
        self.made = {out for group in groups for out in group.outs}
        inputs = dict.fromkeys(value for group in groups for value in group.inputs if value not in self.made)
        self.body = Block([value.type for value in inputs])
        self.arguments: dict[Value, Value] = dict(zip(inputs, self.body.args, strict=True))
        self.loaded: dict[Value, Value] = {}
        """What is in SPM of values of the graph outside: loaded, or made by a member."""
        self.constants: list[tuple[tx8be.LoadConstOp, Value]] = []
        self.stored_as: dict[Value, tx8be.BackendOp] = {}
        """The op whose layout a result is stored in."""

    def result(self) -> tx8be.GroupOp | None:
        for group in self.groups:
            if not self._copy(group):
                return None
        outside = _outside(self.groups)
        last = self.groups[-1]
        with Builder.at_end(self.body), at_location(last.location):
            tx8be.ReturnOp([self._store(value) for value in outside])
        with detached(), at_location(last.location):
            merged = tx8be.GroupOp(
                list(self.arguments),
                group_tag=0,
                group_id=last.group_id,
                dev_region=last.dev_region,
                outs=[value.type for value in outside],
                body=Region([self.body]),
            )
        merged.fuse_location(self.groups[:-1])
        return merged

    def _copy(self, group: tx8be.GroupOp) -> bool:
        """Append what `group` computes; whether that can be done."""
        mapping: dict[Value, Value] = {}
        block = group.body.block
        outer: dict[Value, Value] = dict(zip(block.args, group.inputs, strict=True))
        for op in block:
            if isinstance(op, tx8be.ReturnOp):
                self._return(group, op, mapping)
                continue
            if isinstance(op, tx8be.StoreVarOp):
                mapping[op.y] = mapping[op.x]
                continue
            if isinstance(op, tx8be.LoadConstOp):
                mapping[op.y] = self._constant(op)
                continue
            if isinstance(op, tx8be.LoadVarOp) and op.x in outer:
                value = outer[op.x]
                if value in self.made and mem_layout_of(op.y) != mem_layout_of(self.loaded[value]):
                    return False
                mapping[op.y] = self._load(value, op)
                continue
            for value in op.operands:
                if value not in outer:
                    continue
                if is_alias(group):
                    mapping[value] = self._load(outer[value], storage_op(value))
                elif outer[value] in self.made:
                    return False
                else:
                    mapping[value] = self.arguments[outer[value]]
            self.body.append(op.clone(mapping))
        return True

    def _return(self, group: tx8be.GroupOp, terminator: tx8be.ReturnOp, mapping: dict[Value, Value]) -> None:
        for value, out in zip(terminator.xs, group.outs, strict=True):
            self.loaded[out] = mapping[value]
            op = value.defining_op
            assert isinstance(op, tx8be.BackendOp)
            self.stored_as[out] = op

    def _load(self, value: Value, like: tx8be.BackendOp) -> Value:
        """What a value outside is in SPM, loaded in the layout of `like` if it is not there yet."""
        found = self.loaded.get(value)
        if found is None:
            with Builder.at_end(self.body), at_location(like.location):
                found = tx8be.LoadVarOp(self.arguments[value], layout_str=like.layout_str, dev_info=like.dev_info).y
            self.loaded[value] = found
        return found

    def _constant(self, op: tx8be.LoadConstOp) -> Value:
        for known, value in self.constants:
            if known.attributes == op.attributes:
                return value
        copy = op.clone()
        self.body.append(copy)
        self.constants.append((op, copy.results[0]))
        return copy.results[0]

    def _store(self, value: Value) -> Value:
        like = self.stored_as[value]
        with at_location(like.location):
            return tx8be.StoreVarOp(self.loaded[value], layout_str=like.layout_str, dev_info=like.dev_info).y
