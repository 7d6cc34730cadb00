"""Tensors with storage: to values and back.

| pass | in the default pipeline |
|---|---|
| `copy-elision` | in `straighten` |
| `remove-dead-buffers` | no |
| `to-inplace` | no |
| `to-value-semantics` | in `straighten` |
"""

from __future__ import annotations
