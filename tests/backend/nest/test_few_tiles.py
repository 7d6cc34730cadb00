"""Where a result has fewer slices than there are tiles: sums over the mesh use more, but are not always cheaper."""

from __future__ import annotations

import attrs
import pytest

from support import nests
from tx8ir.backend.nest.search import find_plan, strategies
from tx8ir.target.chip import BOARD, TX8, Profile


@pytest.mark.parametrize(("profile", "terms", "few"), [(BOARD, 512, True), (TX8.profile, 1 << 14, False)])
def test_ten_numbers_of_long_sums(profile: Profile, terms: int, few: bool) -> None:
    """On a board the messages that add up a sum of 512 take longer than the sum."""
    body = nests.body_of(nests.lowered(nests.product(1, terms, 10), attrs.evolve(TX8, profile=profile)))
    tiles = {strategy.columns * strategy.rows for strategy in strategies(body, most_steps=1)}
    assert min(tiles) == 1
    assert max(tiles) > len(body.tiles) // 2
    chosen = find_plan(body).plan.nest.choice.strategy
    assert (chosen.columns * chosen.rows == 1) == few
