"""Writes the JSON Schemas of the reference from the classes that the JSON is made of.

`python docs/schemas.py` writes docs/reference/*.schema.json: what `tx8ir explore -o FILE.json` and the `--json` of the
other commands write.
"""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

from tx8ir.cli.documents import DOCUMENTS
from tx8ir.explorer import ExplorerData
from tx8ir.support.json_schema import json_schema

REFERENCE = Path(__file__).parent / "reference"


def schemas() -> dict[str, dict[str, Any]]:
    """The schemas by the name of their file."""
    found = {"explorer.schema.json": json_schema(ExplorerData)}
    for name, place in DOCUMENTS.items():
        module, _, cls = place.partition(":")
        document = getattr(importlib.import_module(f"tx8ir.cli.documents.{module}"), cls)
        found[f"{name}.schema.json"] = json_schema(document)
    return found


def main() -> None:
    """Writes all of them."""
    for name, schema in schemas().items():
        text = json.dumps(schema, indent=1, ensure_ascii=False)
        (REFERENCE / name).write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
