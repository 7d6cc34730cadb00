"""Writes docs/reference/torch.md, the table of PyTorch's operators that the front end imports.

`python docs/torch_operators.py` writes it, from the registry.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from tx8ir.frontends.torch import supported_ops

PAGE = Path(__file__).parent / "reference" / "torch.md"


def page() -> str:
    """The page."""
    overloads: dict[str, list[str]] = defaultdict(list)
    for item in supported_ops():
        space, name, overload = item.operator.split(".")
        if space == "aten":
            overloads[name].append(overload)
    lines = [
        "# PyTorch operators",
        "",
        "Operators of ATen that [exported programs](../how-to/run-a-pytorch-model.md) may have, with overloads; each",
        "also in its form that writes in place (`add_` for `add`). `make test-peers` compares their signatures with",
        "PyTorch's, and what they compute with PyTorch's answers for samples of its database of operators.",
        "Written by `python docs/torch_operators.py`.",
        "",
        "| operator | overloads |",
        "|---|---|",
    ]
    for name, items in sorted(overloads.items()):
        lines.append(f"| `{name}` | {', '.join(f'`{item}`' for item in items)} |")
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
