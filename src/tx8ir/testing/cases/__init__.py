"""What to test with that is not drawn at random alone.

- `operations`: cases of single operations and small contexts, with data and answers, for this chip and for others
- `small_scope`: all small programs, of one and two operations, from the samples of operations
- `corpus`: fragments of networks, as text
- `mutation`: edits of other programs
"""

from __future__ import annotations
