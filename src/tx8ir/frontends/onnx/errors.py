"""The exception of the ONNX front end."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from tx8ir.frontends import errors


@attrs.frozen
class MissingOperator(errors.MissingOperator):
    """An operator of a model that the front end lacks, at one node.

    Attributes:
        operator: its name.
        node: name of the node, or of its first output.
        place: the graphs around the node, outermost first: names of nodes and of their attributes (`loop/body`).
        domain: its domain; empty for the standard one.
        version: the version of the operator in the model's opset, or the opset where the operator is not known.
    """

    domain: str = ""
    version: int = 0

    @property
    def kind(self) -> str:
        """The operator with its domain, unless that is the standard one."""
        return f"{self.domain}::{self.operator}" if self.domain else self.operator

    def __str__(self) -> str:
        node = f"{self.place}/{self.node}" if self.place else self.node
        return f"{self.kind} (version {self.version}) at node {node!r}"


class OnnxImportError(errors.FrontendError):
    """An ONNX model that cannot be imported: malformed, or beyond what is supported.

    `file` may be `<bytes>` or `<ModelProto>`, a node without a name has that of its first output, and `needs` are graph
    inputs whose values would have to be known (`load(…, constants=…)`).

    Attributes:
        opset: the opset of the model, or None where it is not known yet.
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
        self.opset = opset
        super().__init__(message, file=file, node=node, operator=operator, needs=needs, missing=missing)

    def described_operator(self) -> str:
        """The operator and the opset."""
        return f"{self.operator}, opset {self.opset}"
