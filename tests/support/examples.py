"""How many generated programs a test tries."""

from __future__ import annotations

import pytest


def with_examples(every_day: int = 25, at_night: int = 5000) -> pytest.MarkDecorator:
    """Gives a test the argument `examples`: few in `make test`, many in `make test-nightly`."""
    return pytest.mark.parametrize("examples", [every_day, pytest.param(at_night, marks=pytest.mark.nightly)])
