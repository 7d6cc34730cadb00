"""What only our own tests need; what users' tests need too is in `tx8ir.testing`."""

from __future__ import annotations
