"""`externalize-constants`: large constants move from the program into its weight store."""

from __future__ import annotations

from typing import ClassVar

import attrs
import numpy as np

from tx8ir.analysis.constants import splat_value
from tx8ir.core import DenseAttr, Program, detached
from tx8ir.dialects import builtin
from tx8ir.passes import Pass, option, register_pass
from tx8ir.rewriting.provenance import derived_location


@register_pass
@attrs.frozen
class ExternalizeConstants(Pass):
    """Makes every large `builtin.constant` a variable of the program's store, read by `builtin.get_parameter`.

    The text of the program then stays small, whatever its data, and the data is saved, mapped and placed as weights
    are. Constants of equal type and bytes share one variable, also across functions. A variable is called after its
    constant, or `name` when the constant has no name (`constant`, `constant_1`, …, in the order of the program), and is
    immutable, so that passes go on treating it as a constant. A constant whose elements are all equal stays: the
    program holds it as one element.

    Assumes: nothing. Guarantees: no other constant of more than `inline-bytes` is left. Keeps every bit. Names are
    those not yet taken in the store, and the same in every run on the same program. Idempotent.
    Cost: O(operations); data is not copied, and compared by identity, since dense attributes are unique.
    From IREE's export of parameters with a minimum size. Statistics: `constants` (replaced), `variables` (made).
    """

    name: ClassVar[str] = "externalize-constants"

    inline_bytes: int = option(
        256, "constants of up to so many bytes stay in the program", validator=attrs.validators.ge(0)
    )
    stem: str = option(
        "constant", "what variables are called whose constant has no name", validator=attrs.validators.min_len(1)
    )

    def run(self, program: Program) -> None:
        variables: dict[DenseAttr, str] = {}
        constants = [op for op in program.module.walk() if isinstance(op, builtin.ConstantOp)]
        with detached():
            for op in constants:
                value = op.attributes["value"]
                if not isinstance(value, DenseAttr) or value.value.nbytes <= self.inline_bytes:
                    continue
                if splat_value(op.out) is not None:
                    continue
                name = variables.get(value)
                if name is None:
                    name = variables[value] = program.weights.unique_name(op.out.name_hint or self.stem)
                    program.weights.add(name, np.ascontiguousarray(value.value), value.type.to_vtensor())
                read = builtin.GetParameterOp(parameter=name, out=op.out.type)
                read.location = derived_location((op.location,), self.name)
                if op.out.name_hint is not None:
                    read.out.name_hint = op.out.name_hint
                block = op.parent
                assert block is not None  # it was found inside the module
                block.insert_before(read, op)
                op.replace_with(read, by=self.name)
                self.count("constants")
        self.count("variables", len(variables))
