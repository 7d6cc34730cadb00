"""Writes docs/reference/paddle.md, the table of Paddle's operators that the front end imports.

`python docs/paddle_operators.py` writes it, from the registry.
"""

from __future__ import annotations

from pathlib import Path

from tx8ir.frontends.paddle import supported_ops

PAGE = Path(__file__).parent / "reference" / "paddle.md"


def page() -> str:
    """The page."""
    items = [item for item in supported_ops() if item.operator.startswith("pd_op.")]
    lines = [
        "# Paddle operators",
        "",
        f"The {len(items)} operators of `pd_op` of [programs of Paddle](../how-to/run-a-paddle-model.md), each",
        "also in its form that writes in place (`relu_` for `relu`), beside those of `builtin` and `cf`, `pd_op.data`,",
        "`feed`, `fetch`, `if` and `while`. Written by `python docs/paddle_operators.py`.",
        "",
        "| operator | becomes |",
        "|---|---|",
    ]
    for item in items:
        summary = (item.function.__doc__ or "").strip().splitlines()[0] if not item.same_as else ""
        lines.append(
            f"| `{item.operator.removeprefix('pd_op.')}` | {f'`{item.same_as}`' if item.same_as else summary} |"
        )
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
