"""ccl: collective communication: what several replicas of a program do together.

Each replica runs the same program on inputs of its own. `replica_groups` are rows of replica numbers; the replicas of a
row meet at the operation, in the order of the row. `tx8ir.interpreter.evaluate_replicas` evaluates several in lockstep.

The operations are those of StableHLO (openxla.org/stablehlo/spec) and NCCL. None is pure: to drop one, to move it into
a branch or to merge two would leave other replicas waiting.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tx8ir.core import (
    DYNAMIC,
    DenseAttr,
    Dialect,
    HasValueSemantics,
    InferTypes,
    Op,
    Operand,
    RankedTensor,
    Result,
    Type,
    VTensorType,
    attribute,
    i1,
    i64,
    operand,
    result,
    ui32,
)
from tx8ir.dialects.pd.inference import fail, normalize_axis, one_of, tensor_operand
from tx8ir.dialects.samples import Sampled, case

REDUCES: Final = ("add", "mul", "min", "max", "and", "or")
"""How elements of several replicas are combined; truth values by "and" and "or" alone, which take nothing else."""


def groups(*rows: Sequence[int]) -> DenseAttr:
    """`replica_groups`, or pairs of replicas, of these rows."""
    return DenseAttr(np.asarray(rows, np.int64), VTensorType((len(rows), len(rows[0])), i64))


_PAIR: Final = groups((0, 1))
_TWO: Final = groups((0, 1), (3, 2))


class CollectiveOp(Op, InferTypes, Sampled, traits=(HasValueSemantics,)):
    """Base: replicas that meet, each with a tensor."""

    x: Operand = operand(doc="[...], of the same type in every replica")
    replica_groups: DenseAttr = attribute(
        doc="[groups, size], i64: the replicas that meet, each in one row at the most"
    )
    out: Result = result()

    @property
    def rows(self) -> NDArray[np.int64]:
        """The groups as an array."""
        return self.replica_groups.value

    @property
    def group_size(self) -> int:
        """How many replicas meet."""
        return self.rows.shape[1]

    def group_of(self, replica: int) -> tuple[int, ...] | None:
        """The replicas that one of them meets, in order, itself among them; None for one in no group."""
        found = np.argwhere(self.rows == replica)
        return tuple(self.rows[found[0][0]].tolist()) if len(found) else None

    def verify_op(self) -> None:
        rows = self.replica_groups
        if rows.type.element is not i64 or rows.type.rank != 2 or not rows.type.num_elements:
            raise fail(
                self, f"attribute `replica_groups` is {rows.type}; expected groups of replicas, [groups, size] of i64"
            )
        numbers = self.rows.reshape(-1).tolist()
        if min(numbers) < 0 or len(set(numbers)) != len(numbers):
            raise fail(
                self, f"attribute `replica_groups` is {self.rows.tolist()}; expected different numbers of 0 or more"
            )

    def _operand(self) -> RankedTensor:
        self.verify_op()
        return tensor_operand(self, self.x, "x")

    def _divided(self, x: RankedTensor, axis: int, parts: int) -> int:
        """The extent of an axis divided into parts."""
        extent = x.shape[axis]
        if extent == DYNAMIC:
            return DYNAMIC
        if extent % parts:
            raise fail(self, f"operand `x` has type {x}; extent {extent} of axis {axis} is not divided by {parts}")
        return extent // parts


class _ReducingOp(CollectiveOp):
    """Base: elements of all replicas of a group are combined, in the order of the group."""

    reduce: str = attribute(default="add", doc='"add", "mul", "min", "max", "and" or "or"')

    def _operand(self) -> RankedTensor:
        x = super()._operand()
        one_of(self, "reduce", self.reduce, *REDUCES)
        if (x.element is i1) != (self.reduce in ("and", "or")):
            expected = "'and' or 'or'" if x.element is i1 else "another of them than 'and' and 'or'"
            raise fail(self, f"attribute `reduce` is {self.reduce!r}; expected {expected} for `x` {x}")
        return x

    def combined(self, parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
        """Arrays of equal shape as one."""
        combine = _COMBINATIONS[self.reduce]
        total = parts[0]
        for part in parts[1:]:
            total = combine(total, part)
        return total


_COMBINATIONS: Final[dict[str, Any]] = {
    "add": np.add,
    "mul": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.logical_and,
    "or": np.logical_or,
}


class AllReduceOp(_ReducingOp, name="ccl.all_reduce"):
    """out = the elements of all replicas of the group combined, the same in each."""

    accepts = "number"
    cases = (
        *(case((2, 3), replica_groups=_TWO, reduce=reduce) for reduce in REDUCES[:4]),
        case((), replica_groups=_PAIR),
        case((0,), replica_groups=_PAIR),
        case((DYNAMIC, 3), replica_groups=_PAIR),
        case((2,), replica_groups=groups((0,))),
        *(case((3,), replica_groups=_PAIR, reduce=reduce).over("bool") for reduce in ("and", "or")),
    )

    def infer_types(self) -> tuple[Type, ...]:
        return (self._operand(),)

    def exchange(self, parts: Sequence[NDArray[Any]], place: int) -> NDArray[Any]:
        """The result from what the group brings, for the replica at a place of it."""
        return self.combined(parts)


class ReduceScatterOp(_ReducingOp, name="ccl.reduce_scatter"):
    """out = a part of the elements of all replicas combined: axis `axis` is divided among them, in order."""

    axis: int = attribute(default=0)

    accepts = "number"
    cases = (
        case((4, 3), replica_groups=_TWO),
        case((3, 2), replica_groups=_PAIR, axis=1, reduce="max"),
        case((2, 2), replica_groups=_PAIR, axis=-1, reduce="mul"),
        case((DYNAMIC, 2), replica_groups=_PAIR, axis=1),
        case((2, 4), replica_groups=groups((2, 0, 1, 3)), axis=1, reduce="min"),
        case((2,), replica_groups=_PAIR, reduce="or").over("bool"),
    )

    def infer_types(self) -> tuple[Type, ...]:
        x = self._operand()
        axis = normalize_axis(self, self.axis, x.rank)
        extent = self._divided(x, axis, self.group_size)
        return (x.with_shape((*x.shape[:axis], extent, *x.shape[axis + 1 :])),)

    def exchange(self, parts: Sequence[NDArray[Any]], place: int) -> NDArray[Any]:
        """The result from what the group brings, for the replica at a place of it."""
        return np.split(self.combined(parts), self.group_size, self.axis)[place]


class AllGatherOp(CollectiveOp, name="ccl.all_gather"):
    """out = the tensors of all replicas of the group, one after the other along `axis`."""

    axis: int = attribute(default=0)

    cases = (
        case((2, 3), replica_groups=_TWO),
        case((2, 3), replica_groups=_PAIR, axis=1),
        case((2, 3), replica_groups=groups((1, 0, 2)), axis=-1),
        case((DYNAMIC, 3), replica_groups=_PAIR),
        case((0, 2), replica_groups=_PAIR),
    )

    def infer_types(self) -> tuple[Type, ...]:
        x = self._operand()
        axis = normalize_axis(self, self.axis, x.rank)
        extent = x.shape[axis] if x.shape[axis] == DYNAMIC else x.shape[axis] * self.group_size
        return (x.with_shape((*x.shape[:axis], extent, *x.shape[axis + 1 :])),)

    def exchange(self, parts: Sequence[NDArray[Any]], place: int) -> NDArray[Any]:
        """The result from what the group brings, for the replica at a place of it."""
        return np.concatenate(parts, self.axis)


class AllToAllOp(CollectiveOp, name="ccl.all_to_all"):
    """out = a part of the tensor of each replica, one after the other along `concat_axis`.

    Axis `split_axis` of each is divided among the replicas of the group, in order.
    """

    split_axis: int = attribute(default=0)
    concat_axis: int = attribute(default=0)

    cases = (
        case((4, 3), replica_groups=_TWO),
        case((4, 3), replica_groups=_PAIR, concat_axis=1),
        case((2, 2), replica_groups=_PAIR, split_axis=-1),
        case((3, 6), replica_groups=groups((2, 1, 0)), split_axis=1, concat_axis=0),
        case((DYNAMIC, 2), replica_groups=_PAIR, split_axis=1),
    )

    def infer_types(self) -> tuple[Type, ...]:
        x = self._operand()
        split = normalize_axis(self, self.split_axis, x.rank, attribute="split_axis")
        concat = normalize_axis(self, self.concat_axis, x.rank, attribute="concat_axis")
        shape = list(x.shape)
        shape[split] = self._divided(x, split, self.group_size)
        shape[concat] = shape[concat] if shape[concat] == DYNAMIC else shape[concat] * self.group_size
        return (x.with_shape(shape),)

    def exchange(self, parts: Sequence[NDArray[Any]], place: int) -> NDArray[Any]:
        """The result from what the group brings, for the replica at a place of it."""
        mine = [np.split(part, self.group_size, self.split_axis)[place] for part in parts]
        return np.concatenate(mine, self.concat_axis)


class CollectivePermuteOp(Op, InferTypes, Sampled, name="ccl.collective_permute", traits=(HasValueSemantics,)):
    """out = the tensor of the replica that sends to this one; zeros where none does.

    All replicas of the pairs meet; others get zeros at once.
    """

    x: Operand = operand(doc="[...], of the same type in every replica")
    source_target_pairs: DenseAttr = attribute(doc="[pairs, 2], i64: who sends to whom; each once as either")
    out: Result = result(doc="the type of `x`")

    cases = (
        case((2, 3), source_target_pairs=groups((0, 1), (1, 0))),
        case((), source_target_pairs=groups((0, 0))),
        case((DYNAMIC,), source_target_pairs=groups((0, 1), (1, 2), (2, 0))),
        case((0, 2), source_target_pairs=groups((3, 1))),
    )

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Who sends to whom."""
        return [(int(source), int(target)) for source, target in self.source_target_pairs.value]

    def verify_op(self) -> None:
        given = self.source_target_pairs
        if given.type.element is not i64 or given.type.rank != 2 or given.type.shape[1] != 2:
            raise fail(
                self, f"attribute `source_target_pairs` is {given.type}; expected pairs of replicas, [pairs, 2] of i64"
            )
        for what, numbers in zip(("source", "target"), zip(*self.pairs, strict=True), strict=False):
            if min(numbers) < 0 or len(set(numbers)) != len(numbers):
                raise fail(
                    self, f"attribute `source_target_pairs` is {self.pairs}; expected each {what} once, and 0 or more"
                )

    def infer_types(self) -> tuple[Type, ...]:
        self.verify_op()
        return (tensor_operand(self, self.x, "x"),)

    def group_of(self, replica: int) -> tuple[int, ...] | None:
        """All replicas of the pairs, if the given one is among them."""
        members = tuple(sorted({number for pair in self.pairs for number in pair}))
        return members if replica in members else None

    def exchange(self, parts: Sequence[NDArray[Any]], place: int) -> NDArray[Any]:
        """The result from what the group brings, for the replica at a place of it."""
        members = self.group_of(self.pairs[0][0]) or ()
        source = next((source for source, target in self.pairs if target == members[place]), None)
        return np.zeros_like(parts[place]) if source is None else parts[members.index(source)]


class ReplicaIdOp(Op, InferTypes, Sampled, name="ccl.replica_id", traits=(HasValueSemantics,)):
    """out = the number of this replica, from 0 on; 0 where there is one."""

    out: Result = result(doc="[] of ui32")

    cases = (case(),)

    def infer_types(self) -> tuple[Type, ...]:
        return (VTensorType((), ui32),)


all_reduce = AllReduceOp
all_gather = AllGatherOp
all_to_all = AllToAllOp
reduce_scatter = ReduceScatterOp
collective_permute = CollectivePermuteOp
replica_id = ReplicaIdOp

DIALECT = Dialect("ccl", [AllReduceOp, AllGatherOp, AllToAllOp, ReduceScatterOp, CollectivePermuteOp, ReplicaIdOp])
