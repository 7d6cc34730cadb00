"""Canonicalization patterns by the kind of operation they start from, and the registry they are in."""
