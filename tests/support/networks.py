"""Networks to look at, larger than a test case: a transformer of the shape of Llama."""

from __future__ import annotations

import numpy as np

from tx8ir.core import Builder, FunctionType, Program, Value, VTensorType, f32
from tx8ir.dialects import builtin, func, pd


class _Writer:
    """Builds operations, with random weights under the names that exporters give them."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.rng = np.random.default_rng(0)

    def weight(self, name: str, *shape: int) -> Value:
        data = (self.rng.standard_normal(shape) / np.sqrt(shape[0])).astype(np.float32)
        self.program.weights.add(name, data)
        return builtin.get_parameter(parameter=name, out=VTensorType(shape, f32))

    def linear(self, x: Value, name: str, inputs: int, outputs: int) -> Value:
        return pd.matmul(x, self.weight(f"{name}.weight", inputs, outputs))


def llama(layers: int = 1, *, length: int = 32, width: int = 64, heads: int = 4, inner: int = 176) -> Program:
    """RMS norm, attention with rotary positions, and a gated feed-forward part, `layers` times; f32 [1, length, width].

    Five of its operations are matrix products in each layer, about forty operations in all.
    """
    program = Program.empty()
    head = width // heads
    type_ = VTensorType((1, length, width), f32)
    with Builder.at_end(program.body):
        main = func.func(
            sym_name="main", function_type=FunctionType((type_,), (type_,)), arg_names=("x",), result_names=("y",)
        )
    write = _Writer(program)
    with Builder.at_end(main.body.block):
        (x,) = main.body.block.args
        angle = np.arange(length)[:, None] / 10000.0 ** (np.arange(head // 2) / (head // 2))
        for name, values in (("rotary.cos", np.cos(angle)), ("rotary.sin", np.sin(angle))):
            program.weights.add(name, np.concatenate([values, values], axis=1).astype(np.float32))
        positions = VTensorType((length, head), f32)
        cos, sin = (builtin.get_parameter(parameter=f"rotary.{name}", out=positions) for name in ("cos", "sin"))

        def heads_of(value: Value) -> Value:
            return pd.transpose(pd.reshape(value, shape=(1, length, heads, head)), perm=(0, 2, 1, 3))

        def rotated(value: Value) -> Value:
            low, high = pd.split(value, axis=3, sections=(head // 2, head // 2)).results
            turned = pd.concat([pd.scale(high, scale=-1.0), low], axis=3)
            return pd.add(pd.multiply(value, cos), pd.multiply(turned, sin))

        for layer in range(layers):
            at = f"model.layers.{layer}"
            normed = pd.rms_norm(x, write.weight(f"{at}.input_layernorm.weight", width), begin_norm_axis=2)
            query, key, value = (
                heads_of(write.linear(normed, f"{at}.self_attn.{n}_proj", width, width)) for n in ("q", "k", "v")
            )
            mixed = pd.scaled_dot_product_attention(rotated(query), rotated(key), value, is_causal=True)
            joined = pd.reshape(pd.transpose(mixed, perm=(0, 2, 1, 3)), shape=(1, length, width))
            x = pd.add(x, write.linear(joined, f"{at}.self_attn.o_proj", width, width))
            normed = pd.rms_norm(x, write.weight(f"{at}.post_attention_layernorm.weight", width), begin_norm_axis=2)
            gate = write.linear(normed, f"{at}.mlp.gate_proj", width, inner)
            gate = pd.multiply(gate, pd.sigmoid(gate))
            gated = pd.multiply(gate, write.linear(normed, f"{at}.mlp.up_proj", width, inner))
            x = pd.add(x, write.linear(gated, f"{at}.mlp.down_proj", inner, width))
        func.return_([x])
    program.verify()
    return program
