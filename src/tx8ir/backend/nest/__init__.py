"""Loop nests: the strategy of a group, its price, its schedule in the IR, and its code with loops.

    body       a group as it is scheduled: loads, ops and stores
    choice     a point of the search space: cuts, buffers, and who loads what several tiles need
    stages     what one iteration consists of: which op does what, how deep in the loops, and how far ahead
    pipeline   the iterations put one after the other, heads of later ones in the tails of earlier ones
    kernels    the instructions of a stage for a slice, with what they cost and touch
    clock      the time of a pipelined program, by running it and skipping trips that repeat themselves
    price      the cycles of a choice, and a lower bound of them
    search     the cheapest choice
    even       whether the trips of a loop are alike
    spm        where everything lies in the scratch-pads
    schedule   the choice as ops of the group, and back
    code       the instructions, with loops

Data flow in this order; `schedule_groups` is the pass. Besides: `transfer`, how a box moves between DDR and SPM, and
`problem`, what a search sees of a group.
"""

from __future__ import annotations
