"""The exception of the ONNX front end."""

from __future__ import annotations

from tx8ir.core import IrError


class OnnxImportError(IrError, ValueError):
    """An ONNX model that cannot be imported: malformed, or beyond what is supported. The message is one paragraph.

    Attributes:
        file: the file, or `<bytes>` / `<ModelProto>`.
        node: name of the ONNX node concerned (of its first output if it has no name), or None.
        operator: its ONNX operator, or None.
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
    ) -> None:
        self.file = file
        self.node = node
        self.operator = operator
        self.opset = opset
        place = file if node is None else f"{file}: node {node!r} ({operator}, opset {opset})"
        super().__init__(" ".join(f"{place}: {message}".split()))
