"""What every suite shares: Hypothesis profiles, the ``golden`` fixture, and the time budget of each suite."""

from __future__ import annotations

import difflib
import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

TESTS = Path(__file__).parent
GOLDEN = TESTS / "golden"

# Plain `pytest` uses `dev`, `make test` uses `ci` (the same examples every time), `make test-nightly` uses `nightly`.
_SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]
settings.register_profile("dev", max_examples=50, deadline=None, suppress_health_check=_SLOW)
settings.register_profile("ci", max_examples=50, deadline=None, derandomize=True, suppress_health_check=_SLOW)
settings.register_profile("nightly", max_examples=2000, deadline=None, suppress_health_check=_SLOW)
settings.load_profile("dev")


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("tx8ir")
    group.addoption("--update-golden", action="store_true", help="write what the tests produce into tests/golden/")
    group.addoption("--suite-budgets", action="store_true", help="fail when a suite takes longer than its budget")


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


class SuiteBudgets:
    """Adds up test time per suite (first path component under tests/) and fails the run when one exceeds its budget.

    The time is summed over workers, so it does not depend on how many there are.
    """

    def __init__(self, budgets: dict[str, float]) -> None:
        self._budgets = budgets
        self._seconds: defaultdict[str, float] = defaultdict(float)

    def budget(self, suite: str) -> float:
        return self._budgets.get(suite, self._budgets["default"])

    @property
    def overruns(self) -> list[str]:
        return [
            f"suite {suite} took {seconds:.0f} s, its budget is {self.budget(suite):.0f} s "
            "(pyproject.toml, tool.tx8ir.suite-budgets)"
            for suite, seconds in sorted(self._seconds.items())
            if seconds > self.budget(suite)
        ]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        parts = Path(report.nodeid.split("::", 1)[0]).parts
        self._seconds[parts[1] if len(parts) > 1 else parts[0]] += report.duration

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Iterator[None]:
        if self.overruns and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        return (yield)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        terminalreporter.section("time per suite")
        for suite, seconds in sorted(self._seconds.items(), key=lambda item: -item[1]):
            terminalreporter.line(f"{seconds:8.1f} s of {self.budget(suite):5.0f} s  {suite}")
        for overrun in self.overruns:
            terminalreporter.line(f"OVER BUDGET: {overrun}", red=True)


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--suite-budgets") and not hasattr(config, "workerinput"):
        pyproject = tomllib.loads((TESTS.parent / "pyproject.toml").read_text(encoding="utf-8"))
        config.pluginmanager.register(SuiteBudgets(pyproject["tool"]["tx8ir"]["suite-budgets"]), "tx8ir-suite-budgets")
