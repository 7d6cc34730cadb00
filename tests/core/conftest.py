"""What the core's tests share."""

from __future__ import annotations

import pytest

from support.dialect import test_context


@pytest.fixture
def context():
    """A context with the dialects builtin, func and test."""
    return test_context()
