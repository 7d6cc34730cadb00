"""The bytes: SPM and DDR, which of them are initialized, and buffers that are used again."""

from __future__ import annotations
