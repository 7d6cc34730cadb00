"""Functions, branches and loops: inlined, simplified, unrolled, moved out of.

| pass | in the default pipeline |
|---|---|
| `inline` | in `straighten` |
| `lift-cf-to-scf` | in `straighten` |
| `loop-invariant-motion` | no |
| `simplify-control-flow` | in `straighten` |
| `unroll` | in `straighten` |
"""

from __future__ import annotations
