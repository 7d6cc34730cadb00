"""What the choice of layouts is worth: bytes converted with the greedy labelling and with the optimal one."""

from __future__ import annotations

from tx8ir.compiler import lower
from tx8ir.frontends import onnx
from tx8ir.passes import PassManager

print(f"{'model':10} {'labelling':10} {'conversions':>11} {'bytes':>10}")
for model in ("resnet18", "gpt2"):
    for mode in ("greedy", "optimal"):
        program = lower(onnx.load(f"tests/data/models/{model}/model.onnx"), through="layout-transmit")
        report = PassManager.parse(f"layout-align{{mode={mode}}}").run(program)
        counted = report.stages[0].statistics
        print(f"{model:10} {mode:10} {counted.get('conversions', 0):11} {counted.get('conversion bytes', 0):10}")
