"""Writes tests/data/training: networks with their loss, and what they are after training. Needs PyTorch.

Each sample is NAME.pt2, the exported program of the loss in training mode, beside NAME.npz: `batch_NAME`, the inputs of
all batches, the first axis; `losses`, one for each step; and `after_NAME`, every parameter and buffer after the last
step. PyTorch trains in fp64, so that its own rounding is not in the answers. Run by `make test-peers SAMPLES=1`.
"""

from __future__ import annotations

import copy
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from make_samples import export
from torch import Tensor, nn

FOLDER = Path(__file__).parents[2] / "data" / "training"
STEPS = 50
BATCHES = 5
"""They are taken in turn."""


class Cnn(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.norm1 = nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8)
        self.conv2, self.norm2 = nn.Conv2d(8, 12, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(12)
        self.head = nn.Linear(12, 4)

    def forward(self, images: Tensor, labels: Tensor) -> Tensor:
        x = F.max_pool2d(F.relu(self.norm1(self.conv1(images))), 2)
        x = F.relu(self.norm2(self.conv2(x)))
        return F.cross_entropy(self.head(x.mean((2, 3))), labels)


class Layer(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.query, self.value, self.out = (nn.Linear(width, width) for _ in range(3))
        # A bias of keys moves all scores of a query alike: its gradient is 0, and Adam would scale what rounding left.
        self.key = nn.Linear(width, width, bias=False)
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        normal = self.norm1(x)
        q, k, v = (
            part(normal).view(batch, length, self.heads, -1).transpose(1, 2)
            for part in (self.query, self.key, self.value)
        )
        scores = q @ k.transpose(-1, -2) / (width // self.heads) ** 0.5
        scores = scores + torch.full((length, length), -1e9).triu(1)
        x = x + self.out((torch.softmax(scores, -1) @ v).transpose(1, 2).reshape(batch, length, width))
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


class Transformer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(12, 16), nn.Parameter(torch.randn(6, 16) * 0.1)
        self.layers = nn.ModuleList(Layer(16, 2) for _ in range(2))
        self.norm, self.head = nn.LayerNorm(16), nn.Linear(16, 12, bias=False)

    def forward(self, tokens: Tensor, following: Tensor) -> Tensor:
        x = self.tokens(tokens) + self.places
        for layer in self.layers:
            x = layer(x)
        return F.cross_entropy(self.head(self.norm(x)).reshape(-1, 12), following.reshape(-1))


def images() -> tuple[Tensor, Tensor]:
    labels = torch.arange(6) % 4
    return torch.randn(6, 3, 8, 8) + labels.view(-1, 1, 1, 1) * 0.3, labels


def tokens() -> tuple[Tensor, Tensor]:
    text = (torch.randint(0, 12, (4, 1)) + torch.arange(7) * torch.randint(1, 4, (4, 1))) % 12
    return text[:, :-1].contiguous(), text[:, 1:].contiguous()


def train(name: str, module: nn.Module, batches: list[tuple[Tensor, ...]], optimizer: type, **rates: float) -> None:
    """Export the loss, train a copy in fp64, and write what it is then."""
    exported = export(module.train(), batches[0], None, FOLDER / f"{name}.pt2")
    exact = copy.deepcopy(module).double()
    steps = optimizer(exact.parameters(), **rates)
    losses: list[float] = []
    for step in range(STEPS):
        given = [x.double() if x.is_floating_point() else x for x in batches[step % BATCHES]]
        steps.zero_grad()
        loss = exact(*given)
        loss.backward()
        steps.step()
        losses.append(loss.item())
    names = exported.graph_signature.user_inputs
    arrays = {f"batch_{key}": np.stack([b[i].numpy() for b in batches]) for i, key in enumerate(names)}
    arrays |= {f"after_{key}": value.numpy() for key, value in exact.state_dict().items()}
    np.savez_compressed(FOLDER / f"{name}.npz", losses=np.array(losses), **arrays)


def main() -> None:
    """Writes both samples."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    batches = [images() for _ in range(BATCHES)]
    train("cnn", Cnn(), batches, torch.optim.SGD, lr=0.05, momentum=0.9, weight_decay=1e-3)
    batches = [tokens() for _ in range(BATCHES)]
    train("transformer", Transformer(), batches, torch.optim.Adam, lr=2e-3)


if __name__ == "__main__":
    main()
