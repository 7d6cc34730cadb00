"""The statuses that `tx8ir` ends with."""

from __future__ import annotations

from typing import Final

EXIT_CHECK_FAILED: Final = 1
EXIT_WRONG_INPUT: Final = 2
EXIT_NOT_TESTED: Final = 3
