"""What every suite shares: Hypothesis profiles, the ``golden`` fixture, and the table of how long each suite took."""

from __future__ import annotations

import difflib
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

TESTS = Path(__file__).parent
GOLDEN = TESTS / "golden"

# Plain `pytest` uses `dev`, `make test` and `make test-fast` use `ci` and `fast` (the same examples every time),
# `make test-nightly` uses `nightly`.
_SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]
settings.register_profile("dev", max_examples=50, deadline=None, suppress_health_check=_SLOW)
settings.register_profile("fast", max_examples=5, deadline=None, derandomize=True, suppress_health_check=_SLOW)
settings.register_profile("ci", max_examples=25, deadline=None, derandomize=True, suppress_health_check=_SLOW)
settings.register_profile("nightly", max_examples=2000, deadline=None, suppress_health_check=_SLOW)
settings.load_profile("dev")


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("tx8ir")
    group.addoption("--update-golden", action="store_true", help="write what the tests produce into tests/golden/")
    group.addoption("--suite-times", action="store_true", help="print how long each suite took")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """``golden(text, name)`` compares text with ``tests/golden/<name>``; ``--update-golden`` rewrites the file."""
    update: bool = request.config.getoption("--update-golden")

    def compare(text: str, name: str) -> None:
        path = GOLDEN / name
        if not text.endswith("\n"):
            text += "\n"
        if update:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            return
        if not path.exists():
            pytest.fail(
                f"no golden file {path}; look at the text below, then run pytest --update-golden\n{text}", pytrace=False
            )
        expected = path.read_text(encoding="utf-8")
        if text != expected:
            diff = difflib.unified_diff(
                expected.splitlines(), text.splitlines(), f"golden/{name} (expected)", "produced", lineterm="", n=3
            )
            pytest.fail("\n".join([*diff, "", "If the change is intended: pytest --update-golden"]), pytrace=False)

    return compare


class SuiteTimes:
    """Adds up test time per suite (first path component under tests/), over all workers, and prints it in the end.

    Nothing fails by it: a machine may be slow.
    """

    def __init__(self) -> None:
        self._seconds: defaultdict[str, float] = defaultdict(float)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        parts = Path(report.nodeid.split("::", 1)[0]).parts
        self._seconds[parts[1] if len(parts) > 1 else parts[0]] += report.duration

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        terminalreporter.section("time per suite")
        for suite, seconds in sorted(self._seconds.items(), key=lambda item: -item[1]):
            terminalreporter.line(f"{seconds:8.1f} s  {suite}")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--suite-times") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(SuiteTimes(), "tx8ir-suite-times")
