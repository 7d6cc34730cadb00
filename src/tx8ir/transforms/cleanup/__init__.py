"""Clean-up: simpler forms, equal and dead operations, constants, order.

| pass | in the default pipeline |
|---|---|
| `canonicalize` | yes |
| `constant-fold` | yes |
| `cse` | yes |
| `dce` | yes, always; in `straighten` |
| `externalize-constants` | no |
| `int-range-optimizations` | no |
| `reconcile-unrealized-casts` | no |
| `remove-unused-functions` | in `straighten` |
| `sccp` | in `straighten` |
| `topological-sort` | no |
"""

from __future__ import annotations
