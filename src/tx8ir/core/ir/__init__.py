"""The graph: values, operations, blocks, regions, and what is done with any graph of them."""

from __future__ import annotations
