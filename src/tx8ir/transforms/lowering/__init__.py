"""Programs in MLIR's dialects become programs of `pd`.

| pass | in the default pipeline |
|---|---|
| `lower-to-pd` | no |
"""

from __future__ import annotations
