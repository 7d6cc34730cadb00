"""A headless Chromium with a page of the explorer in it."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

_FLAGS = (
    "--headless",
    "--no-sandbox",  # tests run as root in containers
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--hide-scrollbars",
    # Nothing is asked of a network that may be closed.
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1400,900",
)
_PATIENCE_SECONDS = 60
WIDTH, HEIGHT = 1400, 900


def missing() -> str | None:
    """What must be installed first; None when everything is there."""
    try:
        import selenium  # noqa: F401  # only tests of pages need it
    except ImportError:
        return "selenium is missing: pip install 'tx8ir[browser]'"
    for program, package in (("chromium", "chromium"), ("chromedriver", "chromium-driver")):
        if shutil.which(program) is None:
            return f"{program} is missing: apt-get install {package}"
    return None


class Page:
    """One page in the browser. Coordinates are those of the page, in CSS pixels."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def open(self, path: Path) -> None:
        """Loads a file and waits until the explorer has started."""
        self.driver.get(path.resolve().as_uri())
        size = {"width": WIDTH, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        self.wait("document.documentElement.dataset.ready === 'true'")
        self.settle()

    def run(self, script: str, *arguments: Any) -> Any:
        """What a script returns."""
        return self.driver.execute_script(script, *arguments)

    def wait(self, condition: str) -> None:
        """Waits until an expression of JavaScript is true. Raises TimeoutError."""
        end = time.monotonic() + _PATIENCE_SECONDS
        while not self.run(f"return Boolean({condition})"):
            if time.monotonic() > end:
                raise TimeoutError(f"{condition}; console: {self.errors()}")
            time.sleep(0.02)

    def settle(self) -> None:
        """Waits until what was asked to be drawn is drawn."""
        self.driver.execute_async_script(
            "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 30)))"
        )

    def errors(self) -> list[str]:
        """Errors and warnings of the console since the last call."""
        return [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] != "INFO"]

    def click(self, selector: str, x: float | None = None, y: float | None = None) -> None:
        """Clicks on the first element that fits, at (x, y) from its corner or in its middle."""
        self._mouse(selector, x, y, press=True)

    def hover(self, selector: str, x: float, y: float) -> None:
        """Moves the mouse there."""
        self._mouse(selector, x, y, press=False)

    def _mouse(self, selector: str, x: float | None, y: float | None, *, press: bool) -> None:
        left, top, width, height = self.run(
            "const e = document.querySelector(arguments[0]); e.scrollIntoView({block: 'nearest'});"
            "const b = e.getBoundingClientRect(); return [b.left, b.top, b.width, b.height]",
            selector,
        )
        at = {"x": left + (width / 2 if x is None else x), "y": top + (height / 2 if y is None else y)}
        self._dispatch("mouseMoved", at)
        if press:
            self._dispatch("mousePressed", at | {"button": "left", "clickCount": 1})
            self._dispatch("mouseReleased", at | {"button": "left", "clickCount": 1})
        self.settle()

    def wheel(self, selector: str, x: float, y: float, delta: float) -> None:
        """Turns the wheel there, down for positive `delta`."""
        left, top = self.run(
            "const b = document.querySelector(arguments[0]).getBoundingClientRect(); return [b.left, b.top]", selector
        )
        self._dispatch("mouseWheel", {"x": left + x, "y": top + y, "deltaX": 0, "deltaY": delta})
        self.settle()

    def _dispatch(self, kind: str, event: dict[str, Any]) -> None:
        self.driver.execute_cdp_cmd("Input.dispatchMouseEvent", {"type": kind, **event})

    def type(self, text: str) -> None:
        """Types into what has the focus."""
        self.driver.execute_cdp_cmd("Input.insertText", {"text": text})
        self.settle()

    def key(self, name: str) -> None:
        """Presses a key, as `Enter`."""
        code = {"Enter": 13, "Escape": 27, "/": 191, "]": 221, "[": 219}[name]
        event: dict[str, Any] = {"key": name, "windowsVirtualKeyCode": code}
        if name == "Enter":
            event["text"] = "\r"
        elif len(name) == 1:
            event["text"] = name
        self.driver.execute_cdp_cmd("Input.dispatchKeyEvent", {"type": "keyDown", **event})
        self.driver.execute_cdp_cmd("Input.dispatchKeyEvent", {"type": "keyUp", **event})
        self.settle()

    def picture(self, path: Path) -> Path:
        """Writes what is seen as a PNG."""
        path.parent.mkdir(parents=True, exist_ok=True)
        self.settle()
        self.driver.save_screenshot(str(path))
        return path


@contextmanager
def browser() -> Iterator[Page]:
    """A browser with a profile of its own, closed in the end."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    with TemporaryDirectory() as profile:
        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium") or ""
        for flag in (*_FLAGS, f"--user-data-dir={profile}"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        driver = webdriver.Chrome(options, Service(shutil.which("chromedriver")))
        try:
            yield Page(driver)
        finally:
            driver.quit()
