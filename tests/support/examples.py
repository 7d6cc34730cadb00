"""How many generated programs a test tries."""

from __future__ import annotations

import pytest


def with_examples(every_day: int = 12, at_night: int = 5000) -> pytest.MarkDecorator:
    """Gives a test the argument `examples`: few every day, many at night; `make test-fast` leaves the test out.

    Every day `tests/testing/fuzzing` tries programs of all kinds on each pass as well.
    """
    few = pytest.param(every_day, marks=pytest.mark.slow)
    return pytest.mark.parametrize("examples", [few, pytest.param(at_night, marks=pytest.mark.nightly)])
