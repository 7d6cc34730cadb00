"""`load-constants`: numbered constants in the layout they are stored in, one load per use."""

from __future__ import annotations

from typing import ClassVar

import attrs

from tx8ir.backend.graph import CompileError, backend_ops, mem_layout
from tx8ir.backend.oplib.interface import OpLib
from tx8ir.core import Builder, OpOperand, Program, VTensorType, at_location
from tx8ir.dialects import tx8, tx8be
from tx8ir.dialects.tx8be import DevAttr
from tx8ir.passes import Pass, option, register_pass
from tx8ir.target.layout import MemLayout, size_bytes


@attrs.frozen
class _Load:
    """One use of a constant: which operand reads it, and the layout it reads."""

    constant: tx8be.ConstantOp
    use: OpOperand
    layout: MemLayout


@register_pass
@attrs.frozen
class LoadConstants(Pass):
    """Turns every `Constant` into one `LoadConst` per use, placed before its user.

    A `ChannelNorm` of a constant is absorbed: the data is stored in the layout it makes. Each (variable, layout) pair
    is stored once under one `id`, and all loads of an id have that layout in `dev_info`. Ids count from 0: constants
    whose stored size exceeds `large_bytes` (a DDR bank per tile by default) first, otherwise in order of first use.
    `bypasscodegen` marks a load whose user addresses the constant in DDR by itself (its `need_load` bit is clear).

    Assumes: `layout-align` ran. Guarantees: no `Constant` and no `ChannelNorm` of a constant is left.
    Cost: O(uses + constants log constants). Raises `CompileError` at a constant without `dev_info`.
    """

    name: ClassVar[str] = "load-constants"
    large_bytes: int | None = option(
        None, "constants of more bytes than this get the first ids; none: a DDR bank for each tile"
    )

    def run(self, program: Program) -> None:
        constants = [op for op in backend_ops(program) if isinstance(op, tx8be.ConstantOp)]
        loads = [load for constant in constants for load in self._loads(constant)]
        target = tx8.target_of(program)
        large = target.ddr_bank * target.tiles if self.large_bytes is None else self.large_bytes
        ids = self._number(loads, large)
        for load in loads:
            self._place(load, ids[load.constant.parameter, load.layout])
        for constant in constants:
            for user in list(constant.y.users):
                user.erase(by=self.name)
            constant.erase(by=self.name)
        self.count("constants", len(ids))
        self.count("loads", len(loads))

    def _loads(self, constant: tx8be.ConstantOp) -> list[_Load]:
        """The uses of a constant, looking through its conversions."""
        if constant.dev_info is None:
            raise CompileError(f"constant {constant.parameter!r} has no dev_info; run layout-align first", op=constant)
        loads: list[_Load] = []
        for use in constant.y.uses:
            user = use.owner
            if isinstance(user, tx8be.ChannelNormOp):
                rank = tx8be.ranked(constant.y, "constant").rank
                layout = mem_layout(constant.layout_str, rank, blocked=user.direction)
                loads.extend(_Load(constant, inner, layout) for inner in user.y.uses)
                self.count("conversions absorbed")
            else:
                loads.append(_Load(constant, use, MemLayout(constant.dev_info.mem_layout)))
        return loads

    @staticmethod
    def _number(loads: list[_Load], large_bytes: int) -> dict[tuple[str, MemLayout], int]:
        """Ids by variable and layout, large constants first."""
        sizes: dict[tuple[str, MemLayout], int] = {}
        for load in loads:
            t = tx8be.ranked(load.constant.y, "constant")
            sizes.setdefault((load.constant.parameter, load.layout), _stored_bytes(t, load.layout))
        ordered = sorted(sizes, key=lambda key: sizes[key] <= large_bytes)
        return {key: number for number, key in enumerate(ordered)}

    def _place(self, load: _Load, number: int) -> None:
        constant, user = load.constant, load.use.owner
        library = user.interface(OpLib)
        bypass = library is not None and not library.query().loads(load.use.index)
        with Builder.before(user), at_location(constant.location):
            loaded = tx8be.LoadConstOp(
                parameter=constant.parameter, id=number, bypasscodegen=bypass, layout_str=constant.layout_str,
                dev_info=DevAttr(load.layout), y=constant.y.type,
            )  # fmt: skip
        load.use.set(loaded.y)


def _stored_bytes(t: VTensorType, layout: MemLayout) -> int:
    return size_bytes(t.shape, t.element.format, layout)
