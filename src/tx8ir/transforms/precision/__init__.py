"""Number formats.

| pass | in the default pipeline |
|---|---|
| `auto-mixed-precision` | no |
| `convert-dtype` | yes, always |
| `convert-element-types` | no |
"""

from __future__ import annotations
