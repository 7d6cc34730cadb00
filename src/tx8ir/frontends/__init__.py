"""Front ends: where programs come from. Each is imported when it is first used.

- `python`: Python functions of arrays, traced (`tx8ir.function`, `tx8ir.jit`)
- `onnx`: `tx8ir.frontends.onnx.load("model.onnx")`, which needs the extra `onnx`
- `torch`: `tx8ir.frontends.torch.load("model.pt2")`, which reads exported programs without PyTorch
- `paddle`: `tx8ir.frontends.paddle.load("model.json")`, which reads programs of PIR without Paddle; `save`
- `stablehlo`: `tx8ir.frontends.stablehlo.load(text)`, which reads what JAX lowers or exports, without JAX
- `files`: `tx8ir.load`, a program from any of the files that hold one
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tx8ir.support.lazy_names import lazy_names

if TYPE_CHECKING:
    from . import files as files
    from . import onnx as onnx
    from . import paddle as paddle
    from . import python as python
    from . import stablehlo as stablehlo
    from . import torch as torch

if not TYPE_CHECKING:  # to whom a `__getattr__` says that there is every name
    __getattr__, __dir__ = lazy_names(__name__, modules=("files", "onnx", "paddle", "python", "stablehlo", "torch"))
