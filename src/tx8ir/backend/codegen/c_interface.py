"""The interface of instructions in C: a parameter struct and a function for each, by what the dialect declares.

An address becomes a tensor descriptor (`TSR`) and an argument of the function; every other field becomes a member of
the instruction's parameter struct.
"""

from __future__ import annotations

import enum
from functools import cache
from typing import Final

import attrs

from tx8ir.dialects import tx8
from tx8ir.dialects.tx8 import Instruction, Requantize
from tx8ir.target import formats

__all__ = ["CField", "CInstruction", "CType", "header", "instructions", "of"]


class CType(enum.Enum):
    """How a field is passed in C. Each member's value is the C type."""

    INTEGER = "int64_t"
    FLAG = "bool"
    NUMBER = "double"
    WORD = "const char *"
    LIST = "TX8_LIST"
    OPTIONAL_INTEGER = "const int64_t *"
    OPTIONAL_NUMBER = "const double *"
    REQUANTIZE = "const TX8_REQUANTIZE *"


_TYPES: Final = {
    "int": CType.INTEGER,
    "bool": CType.FLAG,
    "float": CType.NUMBER,
    "str": CType.WORD,
    "str | None": CType.WORD,
    "tuple[int, ...]": CType.LIST,
    "int | None": CType.OPTIONAL_INTEGER,
    "float | None": CType.OPTIONAL_NUMBER,
    "Requantize | None": CType.REQUANTIZE,
}
_KEYWORDS: Final = frozenset({"register"})
_SHARED: Final = ("tiles", "source", "follows")  # of the program around the instruction, not of its execution
SHAPE_DIMENSIONS: Final = 8
REQUANTIZE_FIELDS: Final = tuple(field.name for field in attrs.fields(Requantize))


@attrs.frozen
class CField:
    """One member of a parameter struct."""

    name: str
    type: CType
    doc: str

    @property
    def member(self) -> str:
        """Its name in C."""
        return f"{self.name}_" if self.name in _KEYWORDS else self.name


@attrs.frozen
class CInstruction:
    """An instruction in C: ``tx8.gemm`` is `name` ``gemm``, called with its parameters and its `operands`."""

    op: type[Instruction]
    name: str
    fields: tuple[CField, ...]
    operands: tuple[str, ...]
    """Names of the fields that hold addresses, in order."""

    @property
    def struct(self) -> str:
        """The name of the parameter struct."""
        return f"TX8_{self.name.upper()}"


@cache
def instructions() -> tuple[CInstruction, ...]:
    """All instructions of the dialect, by name."""
    ops = [op for op in tx8.DIALECT.ops.values() if issubclass(op, Instruction)]
    return tuple(sorted(map(of, ops), key=lambda made: made.name))


@cache
def of(op: type[Instruction]) -> CInstruction:
    """The interface of one instruction."""
    addresses = op.address_fields()
    declared = [field for field in op.definition.attributes if field.name not in _SHARED]
    if issubclass(op, tx8.BarrierOp):  # who meets there
        declared = [*(field for field in op.definition.attributes if field.name == "tiles"), *declared]
    return CInstruction(
        op,
        op.name.removeprefix("tx8."),
        tuple(CField(f.name, _TYPES[str(f.annotation)], f.doc) for f in declared if f.name not in addresses),
        tuple(f.name for f in declared if f.name in addresses),
    )


_HEADER: Final = """\
/* The interface between a compiled program (main.c) and what executes it: a TX8, or a simulator of one.
 *
 * Every tile of the chip runs tx8_main with its own number. Each instruction is a function of TX8_DEVICE, which takes
 * the tile, the instruction's parameters and a descriptor for each tensor in memory, and returns cycles.
 * Written by tx8ir %(version)s from its dialect tx8; the documentation of the dialect says what instructions compute.
 */
#ifndef TX8_H
#define TX8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MAX_SHAPE_DIM %(dimensions)d

typedef enum Data_Format {
%(formats)s
} Data_Format;

/* What a tile holds of a tensor. Extents count elements, the last axis is the fastest. */
typedef struct L_SHAPE {
    int32_t shape_whole[MAX_SHAPE_DIM]; /* the whole tensor */
    int32_t shape_start[MAX_SHAPE_DIM]; /* where the slice begins */
    int32_t shape_slice[MAX_SHAPE_DIM]; /* extents of a full slice */
    int32_t shape_real[MAX_SHAPE_DIM];  /* extents of this slice, smaller at a ragged end */
    int32_t dim;                        /* number of axes */
} L_SHAPE;

/* A tensor in SPM (addresses from 0, of the tile) or in DDR (absolute addresses). */
typedef struct TSR {
    Data_Format format;
    uint64_t addr;
    L_SHAPE *shape;
} TSR;

typedef struct TX8_LIST {
    int32_t count;
    const int64_t *at;
} TX8_LIST;

#define TX8_NUMBERS(...) \\
    { sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t), (const int64_t[]){__VA_ARGS__} }

typedef struct TX8_REQUANTIZE {
%(requantize)s
} TX8_REQUANTIZE;

%(structs)s

typedef struct TX8_DEVICE {
%(functions)s
} TX8_DEVICE;

/* The program of the chip, for one of its tiles. Returns the sum of what the instructions returned. */
uint64_t tx8_main(const TX8_DEVICE *device, int32_t tile);

/* Whether a set of tiles has one. */
static inline bool tx8_in(uint64_t tiles, int32_t tile) { return tiles >> tile & 1; }

/* Where a slice begins whose first element lies `element` elements after that of a dense tensor. */
static inline void tx8_locate(L_SHAPE *shape, uint64_t element)
{
    for (int32_t axis = shape->dim - 1; axis >= 0; --axis) {
        shape->shape_start[axis] = (int32_t)(element %% (uint64_t)shape->shape_whole[axis]);
        element /= (uint64_t)shape->shape_whole[axis];
        int32_t rest = shape->shape_whole[axis] - shape->shape_start[axis];
        shape->shape_real[axis] = shape->shape_slice[axis] < rest ? shape->shape_slice[axis] : rest;
    }
}

#endif
"""


def header(version: str) -> str:
    """The text of ``tx8.h``."""
    codes = [(f.vendor_name.upper(), f.code) for f in formats.ALL if f.code is not None]
    return _HEADER % {
        "version": version,
        "dimensions": SHAPE_DIMENSIONS,
        "formats": "\n".join(f"    Fmt_{name} = {code}," for name, code in sorted(codes, key=lambda item: item[1])),
        "requantize": "\n".join(f"    int64_t {name};" for name in REQUANTIZE_FIELDS),
        "structs": "\n\n".join(map(_struct, instructions())),
        "functions": "\n".join(map(_function, instructions())),
    }


def _struct(made: CInstruction) -> str:
    members = [f"    {_declared(field.type.value, field.member)} /* {field.doc} */" for field in made.fields]
    return "\n".join([f"typedef struct {made.struct} {{", *members, f"}} {made.struct};"])


def _declared(type_: str, name: str) -> str:
    return f"{type_}{name};" if type_.endswith("*") else f"{type_} {name};"


def _function(made: CInstruction) -> str:
    arguments = ["int32_t tile", f"const {made.struct} *param", *(f"const TSR *{name}" for name in made.operands)]
    return f"    uint64_t (*{made.name})({', '.join(arguments)});"
