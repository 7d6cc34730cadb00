"""The kernel builder: allocations, tile sets, loops, and one method per kind of instruction."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast

import attrs
import numpy as np
from numpy.typing import NDArray

from tx8ir.core import Builder, Operation, Program, VTensorType, at_location, ui8
from tx8ir.core.attrs.types import ScalarType
from tx8ir.core.opdef.fields import MISSING
from tx8ir.dialects import tx8
from tx8ir.dialects.tx8 import BINARY_FUNCTIONS, ChipAttr, Follow, LoopOp, MemorySpace, ProgramOp
from tx8ir.target.chip import TX8, Target
from tx8ir.target.formats import Format
from tx8ir.target.layout import MemLayout, pack, size_bytes
from tx8ir.target.vector_functions import unary_names

from .affine import Affine, trip_of
from .errors import KernelError, kernel_line
from .views import Buffers, View, Views, merged, runs

_BLOCKED = (MemLayout.Cx, MemLayout.NCx)


class Kernel:
    """Builds one `tx8.program`.

    Every method that takes views takes one view for all tiles, or a sequence with one for each tile of the current set
    (`on`). Destinations come first. Instructions carry the line of the kernel that called for them.

    Args:
        name: the `source` of its instructions.
        tiles: the tiles that run it; by default all of the chip.
        target: the chip: what can be allocated, and what instructions are checked against.
    """

    def __init__(self, name: str, tiles: Iterable[int] | None = None, target: Target = TX8) -> None:
        self.name = name
        self.tiles = tuple(range(target.tiles) if tiles is None else tiles)
        """The tiles that the next instructions are for."""
        missing = [tile for tile in self.tiles if not 0 <= tile < target.tiles]
        if missing:
            raise KernelError(f"there is no tile {missing[0]}; target {target.name} has tiles 0..{target.tiles - 1}")
        self.target = target
        self._program = Program.empty()
        with Builder.at_end(self._program.body), at_location(kernel_line()):
            chip = ChipAttr.of(target)
            self._root: ProgramOp = tx8.program(chip=None if chip == ChipAttr.of(TX8) else chip)
        self.body = self._root.body.block
        """The block of the program, for what this class has no method for."""
        self._blocks = [self.body]
        self._loops: list[LoopOp] = []
        self._started: Operation | None = None
        self._next_spm = target.spm_allocatable[0]
        self._next_ddr = target.ddr_base
        self.names: set[str] = set()
        """All names taken, in SPM and in DDR."""

    def __repr__(self) -> str:
        return f"<Kernel {self.name!r} on {len(self.tiles)} tiles>"

    def program(self) -> Program:
        """The program, verified. Raises VerifyError."""
        self._program.verify()
        return self._program

    # -- memory -----------------------------------------------------------------------------------------------------

    def input(self, name: str, shape: Sequence[int], format: str, layout: str = "NTensor") -> View:
        """A tensor in DDR that the caller gives under `name`."""
        return self._ddr(name, shape, format, layout, "input")

    def output(self, name: str, shape: Sequence[int], format: str, layout: str = "NTensor") -> View:
        """A tensor in DDR that the caller gets under `name`."""
        return self._ddr(name, shape, format, layout, "output")

    def scratch(self, name: str, shape: Sequence[int], format: str, layout: str = "NTensor") -> View:
        """A tensor in DDR that only the kernel sees."""
        return self._ddr(name, shape, format, layout, "scratch")

    def constant(self, name: str, values: NDArray[Any], format: str, layout: str = "NTensor") -> View:
        """A tensor in DDR with values that the program carries, which are of the format's NumPy type."""
        expected = self._format(format).dtype
        if values.dtype != expected:
            raise KernelError(f'constant "{name}" of format {format} takes {expected} values, not {values.dtype}')
        view = self._ddr(name, values.shape, format, layout, "const")
        self._program.weights.add(name, pack(values, view.format, view.layout), VTensorType((view.nbytes,), ui8))
        return view

    def spm(self, name: str, shape: Sequence[int], format: str, layout: str = "NTensor") -> View:
        """A tensor in the scratch-pad of every tile, at the same address."""
        return self.spm_buffers(name, 1, shape, format, layout)[0]

    def spm_buffers(self, name: str, count: int, shape: Sequence[int], format: str, layout: str = "NTensor") -> Buffers:
        """`count` tensors of one kind in the scratch-pad of every tile, to take turns: `buffers[i % count]`."""
        f, memory = self._format(format), self._layout(layout)
        self._take_name(name)
        align = self.target.spm_alignment
        spacing = -(-size_bytes(shape, f, memory) // align) * align
        address, end = self._next_spm, self.target.spm_allocatable[1]
        if address + count * spacing > end:
            raise KernelError(
                f'no room for "{name}": {count * spacing} bytes of scratch-pad are asked for, {end - address} are left'
            )
        self._next_spm = address + count * spacing
        return Buffers(View.whole(name, MemorySpace.SPM, address, shape, f, memory), count, spacing)

    def matrix(self, name: str, rows: int, columns: int, format: str) -> View:
        """A channel-blocked matrix in the scratch-pad, as `gemm` takes it: shape (1, 1, rows, columns), layout NCx."""
        return self.spm(name, (1, 1, rows, columns), format, "NCx")

    def _ddr(self, name: str, shape: Sequence[int], format: str, layout: str, kind: str) -> View:
        f, memory = self._format(format), self._layout(layout)
        self._take_name(name)
        size, bank = size_bytes(shape, f, memory), self.target.ddr_bank
        address = self._next_ddr
        self._next_ddr += -(-size // bank) * bank
        place = Builder.before(self._started) if self._started is not None else Builder.at_end(self.body)
        with place, at_location(kernel_line()):
            tx8.segment(segment_name=name, address=address, size=size, kind=kind)
            port = {"input": tx8.input, "const": tx8.constant, "output": tx8.output}.get(kind)
            if port is not None:
                port(port_name=name, address=address, tensor_type=VTensorType(tuple(shape), ScalarType.of(format)),
                     layout=layout)  # fmt: skip
        return View.whole(name, MemorySpace.DDR, address, shape, f, memory)

    def _take_name(self, name: str) -> None:
        if name in self.names:
            raise KernelError(f'there is already something named "{name}"')
        self.names.add(name)

    @staticmethod
    def _format(name: str) -> Format:
        try:
            return Format.named(name)
        except (KeyError, ValueError) as error:
            raise KernelError(str(error)) from None

    @staticmethod
    def _layout(name: str) -> MemLayout:
        if name not in MemLayout.__members__:
            raise KernelError(f'there is no layout "{name}"; expected one of {", ".join(MemLayout.__members__)}')
        return MemLayout(name)

    @staticmethod
    def _bits(value: float, format: Format) -> int:
        """The raw bits of a number in a format, rounded to it."""
        try:
            if format.is_integer:
                element = np.array(int(value), format.dtype)
                fits = int(value) == value
            else:
                with np.errstate(over="ignore"):
                    element = np.array(float(value)).astype(format.dtype)
                fits = not (np.isinf(element.astype(np.float64)) and np.isfinite(value))
        except (TypeError, ValueError, OverflowError):
            fits, element = False, np.zeros((), format.dtype)
        if not fits:
            raise KernelError(f"{value!r} is not a number of format {format.name}")
        return int(element.reshape(1).view(f"u{format.bytes}")[0])

    # -- control ----------------------------------------------------------------------------------------------------

    @contextmanager
    def on(self, *tiles: int) -> Generator[tuple[int, ...]]:
        """The instructions inside the `with` are for these tiles only."""
        missing = sorted(set(tiles) - set(self.tiles))
        if missing or not tiles:
            raise KernelError(f"tiles {list(tiles)} are not among the tiles {list(self.tiles)}")
        previous, self.tiles = self.tiles, tiles
        try:
            yield tiles
        finally:
            self.tiles = previous

    @contextmanager
    def loop(self, count: int) -> Generator[Affine]:
        """The instructions inside the `with` run `count` times; gives the trip, 0 in the first."""
        with self._inserting():
            loop = tx8.loop(count=count, tiles=self.tiles)
        self._started = self._started or loop
        self._loops.append(loop)
        self._blocks.append(loop.body.block)
        try:
            yield trip_of(loop)
        finally:
            self._loops.pop()
            self._blocks.pop()

    def barrier(self) -> None:
        """The tiles wait for each other."""
        self.instruction(tx8.barrier)

    # -- copies -----------------------------------------------------------------------------------------------------

    def load(self, dst: Views, src: Views) -> None:
        """DDR to SPM: `dst` lies densely, `src` may be strided over up to 3 loops."""
        self._dma(tx8.rdma, spm=dst, ddr=src)

    def store(self, dst: Views, src: Views) -> None:
        """SPM to DDR: `src` lies densely, `dst` may be strided over up to 3 loops."""
        self._dma(tx8.wdma, spm=src, ddr=dst)

    def _dma(self, op: Any, spm: Views, ddr: Views) -> None:
        inner, outer = self._representative(spm), self._representative(ddr)
        self._require_same("a copy", inner, outer)
        self._require_space(inner, MemorySpace.SPM)
        self._require_space(outer, MemorySpace.DDR)
        if not inner.is_contiguous:
            raise KernelError(f"the SPM side of a transfer lies densely; {inner} is a strided part")
        if inner.is_dense:
            count, walk = runs(outer)
        else:
            count, walk = inner.physical_count, []
        if len(walk) > self.target.dma_levels:
            raise KernelError(f"{outer} needs {len(walk)} loops of the transfer; it has {self.target.dma_levels}")
        self.instruction(
            op, spm=spm, ddr=ddr, element_bytes=inner.format.bytes, count=count,
            strides=tuple(stride for _, stride in walk), iterations=tuple(extent for extent, _ in walk),
        )  # fmt: skip

    def copy(self, dst: Views, src: Views) -> None:
        """SPM to SPM of the same tile; both sides may be strided."""
        to, of = self._representative(dst), self._representative(src)
        self._require_same("a copy", to, of)
        size = to.format.bytes
        if to.is_dense:
            axes = merged([(n, (a, b)) for n, a, b in zip(to.shape, to.strides, of.strides, strict=True)])
        else:
            axes = [(to.physical_count, (1, 1))]
        segment = 1
        if axes and axes[-1][1] == (1, 1):
            segment = axes.pop()[0]
        if len(axes) > self.target.tdma_levels:
            raise KernelError(f"{to} and {of} need {len(axes)} loops of the copy; it has {self.target.tdma_levels}")
        self.instruction(
            tx8.tdma, dst=dst, src=src, segment_bytes=segment * size, iterations=tuple(n for n, _ in axes),
            dst_strides=tuple(a * size for _, (a, _) in axes), src_strides=tuple(b * size for _, (_, b) in axes),
        )  # fmt: skip

    def block(self, dst: Views, src: Views) -> None:
        """Dense to channel-blocked, or the other way round; the dense side may have fewer leading extents of 1."""
        to, of = self._representative(dst), self._representative(src)
        if to.is_dense == of.is_dense:
            raise KernelError(f"one side of a layout change is dense and the other channel-blocked, not {to} and {of}")
        blocked, dense = (to, of) if of.is_dense else (of, to)
        fits = blocked.num_elements == dense.num_elements and blocked.shape[-1] == dense.shape[-1]
        if not fits or blocked.format is not dense.format or not dense.is_contiguous:
            raise KernelError(f"{blocked} and {dense} are not the same tensor in two layouts")
        n, h, w, c = self._rank4(blocked)
        self.instruction(
            tx8.channelnorm, dst=dst, src=src, shape=(n, h, w, c), format=to.format.name, direction=of.is_dense
        )

    # -- arithmetic ---------------------------------------------------------------------------------------------------

    def fill(self, dst: Views, value: float) -> None:
        """`dst = value`."""
        to = self._contiguous(dst)
        bits = self._bits(value, to.format)
        self.instruction(tx8.memset, dst=dst, count=to.physical_count, format=to.format.name, value=bits)

    def unary(self, function: str, dst: Views, src: Views, alpha: float | None = None) -> None:
        """`dst = function(src)`, element by element."""
        if function not in unary_names():
            raise KernelError(f'there is no function "{function}"; expected one of {", ".join(unary_names())}')
        to, of = self._contiguous(dst), self._contiguous(src)
        self._require_same(function, to, of)
        self.instruction(
            tx8.unary, function=function, dst=dst, src=src, count=to.physical_count, format=to.format.name, alpha=alpha
        )

    def binary(self, function: str, dst: Views, lhs: Views, rhs: Views | float) -> None:
        """`dst = lhs function rhs`: `rhs` of the same shape, a number, or a vector over a dense last axis."""
        if function not in BINARY_FUNCTIONS:
            raise KernelError(f'there is no function "{function}"; expected one of {", ".join(BINARY_FUNCTIONS)}')
        to, left = self._contiguous(dst), self._contiguous(lhs)
        self._require_same(function, to, left)
        fields: dict[str, Any] = {"function": function, "dst": dst, "count": to.physical_count,
                                  "format": to.format.name}  # fmt: skip
        if isinstance(rhs, (int, float)):
            self.instruction(tx8.binary_vs, src=lhs, scalar=self._bits(rhs, to.format), **fields)
            return
        right = self._contiguous(rhs)
        if right.shape == to.shape:
            self._require_same(function, to, right)
            self.instruction(tx8.binary_vv, lhs=lhs, rhs=rhs, **fields)
        elif to.is_dense and right.is_dense and right.shape == to.shape[-1:] and right.format is to.format:
            self.instruction(tx8.binary_vuv, src=lhs, unit=rhs, unit_count=right.num_elements, **fields)
        else:
            raise KernelError(f"{function} of {left} takes the same shape, or a vector over its last axis, not {right}")

    def gemm(self, dst: Views, lhs: Views, rhs: Views, *, psum: Views | None = None, bias: Views | None = None,
             transpose_lhs: bool = False, transpose_rhs: bool = False) -> None:  # fmt: skip
        """`dst = lhs @ rhs + psum + bias`; matrices are channel-blocked, [batch, 1, rows, columns]; bias is dense."""
        out, left, right = (self._rank4(self._representative(v)) for v in (dst, lhs, rhs))
        formats = {self._representative(v).format.name for v in (lhs, rhs)}
        rows, inner = (left[3], left[2]) if transpose_lhs else (left[2], left[3])
        other, columns = (right[3], right[2]) if transpose_rhs else (right[2], right[3])
        reasons = [
            f"their formats are {' and '.join(sorted(formats))}" if len(formats) != 1 else "",
            f"their sums have {inner} and {other} terms" if other != inner else "",
            f"their product is {rows}x{columns}" if out[2:] != (rows, columns) else "",
            f"their batches are {left[0]} and {right[0]}" if {left[0], right[0]} - {1, out[0]} else "",
        ]
        if any(reasons):
            names = " and ".join(str(self._representative(v)) for v in (lhs, rhs))
            why = ", ".join(filter(None, reasons))
            raise KernelError(f"{names} do not multiply to {self._representative(dst)}: {why}")
        extra: dict[str, Any] = {}
        if psum is not None:
            if self._rank4(self._representative(psum)) != out:
                raise KernelError(f"psum {self._representative(psum)} is not of the shape of the result")
            extra |= {"psum": psum, "psum_format": self._representative(psum).format.name}
        if bias is not None:
            extra |= {"bias": bias, "bias_format": self._representative(bias).format.name}
        self.instruction(
            tx8.gemm, out=dst, lhs=lhs, rhs=rhs, batch=out[0], m=rows, k=inner, n=columns, lhs_batch=left[0],
            rhs_batch=right[0], transpose_lhs=transpose_lhs, transpose_rhs=transpose_rhs, in_format=formats.pop(),
            out_format=self._representative(dst).format.name, **extra,
        )  # fmt: skip

    # -- messages -----------------------------------------------------------------------------------------------------

    def arm(self, dst: Views, senders: Sequence[int], *, gather: bool = False, channel: int = 0) -> None:
        """Be ready for a message into `dst`: from one sender for each tile, or, to gather, a piece from each sender."""
        to = self._contiguous(dst)
        pieces = len(senders) if gather else 1
        if to.nbytes % pieces:
            raise KernelError(f"{to} cannot be cut into {pieces} equal messages")
        self.instruction(
            tx8.dte_arm, dst=dst, nbytes=to.nbytes // pieces, peers=tuple(senders),
            pattern="gather" if gather else "unicast", channel=channel,
        )  # fmt: skip

    def send(self, src: Views, receivers: Sequence[int], *, pattern: str = "unicast", channel: int = 0) -> None:
        """Send `src`: to one receiver for each tile (unicast), to all (broadcast), or a piece to each (scatter)."""
        of = self._contiguous(src)
        pieces = len(receivers) if pattern == "scatter" else 1
        if of.nbytes % pieces:
            raise KernelError(f"{of} cannot be cut into {pieces} equal messages")
        self.instruction(
            tx8.dte_send, src=src, nbytes=of.nbytes // pieces, peers=tuple(receivers), pattern=pattern, channel=channel
        )

    def wait(self, senders: Sequence[int], *, gather: bool = False, channel: int = 0) -> None:
        """Wait for what was armed."""
        self.instruction(tx8.dte_wait, peers=tuple(senders), pattern="gather" if gather else "unicast", channel=channel)

    # -- any instruction ----------------------------------------------------------------------------------------------

    def instruction(self, op: Any, **fields: Any) -> None:
        """Any instruction of the dialect for the current tiles: `k.instruction(tx8.reduce, src=view, …)`.

        Views become addresses, and where they depend on trips, what `follows` says.
        """
        known = {field.name for field in op.definition.attributes} - {"tiles", "source"}
        unknown = sorted(set(fields) - known)
        needed = {field.name for field in op.definition.attributes if field.default is MISSING} - {"tiles"}
        lacking = sorted(needed - {name for name, value in fields.items() if value is not None})
        if unknown or lacking:
            what = f"has no field {unknown[0]}" if unknown else f"needs {', '.join(lacking)}"
            raise KernelError(f"{op.name} {what}; its fields are {', '.join(sorted(known))}")
        plain: dict[str, Any] = {}
        follows: list[Follow] = []
        for name, value in fields.items():
            views = _as_views(value)
            if views:
                view = self._representative(value)
                plain[name] = tuple([v.address.constant for v in views])
                follows += self._follow(name, view.address)
            elif value is not None:
                plain[name] = value
        if follows:
            plain["follows"] = tuple(follows)
        with self._inserting():
            made = op(tiles=self.tiles, source=self.name, **plain)
        self._started = self._started or made

    def _follow(self, field: str, address: Affine) -> Iterator[Follow]:
        for term in address.terms:
            depths = [depth for depth, loop in enumerate(reversed(self._loops)) if loop is term.loop]
            if not depths:
                raise KernelError(f"{field} depends on the trip of a loop that has ended")
            yield Follow(field, depths[0], term.factor, term.modulo, term.phase)

    @contextmanager
    def _inserting(self) -> Generator[None]:
        with Builder.at_end(self._blocks[-1]), at_location(kernel_line()):
            yield

    # -- checks -------------------------------------------------------------------------------------------------------

    def _representative(self, views: Views) -> View:
        """The view, or the first of one for each tile; these must be alike but for where they start."""
        if isinstance(views, View):
            return views
        if not _as_views(views):
            raise KernelError(f"expected a view, or one for each of the {len(self.tiles)} tiles, not {views!r}")
        if len(views) != len(self.tiles):
            raise KernelError(f"{len(views)} views are given for {len(self.tiles)} tiles")
        first = views[0]
        for view in views:
            if attrs.evolve(view, name=first.name, address=first.address) != first:
                raise KernelError(f"the tiles' views differ in more than their place: {first} and {view}")
            if view.address.terms != first.address.terms:
                raise KernelError(f"the tiles' views of {view} follow loops in different ways")
        return first

    def _contiguous(self, views: Views) -> View:
        view = self._representative(views)
        self._require_space(view, MemorySpace.SPM)
        if not view.is_contiguous:
            raise KernelError(f"{view} is a strided part; instructions other than copies run over dense bytes")
        return view

    @staticmethod
    def _require_space(view: View, space: MemorySpace) -> None:
        if view.space is not space:
            raise KernelError(f"{view} is not in {space.value}")

    @staticmethod
    def _require_same(what: str, a: View, b: View) -> None:
        if a.format is not b.format or a.shape != b.shape or a.is_dense != b.is_dense:
            raise KernelError(f"{what} takes operands of one shape, format and layout, not {a} and {b}")

    @staticmethod
    def _rank4(view: View) -> tuple[int, int, int, int]:
        if view.layout is not MemLayout.NCx or len(view.shape) != 4:
            raise KernelError(f"expected a channel-blocked tensor of rank 4 (layout NCx), not {view}")
        n, h, w, c = view.shape
        return n, h, w, c


def _as_views(value: object) -> tuple[View, ...]:
    """The views that a field is given as, or none when it is given as something else."""
    if isinstance(value, View):
        return (value,)
    entries = tuple(cast("Sequence[object]", value)) if isinstance(value, (list, tuple)) else ()
    views = tuple([entry for entry in entries if isinstance(entry, View)])
    return views if len(views) == len(entries) else ()
