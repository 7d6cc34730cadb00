"""All small programs: every program of one and two operations over the samples, one after the other.

    for candidate in small_scope.programs():
        check(candidate.program, my_pass)

Most mistakes show in a small program (Boyapati, Khurshid and Marinov: Korat, ISSTA 2002). An operation stands in a
program in one of a few ways, its wirings: on inputs, constants, weights or its own result; on storage that is written;
in a branch, a loop or a function; on the result of another, directly or through a view or a copy. Samples say which
types and attributes it takes. The enumeration is the product of these, lazily, in an order that shows what is new
first.

- `draft`: a program being written
- `wirings`, `pair_wirings`: the ways in which one and two operations stand in it
- `catalogue`: operations and their samples, by direction
- `strata`: numbered parts of the space
- `enumeration`: `programs`, and `program_of` one wiring and its samples
"""

from __future__ import annotations

from .catalogue import Catalogue, features_of, sampled_ops
from .enumeration import Candidate, Position, program_of, programs
from .pair_wirings import PAIRS
from .wirings import ONE

__all__ = ["ONE", "PAIRS", "Candidate", "Catalogue", "Position", "features_of", "program_of", "programs", "sampled_ops"]
