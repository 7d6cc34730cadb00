"""Writes tests/data/stablehlo: what JAX lowers small functions to, and what it answers. Needs JAX (`make test-peers`).

Each sample is NAME.mlir beside NAME.npz, whose arrays are `in_NAME` (the arguments) and `out_0`, … (the results). Types
that NumPy has no name for are stored as f32.
"""

from __future__ import annotations

import inspect
import json
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4 --xla_allow_excess_precision=false"

import jax
import jax.numpy as jnp
import numpy as np
from jax import export, lax, nn
from jax.sharding import Mesh, PartitionSpec

FOLDER = Path(__file__).parents[2] / "data" / "stablehlo"
LOCATED = {"mlp"}
"""Samples that say the names of arguments and the lines of this file."""
RNG = np.random.default_rng(0)
Sample = tuple[Callable[..., Any], tuple[Any, ...]]


def real(*shape: int) -> Any:
    """Numbers around 0."""
    return jnp.asarray(RNG.standard_normal(shape), jnp.float32)


def whole(*shape: int, low: int = 0, high: int = 8, dtype: Any = jnp.int32) -> Any:
    """Integers from `low` to before `high`."""
    return jnp.asarray(RNG.integers(low, high, shape), dtype)


def mlp(x, w1, b1, w2, b2):
    return nn.softmax(nn.relu(x @ w1 + b1) @ w2 + b2)


def mlp_loss(x, labels, w1, b1, w2, b2):
    logits = jnp.tanh(x @ w1 + b1) @ w2 + b2
    return -jnp.mean(jnp.sum(nn.log_softmax(logits) * nn.one_hot(labels, 4), -1))


def cnn(x, w, head):
    y = nn.relu(lax.conv_general_dilated(x, w, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")))
    y = lax.reduce_window(y, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    return y.reshape(y.shape[0], -1) @ head


def convolution_loss(x, w):
    return jnp.sum(lax.conv_general_dilated(x, w, (2, 2), "SAME") ** 2)


def attention(x, wq, wk, wv):
    q, k, v = (jnp.einsum("btd,dhk->bhtk", x, w) for w in (wq, wk, wv))
    scores = jnp.einsum("bhtk,bhsk->bhts", q, k) / jnp.sqrt(4.0)
    scores = jnp.where(jnp.tril(jnp.ones((5, 5), bool)), scores, -jnp.inf)
    return jnp.einsum("bhts,bhsk->bthk", nn.softmax(scores), v)


def layer_norm(x, scale, bias):
    mean = x.mean(-1, keepdims=True)
    return (x - mean) * lax.rsqrt(((x - mean) ** 2).mean(-1, keepdims=True) + 1e-5) * scale + bias


def recurrent(x, h, w, u):
    def step(state, now):
        state = jnp.tanh(state @ w + now @ u)
        return state, state.sum(-1)

    return lax.scan(step, h, x)


def recurrent_loss(x, h, w, u):
    return jnp.sum(recurrent(x, h, w, u)[0] ** 2)


def collatz(n):
    return lax.while_loop(
        lambda s: s[0] > 1, lambda s: (jnp.where(s[0] % 2 == 0, s[0] // 2, 3 * s[0] + 1), s[1] + 1), (n, 0)
    )


def branches(x, flag, index):
    y = lax.cond(flag, lambda v: v * 2, lambda v: -v, x)
    return y, lax.switch(index, [jnp.sin, jnp.cos, lambda v: v + 1, jnp.tanh], x)


def sorting(x, y):
    keys, values = lax.sort((x, y), num_keys=1, dimension=1)
    return jnp.sort(x, 0), jnp.argsort(x, 1), -jnp.sort(-x, 1), keys, values, *lax.top_k(x, 3)


def sorting_by_two(x, y):
    return lax.sort((x, y), num_keys=2)


def embedding(table, index):
    return jnp.take(table, index, axis=0)


def embedding_loss(table, index):
    return jnp.sum(table[index] ** 2)


def gathers(x, i, j):
    return (
        x[i, j],
        x[:, i],
        jnp.take_along_axis(x[:4], j[:, None], axis=1),
        x[i, 1:3],
        lax.dynamic_slice(x, (i[0], j[0]), (2, 3)),
    )


def scatters(x, i, u):
    return (
        x.at[i].set(u), x.at[i].add(u, mode="drop"), x.at[i].max(u), x.at[i].mul(u), x.at[i].min(u),
        x.reshape(2, 4).at[:, i].add(u), x.at[i + 6].set(u, mode="drop"),
    )  # fmt: skip


def batch_norm(x, scale, bias):
    mean, variance = x.mean((0, 2, 3)), x.var((0, 2, 3))
    hat = (x - mean[:, None, None]) / jnp.sqrt(variance[:, None, None] + 1e-5)
    return jnp.sum(jnp.sin(hat * scale[:, None, None] + bias[:, None, None])), (0.9 * mean, 0.9 * variance)


def transposed_convolution(x, w):
    return lax.conv_transpose(x, w, (2, 2), "SAME", dimension_numbers=("NCHW", "OIHW", "NCHW"), transpose_kernel=True)


def grouped_convolution(x, w, line, filter_):
    depthwise = lax.conv_general_dilated(x, w, (1, 1), ((1, 1), (1, 1)), feature_group_count=4)
    dilated = lax.conv_general_dilated(line, filter_, (1,), ((2, 0),), rhs_dilation=(2,))
    return depthwise, dilated


def pools(x):
    window, strides = (1, 1, 3, 3), (1, 1, 2, 2)
    most = lax.reduce_window(x, -jnp.inf, lax.max, window, strides, "SAME")
    total = lax.reduce_window(x, 0.0, lax.add, window, strides, "SAME")
    least = lax.reduce_window(x, jnp.inf, lax.min, (1, 1, 2, 2), (1, 1, 1, 1), "VALID", window_dilation=(1, 1, 2, 2))
    return most, total, least


def fori(x):
    return lax.fori_loop(0, 6, lambda i, v: v * 0.5 + i, x)


def cumulative(x):
    return jnp.cumsum(x, 1), lax.cumsum(x, 0, reverse=True), jnp.cumprod(x), lax.cummax(x, 1), lax.cumlogsumexp(x, 1)


def hot(index, x):
    return nn.one_hot(index, 6), jnp.argmax(x, 1), jnp.argmin(x, 0), jnp.argmax(x)


def sums(x, y, z):
    return (
        jnp.einsum("bij,jk,bk->ib", x, y, z),
        jnp.einsum("bij->ji", x),
        jnp.tensordot(x, y, ((2,), (0,))),
        x[0, 0] @ y,
    )


def updates(x, i, u):
    part = lax.dynamic_slice_in_dim(x, i, 3)
    return part, lax.dynamic_update_slice(x, u, (i, 1)), lax.dynamic_update_slice(x, u, (i, i))


def bfloat(x, w):
    return (nn.gelu(x.astype(jnp.bfloat16) @ w.astype(jnp.bfloat16))).astype(jnp.float32)


def int8(x, w):
    total = lax.dot_general(x, w, (((1,), (0,)), ((), ())), preferred_element_type=jnp.int32)
    return jnp.clip(jnp.round(total * 0.05), -128, 127).astype(jnp.int8)


def elementwise(x, y):
    return (
        jnp.mod(x, y), jnp.floor_divide(x, y), x**3, jnp.power(jnp.abs(x), y), jnp.clip(x, -0.5, 0.5),
        jnp.arctan2(x, y),
        jnp.expm1(x), jnp.log1p(jnp.abs(x)), nn.gelu(x, approximate=False), nn.sigmoid(x), jnp.cbrt(x), jnp.sinh(x),
        jnp.round(x * 3), jnp.ceil(x), jnp.sign(x), jnp.isfinite(x / jnp.round(y)), jnp.hypot(x, y), lax.round(x * 2),
        nn.elu(x), nn.softplus(x), lax.erf_inv(jnp.tanh(x)), jnp.isnan(x), lax.reduce_precision(x, 8, 7),
        lax.rsqrt(jnp.abs(x)),
    )  # fmt: skip


def integers(x, y, z):
    return (
        x // y, x % y, x << 2, x >> 1, ~x, x ^ y, x & y, x | y, lax.population_count(x), lax.clz(x),
        lax.shift_right_logical(x, y), lax.bitcast_convert_type(x, jnp.float32), x.astype(jnp.int8),
        x.astype(jnp.uint8),
        z // jnp.uint32(3), z >> 5, lax.div(x, x - x), lax.rem(x, x - x), jnp.abs(x), -x,
    )  # fmt: skip


def truths(x):
    return (
        jnp.all(x > 0, 0),
        jnp.any(x > 1),
        (x > 0) ^ (x < 1),
        ~(x > 0),
        jnp.prod(x, 1),
        x.min(),
        jnp.count_nonzero(x > 0),
    )


def layout(x):
    return (
        jnp.flip(x, (0, 2)), jnp.pad(x, ((1, 0), (0, 2), (0, 0)), constant_values=7), x[::2, 1:, ::3],
        x.transpose(2, 0, 1),
        jnp.concatenate([x, x[:, :1]], 1), jnp.roll(x, 2, 2), jnp.repeat(x, 2, 1), jnp.tile(x[0], (2, 1)),
        jnp.stack([x, x]),
        lax.pad(x, 1.5, ((0, 0, 2), (-1, 1, 1), (0, -2, 0))), jnp.linspace(0, 1, 5), jnp.arange(6).reshape(2, 3),
    )  # fmt: skip


def random(key):
    key = jax.random.wrap_key_data(key)
    first, second = jax.random.split(key)
    return (
        jax.random.normal(first, (3, 4)),
        jax.random.randint(second, (5,), 0, 100),
        jax.random.bernoulli(key, 0.5, (6,)),
    )


def decompositions(a, b):
    matrix = a @ a.T + 3 * jnp.eye(4)
    return (
        lax.linalg.cholesky(matrix, symmetrize_input=False),
        lax.linalg.triangular_solve(matrix, b, left_side=True, lower=True),
        lax.linalg.triangular_solve(matrix, b.T, left_side=False, lower=False, transpose_a=True, unit_diagonal=True),
    )


def any_batch(x, w):
    y = nn.relu(x.reshape(x.shape[0], -1) @ w)
    return nn.softmax(y), y.mean(), jnp.concatenate([y, y], 1)


def shards(x):
    """What four devices do together; each holds two rows."""
    total = lax.psum(x, "d")
    whole_ = lax.all_gather(x, "d", axis=0, tiled=True)
    part = lax.psum_scatter(whole_, "d", scatter_dimension=0, tiled=True)
    swapped = lax.all_to_all(whole_, "d", 1, 0, tiled=True)
    moved = lax.ppermute(x, "d", [(i, (i + 1) % 4) for i in range(3)])
    return total, part, swapped, moved + lax.axis_index("d"), lax.pmax(x, "d")


def samples() -> dict[str, Sample]:
    """Functions and their arguments."""
    layers = (real(8, 6), real(6), real(6, 4), real(4))
    return {
        "mlp": (mlp, (real(3, 8), *layers)),
        "mlp_grad": (jax.value_and_grad(mlp_loss, (2, 3, 4, 5)), (real(3, 8), whole(3, high=4), *layers)),
        "cnn": (cnn, (real(2, 8, 8, 3), real(3, 3, 3, 4), real(16, 5))),
        "cnn_grad": (
            jax.grad(lambda *a: jnp.sum(cnn(*a) ** 2), (0, 1, 2)),
            (real(2, 8, 8, 3), real(3, 3, 3, 4), real(16, 5)),
        ),
        "convolution_grad": (jax.grad(convolution_loss, (0, 1)), (real(1, 3, 8, 8), real(4, 3, 3, 3))),
        "attention": (attention, (real(2, 5, 8), real(8, 2, 4), real(8, 2, 4), real(8, 2, 4))),
        "attention_grad": (
            jax.grad(lambda *a: jnp.sum(attention(*a) ** 2), (0, 1)),
            (real(2, 5, 8), real(8, 2, 4), real(8, 2, 4), real(8, 2, 4)),
        ),
        "layer_norm": (layer_norm, (real(3, 7), real(7), real(7))),
        "layer_norm_grad": (
            jax.grad(lambda *a: jnp.sum(layer_norm(*a) ** 3), (0, 1, 2)),
            (real(3, 7), real(7), real(7)),
        ),
        "scan": (recurrent, (real(5, 2, 3), real(2, 4), real(4, 4), real(3, 4))),
        "scan_grad": (jax.grad(recurrent_loss, (0, 2, 3)), (real(5, 2, 3), real(2, 4), real(4, 4), real(3, 4))),
        "while_loop": (collatz, (jnp.int32(27),)),
        "cond": (branches, (real(4), jnp.asarray(True), jnp.int32(2))),
        "cond_grad": (
            jax.grad(lambda x, flag: jnp.sum(lax.cond(flag, jnp.sin, jnp.exp, x))),
            (real(4), jnp.asarray(False)),
        ),
        "sort": (sorting, (real(4, 6), real(4, 6))),
        "sort_by_two": (sorting_by_two, (whole(9, high=3), real(9))),
        "embedding": (embedding, (real(10, 4), whole(2, 3, high=10))),
        "embedding_grad": (jax.grad(embedding_loss), (real(10, 4), whole(2, 3, high=10))),
        "gather": (gathers, (real(6, 5), whole(4, high=6), whole(4, high=5))),
        "scatter": (scatters, (real(8), whole(3, high=4), real(3))),
        "batch_norm_grad": (
            jax.value_and_grad(batch_norm, (0, 1, 2), has_aux=True),
            (real(3, 2, 4, 4), real(2), real(2)),
        ),
        "softmax_cross_entropy": (
            lambda x, y: jnp.mean(nn.logsumexp(x, -1) - jnp.take_along_axis(x, y[:, None], 1)[:, 0]),
            (real(4, 7), whole(4, high=7)),
        ),
        "conv_transpose": (transposed_convolution, (real(1, 3, 4, 4), real(3, 2, 3, 3))),
        "conv_groups": (grouped_convolution, (real(1, 4, 5, 5), real(8, 1, 3, 3), real(2, 3, 9), real(4, 3, 3))),
        "conv_groups_grad": (
            jax.grad(lambda *a: sum(jnp.sum(y**2) for y in grouped_convolution(*a)), (1, 3)),
            (real(1, 4, 5, 5), real(8, 1, 3, 3), real(2, 3, 9), real(4, 3, 3)),
        ),
        "pool": (pools, (real(2, 3, 7, 7),)),
        "pool_grad": (jax.grad(lambda x: jnp.sum(pools(x)[0] ** 2) + jnp.sum(pools(x)[1] ** 2)), (real(1, 2, 7, 7),)),
        "fori_loop": (fori, (real(4),)),
        "cumulative": (cumulative, (real(4, 5),)),
        "one_hot": (hot, (whole(3, high=6), real(4, 5))),
        "einsum": (sums, (real(2, 3, 4), real(4, 5), real(2, 5))),
        "dynamic_slice": (updates, (real(6, 4), jnp.int32(2), real(2, 3))),
        "bfloat16": (bfloat, (real(3, 8), real(8, 5))),
        "int8": (int8, (whole(4, 6, low=-9, high=9, dtype=jnp.int8), whole(6, 5, low=-9, high=9, dtype=jnp.int8))),
        "elementwise": (elementwise, (real(3, 4), real(3, 4))),
        "integers": (
            integers,
            (whole(8, low=-90, high=90), whole(8, low=1, high=9), whole(8, high=999, dtype=jnp.uint32)),
        ),
        "truths": (truths, (real(4, 5),)),
        "movement": (layout, (real(3, 4, 5),)),
        "random": (random, (jnp.asarray([3, 5], jnp.uint32),)),
        "linear_algebra": (decompositions, (real(4, 4), real(4, 2))),
    }


def text_of(function: Callable[..., Any], arguments: tuple[Any, ...], name: str) -> str:
    """What JAX lowers a function to; of one with an open batch, or of matrices, its export."""
    if name == "any_batch":
        shape = jax.ShapeDtypeStruct(export.symbolic_shape("b, 2, 3"), jnp.float32)
        return export.export(jax.jit(function))(shape, arguments[1]).mlir_module()
    if name == "linear_algebra":  # for a CPU it would call LAPACK
        return export.export(jax.jit(function), platforms=["tpu"])(*arguments).mlir_module()
    return jax.jit(function).lower(*arguments).as_text(debug_info=name in LOCATED)


def array_of(x: Any) -> np.ndarray:
    """An array that a file of NumPy can hold."""
    array = np.asarray(x)
    return array.astype(np.float32) if array.dtype.kind == "V" else array


def write(name: str, function: Callable[..., Any], arguments: tuple[Any, ...], folder: Path) -> None:
    """Lower a function, and write it and what it answers."""
    text = text_of(function, arguments, name)
    root = re.escape(str(Path(__file__).parents[3]))
    text = re.sub(rf"{root}/|{re.escape(str(Path(jax.__file__).parents[1]))}/", "", text)
    (folder / f"{name}.mlir").write_text(text, encoding="utf-8")
    found = jax.tree.leaves(jax.jit(function)(*arguments))
    located = name in LOCATED
    names = list(inspect.signature(function).parameters) if located else [f"arg{i}" for i in range(len(arguments))]
    arrays = {f"in_{key}": array_of(x) for key, x in zip(names, arguments, strict=True)}
    arrays |= {f"out_{index}": array_of(x) for index, x in enumerate(found)}
    np.savez(folder / f"{name}.npz", **arrays)


def all_samples() -> dict[str, Sample]:
    """The samples, that with an open batch, and that of four devices."""
    mesh = Mesh(np.array(jax.devices()), ("d",))
    rows = PartitionSpec("d")
    together = jax.shard_map(shards, mesh=mesh, in_specs=rows, out_specs=rows)
    return {**samples(), "any_batch": (any_batch, (real(3, 2, 3), real(6, 4))), "devices": (together, (real(8, 4),))}


def main() -> None:
    """Writes all samples, or those that are named."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, (function, arguments) in all_samples().items():
        if len(sys.argv) < 2 or name in sys.argv[1:]:
            write(name, function, arguments, FOLDER)
    (FOLDER / "made.json").write_text(json.dumps({"jax": jax.__version__}) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
