"""Fuzzes every mutant of the bank and prints which were caught.

``python -m support.mutants``, with `tests` on the path.
"""

from __future__ import annotations

import argparse
import time

from support.mutants import MUTANTS, ROUNDS, of_round
from tx8ir.testing.fuzzing import FuzzResult, fuzz

_OTHERS = 6
"""A mutant is fuzzed until so many different failures are found, if none of them is a wrong answer."""


class _Caught(Exception):
    """A wrong answer was found."""


def _stop_at_an_answer(result: FuzzResult) -> None:
    if any(found.failure.kind == "answer" for found in result.counterexamples):
        raise _Caught(result)


def main() -> int:
    """Prints a row for each mutant as it is done, and the share caught. Returns 0 when that is 95 % at least."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--round", type=int, choices=ROUNDS)
    parser.add_argument("--seconds", type=float, default=60.0, help="of CPU time, for each mutant")
    parser.add_argument("--examples", type=int, help="programs for each mutant, instead of a time")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="*", help="names of mutants")
    given = parser.parse_args()
    bank = [m for m in (of_round(given.round) if given.round else MUTANTS) if not given.only or m.name in given.only]
    count = 0
    for mutant in bank:
        started = time.process_time()
        try:
            result = fuzz(
                mutant.pass_,
                seconds=given.seconds,
                examples=given.examples,
                seed=given.seed,
                guarantee=mutant.guarantee,
                failures=_OTHERS,
                reduce=False,
                clock=time.process_time,
                progress=_stop_at_an_answer,
            )
        except _Caught as caught:
            result = caught.args[0]
        cpu = time.process_time() - started
        kinds = [found.failure.kind for found in result.counterexamples]
        count += "answer" in kinds
        said = "caught" if "answer" in kinds else kinds[0] if kinds else "missed"
        counts = f"{result.programs:6} programs {result.changed:5} changed {cpu:6.1f} s of CPU time"
        print(f"{mutant.name:45} {said:10} {counts}", flush=True)
    share = count / len(bank)
    print(f"{count} of {len(bank)} caught ({share:.1%})")
    return 0 if share >= 0.95 else 1


if __name__ == "__main__":
    raise SystemExit(main())
