"""One browser for all tests of the explorer's page, and the pages in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.chromium import Page, browser, missing
from support.explorer_pictures import network
from tx8ir.explorer import explore


@pytest.fixture(scope="session")
def chromium() -> Iterator[Page]:
    absent = missing()
    if absent is not None:
        pytest.skip(absent)
    with browser() as page:
        yield page


@pytest.fixture(scope="session")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The page of a network, made once."""
    folder = tmp_path_factory.mktemp("explorer")

    def save(name: str) -> Path:
        path = folder / f"{name}.html"
        return path if path.exists() else explore(network(name), title=name).save(path)

    return save
