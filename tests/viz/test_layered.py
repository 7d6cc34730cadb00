"""Boxes never overlap, frames hold their boxes, edges point down; on drawn graphs."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from tx8ir.viz.layered import Edge, Frame, Shape, arrange


@st.composite
def graphs(draw: st.DrawFn) -> tuple[Frame, list[Edge], list[Shape]]:
    """Frames in frames, with boxes, and edges from earlier boxes to later ones."""
    root = Frame(0, 0)
    frames, shapes = [root], list[Shape]()
    for _ in range(draw(st.integers(1, 14))):
        frame = draw(st.sampled_from(frames))
        if draw(st.integers(0, 4)) == 0:
            inner = Frame(0, 0, title_width=draw(st.integers(0, 90)), title_height=12)
            frame.add(inner)
            frames.append(inner)
        else:
            shapes.append(Shape(draw(st.integers(5, 90)), draw(st.integers(5, 40))))
            frame.add(shapes[-1])
    pairs = list(combinations(shapes, 2))
    chosen = draw(st.lists(st.sampled_from(pairs), max_size=20)) if pairs else []
    return root, [Edge(a, b) for a, b in chosen], shapes


@given(graphs())
def test_items_of_a_frame_lie_in_it_and_apart(drawn: tuple[Frame, list[Edge], list[Shape]]) -> None:
    root, edges, _ = drawn
    arrange(root, edges)
    work = [root]
    while work:
        frame = work.pop()
        for item in frame.items:
            assert frame.x <= item.x
            assert frame.y + frame.title_height <= item.y
            assert item.x + item.width <= frame.x + frame.width + 1e-6
            assert item.y + item.height <= frame.y + frame.height + 1e-6
        for a, b in combinations(frame.items, 2):
            beside = a.x + a.width <= b.x + 1e-6 or b.x + b.width <= a.x + 1e-6
            above = a.y + a.height <= b.y + 1e-6 or b.y + b.height <= a.y + 1e-6
            assert beside or above
        work += [item for item in frame.items if isinstance(item, Frame)]


@given(graphs())
def test_edges_lead_from_their_source_to_their_target(drawn: tuple[Frame, list[Edge], list[Shape]]) -> None:
    root, edges, _ = drawn
    arrange(root, edges)
    for edge in edges:
        assert edge.points[0] == (edge.source.middle, edge.source.y + edge.source.height)
        assert edge.points[-1] == (edge.target.middle, edge.target.y)
        if edge.source.frame is edge.target.frame:
            heights = [y for _, y in edge.points]
            assert heights == sorted(heights)


def test_what_is_fed_by_one_box_stands_under_it() -> None:
    root = Frame(0, 0)
    top, bottom = Shape(40, 10), Shape(20, 10)
    for shape in (top, bottom):
        root.add(shape)
    arrange(root, [Edge(top, bottom)])
    assert abs(top.middle - bottom.middle) < 1e-6
    assert top.y + top.height < bottom.y


def test_two_chains_do_not_cross() -> None:
    root = Frame(0, 0)
    a, b, over_b, over_a = (Shape(10, 10) for _ in range(4))
    for shape in (a, b, over_b, over_a):
        root.add(shape)
    arrange(root, [Edge(a, over_a), Edge(b, over_b)])
    assert (a.x < b.x) == (over_a.x < over_b.x)
