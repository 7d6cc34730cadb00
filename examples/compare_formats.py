"""Both bundled models in three number formats: how far from PyTorch's fp64 answer, and what they cost on the chip."""

from __future__ import annotations

import numpy as np

import tx8ir
from tx8ir.frontends import onnx

print(f"{'model':10} {'format':10} {'error':>8} {'us':>7} {'instructions':>12} {'DDR to SPM':>12}")
for model in ("resnet18", "gpt2"):
    folder = f"tests/data/models/{model}"
    program = onnx.load(f"{folder}/model.onnx")
    data = np.load(f"{folder}/data.npz")
    inputs = {name.removeprefix("in_"): data[name] for name in data.files if name.startswith("in_")}
    exact = data["ref64_0"]
    for dtype in ("f32", "bf16", "f16"):
        executable = tx8ir.compile(program, options=tx8ir.CompileOptions(dtype=dtype))
        (output,) = executable.run(inputs).values()
        error = np.abs(output - exact).max() / np.abs(exact).max()
        cost = executable.report.run.sim
        print(
            f"{model:10} {dtype:10} {error:8.1e} {cost.microseconds:7.1f} {cost.instructions:12} "
            f"{cost.bytes['DDR to SPM'] / 1024:8.0f} KiB"
        )
