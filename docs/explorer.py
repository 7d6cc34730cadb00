"""Takes the pictures of the explorer that the documentation shows: docs/explorer/*.png, through a headless Chromium.

python docs/explorer.py     needs the extra `browser`
"""

from __future__ import annotations

import sys
from pathlib import Path

DOCS = Path(__file__).parent
SHOWN = ("overview", "ir", "timeline", "spm", "groups", "dark")
"""The views that the pages show."""

if __name__ == "__main__":
    sys.path.insert(0, str(DOCS.parent / "tests"))
    from support.explorer_pictures import write_pictures

    write_pictures(DOCS / "explorer", SHOWN)
