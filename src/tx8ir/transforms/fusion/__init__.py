"""Several operations become one, and one becomes several.

| pass | in the default pipeline |
|---|---|
| `fuse-conv-activation` | yes |
| `fuse-conv-bn` | yes |
| `fuse-elementwise` | yes |
| `inline-fusions` | no |
| `unfuse-bn` | no |
"""

from __future__ import annotations
