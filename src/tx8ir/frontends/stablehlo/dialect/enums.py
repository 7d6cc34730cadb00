"""Enumerations of StableHLO."""

from __future__ import annotations

from enum import Enum
from typing import Final

from tx8ir.core import enum_attr


@enum_attr("stablehlo.comparison_direction")
class ComparisonDirection(Enum):
    """How two elements are compared."""

    EQ = "EQ"
    NE = "NE"
    GE = "GE"
    GT = "GT"
    LE = "LE"
    LT = "LT"


@enum_attr("stablehlo.comparison_type")
class ComparisonType(Enum):
    """What two elements are compared as."""

    NOTYPE = "NOTYPE"
    FLOAT = "FLOAT"
    TOTALORDER = "TOTALORDER"
    SIGNED = "SIGNED"
    UNSIGNED = "UNSIGNED"


@enum_attr("stablehlo.fft_type")
class FftType(Enum):
    """Which Fourier transform."""

    FFT = "FFT"
    IFFT = "IFFT"
    RFFT = "RFFT"
    IRFFT = "IRFFT"


@enum_attr("stablehlo.rng_algorithm")
class RngAlgorithm(Enum):
    """What draws bits."""

    DEFAULT = "DEFAULT"
    THREE_FRY = "THREE_FRY"
    PHILOX = "PHILOX"


@enum_attr("stablehlo.transpose")
class Transpose(Enum):
    """What is done to a matrix first."""

    TRANSPOSE_INVALID = "TRANSPOSE_INVALID"
    NO_TRANSPOSE = "NO_TRANSPOSE"
    TRANSPOSE = "TRANSPOSE"
    ADJOINT = "ADJOINT"


ENUMS: Final = (ComparisonDirection, ComparisonType, FftType, RngAlgorithm, Transpose)
