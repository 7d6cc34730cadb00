"""What every tile does when: a group's body, its tiling, its time steps, and the DMA of their slices."""

from __future__ import annotations
