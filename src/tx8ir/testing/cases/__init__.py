"""Programs to test with that are not drawn at random: all small ones, fragments of networks, edits of others."""

from __future__ import annotations
