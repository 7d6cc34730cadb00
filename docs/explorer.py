"""Writes what the documentation says of the explorer from the explorer itself: its schema and its pictures.

python docs/explorer.py --schema     docs/reference/explorer.schema.json
python docs/explorer.py --pictures   docs/explorer/*.png, through a headless Chromium (the extra `browser`)
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from tx8ir.explorer import ExplorerData, json_schema

DOCS = Path(__file__).parent
ROOT = DOCS.parent
SHOWN = ("overview", "ir", "timeline", "spm", "dark")
"""The views that the pages show."""


def write_schema() -> None:
    """The JSON Schema of the data."""
    text = json.dumps(json_schema(ExplorerData), indent=1, ensure_ascii=False)
    (DOCS / "reference" / "explorer.schema.json").write_text(text + "\n", encoding="utf-8")


def main() -> None:
    """Writes what the arguments ask for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--schema", action="store_true")
    parser.add_argument("--pictures", action="store_true")
    arguments = parser.parse_args()
    if arguments.schema:
        write_schema()
    if arguments.pictures:
        sys.path.insert(0, str(ROOT / "tests"))
        from support.explorer_pictures import write_pictures

        write_pictures(DOCS / "explorer", SHOWN)


if __name__ == "__main__":
    main()
