"""Compiled `main.c` executed here: its instructions are recorded, tile by tile, and executed by the simulator.

Nothing of the instruction program is used but its declarations: what the chip does is what the C code says.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import attrs

from tx8ir.backend.codegen import c_interface
from tx8ir.backend.codegen.c_interface import CField, CInstruction, CType
from tx8ir.core import Block, Builder, IrError, Program, Region
from tx8ir.dialects import tx8
from tx8ir.dialects.tx8 import Instruction, Requantize
from tx8ir.executable import MAIN_FILE, Executable

COMPILER: Final = "gcc"
_FLAGS: Final = ("-std=c11", "-O0", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC")


@attrs.frozen
class Issued:
    """One instruction as a tile issued it: fields by name, addresses as numbers, absent ones left out."""

    op: type[Instruction]
    fields: Mapping[str, Any]


class NativeProgram:
    """A ``main.c``, compiled by gcc and loaded.

    Args:
        source: the file, with ``tx8.h`` beside it.
        program: declares the segments, inputs and outputs in DDR, and holds the constants; its instructions are not
            looked at.
        build: a folder for the compiled library.

    Raises:
        FileNotFoundError: there is no gcc, or no such file.
        IrError: gcc does not compile it; the message is gcc's.
    """

    def __init__(self, source: str | Path, program: Program, build: str | Path) -> None:
        library = Path(build) / "main.so"
        compiler = shutil.which(COMPILER)
        if compiler is None:
            raise FileNotFoundError(f"no {COMPILER} on PATH")
        if not Path(source).is_file():
            raise FileNotFoundError(f"no such file: {source}")
        command = [compiler, *_FLAGS, str(source), "-o", str(library)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise IrError(f"{COMPILER} does not compile {source}: {done.stderr}")
        self._program = program
        self._main = ctypes.CDLL(str(library)).tx8_main
        self._main.restype = ctypes.c_uint64
        self._main.argtypes = [ctypes.c_void_p, ctypes.c_int32]

    @classmethod
    def of(cls, executable: Executable, folder: str | Path) -> NativeProgram:
        """What `executable` saves in `folder`, compiled there."""
        executable.save(folder)
        return cls(Path(folder) / MAIN_FILE, executable.program, folder)

    def issue(self, tile: int) -> list[Issued]:
        """What a tile issues, in order, loops unrolled."""
        recorded: list[Issued] = []
        device = _Device(recorded)
        self._main(ctypes.byref(device.table), tile)
        return recorded

    def recorded(self) -> Program:
        """The program of what all tiles issue: up to each barrier one tile after the other.

        Raises `IrError` when tiles wait at a barrier that others never come to.
        """
        original = self._program
        (declared,) = [op for op in original.body if isinstance(op, tx8.ProgramOp)]
        streams = [self.issue(tile) for tile in range(tx8.target_of(original).tiles)]
        program = Program.empty()
        body = Block()
        with Builder.at_end(body) as builder:
            for op in declared.body.block:
                if isinstance(op, (tx8.SegmentOp, tx8.PortOp)):
                    builder.insert(op.clone())
            _build(streams)
        with Builder.at_end(program.body):
            tx8.ProgramOp(target=declared.target, chip=declared.chip, body=Region([body]))
        program.weights = original.weights
        program.verify()
        return program


def _build(streams: Sequence[Sequence[Issued]]) -> None:
    """The instructions of all tiles; a barrier is one operation, built when all of its tiles have come to it."""
    positions = [0] * len(streams)

    def waits_at(tile: int) -> tuple[int, ...] | None:
        stream, position = streams[tile], positions[tile]
        is_barrier = position < len(stream) and stream[position].op is tx8.BarrierOp
        return tuple(stream[position].fields["tiles"]) if is_barrier else None

    while any(position < len(stream) for position, stream in zip(positions, streams, strict=True)):
        for tile, stream in enumerate(streams):
            while positions[tile] < len(stream) and waits_at(tile) is None:
                issued = stream[positions[tile]]
                _make(issued.op)(tiles=(tile,), **issued.fields)
                positions[tile] += 1
        met = next((b for b in map(waits_at, range(len(streams))) if b and all(waits_at(t) == b for t in b)), None)
        if met is None and any(waits_at(tile) for tile in range(len(streams))):
            raise IrError("tiles wait at barriers that others never come to")
        for tile in met or ():
            positions[tile] += 1
        if met:
            tx8.BarrierOp(tiles=met)


def _make(op: type[Instruction]) -> Callable[..., Any]:
    return op


# --- the interface in ctypes ---------------------------------------------------------------------------------------


class _Shape(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_int32 * c_interface.SHAPE_DIMENSIONS) for name in ("whole", "start", "slice", "real")),
        ("dim", ctypes.c_int32),
    ]


class _Tensor(ctypes.Structure):
    _fields_ = [("format", ctypes.c_int), ("addr", ctypes.c_uint64), ("shape", ctypes.POINTER(_Shape))]


class _List(ctypes.Structure):
    _fields_ = [("count", ctypes.c_int32), ("at", ctypes.POINTER(ctypes.c_int64))]


class _Requantize(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int64) for name in c_interface.REQUANTIZE_FIELDS]


_CTYPES: Final[Mapping[CType, Any]] = {
    CType.INTEGER: ctypes.c_int64,
    CType.FLAG: ctypes.c_bool,
    CType.NUMBER: ctypes.c_double,
    CType.WORD: ctypes.c_char_p,
    CType.LIST: _List,
    CType.OPTIONAL_INTEGER: ctypes.POINTER(ctypes.c_int64),
    CType.OPTIONAL_NUMBER: ctypes.POINTER(ctypes.c_double),
    CType.REQUANTIZE: ctypes.POINTER(_Requantize),
}


def _struct(made: CInstruction) -> type[ctypes.Structure]:
    members = [(field.member, _CTYPES[field.type]) for field in made.fields]
    return type(made.struct, (ctypes.Structure,), {"_fields_": members})


def _read(parameters: Any, field: CField) -> Any:
    """A member as the value of the field; None when it is absent."""
    value: Any = getattr(parameters, field.member)
    match field.type:
        case CType.WORD:
            return None if value is None else value.decode()
        case CType.LIST:
            return tuple(value.at[: value.count]) if value.count else ()
        case CType.OPTIONAL_INTEGER | CType.OPTIONAL_NUMBER:
            return value.contents.value if value else None
        case CType.REQUANTIZE:
            if not value:
                return None
            return Requantize(**{name: getattr(value.contents, name) for name in c_interface.REQUANTIZE_FIELDS})
        case _:
            return value


class _Device:
    """A table of functions that write down what they are called with."""

    def __init__(self, recorded: list[Issued]) -> None:
        self._kept = [self._function(made, recorded) for made in c_interface.instructions()]
        members: list[tuple[str, Any]] = [
            (made.name, type(f)) for made, f in zip(c_interface.instructions(), self._kept, strict=True)
        ]
        self.table: ctypes.Structure = type("TX8_DEVICE", (ctypes.Structure,), {"_fields_": members})(*self._kept)

    def _function(self, made: CInstruction, recorded: list[Issued]) -> Any:
        struct = _struct(made)
        operands = [ctypes.POINTER(_Tensor)] * len(made.operands)
        signature = ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_int32, ctypes.POINTER(struct), *operands)

        def record(tile: int, parameters: Any, *tensors: Any) -> int:
            fields = {field.name: _read(parameters.contents, field) for field in made.fields}
            for name, tensor in zip(made.operands, tensors, strict=True):
                fields[name] = (tensor.contents.addr,) if tensor else None
            recorded.append(Issued(made.op, {key: value for key, value in fields.items() if value is not None}))
            return 0

        return signature(record)
