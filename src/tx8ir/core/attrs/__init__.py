"""What operations are annotated with: types, attributes, and the words they are written in."""

from __future__ import annotations
