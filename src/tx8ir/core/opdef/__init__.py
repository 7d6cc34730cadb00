"""Declaring operations: fields, generated constructors and accessors, dialects from YAML."""

from __future__ import annotations
