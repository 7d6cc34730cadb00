"""Programs from files, by what the files are."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final

from tx8ir.core import MissingFileError, Program, parse
from tx8ir.core.program import GRAPH_FILE, ONE_FILE, read_text

TEXT_SUFFIXES: Final = (".mlir", ".txt")
TORCH_SUFFIX: Final = ".pt2"
PADDLE_SUFFIXES: Final = (".json", ".pdiparams")
_MARKS: Final = re.compile(r'(?:^|[\s"=])(?:stablehlo|chlo|sdy)\.\w+|\bmhlo\.num_(?:partitions|replicas)\b')


def is_text(path: Path) -> bool:
    """Whether a file is IR text, by its name."""
    return path.suffix in TEXT_SUFFIXES and not path.is_dir()


def is_stablehlo(text: str) -> bool:
    """Whether a text of MLIR has operations of StableHLO, or was written by JAX."""
    return _MARKS.search(text) is not None


def load(path: str | os.PathLike[str]) -> Program:
    """The program in `path`: a folder or a file (.safetensors) that `Program.save` wrote, IR text (.mlir, .txt), a
    module of StableHLO (the same), an exported program of PyTorch (.pt2), a program of Paddle (.json or .pdiparams, or
    a folder that holds both), or else an ONNX model.

    Raises:
        IrError: `MissingFileError` when there is nothing, `LoadError` when the file cannot be read at all, others when
            its content is something else.
        ImportError: it is an ONNX model, and the extra `onnx` is not installed.
    """
    path = Path(path)
    if path.is_dir():
        if (path / GRAPH_FILE).exists() or not any(path.glob(f"*{PADDLE_SUFFIXES[0]}")):
            return Program.load(path)
        from . import paddle

        return paddle.load(path)
    if not path.exists():
        raise MissingFileError(
            path, "a model of ONNX, PyTorch, Paddle or JAX, IR text or a saved program", "nothing there"
        )
    if is_text(path):
        text = read_text(path)
        if not is_stablehlo(text):
            return parse(path)
        from . import stablehlo

        return stablehlo.load_text(text, str(path))
    if path.suffix == ONE_FILE:
        return Program.load(path)
    if path.suffix == TORCH_SUFFIX:
        from . import torch

        return torch.load(path)
    if path.suffix in PADDLE_SUFFIXES:
        from . import paddle

        return paddle.load(path.with_suffix(PADDLE_SUFFIXES[0]))
    from . import onnx  # here, because texts need no extra

    return onnx.load(path)
