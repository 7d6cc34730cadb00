"""Writes tests/data/torch: small exported programs, and what PyTorch answers. Needs PyTorch (`make test-peers`).

Each sample is NAME.pt2 beside NAME.npz, whose arrays are `in_NAME` (the inputs), `out_0`, … (the results) and
`buffer_NAME` (buffers that the program writes, afterwards).
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.export import ExportedProgram

FOLDER = Path(__file__).parents[2] / "data" / "torch"


class Mlp(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(8, 16), nn.ReLU(inplace=True), nn.Dropout(0.1), nn.Linear(16, 4))

    def forward(self, x: Tensor) -> Tensor:
        return torch.softmax(self.layers(x), -1)


class Cnn(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(8, 12, 3, stride=2, padding="valid"), nn.BatchNorm2d(12), nn.SiLU(),
        )  # fmt: skip
        self.head = nn.Linear(12, 5)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(torch.flatten(F.adaptive_avg_pool2d(self.body(x), 1), 1))


class Residual(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(4, 8, 3, 2, 1, bias=False), nn.Conv2d(8, 8, 3, 1, 1, bias=False)
        self.norm1, self.norm2 = nn.BatchNorm2d(8), nn.BatchNorm2d(8)
        self.short = nn.Sequential(nn.Conv2d(4, 8, 1, 2, bias=False), nn.BatchNorm2d(8))

    def forward(self, x: Tensor) -> Tensor:
        out = self.norm2(self.conv2(F.relu(self.norm1(self.conv1(x)))))
        out += self.short(x)
        return F.relu(out)


class Depthwise(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(4, 12, 1, bias=False), nn.BatchNorm2d(12), nn.ReLU6(inplace=True),
            nn.Conv2d(12, 12, 3, 1, 1, groups=12, bias=False), nn.BatchNorm2d(12), nn.Hardswish(),
            nn.Conv2d(12, 4, 1, bias=False), nn.BatchNorm2d(4),
        )  # fmt: skip

    def forward(self, x: Tensor) -> Tensor:
        return x + self.body(x)


class Encoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True, activation="gelu", norm_first=True)

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x)


class Gpt(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(32, 16), nn.Embedding(8, 16)
        self.qkv, self.out = nn.Linear(16, 48), nn.Linear(16, 16)
        self.norm1, self.norm2, self.last = nn.LayerNorm(16), nn.LayerNorm(16), nn.LayerNorm(16)
        self.up, self.down = nn.Linear(16, 64), nn.Linear(64, 16)

    def forward(self, ids: Tensor) -> Tensor:
        b, t = ids.shape
        x = self.tokens(ids) + self.places(torch.arange(t, device=ids.device))
        q, k, v = (p.view(b, t, 2, 8).transpose(1, 2) for p in self.qkv(self.norm1(x)).split(16, dim=2))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).contiguous().view(b, t, 16))
        x = x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))
        return self.last(x) @ self.tokens.weight.T


class Llama(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.q, self.kv, self.out = nn.Linear(16, 16, False), nn.Linear(16, 16, False), nn.Linear(16, 16, False)
        self.norm1, self.norm2 = nn.Parameter(torch.ones(16)), nn.RMSNorm(16)
        self.gate, self.up, self.down = nn.Linear(16, 40, False), nn.Linear(16, 40, False), nn.Linear(40, 16, False)
        self.register_buffer("frequencies", 1.0 / 10000 ** (torch.arange(0, 4, 2) / 4), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        b, t, _ = x.shape
        angles = torch.outer(torch.arange(t).float(), self.frequencies)
        angles = torch.cat((angles, angles), -1)
        cos, sin = angles.cos(), angles.sin()

        def turned(y: Tensor) -> Tensor:
            first, second = y.chunk(2, -1)
            return y * cos + torch.cat((-second, first), -1) * sin

        y = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.norm1
        q = turned(self.q(y).view(b, t, 4, 4).transpose(1, 2))
        k, v = self.kv(y).view(b, t, 2, 2, 4).permute(2, 0, 3, 1, 4).unbind(0)
        mask = torch.full((t, t), float("-inf")).triu(1)
        k, v = (z.repeat_interleave(2, dim=1) for z in (turned(k), v))
        scores = torch.softmax(q @ k.transpose(-1, -2) / 2.0 + mask, -1)
        x = x + self.out((scores @ v).transpose(1, 2).reshape(b, t, 16))
        y = self.norm2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class VisionTransformer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.patch = nn.Conv2d(3, 16, 4, 4)
        self.token, self.places = nn.Parameter(torch.randn(1, 1, 16)), nn.Parameter(torch.randn(1, 5, 16))
        self.attention = nn.MultiheadAttention(16, 2, batch_first=True)
        self.norm, self.head = nn.LayerNorm(16), nn.Linear(16, 3)

    def forward(self, x: Tensor) -> Tensor:
        y = self.patch(x).flatten(2).transpose(1, 2)
        y = torch.cat((self.token.expand(x.shape[0], -1, -1), y), 1) + self.places
        z = self.norm(y)
        return self.head((y + self.attention(z, z, z, need_weights=False)[0])[:, 0])


class Recurrent(nn.Module):
    """An LSTM cell, step by step."""

    def __init__(self) -> None:
        super().__init__()
        self.cell, self.head = nn.LSTMCell(4, 6), nn.Linear(6, 2)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        h, c = x.new_zeros(x.shape[0], 6), x.new_zeros(x.shape[0], 6)
        steps = []
        for step in x.unbind(1):
            gates = F.linear(step, self.cell.weight_ih, self.cell.bias_ih)
            gates = gates + F.linear(h, self.cell.weight_hh, self.cell.bias_hh)
            i, f, g, o = gates.chunk(4, 1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
            steps.append(self.head(h))
        return torch.stack(steps, 1), c


class UNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.down, self.mid = nn.Conv2d(2, 6, 3, padding=1), nn.Conv2d(6, 6, 3, padding=1)
        self.norm, self.rise = nn.GroupNorm(2, 6), nn.ConvTranspose2d(6, 6, 2, 2)
        self.join, self.out = nn.Conv2d(12, 4, 3, padding=1), nn.Conv2d(4, 1, 1)

    def forward(self, x: Tensor) -> Tensor:
        skip = F.leaky_relu(self.norm(self.down(x)), 0.1)
        deep = F.elu(self.mid(F.avg_pool2d(skip, 2)))
        wide = torch.cat((self.rise(deep), skip), 1)
        return torch.sigmoid(self.out(F.relu(self.join(wide))))


class Experts(nn.Module):
    """The two best of four experts for each token, by weights and a mask."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = nn.Linear(8, 4, bias=False)
        self.up, self.down = nn.Parameter(torch.randn(4, 8, 12) * 0.3), nn.Parameter(torch.randn(4, 12, 8) * 0.3)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        shares, chosen = torch.topk(torch.softmax(self.gate(x), -1), 2)
        shares = shares / shares.sum(-1, keepdim=True)
        weights = torch.zeros(x.shape[0], 4, dtype=x.dtype).scatter(1, chosen, shares)
        hidden = F.gelu(x.unsqueeze(0) @ self.up)
        every = hidden @ self.down
        return (every * weights.T.unsqueeze(-1)).sum(0), chosen


class Training(nn.Module):
    """Batch normalisation while training: three buffers are written."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm = nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3)

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(self.norm(self.conv(x)))


class Counter(nn.Module):
    """Writes in place: through views, to a buffer and to a tensor of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("seen", torch.zeros(2, 3))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        self.seen[0] += x.sum(0)
        self.seen[:, 1].mul_(2.0)
        y = torch.zeros_like(x)
        y[:, 0] = 1.0
        part = y[1:]
        part.add_(x[1:])
        y.view(-1)[0] = 7
        return y + self.seen.mean(), part


class Dynamic(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 3))

    def forward(self, x: Tensor) -> Tensor:
        y = self.layers(x)
        return y.view(x.shape[0], -1) - y.mean(-1, keepdim=True)


class Upsampling(nn.Module):
    """Sizes, orders and indices: what images are resampled and cut with."""

    def forward(self, x: Tensor, index: Tensor) -> tuple[Tensor, ...]:
        rows = x[:, index]
        y = F.interpolate(x, scale_factor=2, mode="nearest")
        z = F.interpolate(x, size=(7, 5), mode="bilinear", align_corners=False)
        padded = F.pad(z, (1, 1, 2, 0), mode="reflect")
        return y[..., ::2, 1:], padded, torch.where(rows > 0, rows, rows.cumsum(-1)), x.argmax(1), x.flip(3)


def samples() -> dict[str, tuple[nn.Module, tuple[Tensor, ...], Any]]:
    """Modules, their inputs, and which of their dimensions are open."""
    batch = torch.export.Dim("batch", min=1, max=64)
    image = torch.randn
    return {
        "mlp": (Mlp().eval(), (image(3, 8),), None),
        "cnn": (Cnn().eval(), (image(2, 3, 12, 12),), None),
        "residual": (Residual().eval(), (image(1, 4, 8, 8),), None),
        "depthwise": (Depthwise().eval(), (image(1, 4, 6, 6),), None),
        "encoder": (Encoder().eval(), (image(2, 5, 16),), None),
        "gpt": (Gpt().eval(), (torch.randint(0, 32, (2, 6)),), None),
        "llama": (Llama().eval(), (image(1, 5, 16),), None),
        "vit": (VisionTransformer().eval(), (image(2, 3, 8, 8),), None),
        "lstm": (Recurrent().eval(), (image(2, 3, 4),), None),
        "unet": (UNet().eval(), (image(1, 2, 8, 8),), None),
        "experts": (Experts().eval(), (image(5, 8),), None),
        "training": (Training().train(), (image(4, 2, 6, 6),), None),
        "counter": (Counter(), (image(4, 3),), None),
        "dynamic": (Dynamic().eval(), (image(4, 6),), ({0: batch},)),
        "upsampling": (Upsampling().eval(), (image(2, 3, 4, 6), torch.tensor([2, 0, -1])), None),
    }


def export(module: nn.Module, inputs: tuple[Tensor, ...], dynamic: Any, file: Path) -> ExportedProgram:
    """Export a module into an archive that is the same whoever writes it."""
    exported = torch.export.export(module, inputs, dynamic_shapes=dynamic)
    here = f"{Path(__file__).parents[3]}/"
    library = f"{Path(torch.__file__).parents[1]}/"
    for node in exported.graph.nodes:  # files by their names in the project
        trace = node.meta.get("stack_trace")
        if trace:
            node.meta["stack_trace"] = trace.replace(here, "").replace(library, "")
        node.meta.pop("torch_fn", None)
    torch.export.save(exported, file)
    return exported


def write(name: str, module: nn.Module, inputs: tuple[Tensor, ...], dynamic: Any, folder: Path) -> None:
    """Export a module, and write it and what it answers."""
    exported = export(module, inputs, dynamic, folder / f"{name}.pt2")
    names = exported.graph_signature.user_inputs
    arrays = {f"in_{key}": x.numpy() for key, x in zip(names, inputs, strict=True)}
    before = {key: value.clone() for key, value in module.named_buffers()}
    with torch.no_grad():
        found = module(*(x.clone() for x in inputs))
    results = found if isinstance(found, tuple) else (found,)
    arrays |= {f"out_{index}": x.numpy() for index, x in enumerate(results)}
    arrays |= {
        f"buffer_{key}": value.numpy() for key, value in module.named_buffers() if not torch.equal(value, before[key])
    }
    np.savez(folder / f"{name}.npz", **arrays)


def main() -> None:
    """Writes all samples, or those that are named."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    for name, (module, inputs, dynamic) in samples().items():
        for parameter in module.parameters():  # statistics and scales that are not all 0 and 1
            if parameter.ndim == 1:
                nn.init.normal_(parameter, 0.5, 0.2)
        for key, value in module.named_buffers():
            if key.endswith("running_var"):
                nn.init.uniform_(value, 0.5, 1.5)
            elif key.endswith("running_mean"):
                nn.init.normal_(value)
        if not sys.argv[1:] or name in sys.argv[1:]:
            write(name, module, inputs, dynamic, FOLDER)
    (FOLDER / "made.json").write_text(json.dumps({"torch": torch.__version__}) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
