"""Tensors with storage: to values and back.

| pass | in the default pipeline |
|---|---|
| `fold-copies` | in `straighten` |
| `remove-dead-buffers` | no |
| `to-inplace` | no |
| `to-value-semantics` | in `straighten` |
"""

from __future__ import annotations
