"""`RegionBranch` and `LoopLike`: how control, and values with it, go between the regions of an operation.

Control enters the operation, goes from region to region, and leaves it. A *source* is where it comes from: None for the
operation itself, or a region whose block has ended. An edge leads from a source to a region, or (None) out of the
operation; on the way, operands of the source (of the operation, or of the terminator of the region) become arguments of
the region's block, or results of the operation.
"""

# Regions move from an operation to the one that takes its place; every terminator is asked what is around it.
# pyright: reportPrivateUsage=false
from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, cast

from tx8ir.core.attrs.attributes import Attribute, DictAttr
from tx8ir.core.attrs.types import Type
from tx8ir.core.errors import IrError, VerifyError

from .block import Region
from .interfaces import Interface, operation_of
from .value import Value

if TYPE_CHECKING:
    from .operation import Operation


class RegionEdge(NamedTuple):
    """A way that control may take.

    Attributes:
        target: the region that is entered; None: control leaves the operation.
        forwarded: which operands of the source become `inputs`, one for one, of the same types. None where values
            cannot be forwarded: the region takes no arguments on this way, and sees the values around it.
        inputs: the last arguments of the block of the target, or the last results of the operation.
    """

    target: Region | None
    forwarded: range | None = None
    inputs: Sequence[Value] = ()


class RegionBranch(Interface):
    """An operation that decides which of its regions run, in which order, and what each is given.

    Each region has one block, or none when it may be left out; one that is left out forwards nothing. Operands that no
    edge forwards are read: they decide, or are bounds. The terminator of a region is an operation without successors;
    all that it forwards is said by the edges from that region. Two edges into one target have the same inputs.
    """

    __slots__ = ()

    @abstractmethod
    def region_edges(self, source: Region | None) -> Sequence[RegionEdge]:
        """The ways that control may take from a source: one of the regions, or None, where the operation starts."""
        raise NotImplementedError  # declares the method; op classes that inherit define it

    def possible_edges(self, source: Region | None, operands: Sequence[Attribute | None]) -> Sequence[RegionEdge]:
        """Those that control may take when some operands of the source are known: the constant for each, or None."""
        return self.region_edges(source)

    def fill_region(self, region: Region) -> None:
        """Give a region that is left out a block which does nothing, so that it can forward values."""
        op = operation_of(self)
        raise IrError(f"no region of {op.name} may be left out", op)

    def rebuilt(
        self,
        operands: Sequence[Value],
        result_types: Sequence[Type],
        attributes: DictAttr,
        regions: Sequence[Region] = (),
    ) -> Operation:
        """A new, detached operation like this one, that forwards other values.

        Args:
            operands: those of this operation, with other ones where an edge forwards them.
            result_types: of the results of this operation, with other ones where an edge forwards to them.
            attributes: those of this operation.
            regions: what the new operation runs; none when those of this operation will move to it.
        """
        op = operation_of(self)
        made = type(op).create(operands, result_types, attributes=attributes, regions=regions, location=op.location)
        return cast("Operation", made)


class LoopLike(Interface):
    """A `RegionBranch` operation that is a loop: control may enter a region again. It may know how often."""

    __slots__ = ()

    @abstractmethod
    def trip_count(self) -> int | None:
        """How often the region that repeats runs; None when that is not known."""
        raise NotImplementedError  # declares the method; op classes that inherit define it

    def always_ends(self) -> bool:
        """Whether the loop comes to an end, whatever it is given."""
        return self.trip_count() is not None


def insert_rebuilt(
    branch: RegionBranch, operands: Sequence[Value], result_types: Sequence[Type], attributes: DictAttr
) -> Operation:
    """Put what `rebuilt` makes before the operation of `branch`, and move the regions to it. O(values)."""
    op = operation_of(branch)
    regions = op._regions
    op._regions = ()
    for region in regions:
        region._parent = None
    made = branch.rebuilt(operands, result_types, attributes)
    if op._parent is not None:
        op._parent.insert_before(made, op)  # without regions, which would be searched for this block
    made._regions = regions
    for region in regions:
        region._parent = made
    return made


def region_branch_around(op: Operation) -> tuple[RegionBranch, Region] | None:
    """For the terminator of a region of a `RegionBranch` operation: that, and the region."""
    block = op._parent
    if block is None or block._last is not op or op._successors:
        return None
    region = block._parent
    parent = region._parent if region is not None else None
    branch = parent.interface(RegionBranch) if parent is not None else None
    return (branch, region) if branch is not None and region is not None else None


def edges_from(op: Operation) -> Sequence[RegionEdge]:
    """The edges on which `op` forwards operands: as a `RegionBranch`, or as the end of a region of one; else none."""
    if op.regions:
        branch = op.interface(RegionBranch)
        return branch.region_edges(None) if branch is not None else ()
    around = region_branch_around(op)
    return around[0].region_edges(around[1]) if around is not None else ()


class RegionFlow:
    """The edges of a `RegionBranch` operation, asked for once from each source: as they were then.

    Attributes:
        op: the operation.
        branch: its interface.
    """

    __slots__ = ("_edges", "branch", "op")

    def __init__(self, op: Operation, branch: RegionBranch) -> None:
        self.op = op
        self.branch = branch
        self._edges: dict[Region | None, Sequence[RegionEdge]] = {}

    def edges(self, source: Region | None) -> Sequence[RegionEdge]:
        """What `RegionBranch.region_edges` says."""
        found = self._edges.get(source)
        if found is None:
            found = self._edges[source] = self.branch.region_edges(source)
        return found

    def with_ends(self) -> Iterator[tuple[Operation | None, Region | None, RegionEdge]]:
        """All edges, each with the operation whose operands it forwards and its source.

        There is no operation for an edge from a region that is left out.
        """
        for edge in self.edges(None):
            yield self.op, None, edge
        for region in self.op.regions:
            end = region.blocks[-1].last_op if len(region) else None
            for edge in self.edges(region):
                yield end, region, edge


def region_flow(op: Operation) -> RegionFlow | None:
    """The edges between the regions of `op`; None when it has none, or does not say where control goes."""
    branch = op.interface(RegionBranch) if op.regions else None
    return RegionFlow(op, branch) if branch is not None else None


def verify_forwarding(op: Operation) -> None:
    """Check each edge of a `RegionBranch` operation: as many operands as inputs, of the same types.

    Raises:
        VerifyError: an edge that does not fit, and why.
    """
    flow = region_flow(op)
    if flow is None:
        raise VerifyError(f"{op.name} does not say where control goes between its regions (RegionBranch)", op)
    for end, source, edge in flow.with_ends():
        if end is None or edge.forwarded is None:
            continue
        given = tuple(v.type for v in end.operands[edge.forwarded.start : edge.forwarded.stop])
        taken = tuple(v.type for v in edge.inputs)
        if given != taken:
            start = op.name if source is None else f"region {op.regions.index(source)} of {op.name}"
            where = "the results" if edge.target is None else f"region {op.regions.index(edge.target)}"
            shown, wanted = ", ".join(map(str, given)), ", ".join(map(str, taken))
            raise VerifyError(f"{start} gives ({shown}) to {where}, expected ({wanted})", end)
