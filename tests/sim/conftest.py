"""A bench that puts bytes into the scratch-pads of some tiles, runs instructions on them, and reads bytes back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tx8ir.core import Builder, Program, VTensorType, ui8
from tx8ir.dialects import tx8
from tx8ir.sim import SimReport, SimResult, Simulator
from tx8ir.target.chip import TX8, Target
from tx8ir.target.formats import Format
from tx8ir.target.layout import pack, size_bytes, unpack

Bytes = NDArray[np.uint8]

# How the addresses of an operand differ between tiles, in bytes: equal, equally far apart, or neither.
SPREADS: dict[str, Callable[[int], int]] = {
    "uniform": lambda i: 0,
    "regular": lambda i: 512 * i,
    "irregular": lambda i: 256 * ((i * i) % 7),
}


class Bench:
    """Builds one program; `run` executes it and keeps what the marked SPM bytes hold in the end.

    Operands live in SPM one after the other; `spread` says at which address on which tile. Every operand comes in by
    an RDMA from an input and every result leaves by a WDMA to an output, each in a segment of its own.
    """

    def __init__(self, tiles: tuple[int, ...] = (0, 1, 2), spread: str = "uniform") -> None:
        self.tiles = tiles
        self.spread = SPREADS[spread]
        self.uniform = spread == "uniform"
        self.program = Program.empty()
        with Builder.at_end(self.program.body):
            self.block = tx8.program().body.block
        self._declarations = Builder.at_start(self.block)
        self._next_spm = TX8.spm_allocatable[0]
        self._next_ddr = TX8.ddr_base
        self._inputs: dict[str, Bytes] = {}
        self._results: list[tuple[tuple[int, ...], int]] = []
        self._declared: list[Callable[[], Any]] = []
        self._loads: list[Callable[[], Any]] = []
        self._work: list[Callable[[], Any]] = []
        self._stores: list[Callable[[], Any]] = []
        self.simulator: Simulator
        self.report: SimReport

    def room(self, nbytes: int) -> tuple[int, ...]:
        """SPM addresses, one or one per tile, of `nbytes` unused bytes."""
        base = self._next_spm
        self._next_spm += -(-nbytes // 256) * 256 + 256 * 40
        if self.uniform:
            return (base,)
        return tuple(base + self.spread(i) for i in range(len(self.tiles)))

    def put(self, data: Bytes) -> tuple[int, ...]:
        """SPM addresses at which `data` [tiles, bytes] will lie."""
        nbytes = data.shape[1]
        address = self.room(nbytes)
        name = f"x{len(self._inputs)}"
        self._inputs[name] = np.ascontiguousarray(data)
        ddr = self._segment(name, data.size, "input")
        kind = VTensorType(data.shape, ui8)
        self._declared.append(lambda: tx8.input(port_name=name, address=ddr, tensor_type=kind, layout="NTensor"))
        self._loads.append(
            lambda: tx8.rdma(
                tiles=self.tiles, spm=address, ddr=self._per_tile(ddr, nbytes), element_bytes=1, count=nbytes
            )
        )
        return address

    def put_array(self, values: NDArray[Any]) -> tuple[int, ...]:
        """SPM addresses at which the elements of `values` [tiles, ...] will lie densely."""
        return self.put(np.ascontiguousarray(values).reshape(len(self.tiles), -1).view(np.uint8))

    def put_tensor(self, values: NDArray[Any], format: str, layout: str = "NCx") -> tuple[int, ...]:
        """SPM addresses at which `values` [tiles, *shape] will lie in a blocked layout, with garbage in the padding."""
        f = Format.named(format)
        size = size_bytes(values.shape[1:], f, layout)
        data = pack(values, f, layout, leading=1)
        holes = pack(np.ones_like(values.view(f"u{f.bytes}")).view(f.dtype), f, layout, leading=1) == 0
        holes = holes.reshape(len(values), -1, f.bytes).all(-1).repeat(f.bytes, axis=1)
        assert data.shape == (len(self.tiles), size)
        return self.put(np.where(holes, np.uint8(0x7F), data))

    def do(self, op: Callable[..., Any], **fields: Any) -> None:
        """Add an instruction for all tiles of the bench."""
        self._work.append(lambda: op(tiles=self.tiles, **fields))

    def get(self, address: tuple[int, ...], nbytes: int) -> int:
        """Ask for SPM bytes; `run` gives them at the returned position."""
        self._results.append((address, nbytes))
        return len(self._results) - 1

    def run(self, target: Target = TX8, **options: Any) -> list[Bytes]:
        """Build, verify and simulate; the bytes [tiles, nbytes] that `get` asked for, in order."""
        self.build()
        self.simulator = Simulator(self.program, target, **options)
        result: SimResult = self.simulator.run(self._inputs)
        self.report = result.report
        return [result.outputs[f"y{i}"] for i in range(len(self._results))]

    def build(self) -> Program:
        """The program, verified."""
        for i, (address, nbytes) in enumerate(self._results):
            self._add_store(i, address, nbytes)
        with Builder.at_end(self.block):
            for make in (*self._declared, *self._loads, *self._work, *self._stores):
                make()
        self.program.verify()
        return self.program

    def _add_store(self, i: int, address: tuple[int, ...], nbytes: int) -> None:
        name = f"y{i}"
        shape = (len(self.tiles), nbytes)
        ddr = self._segment(name, len(self.tiles) * nbytes, "output")
        kind = VTensorType(shape, ui8)
        self._declared.append(lambda: tx8.output(port_name=name, address=ddr, tensor_type=kind, layout="NTensor"))
        self._stores.append(
            lambda: tx8.wdma(
                tiles=self.tiles, spm=address, ddr=self._per_tile(ddr, nbytes), element_bytes=1, count=nbytes
            )
        )

    def _per_tile(self, ddr: int, nbytes: int) -> tuple[int, ...]:
        return tuple(ddr + i * nbytes for i in range(len(self.tiles)))

    def _segment(self, name: str, size: int, kind: str) -> int:
        address = self._next_ddr
        self._next_ddr += -(-size // TX8.ddr_bank) * TX8.ddr_bank
        self._declared.append(lambda: tx8.segment(segment_name=name, address=address, size=size, kind=kind))
        return address


def elements(data: Bytes, format: str) -> NDArray[Any]:
    """Bytes [tiles, n] as elements [tiles, n / element bytes]."""
    return np.ascontiguousarray(data).view(Format.named(format).dtype)


def tensor(data: Bytes, shape: tuple[int, ...], format: str) -> NDArray[Any]:
    """Bytes [tiles, n] of a blocked tensor as [tiles, *shape]."""
    return unpack(np.ascontiguousarray(data), shape, Format.named(format), "NCx")


def random_values(seed: int, shape: tuple[int, ...], format: str, *, special: bool = False) -> NDArray[Any]:
    """Values of a format: of mixed magnitude for floats, of the full range for integers.

    `special` mixes in zeros of both signs, infinities, NaN and subnormals.
    """
    rng = np.random.default_rng(seed)
    f = Format.named(format)
    if f.is_integer:
        info = np.iinfo(f.dtype)
        return rng.integers(info.min, info.max, shape, f.dtype, endpoint=True)
    values = (rng.standard_normal(shape) * 2.0 ** rng.integers(-3, 4, shape)).astype(np.float32)
    if special:
        odd = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40, -1e-40, 6e-8, 3e38, -3e38, 1.0, -1.0], np.float32)
        chosen = rng.random(shape) < 0.3
        values = np.where(chosen, rng.choice(odd, shape), values)
    if format == "tf32":
        values = (values.view(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)
    with np.errstate(over="ignore"):
        return values.astype(f.dtype)


class Tools:
    """What the tests of this folder share."""

    Bench = Bench
    SPREADS = tuple(SPREADS)
    elements = staticmethod(elements)
    tensor = staticmethod(tensor)
    random_values = staticmethod(random_values)


@pytest.fixture(scope="session")
def tools() -> type[Tools]:
    """The bench and its helpers (the tests are not a package, so nothing can be imported from here)."""
    return Tools
