"""One fault is planted at a random place of a compiled program: the simulator finds every one."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import tx8ir
from tx8ir.core import Builder, FunctionType, Program, VTensorType, f32
from tx8ir.dialects import builtin, func, pd, tx8
from tx8ir.sim import SimError, Simulator
from tx8ir.target.chip import TX8
from tx8ir.target.formats import Format
from tx8ir.target.layout import MemLayout, aligned_channels, size_bytes

SIZES = (96, 160, 36)
ROWS = 24
SEEDS = range(4)
AWAY = TX8.spm_allocatable[1] - (1 << 19)
"""Where the programs below have nothing."""
Plant = Callable[[Program, np.random.Generator], None]
FAULTS: dict[str, tuple[str, Plant]] = {}


def fault(message: str) -> Callable[[Plant], Plant]:
    """Put a way to break a program into the table, with a pattern of what is to be said of it."""

    def add(plant: Plant) -> Plant:
        FAULTS[plant.__name__] = message, plant
        return plant

    return add


def layers() -> Program:
    """Dense layers with a bias and a normalisation, of extents that leave parts of channel blocks over."""
    rng = np.random.default_rng(0)
    program = Program.empty()
    types = [VTensorType((ROWS, n), f32) for n in (SIZES[0], SIZES[-1])]
    with Builder.at_end(program.body):
        main = func.func(
            sym_name="main",
            function_type=FunctionType(types[:1], types[1:]),
            arg_names=("x",),
            result_names=("y",),
        )
    with Builder.at_end(main.body.block):
        (x,) = main.body.block.args
        for i, (k, n) in enumerate(pairwise(SIZES)):
            for name, shape in ((f"w{i}", (k, n)), (f"b{i}", (n,))):
                program.weights.add(name, rng.standard_normal(shape).astype(np.float32))
            w = builtin.get_parameter(parameter=f"w{i}", out=VTensorType((k, n), f32))
            b = builtin.get_parameter(parameter=f"b{i}", out=VTensorType((n,), f32))
            y = pd.add(pd.matmul(x, w).out, b).out
            x = pd.multiply(pd.sigmoid(y).out, b).out
        func.return_([x])
    program.verify()
    return program


@pytest.fixture(scope="module", params=["float32", "bfloat16"])
def compiled(request: pytest.FixtureRequest) -> Program:
    return tx8ir.compile(layers(), options=tx8ir.CompileOptions(dtype=request.param)).program


def feeds(program: Program) -> dict[str, Any]:
    rng = np.random.default_rng(1)
    return {
        op.port_name: rng.standard_normal(op.tensor.shape).astype(op.tensor.element.dtype)
        for op in program.module.walk()
        if isinstance(op, tx8.InputOp)
    }


def one(rng: np.random.Generator, program: Program, *kinds: Any, where: Callable[[Any], bool] = lambda op: True) -> Any:
    """An instruction of some kinds, drawn at random."""
    found = [op for op in program.module.walk() if isinstance(op, kinds) and where(op)]
    return found[int(rng.integers(len(found)))]


def shifted(addresses: Iterable[int], by: int) -> tuple[int, ...]:
    return tuple(address + by for address in addresses)


def set_field(op: Any, name: str, value: Any) -> None:
    setattr(op, name, value)


def replace(op: Any, build: Any, **fields: Any) -> None:
    with Builder.before(op):
        build(tiles=op.tiles, source=op.source, **fields)
    op.erase()


@fault("layout misuse|bytes that no instruction wrote|is in no segment")
def an_output_of_the_other_layout(program: Program, rng: np.random.Generator) -> None:
    op = one(
        rng, program, tx8.OutputOp, tx8.InputOp,
        where=lambda op: op.tensor.shape[-1] % 64 and not is_reinterpreted(op, program),
    )  # fmt: skip
    blocked = not MemLayout(op.layout).is_blocked
    layout = MemLayout.for_rank(len(op.tensor.shape), blocked=blocked)
    room = op.size_bytes
    set_field(op, "layout", layout.value)
    if size_bytes(op.tensor.shape, op.tensor.element.format, layout) > room:  # its segment would be too small
        for segment in program.module.walk():
            if isinstance(segment, tx8.SegmentOp) and segment.address == op.address:
                segment.size = op.size_bytes


def is_reinterpreted(port: Any, program: Program) -> bool:
    """Whether a load says itself that it takes the bytes for another layout: then it may read any."""
    return any(
        isinstance(op, tx8.RdmaOp)
        and op.as_layout
        and any(port.address <= address < port.address + port.size_bytes for address in op.ddr)
        for op in program.module.walk()
    )


@fault("layout misuse|never written")
def a_change_of_layout_that_is_left_out(program: Program, rng: np.random.Generator) -> None:
    op = one(rng, program, tx8.ChannelNormOp, where=is_apart)
    source, _ = op.effects()
    replace(op, tx8.tdma, src=op.src, dst=op.dst, segment_bytes=source.nbytes)


def is_apart(op: Any) -> bool:
    """Whether a product's result, or a change of layout, is another thing dense than channel-blocked."""
    if isinstance(op, tx8.GemmOp):
        rows, channels, format = op.m, op.n, op.out_format
    else:
        rows, channels, format = op.shape[1] * op.shape[2], op.shape[3], op.format
    return rows > 1 and aligned_channels(channels, Format.named(format)) != channels


@fault("layout misuse: .* do not lie alike")
def a_dense_operand_beside_a_blocked_one(program: Program, rng: np.random.Generator) -> None:
    op = one(rng, program, tx8.GemmOp, where=is_apart)
    away, shape = (AWAY,), op.out_shape
    operands = {"lhs": op.out, "rhs": away} if rng.integers(2) else {"lhs": away, "rhs": op.out}
    with Builder.after(op):
        tx8.channelnorm(tiles=op.tiles, src=op.out, dst=away, shape=shape, format=op.out_format, direction=False)
        tx8.binary_vv(tiles=op.tiles, function="add", **operands, dst=op.out, format=op.out_format,
                      count=op.m * op.n)  # fmt: skip


@fault("layout misuse: operand unit .* do not lie alike")
def one_vector_over_the_rows_of_a_blocked_tensor(program: Program, rng: np.random.Generator) -> None:
    """A whole vector goes over the physical elements of a whole tensor."""
    op = one(rng, program, tx8.GemmOp, where=is_apart)
    vector = (AWAY,)
    row = (op.batch, 1, 1, op.n)
    with Builder.after(op):
        tx8.memset(tiles=op.tiles, dst=(AWAY + 4096,), count=1 << 10, format=op.out_format, value=1)
        tx8.channelnorm(
            tiles=op.tiles, src=(AWAY + 4096,), dst=vector, shape=row, format=op.out_format, direction=False
        )
        tx8.binary_vuv(tiles=op.tiles, function="add", src=op.out, unit=vector, unit_count=op.n, dst=op.out,
                       count=op.m * op.n, format=op.out_format)  # fmt: skip


@fault("format misuse")
def another_format(program: Program, rng: np.random.Generator) -> None:
    op = one(rng, program, tx8.UnaryOp, tx8.BinaryVuVOp, tx8.BinaryVVOp, tx8.ReduceOp)
    other = {"f32": "bf16", "bf16": "f16", "f16": "bf16"}[op.format]
    set_field(op, "format", other)


@fault("format misuse")
def numbers_counted_as_integers(program: Program, rng: np.random.Generator) -> None:
    op = one(rng, program, tx8.UnaryOp, tx8.GemmOp)
    at = op.src if isinstance(op, tx8.UnaryOp) else op.out
    format = op.format if isinstance(op, tx8.UnaryOp) else op.out_format
    words = "i32" if Format.named(format).bytes == 4 else "i16"
    build = Builder.before(op) if isinstance(op, tx8.UnaryOp) else Builder.after(op)
    with build:
        tx8.count(tiles=op.tiles, src=at, dst=(AWAY,), count=4, format=words)


@fault("begins at .* begin at a multiple of 256 bytes|outside of the usable range")
def a_tensor_off_its_alignment(program: Program, rng: np.random.Generator) -> None:
    op = one(rng, program, tx8.GemmOp)
    field = ("lhs", "rhs", "out")[int(rng.integers(3))]
    set_field(op, field, shifted(getattr(op, field), 4 << int(rng.integers(6))))


@fault("begins at .* begin at a multiple of [24] bytes")
def a_vector_off_its_alignment(program: Program, rng: np.random.Generator) -> None:
    op = one(rng, program, tx8.UnaryOp, tx8.BinaryVuVOp, tx8.BinaryVVOp, tx8.ConvertOp)
    field = "src" if hasattr(op, "src") else "lhs"
    set_field(op, field, shifted(getattr(op, field), 1))


@fault("overlaps operand src, .* but not begin elsewhere in it")
def a_result_displaced_over_its_operand(program: Program, rng: np.random.Generator) -> None:
    op = one(rng, program, tx8.UnaryOp, tx8.BinaryVuVOp, tx8.BinaryVSOp, where=lambda op: op.count > 8)
    set_field(op, "dst", shifted(op.src, 4 * int(rng.integers(1, 4))))


@fault("overlaps operand (lhs|rhs), .* the neural engine writes before it has read all of it")
def a_product_over_its_factor(program: Program, rng: np.random.Generator) -> None:
    op = one(rng, program, tx8.GemmOp)
    set_field(op, "out", (op.lhs, op.rhs)[int(rng.integers(2))])


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", FAULTS)
def test_it_is_found(name: str, seed: int, compiled: Program) -> None:
    message, plant = FAULTS[name]
    program = compiled.clone()
    plant(program, np.random.default_rng(seed))
    with pytest.raises(SimError, match=message):
        Simulator(program).run(feeds(program))


def test_without_a_fault_there_is_no_alarm(compiled: Program) -> None:
    Simulator(compiled).run(feeds(compiled))
