"""Composite operations, found in the forms that exporters write them in.

| pass | in the default pipeline |
|---|---|
| `recognize-attention` | yes |
| `recognize-gelu` | yes |
| `recognize-layer-norm` | yes |
| `recognize-rms-norm` | yes |
| `recognize-softmax` | yes |
"""

from __future__ import annotations
