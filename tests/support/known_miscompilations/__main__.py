"""``python -m support.known_miscompilations [PROGRAMS]``: the table of broken passes, measured."""

from __future__ import annotations

import sys

from .bank import BANK
from .measure import HEADER, Measured, draw_programs, measure


def main(count: int) -> int:
    """Prints the table; the exit status is 1 when a pass is not caught."""
    print(HEADER)
    results: list[Measured] = []
    for broken in BANK:
        results.append(measure(broken, draw_programs(broken.features, count)))
        print(results[-1], flush=True)
    caught = [r for r in results if r.found is not None]
    print(f"\n{len(caught)} of {len(results)} broken passes caught within {count} programs")
    return len(caught) < len(results)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 500))
