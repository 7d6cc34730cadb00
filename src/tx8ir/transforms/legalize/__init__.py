"""What the machine does not do is written as what it does.

| pass | in the default pipeline |
|---|---|
| `canonicalize-reductions` | no |
| `fold-transpose-into-matmul` | yes |
| `legalize-conv-padding` | yes, always |
| `materialize-broadcast` | no |
| `nhwc` | yes, always |
| `pad-matmul` | no |
| `split-large-ops` | yes, always |
"""

from __future__ import annotations
