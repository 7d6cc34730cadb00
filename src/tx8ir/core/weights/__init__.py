"""Weights: variables, stores, and the safetensors files they are kept in."""

from __future__ import annotations
