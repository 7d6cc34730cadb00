"""Executes the notebooks of examples/notebooks and writes into them what their cells show.

python docs/notebooks.py [NAME…]           renews them all, or those named (by their files' names or parts of these)
python docs/notebooks.py --check [NAME…]   says what they show now that the file does not, and changes nothing

A cell that raises is an error, unless it has the tag `raises-exception`. Pictures are not compared: they depend on
fonts. Nor are seconds of wall time, and how many of the drawn programs a pass changes.
"""

from __future__ import annotations

import argparse
import difflib
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

FOLDER = Path(__file__).parent.parent / "examples" / "notebooks"
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"file_extension": ".py", "mimetype": "text/x-python", "name": "python"},
}
_ELEMENT = re.compile(r"\btx8ir-[0-9a-f]{12}\b")
_VARYING = re.compile(r"\d+\.\d+ s\b|\d+ \(\d+%\) of them changed")
_TERMINAL_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def notebooks(names: list[str] | None = None) -> list[Path]:
    """The notebooks, in the order in which they are read; with names those whose file names have one of them."""
    found = sorted(FOLDER.glob("*.ipynb"))
    return [path for path in found if not names or any(name in path.name for name in names)]


def executed(path: Path) -> Any:
    """A notebook with the outputs of now, in a kernel of its own. Raises `CellExecutionError` where a cell fails."""
    notebook: Any = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook,
        timeout=None,
        kernel_name="python3",
        record_timing=False,
        coalesce_streams=True,
        extra_arguments=["--log-level=ERROR"],
        resources={"metadata": {"path": str(path.parent)}},
    )
    client.execute()
    for cell in notebook.cells:
        failed = any(output.output_type == "error" for output in cell.get("outputs", []))
        if "raises-exception" in cell.metadata.get("tags", ()) and not failed:
            raise CellExecutionError(cell.source, "", "this cell has the tag `raises-exception`, and raises none")
    notebook.metadata = nbformat.from_dict(METADATA)
    _normalise(notebook)
    return notebook


def _normalise(notebook: Any) -> None:
    """Replaces what differs from run to run: the ids of HTML elements, colours and kernel lines of tracebacks."""
    names: dict[str, str] = {}

    def numbered(match: re.Match[str]) -> str:
        return names.setdefault(match.group(), f"tx8ir-output-{len(names) + 1}")

    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        for output in cell.get("outputs", []):
            if output.output_type == "error":  # the last line says it all; the rest is of the kernel
                output.traceback = [f"{output.ename}: {output.evalue}"]
            data = output.get("data", {})
            for kind in data:
                if kind.startswith("text/"):
                    data[kind] = _ELEMENT.sub(numbered, data[kind])


def shown(notebook: Any) -> Iterator[tuple[int, str]]:
    """What each cell shows as text: its number and the text."""
    for number, cell in enumerate(notebook.cells):
        for output in cell.get("outputs", []):
            if output.output_type == "stream":
                yield number, _text(output.text)
            elif output.output_type == "error":
                yield number, f"{output.ename}: {output.evalue}"
            else:
                data: Mapping[str, Any] = output.data
                pictures = sorted(kind for kind in data if kind.startswith("image/"))
                texts = [] if pictures else [_text(data[kind]) for kind in sorted(data) if kind.startswith("text/")]
                yield number, "\n".join([*pictures, *texts])


def _text(text: str) -> str:
    return _VARYING.sub("#", _TERMINAL_COLOUR.sub("", text))


def differences(path: Path) -> list[str]:
    """Lines of a diff between what a notebook's file shows and what its cells show now; none where they agree."""
    before, now = (
        [f"[{n}] {line}" for n, text in shown(nb) for line in text.splitlines()]
        for nb in (nbformat.read(path, as_version=4), executed(path))
    )
    return list(difflib.unified_diff(before, now, f"{path.name}", f"{path.name} now", lineterm="", n=1))


def main() -> int:
    """Does what the arguments ask for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    wrong = 0
    for path in notebooks(arguments.names):
        try:
            if arguments.check:
                found = differences(path)
                wrong += bool(found)
                if found:
                    print("\n".join(found))
                    print(f"`python docs/notebooks.py {path.stem}` renews it", file=sys.stderr)
            else:
                nbformat.write(executed(path), path)
                print(path.name)
        except CellExecutionError as error:
            wrong += 1
            print(f"{path.name}: {_TERMINAL_COLOUR.sub('', str(error))}", file=sys.stderr)
    return min(wrong, 1)


if __name__ == "__main__":
    sys.exit(main())
