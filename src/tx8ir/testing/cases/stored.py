"""Programs as they travel between processes and wait in a corpus: text, and the variables."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from tx8ir.core import Program, TensorType, VTensorType, parse


@attrs.frozen(eq=False)
class StoredVariable:
    """A variable of a program."""

    name: str
    type: TensorType | VTensorType
    data: NDArray[Any]
    is_mutable: bool


@attrs.frozen(eq=False)
class StoredProgram:
    """A program that can be pickled, and costs little to keep."""

    text: str
    variables: tuple[StoredVariable, ...] = ()

    @classmethod
    def of(cls, program: Program) -> StoredProgram:
        """The program as it is now."""
        variables = [
            StoredVariable(name, variable.type, np.array(variable.numpy()), variable.is_mutable)
            for name, variable in program.weights.items()
        ]
        return cls(str(program), tuple(variables))

    def program(self) -> Program:
        """A new program. Raises ParseError for a text that is none."""
        program = parse(self.text)
        for v in self.variables:
            program.weights.add(v.name, np.array(v.data), v.type, is_mutable=v.is_mutable)
        return program
