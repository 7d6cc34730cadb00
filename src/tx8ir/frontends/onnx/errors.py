"""The exception of the ONNX front end."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from tx8ir.core import IrError


@attrs.frozen
class MissingOperator:
    """An operator of a model that the front end lacks, at one node.

    Attributes:
        operator: its name.
        domain: its domain; empty for the standard one.
        version: the version of the operator in the model's opset, or the opset where the operator is not known.
        node: name of the node, or of its first output.
        place: the graphs around the node, outermost first: names of nodes and of their graph attributes.
    """

    operator: str
    domain: str
    version: int
    node: str
    place: tuple[str, ...] = ()

    def __str__(self) -> str:
        name = f"{self.domain}::{self.operator}" if self.domain else self.operator
        return f"{name} (version {self.version}) at node {'/'.join((*self.place, self.node))!r}"


class OnnxImportError(IrError, ValueError):
    """An ONNX model that cannot be imported: malformed, or beyond what is supported. The message is one paragraph.

    Attributes:
        file: the file, or `<bytes>` / `<ModelProto>`.
        node: name of the ONNX node concerned (of its first output if it has no name), or None.
        operator: its ONNX operator, or None.
        opset: the opset of the model, or None where it is not known yet.
        needs: graph inputs whose values would have to be known (`load(…, constants=…)`) for the import to go on.
        missing: every operator of the model that the front end lacks, where that is what is wrong.
    """

    def __init__(
        self,
        message: str,
        *,
        file: str,
        node: str | None = None,
        operator: str | None = None,
        opset: int | None = None,
        needs: Sequence[str] = (),
        missing: Sequence[MissingOperator] = (),
    ) -> None:
        self.file = file
        self.node = node
        self.operator = operator
        self.opset = opset
        self.needs = tuple(needs)
        self.missing = tuple(missing)
        place = file if node is None else f"{file}: node {node!r} ({operator}, opset {opset})"
        super().__init__(" ".join(f"{place}: {message}".split()))
