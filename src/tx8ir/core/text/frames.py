"""What the parser remembers of the operations that it is inside of."""

from __future__ import annotations

from typing import Any

import attrs

from tx8ir.core.attrs.attributes import DictAttr
from tx8ir.core.ir.block import Block, Region
from tx8ir.core.ir.operation import Operation
from tx8ir.core.ir.value import Value

from .custom_format import CustomFormat


@attrs.define
class Scope:
    """The names visible in an isolated part, and those that are used before they are defined."""

    values: dict[str, Any] = attrs.field(factory=dict[str, Any])
    # By name and number: the placeholder, where it is used first, and the name as it is written there.
    forward: dict[str, tuple[Value, int, str]] = attrs.field(factory=dict["str", "tuple[Value, int, str]"])


@attrs.define
class Frame:
    """An operation whose regions are being read."""

    results: list[tuple[str, int, int]]
    start: int
    generic: Generic | None
    header: CustomFormat | None
    regions: list[Region] = attrs.field(factory=list[Region])
    block: Block | None = None  # the block being filled
    blocks: dict[str, tuple[Block, int, bool]] = attrs.field(factory=dict["str", "tuple[Block, int, bool]"])
    outer_block: Block | None = None
    outer_scope: Scope | None = None
    shadow: list[tuple[str, Any]] = attrs.field(factory=list["tuple[str, Any]"])


@attrs.define
class Generic:
    """The part of a generic operation before its regions."""

    cls: type[Operation]
    operands: list[tuple[str, int]]
    successors: list[Block]
    properties: DictAttr
