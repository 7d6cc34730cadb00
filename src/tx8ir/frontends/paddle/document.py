"""Programs of Paddle's PIR as JSON: regions of blocks of operations, read and checked.

The keys are those of Paddle's `paddle/fluid/pir/serialize_deserialize/include/schema.h`: an operation is
`{"#": name, "I": operands, "O": results, "A": attributes, "OA": attributes of results, "regions": …}`, and dialects are
numbered in names (`1.relu` is `pd_op.relu`). Parameters are written shorter, `{"#": "p", "A": [.., .., .., name]}`.
Files of version 0, which Paddle wrote before 3.0, spell out the dialects; these are read, too.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

import attrs

from tx8ir.core import ScalarType, VTensorType
from tx8ir.core.files import shown

from .elements import IN_ATTRIBUTES, IN_TYPES, UNDEFINED
from .errors import PaddleImportError

VERSIONS: Final = (0, 1, 2, 3, 4)
"""Versions of the format that are read: 1 is that of Paddle 3.0, 4 that of Paddle 3.3.

What changed between them is the integer or floating-point type of attributes, which reading does not tell apart, and
attributes that have defaults (`paddle/fluid/pir/serialize_deserialize/patch`).
"""
DEEPEST: Final = 64
"""Regions may be nested so deep."""
_DIALECTS: Final = {"0": "builtin", "1": "pd_op", "2": "cf", "3": "custom_op", "4": "dist", "pd": "pd_op"}
_EXTENT: Final = 1 << 40


@attrs.frozen
class ResultType:
    """What a result is.

    Attributes:
        tensor: its type, where it is a tensor.
        items: those of a list of tensors, or None where it is no list.
        text: what it is, for messages.
    """

    tensor: VTensorType | None
    items: tuple[ResultType, ...] | None
    text: str

    @property
    def is_nothing(self) -> bool:
        """Whether the result is left out."""
        return self.tensor is None and self.items is None and self.text == "nothing"


@attrs.frozen(eq=False)
class PaddleOp:
    """An operation.

    Attributes:
        name: its name with the dialect spelled out (`pd_op.relu`).
        operands: numbers of values; 0 for one that is left out.
        results: numbers and types.
        attributes: numbers, strings, truth values, `ScalarType`s, None (undefined) and tuples of these, by name.
        persistable: whether its first result outlives a run.
        blocks: those of its regions, in order.
        place: where it stands, for people.
    """

    name: str
    operands: tuple[int, ...]
    results: tuple[tuple[int, ResultType], ...]
    attributes: Mapping[str, Any]
    persistable: bool
    blocks: tuple[PaddleBlock, ...]
    place: str

    @property
    def short(self) -> str:
        """The name without the dialect."""
        return self.name.partition(".")[2]

    @property
    def label(self) -> str:
        """A name for messages and locations: the layer, the operator and the number of its first result."""
        layer = self.attributes.get("struct_name")
        number = f"_{self.results[0][0]}" if self.results else ""
        return f"{layer if isinstance(layer, str) else ''}{self.short}{number}"


@attrs.frozen(eq=False)
class PaddleBlock:
    """A block.

    Attributes:
        arguments: numbers and types.
        ops: its operations.
    """

    arguments: tuple[tuple[int, ResultType], ...]
    ops: tuple[PaddleOp, ...]

    def walk(self) -> Iterator[PaddleOp]:
        """All operations, those of regions after the one that has them."""
        for op in self.ops:
            yield op
            for block in op.blocks:
                yield from block.walk()


@attrs.frozen(eq=False)
class Document:
    """A program.

    Attributes:
        file: its name for messages.
        version: version of the format.
        block: the operations.
    """

    file: str
    version: int
    block: PaddleBlock


def is_program(value: object) -> bool:
    """Whether a JSON document is a program of PIR."""
    head = cast("dict[str, Any]", value).get("base_code") if isinstance(value, dict) else None
    return isinstance(head, dict) and cast("dict[str, Any]", head).get("magic") == "pir"


def read_document(value: object, file: str) -> Document:
    """A program from a JSON document.

    Raises:
        PaddleImportError: it is none, is damaged, or of a version that is not known.
    """
    if not is_program(value):
        raise PaddleImportError("is no program of PIR: expected base_code.magic to be 'pir'", file=file)
    top = cast("dict[str, Any]", value)
    version = top["base_code"].get("version")
    if isinstance(version, bool) or version not in VERSIONS:
        raise PaddleImportError(f"is of version {version!r}; supported are {VERSIONS[0]} to {VERSIONS[-1]}", file=file)
    reader = _Reader(file, version)
    blocks = reader.regions(reader.object(top.get("program"), "program"), "", 0)
    if len(blocks) != 1:
        raise reader.error(f"has {len(blocks)} blocks; expected one")
    return Document(file, version, blocks[0])


@attrs.define
class _Reader:
    """What says where in the file something is wrong."""

    file: str
    version: int
    place: str = ""

    def error(self, message: str) -> PaddleImportError:
        where = f"{self.place}: " if self.place else ""
        return PaddleImportError(f"{where}{message}", file=self.file, version=self.version, place=self.place)

    def object(self, value: object, what: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise self.error(f"{what} is {shown(value)}; expected an object")
        return cast("dict[str, Any]", value)

    def list(self, value: object, what: str) -> list[Any]:
        if not isinstance(value, list):
            raise self.error(f"{what} is {shown(value)}; expected a list")
        return cast("list[Any]", value)

    def text(self, value: object, what: str) -> str:
        if not isinstance(value, str):
            raise self.error(f"{what} is {shown(value)}; expected a string")
        return value

    def integer(self, value: object, what: str) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or abs(value) > 1 << 63:
            raise self.error(f"{what} is {shown(value)}; expected an integer")
        return value

    # --- structure ---------------------------------------------------------------------------------------------------

    def regions(self, holder: Mapping[str, Any], place: str, depth: int) -> tuple[PaddleBlock, ...]:
        if depth > DEEPEST:
            raise self.error(f"regions are nested more than {DEEPEST} deep")
        found: list[PaddleBlock] = []
        for index, region in enumerate(self.list(holder.get("regions", []), "regions")):
            blocks = self.list(self.object(region, "a region").get("blocks"), "blocks")
            if len(blocks) != 1:
                raise self.error(f"region {index} has {len(blocks)} blocks; expected one")
            where = f"{place}region {index}, " if depth else ""
            found.append(self.block(self.object(blocks[0], "a block"), where, depth))
        return tuple(found)

    def block(self, value: Mapping[str, Any], place: str, depth: int) -> PaddleBlock:
        if value.get("kwargs"):
            raise self.error("a block has arguments by keyword, which is not supported")
        arguments = [self.value(item) for item in self.list(value.get("args", []), "args")]
        ops: list[PaddleOp] = []
        for index, item in enumerate(self.list(value.get("ops"), "ops")):
            self.place = f"{place}operation {index}"
            ops.append(self.op(self.object(item, "an operation"), depth))
        return PaddleBlock(tuple(arguments), tuple(ops))

    def op(self, value: Mapping[str, Any], depth: int) -> PaddleOp:
        name, place = self.text(value.get("#"), "the name"), self.place
        if name == "p":
            listed = self.list(value.get("A"), "A")
            if len(listed) < 4:
                raise self.error(f"the parameter has {len(listed)} attributes; expected 4")
            attributes = {"parameter_name": self.text(listed[3], "the name of the parameter")}
            result = self.value(self.object(value.get("O"), "O"))
            return PaddleOp("builtin.parameter", (), (result,), attributes, True, (), place)
        operands = [self.number(self.object(item, "an operand")) for item in self.list(value.get("I", []), "I")]
        results = [self.value(item) for item in self.list(value.get("O", []), "O")]
        attributes = dict(self.attribute(item) for item in self.list(value.get("A", []), "A"))
        others = dict(self.attribute(item) for item in self.list(value.get("OA", []), "OA"))
        blocks = self.regions(value, f"{place}, ", depth + 1)
        lasting = others.get("persistable")
        return PaddleOp(
            _spelled_out(name), tuple(operands), tuple(results), attributes,
            isinstance(lasting, tuple) and lasting[:1] == (True,), blocks, place,
        )  # fmt: skip

    def number(self, value: Mapping[str, Any]) -> int:
        return self.integer(value.get("%", value.get("#", 0)), "the number of a value")

    def value(self, value: object) -> tuple[int, ResultType]:
        found = self.object(value, "a value")
        return self.number(found), self.type(found.get("TT"), 0)

    # --- types and attributes ----------------------------------------------------------------------------------------

    def type(self, value: object, depth: int) -> ResultType:
        found = self.object(value, "a type")
        name = self.text(found.get("#"), "the name of a type").rpartition(".")[2]
        data = found.get("D")
        if name == "NULL":
            return ResultType(None, None, "nothing")
        if name == "t_vec" and depth < DEEPEST:
            items = [self.type(item, depth + 1) for item in self.list(data, "the types of a list")]
            return ResultType(None, tuple(items), "a list")
        if name != "t_dtensor":
            return ResultType(None, None, f"a value of type {name}")
        parts = self.list(data, "a tensor type")
        if len(parts) < 2:
            raise self.error(f"a tensor type has {len(parts)} parts; expected an element type and a shape")
        kind = self.text(self.object(parts[0], "an element type").get("#"), "an element type").rpartition(".")[2]
        shape = [self.integer(extent, "an extent") for extent in self.list(parts[1], "a shape")]
        if any(not -1 <= extent < _EXTENT for extent in shape) or math.prod(map(abs, shape)) > _EXTENT:
            raise self.error(f"the shape is {shown(shape)}; expected extents of -1, 0 or more")
        element = IN_TYPES.get(kind)
        if element is None:
            return ResultType(None, None, f"a tensor of {kind}")
        return ResultType(VTensorType(shape, element), None, "a tensor")

    def attribute(self, value: object) -> tuple[str, Any]:
        found = self.object(value, "an attribute")
        name = self.text(found.get("N"), "the name of an attribute")
        return name, self.data(found.get("AT"), f"attribute {name}", 0)

    def data(self, value: object, what: str, depth: int) -> Any:
        found = self.object(value, what)
        kind, data = self.text(found.get("#"), what).rpartition(".")[2], found.get("D")
        if depth > DEEPEST:
            raise self.error(f"{what} is nested too deep")
        if "VD" in found:
            return _NO_NUMBERS.get(self.text(found["VD"], what), math.nan)
        match kind:
            case "a_array":
                return tuple(self.data(item, what, depth + 1) for item in self.list(data, what))
            case "a_intarray":
                return tuple(self.integer(item, what) for item in self.list(data, what))
            case "a_dtype":
                return self.element(self.text(data, what), what)
            case "a_scalar":
                parts = self.list(data, what)
                return parts[1] if len(parts) > 1 and isinstance(parts[1], int | float) else None
            case "a_bool" | "a_str" | "a_tensorname" | "a_i32" | "a_i64" | "a_index" | "a_f32" | "a_f64":
                if not isinstance(data, _KINDS[kind]) or (isinstance(data, bool) and kind != "a_bool"):
                    raise self.error(f"{what} is {shown(data)}; expected {kind}")
                return float(cast("float", data)) if kind in ("a_f32", "a_f64") else data
            case _:
                return None

    def element(self, name: str, what: str) -> ScalarType | None:
        if name in UNDEFINED:
            return None
        element = IN_ATTRIBUTES.get(name)
        if element is None:
            raise self.error(f"{what} is {name!r}; supported are {', '.join(IN_ATTRIBUTES)}")
        return element


_KINDS: Final[dict[str, Any]] = {
    "a_bool": bool, "a_str": str, "a_tensorname": str, "a_i32": int, "a_i64": int, "a_index": int,
    "a_f32": (int, float), "a_f64": (int, float),
}  # fmt: skip
_NO_NUMBERS: Final = {"NAN": math.nan, "INF": math.inf, "-INF": -math.inf}


def _spelled_out(name: str) -> str:
    dialect, dot, rest = name.partition(".")
    return f"{_DIALECTS.get(dialect, dialect)}.{rest}" if dot else name
