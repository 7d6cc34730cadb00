"""The TX8 as data: number formats, rounding, memory layouts, the chip's limits and its cost functions.

This package knows NumPy and knows no IR. Every constant of the machine lives here exactly once, marked with its
source: [S] the seed documents, [P] public vendor headers and code, [B] measured on boards by others and published,
[D] a decision of this project where nothing is public. It imports nothing itself, so that `core` can load
`tx8ir.target.formats` alone.
"""
