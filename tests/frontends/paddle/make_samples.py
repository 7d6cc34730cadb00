"""Writes tests/data/paddle: small programs, and what Paddle answers. Needs Paddle (`make test-peers`).

Each sample is NAME.json and NAME.pdiparams beside NAME.npz, whose arrays are `in_NAME` (the inputs), `out_0`, … (the
results) and `parameter_NAME` (parameters that the program writes, afterwards).
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import paddle
import paddle.nn.functional as F
from paddle import nn
from paddle.base import core
from paddle.static import InputSpec
from paddle.static.pir_io import get_pir_parameters

FOLDER = Path(__file__).parents[2] / "data" / "paddle"


class Mlp(nn.Layer):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Dropout(0.1), nn.Linear(16, 4))

    def forward(self, x):
        return F.softmax(self.layers(x), -1)


class Cnn(nn.Layer):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2D(3, 8, 3, padding=1, bias_attr=False), nn.BatchNorm2D(8), nn.ReLU(), nn.MaxPool2D(2),
            nn.Conv2D(8, 12, 3, stride=2), nn.BatchNorm2D(12), nn.Silu(),
        )  # fmt: skip
        self.head = nn.Linear(12, 5)

    def forward(self, x):
        return self.head(paddle.flatten(F.adaptive_avg_pool2d(self.body(x), 1), 1))


class Residual(nn.Layer):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = (nn.Conv2D(c, 8, 3, s, 1, bias_attr=False) for c, s in ((4, 2), (8, 1)))
        self.norm1, self.norm2 = nn.BatchNorm2D(8), nn.BatchNorm2D(8)
        self.short = nn.Sequential(nn.Conv2D(4, 8, 1, 2, bias_attr=False), nn.BatchNorm2D(8))

    def forward(self, x):
        return F.relu(self.norm2(self.conv2(F.relu(self.norm1(self.conv1(x))))) + self.short(x))


class Depthwise(nn.Layer):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2D(4, 12, 1, bias_attr=False), nn.BatchNorm2D(12), nn.ReLU6(),
            nn.Conv2D(12, 12, 3, 1, 1, groups=12, bias_attr=False), nn.BatchNorm2D(12), nn.Hardswish(),
            nn.Conv2D(12, 4, 1), nn.BatchNorm2D(4),
        )  # fmt: skip

    def forward(self, x):
        return x + self.body(x)


class Gpt(nn.Layer):
    def __init__(self):
        super().__init__()
        self.tokens, self.places = nn.Embedding(32, 16), nn.Embedding(8, 16)
        self.qkv, self.out = nn.Linear(16, 48), nn.Linear(16, 16)
        self.norm1, self.norm2, self.last = nn.LayerNorm(16), nn.LayerNorm(16), nn.LayerNorm(16)
        self.up, self.down = nn.Linear(16, 64), nn.Linear(64, 16)

    def forward(self, ids):
        b, t = 2, 6
        x = self.tokens(ids) + self.places(paddle.arange(t))
        q, k, v = self.qkv(self.norm1(x)).reshape([b, t, 3, 2, 8]).transpose([2, 0, 3, 1, 4]).unbind(0)
        scores = paddle.matmul(q, k, transpose_y=True) * 8**-0.5
        scores = scores + paddle.triu(paddle.full([t, t], -1e9), 1)
        mixed = paddle.matmul(F.softmax(scores, -1), v)
        x = x + self.out(mixed.transpose([0, 2, 1, 3]).reshape([b, t, 16]))
        x = x + self.down(F.gelu(self.up(self.norm2(x)), approximate=True))
        return paddle.matmul(self.last(x), self.tokens.weight, transpose_y=True)


class Encoder(nn.Layer):
    def __init__(self):
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.1, activation="gelu", normalize_before=True)

    def forward(self, x):
        return self.layer(x)


class Activations(nn.Layer):
    def forward(self, x):
        return (
            F.elu(x), F.leaky_relu(x, 0.1), F.hardsigmoid(x), F.mish(x), F.softplus(x), F.log_softmax(x), F.relu6(x),
            F.swish(x), F.hardtanh(x), F.selu(x), F.celu(x, 2.0), F.softsign(x), F.tanhshrink(x), F.gelu(x),
            paddle.rsqrt(x.abs() + 1), paddle.log1p(x.abs()), paddle.floor(x), paddle.ceil(x), paddle.sign(x),
            paddle.clip(x, -0.5, 0.75), paddle.pow(x.abs(), 3.0), paddle.stanh(x), F.prelu(x, paddle.full([1], 0.2)),
            paddle.round(x), paddle.exp(x), paddle.expm1(x), paddle.reciprocal(x + 4), x.square(), F.log_sigmoid(x),
        )  # fmt: skip


class Reductions(nn.Layer):
    def forward(self, x):
        values, places = paddle.topk(x, 2, axis=-1)
        return (
            x.sum(), x.sum([0, 2]), x.mean(-1, keepdim=True), x.max(1), x.min([0, 1], keepdim=True), x.prod(2),
            x.argmax(-1), x.argmin(1, keepdim=True), values, places, paddle.cumsum(x, 1), paddle.norm(x),
            paddle.norm(x, 2, -1), paddle.logsumexp(x, 1), x.std(), (x > 0).any(-1), (x < 2).all(1), x.var(0), x % 2,
            paddle.pow(x.abs(), 1.5),
        )  # fmt: skip


class Shapes(nn.Layer):
    def forward(self, x):
        first, second = paddle.split(x, 2, axis=-1)
        left, right = paddle.split(x, [1, -1], axis=1)
        return (
            paddle.concat([second, first], -1), paddle.stack([left.squeeze(1), x[:, 0]], 0), right.unsqueeze([0, -1]),
            x[:, 1:, ::2], x[:, -1], paddle.tile(x, [2, 1, 1]), paddle.expand(x.unsqueeze(0), [2, 2, 3, 4]),
            x.flatten(), x.flatten(0, 1), x.transpose([2, 0, 1]), paddle.flip(x, [1]), paddle.roll(x, 1, 2),
            F.pad(x, [1, 2], value=0.5, data_format="NCL"), paddle.tril(x), paddle.where(x > 0, x, -x),
            paddle.full_like(x, 3.0) + paddle.zeros_like(x) + paddle.ones_like(x), x.astype("int32"), x.astype("bool"),
            paddle.maximum(x, paddle.zeros([4])), paddle.linspace(0, 1, 5) * 2, paddle.ones([2, 2]) / 3,
        )  # fmt: skip


class Indexing(nn.Layer):
    def __init__(self):
        super().__init__()
        self.register_buffer("places", paddle.to_tensor([2, 0, 1]))

    def forward(self, x, ids):
        return (
            paddle.gather(x, ids, axis=0), paddle.index_select(x, self.places, axis=1), F.one_hot(ids, 5),
            paddle.gather_nd(x, ids.unsqueeze(-1)), paddle.take_along_axis(x, x.argmax(1, keepdim=True), 1),
            paddle.scatter(x, ids, paddle.ones([2, 4])), F.embedding(ids, x, padding_idx=1),
        )  # fmt: skip


class Segmentation(nn.Layer):
    def __init__(self):
        super().__init__()
        self.down, self.up = nn.Conv2D(3, 8, 3, stride=2, padding="SAME"), nn.Conv2DTranspose(8, 4, 2, stride=2)
        self.norm, self.local = nn.GroupNorm(2, 8), nn.InstanceNorm2D(4)

    def forward(self, x):
        small = F.relu(self.norm(self.down(x)))
        large = F.interpolate(small, scale_factor=2, mode="bilinear") + F.interpolate(small, size=[8, 8])
        return self.local(self.up(small)), F.avg_pool2d(large, 3, 2, 1)


class Choice(nn.Layer):
    def __init__(self):
        super().__init__()
        self.low, self.high = nn.Linear(4, 3), nn.Linear(4, 3)

    def forward(self, x):
        if x.sum() > 0:
            y = self.high(x)
        else:
            y = self.low(x) - 1
        return y * 2


class Loop(nn.Layer):
    def forward(self, x):
        steps = paddle.zeros([1], "int32")
        y = x
        while (y.abs().max() < 100) and (steps < 20):
            y = y * 2 + x
            steps = steps + 1
        return y, steps


class Rounds(nn.Layer):
    """A loop whose rounds are known."""

    def __init__(self):
        super().__init__()
        self.cell = nn.Linear(4, 4)

    def forward(self, x):
        step = paddle.full([1], 0, "int64")
        while step < 3:
            x = F.tanh(self.cell(x))
            step = step + 1
        return x


class InPlace(nn.Layer):
    """Writes tensors that it reads again."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x):
        y = self.layer(x)
        kept = y + 0
        F.relu_(y)
        z = y + kept
        z[:, 1:3] = 7.0
        z[0] = x[1]
        return z, y


class Dynamic(nn.Layer):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(6, 3)

    def forward(self, x):
        return F.relu(self.layer(x)) - x.mean(-1, keepdim=True)


def normal(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


IDS = np.random.default_rng(0).integers(0, 32, (2, 6))
SAMPLES: dict[str, tuple[type[nn.Layer], dict[str, np.ndarray]]] = {
    "mlp": (Mlp, {"x": normal(2, 8)}),
    "cnn": (Cnn, {"x": normal(1, 3, 12, 12)}),
    "residual": (Residual, {"x": normal(1, 4, 8, 8)}),
    "depthwise": (Depthwise, {"x": normal(1, 4, 6, 6)}),
    "gpt": (Gpt, {"ids": IDS}),
    "encoder": (Encoder, {"x": normal(2, 5, 16)}),
    "activations": (Activations, {"x": normal(3, 8)}),
    "reductions": (Reductions, {"x": normal(2, 3, 4)}),
    "shapes": (Shapes, {"x": normal(2, 3, 4)}),
    "indexing": (Indexing, {"x": normal(5, 4), "ids": np.array([3, 1])}),
    "segmentation": (Segmentation, {"x": normal(1, 3, 8, 8)}),
    "choice": (Choice, {"x": normal(2, 4)}),
    "loop": (Loop, {"x": normal(2, 3)}),
    "rounds": (Rounds, {"x": normal(2, 4)}),
    "in_place": (InPlace, {"x": normal(2, 4)}),
    "dynamic": (Dynamic, {"x": normal(3, 6)}),
}


def save(name: str, layer: nn.Layer, inputs: dict[str, np.ndarray]) -> None:
    """One sample, run by Paddle from the files themselves."""
    layer.eval()
    for index, (key, parameter) in enumerate(layer.state_dict().items()):
        given = np.random.default_rng(index).standard_normal(parameter.shape) * 0.3
        if parameter.dtype == paddle.float32:
            parameter.set_value((np.abs(given) + 0.5 if "_variance" in key else given).astype(np.float32))
    batch = {"dynamic": [None]}.get(name)
    specs = [
        InputSpec([*batch, *x.shape[1:]] if batch else list(x.shape), str(x.dtype), key) for key, x in inputs.items()
    ]
    path = str(FOLDER / name)
    paddle.jit.save(paddle.jit.to_static(layer, input_spec=specs, full_graph=True), path)
    loaded = paddle.jit.load(path)
    given = [paddle.to_tensor(x) for x in inputs.values()]
    results = loaded(*given)
    results = results if isinstance(results, list | tuple) else [results]
    arrays: dict[str, Any] = {f"in_{key}": x for key, x in inputs.items()}
    arrays |= {f"out_{index}": result.numpy() for index, result in enumerate(results)}
    np.savez(FOLDER / f"{name}.npz", **arrays)


def counter(x: Any) -> list[Any]:
    """Counts its runs in a variable, and writes what it has read."""
    seen = paddle.create_parameter([1], "float32", "seen", default_initializer=nn.initializer.Constant(0.0))
    before = x * seen
    paddle.increment(seen, 2.0)
    y = x * seen
    paddle._C_ops.relu_(y)
    return [before, y + seen]


def mutation(x: Any) -> list[Any]:
    """Writes into a branch's surroundings, and through a view."""
    y = x + 1
    z = paddle.static.nn.cond(y.sum() > 0, lambda: paddle.exp(y), lambda: y - 1)
    flat = paddle._C_ops.reshape_(y, [8])
    paddle._C_ops.tanh_(flat)
    return [z, flat, paddle._C_ops.scale_(x + y, 2.0, 1.0, True)]


def training(x: Any, label: Any) -> list[Any]:
    """One step of gradient descent on a net with batch normalisation."""
    h = F.relu(nn.BatchNorm1D(8)(nn.Linear(6, 8)(x)))
    loss = F.cross_entropy(nn.Linear(8, 3)(h), label)
    paddle.optimizer.SGD(0.1).minimize(loss)
    return [loss]


STATIC: dict[str, tuple[Any, dict[str, np.ndarray]]] = {
    "counter": (counter, {"x": normal(2, 3)}),
    "mutation": (mutation, {"x": normal(2, 4)}),
    "training": (training, {"x": normal(4, 6), "label": np.array([[0], [2], [1], [1]])}),
}


def save_whole(name: str, build: Any, inputs: dict[str, np.ndarray]) -> None:
    """One sample of a program with all its effects: what Paddle exports has lost those that no result depends on."""
    paddle.enable_static()
    program, startup = paddle.static.Program(), paddle.static.Program()
    with paddle.static.program_guard(program, startup):
        results = build(*(paddle.static.data(key, x.shape, str(x.dtype)) for key, x in inputs.items()))
        executor = paddle.static.Executor(paddle.CPUPlace())
        executor.run(startup)
        before = variables(program)
        path = str(FOLDER / name)
        answers = executor.run(program, feed=inputs, fetch_list=results)
        after = variables(program)
        for index, result in enumerate(results):
            paddle._pir_ops.fetch(result, f"fetch_name_{index}", index)
        core.serialize_pir_program(program, f"{path}.json", True, False, True)
        scope = paddle.static.global_scope()
        for key, value in before.items():
            scope.find_var(key).get_tensor().set(value, paddle.CPUPlace())
        tensors = [scope.find_var(key).get_tensor() for key in sorted(before)]
        if tensors:
            core.save_combine_func(tensors, sorted(before), f"{path}.pdiparams", True, False, False)
    arrays = {f"in_{key}": x for key, x in inputs.items()} | {f"out_{i}": x for i, x in enumerate(answers)}
    for key in before:
        if (before[key] != after[key]).any():
            arrays[f"parameter_{key}"] = after[key]
    np.savez(FOLDER / f"{name}.npz", **arrays)
    paddle.disable_static()


def variables(program: Any) -> dict[str, np.ndarray]:
    """What outlives a run of a program, as it is now."""
    scope = paddle.static.global_scope()
    names = [value.name for value in get_pir_parameters(program)[0] + get_pir_parameters(program)[1]]
    return {name: np.array(scope.find_var(name).get_tensor()) for name in names}


def main(names: list[str]) -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in names or [*SAMPLES, *STATIC]:
        paddle.seed(0)
        with paddle.utils.unique_name.guard():
            if name in STATIC:
                save_whole(name, *STATIC[name])
            else:
                make, inputs = SAMPLES[name]
                save(name, make(), inputs)


if __name__ == "__main__":
    main(sys.argv[1:])
