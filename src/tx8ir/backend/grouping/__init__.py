"""Groups of ops that share SPM. Importing it registers `group-default`, `-load-store`, `-mapping`, `-barriers`; and
`-partition`, which is above `nest`.
"""

from __future__ import annotations

from .group_barriers import GroupBarriers
from .group_default import GroupDefault
from .group_load_store import GroupLoadStore
from .group_mapping import GroupMapping

__all__ = ["GroupBarriers", "GroupDefault", "GroupLoadStore", "GroupMapping"]
