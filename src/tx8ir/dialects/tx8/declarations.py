"""What a program declares before its instructions: its DDR segments, its inputs and its outputs."""

from __future__ import annotations

from itertools import pairwise

from tx8ir.core import (
    IsolatedFromAbove,
    NoTerminator,
    Op,
    RankedTensor,
    Region,
    Type,
    VerifyError,
    attribute,
    region,
)
from tx8ir.target.layout import MemLayout, size_bytes

from .chip import ChipAttr
from .control import LoopOp
from .instruction import Instruction, chip_of
from .machine import TargetAttr

SEGMENT_KINDS = ("const", "input", "output", "scratch")


class SegmentOp(Op, name="tx8.segment"):
    """Declares the DDR bytes `[address, address + size)`; an access outside of all segments is an error.

    A `const` segment holds the bytes of the weight store's variable of the same name (`vtensor<SIZExui8>`) and an
    `input` segment what the caller gives; instructions only read these two. `output` and `scratch` start unwritten.
    """

    segment_name: str = attribute(name="name", doc="distinct among the segments of the program")
    address: int = attribute(doc="first byte, absolute")
    size: int = attribute(doc="bytes, at least 1")
    kind: str = attribute(doc="const, input, output or scratch")

    def verify_op(self) -> None:
        """Check the kind, and that the bytes lie in DDR. Raises VerifyError."""
        if self.kind not in SEGMENT_KINDS:
            raise VerifyError(f'kind is "{self.kind}"; expected one of {", ".join(SEGMENT_KINDS)}', self)
        chip = chip_of(self)
        first, end = chip.ddr_base, chip.ddr_end
        if self.size < 1:
            raise VerifyError(f"size is {self.size}; expected at least 1 byte", self)
        if self.address < first or self.address + self.size > end:
            raise VerifyError(
                f"segment [{self.address:#x}, {self.address + self.size:#x}) is outside of DDR [{first:#x}, {end:#x})",
                self,
            )


class PortOp(Op):
    """Base of the declarations of a program's public tensors."""

    port_name: str = attribute(name="name", doc="the public name")
    address: int = attribute(doc="first byte, absolute, inside a segment")
    tensor_type: Type = attribute(name="type", doc="a static tensor type")
    layout: str = attribute(default="Tensor", doc="the physical layout: Tensor, NTensor, Cx or NCx")

    @property
    def tensor(self) -> RankedTensor:
        """The type, as the ranked tensor that it is in a valid program."""
        tensor = self.tensor_type
        if not isinstance(tensor, RankedTensor):
            raise VerifyError(f"type is {tensor}; expected a tensor type", self)
        return tensor

    @property
    def size_bytes(self) -> int:
        """Bytes that the tensor takes in its layout, padding included."""
        return size_bytes(self.tensor.shape, self.tensor.element.format, self.layout)

    def verify_op(self) -> None:
        """Check the type and the layout. Raises VerifyError."""
        if not self.tensor.is_static:
            raise VerifyError(f"type is {self.tensor}; expected a static shape", self)
        if self.layout not in MemLayout.__members__:
            raise VerifyError(f'layout is "{self.layout}"; expected one of {", ".join(MemLayout.__members__)}', self)
        try:
            size = self.size_bytes
        except ValueError as error:  # a packed format in a blocked layout
            raise VerifyError(str(error), self) from None
        chip = chip_of(self)
        first, end = chip.ddr_base, chip.ddr_end
        if self.address < first or self.address + size > end:
            raise VerifyError(
                f"tensor [{self.address:#x}, {self.address + size:#x}) is outside of DDR [{first:#x}, {end:#x})", self
            )


class InputOp(PortOp, name="tx8.input"):
    """Declares an input: before the first instruction its tensor lies at `address` in `layout`."""


class ConstantOp(PortOp, name="tx8.constant"):
    """Declares a constant: its tensor lies at `address`, in a const segment, in `layout`."""


class OutputOp(PortOp, name="tx8.output"):
    """Declares an output: after the last instruction its tensor is read from `address` in `layout`.

    With `status` it is a status word: where an element is not 0, the run went wrong as the text says.
    """

    status: str | None = attribute(default=None, doc="of a status word, what it means when it is not 0")


class ProgramOp(Op, name="tx8.program", traits=(IsolatedFromAbove, NoTerminator)):
    """An instruction program: one block of declarations, then instructions.

    A tile executes, in block order, the instructions whose `tiles` name it; results are as if one after the other.
    Between tiles nothing is ordered but by barriers and by messages. `tx8.loop` repeats instructions.
    """

    chip: ChipAttr | None = attribute(
        default=None, doc="what the program may use of which chip; absent: that of `target`"
    )
    target: TargetAttr | None = attribute(default=None, doc="what it was compiled for; absent: what its module says")
    body: Region = region()

    def verify_op(self) -> None:
        """Check the order of the block, that names are distinct, segments disjoint, and tensors inside segments."""
        if len(self.body.blocks) != 1:
            raise VerifyError(f"a program has one block, not {len(self.body.blocks)}", self)
        segments: list[SegmentOp] = []
        ports: list[PortOp] = []
        started: Op | None = None
        for op in self.body.block:
            if isinstance(op, (Instruction, LoopOp)):
                started = started or op
            elif not isinstance(op, (SegmentOp, PortOp)):
                raise VerifyError(f"{op.name} is neither a declaration nor an instruction of tx8", op)
            elif started is not None:
                raise VerifyError(f"{op.name} comes after {started.name}; declarations come before instructions", op)
            elif isinstance(op, SegmentOp):
                segments.append(op)
            else:
                ports.append(op)
        _check_segments(segments)
        _check_ports(ports, segments)


def _check_segments(segments: list[SegmentOp]) -> None:
    names: set[str] = set()
    for segment in segments:
        if segment.segment_name in names:
            raise VerifyError(f'there is another segment named "{segment.segment_name}"', segment)
        names.add(segment.segment_name)
    ordered = sorted(segments, key=lambda s: s.address)
    for before, after in pairwise(ordered):
        if before.address + before.size > after.address:
            raise VerifyError(
                f'segment "{after.segment_name}" at {after.address:#x} overlaps segment "{before.segment_name}" '
                f"[{before.address:#x}, {before.address + before.size:#x})",
                after,
            )


def _check_ports(ports: list[PortOp], segments: list[SegmentOp]) -> None:
    names: set[tuple[str, str]] = set()
    for port in ports:
        try:
            port.verify_op()
        except VerifyError:
            continue  # the verifier reports it at the port itself
        key = (port.name, port.port_name)
        if key in names:
            raise VerifyError(f'there is another {port.name} named "{port.port_name}"', port)
        names.add(key)
        low, high = port.address, port.address + port.size_bytes
        home = next((s for s in segments if s.address <= low and high <= s.address + s.size), None)
        if home is None:
            raise VerifyError(f'"{port.port_name}" takes [{low:#x}, {high:#x}), which is in no segment', port)
        allowed = SEGMENT_KINDS
        if not isinstance(port, OutputOp):
            allowed = ("const",) if isinstance(port, ConstantOp) else ("input", "scratch")
        if home.kind not in allowed:
            raise VerifyError(
                f'"{port.port_name}" lies in segment "{home.segment_name}" of kind {home.kind}; '
                f"expected {' or '.join(allowed)}",
                port,
            )
