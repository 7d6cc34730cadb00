"""SPM and DDR allocation. Importing it registers `allocate-spm` and `allocate-ddr`."""

from __future__ import annotations

from .allocate_ddr import AllocateDdr
from .allocate_spm import AllocateSpm
from .placement import Buffer, Placement, peak_live_bytes, place

__all__ = ["AllocateDdr", "AllocateSpm", "Buffer", "Placement", "peak_live_bytes", "place"]
