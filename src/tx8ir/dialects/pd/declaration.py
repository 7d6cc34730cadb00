"""What an element-wise operation says of itself beside what it computes, for every package that needs to know.

The class is the one place where an operation is declared. Gradients (`autodiff`), the lowering to the chip (`backend`),
the import of ONNX models, mixed precision and the tests read from it what they need.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal, Protocol, TypeAlias

import attrs

from tx8ir.core import Value

MixedPrecision: TypeAlias = Literal["allow", "deny", "infer"]
"""How `auto-mixed-precision` takes an operation: computed in the narrow format, kept in f32, or as what it uses is."""


@attrs.frozen
class OnnxOperator:
    """The ONNX operator that is one operation of ours.

    Attributes:
        name: in the standard operator set.
        first: oldest version of the operator (the opset that introduced the version) with this meaning.
        last: newest version.
        numbers: floating-point attributes of the operator: the attribute of ours that each is, and its default.
        fixed: attributes of ours that the operator does not have, and what they are for it.
    """

    name: str
    first: int
    last: int
    numbers: Mapping[str, tuple[str, float]] = attrs.field(factory=dict[str, tuple[str, float]])
    fixed: Mapping[str, float] = attrs.field(factory=dict[str, float])


class Primal(Protocol):
    """The operand and the result of a unary operation, read where its gradient is computed."""

    @property
    def x(self) -> Value:
        """The operand, as a vtensor."""
        ...

    @property
    def out(self) -> Value:
        """The result, as a vtensor."""
        ...


class Elementwise:
    """What every element-wise operation says, by class attributes."""

    __slots__ = ()

    has_inplace_form: ClassVar[bool] = False
    """Whether the dialect has `foo_` beside `foo`, which writes the result into the storage of the first operand."""
    vector_function: ClassVar[str | None] = None
    """The function of the TX8's vector unit that computes it (`target.vector_functions`); None: there is none, or the
    lowering makes it of several."""
    onnx: ClassVar[OnnxOperator | None] = None
    """The ONNX operator that is imported as this operation; None where the importer has a function for it."""
    mixed_precision: ClassVar[MixedPrecision] = "deny"
    interval: ClassVar[tuple[float, float]] = (-3.0, 3.0)
    """Numbers where it is defined, and smooth but for single points: tests compare it with its formula there."""
