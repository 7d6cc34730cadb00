"""Where the boxes of a directed graph stand: layers from top to bottom, frame inside frame, few crossings.

The method of Sugiyama, Tagawa and Toda (1981), frame by frame from the inside out, where a frame counts as one box for
the frame around it: layers by the longest path, places in a layer by the medians of neighbours, positions by least
squares with the order kept. Lengths are in any unit, y points down.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

import attrs

__all__ = ["Edge", "Frame", "Shape", "arrange"]

GAP_X: Final = 18.0
GAP_Y: Final = 26.0
PADDING: Final = 12.0
_SWEEPS: Final = 12
_STRAIGHT: Final = 8.0
"""How much more the bends of an edge want to be in line than boxes do."""
_LEAF: Final = 0.05
"""How much less what is fed by nothing and read once, a weight say, draws its reader than others do."""


@attrs.define(eq=False)
class Shape:
    """A box. `x` and `y` are its upper left corner."""

    width: float
    height: float
    frame: Frame | None = None
    x: float = 0.0
    y: float = 0.0

    @property
    def middle(self) -> float:
        """The x of its centre."""
        return self.x + self.width / 2


@attrs.define(eq=False)
class Frame(Shape):
    """A box around others; `title_width` and `title_height` are those of the text at its top.

    `width` and `height` are found by `arrange`.
    """

    title_width: float = 0.0
    title_height: float = 0.0
    items: list[Shape] = attrs.field(factory=list[Shape])

    def add(self, item: Shape) -> None:
        """Puts a box, or a frame, after those that are there."""
        item.frame = self
        self.items.append(item)


@attrs.define(eq=False)
class Edge:
    """An arrow. `points` begin at the lower side of its source and end at the upper side of its target."""

    source: Shape
    target: Shape
    points: list[tuple[float, float]] = attrs.field(factory=list[tuple[float, float]])


@attrs.define(eq=False)
class _Node:
    """A box of the frame that is being arranged, or a bend of an edge (`shape` is None). `x` is its centre."""

    shape: Shape | None
    width: float
    layer: int = 0
    place: int = 0
    x: float = 0.0
    above: list[_Link] = attrs.field(factory=list["_Link"])
    below: list[_Link] = attrs.field(factory=list["_Link"])


@attrs.define(eq=False)
class _Piece:
    """The part of an edge in one frame: from an item of it, or from its upper side (`source` is None), to an item."""

    frame: Frame
    source: Shape | None
    target: Shape
    inner: _Piece | None
    """The part in the target, when the edge goes on there."""
    bends: list[tuple[float, float]] = attrs.field(factory=list[tuple[float, float]])

    @property
    def enters(self) -> float:
        """Where it begins, from the left side of the frame; known when the frame is arranged."""
        return self.bends[0][0] if self.bends else self.target.middle + self.arrives

    @property
    def arrives(self) -> float:
        """Where it meets its target, from the target's centre."""
        return 0.0 if self.inner is None else self.inner.enters - self.target.width / 2


@attrs.frozen(eq=False)
class _Link:
    """A neighbour, and where the edge meets this node (`here`) and the neighbour (`there`), from their centres."""

    node: _Node
    here: float
    there: float


def arrange(root: Frame, edges: Sequence[Edge]) -> None:
    """Finds sizes of frames, positions of all boxes from (0, 0), and the points of edges.

    An edge may lead from and to boxes of any frames, but not from a frame to a box inside of it. Edges that would lead
    up in the order of a frame's items are drawn, and take no part in finding layers.
    """
    frames = list(_inside_out(root))
    depth = {root: 0}
    for frame in reversed(frames):
        for item in frame.items:
            if isinstance(item, Frame):
                depth[item] = depth[frame] + 1
    pieces: dict[Frame, list[_Piece]] = {frame: [] for frame in frames}
    routes: dict[Edge, list[_Piece]] = {}
    for edge in edges:
        routes[edge] = _route(edge, depth)
        for piece in routes[edge]:
            pieces[piece.frame].append(piece)
    for frame in frames:
        _Layers(frame, pieces[frame]).arrange()
    for frame in reversed(frames):
        for item in frame.items:
            item.x, item.y = item.x + frame.x, item.y + frame.y
    for edge in edges:
        bends = [(x + piece.frame.x, y + piece.frame.y) for piece in routes[edge] for x, y in piece.bends]
        start = (edge.source.middle, edge.source.y + edge.source.height)
        edge.points = [start, *bends, (edge.target.middle, edge.target.y)]


def _inside_out(root: Frame) -> Iterator[Frame]:
    """All frames, each after those inside of it."""
    order, work = list[Frame](), [root]
    while work:
        frame = work.pop()
        order.append(frame)
        work += [item for item in frame.items if isinstance(item, Frame)]
    return reversed(order)


def _route(edge: Edge, depth: dict[Frame, int]) -> list[_Piece]:
    """The pieces of an edge: in the innermost frame around both ends, then in each frame that it enters."""
    source, target, pieces = edge.source, edge.target, list[_Piece]()
    while source.frame is not target.frame:
        left, entered = source.frame, target.frame
        assert left is not None
        assert entered is not None
        if depth[left] >= depth[entered]:
            source = left
        if depth[left] <= depth[entered]:
            pieces.append(_Piece(entered, None, target, pieces[-1] if pieces else None))
            target = entered
    assert source.frame is not None
    pieces.append(_Piece(source.frame, source, target, pieces[-1] if pieces else None))
    return pieces[::-1]


class _Layers:
    """One frame: its items in layers."""

    def __init__(self, frame: Frame, pieces: Sequence[_Piece]) -> None:
        self.frame = frame
        self.nodes = {item: _Node(item, item.width) for item in frame.items}
        self.pieces = [piece for piece in pieces if piece.source is not piece.target]
        self.layers: list[list[_Node]] = []
        self.chains: dict[_Piece, list[_Node]] = {}

    def arrange(self) -> None:
        """Positions of items and bends relative to the frame, and its size."""
        if not self.nodes:
            self._resize(0.0, 0.0)
            return
        self._assign_layers()
        self._fill_layers()
        self._order()
        self._positions()
        self._place()

    # -- layers -------------------------------------------------------------------------------------------------------

    def _assign_layers(self) -> None:
        """The longest path from above; what has no edge from above then stands just over its first reader."""
        order = {node: number for number, node in enumerate(self.nodes.values())}
        below: dict[_Node, list[_Node]] = {node: [] for node in order}
        fed = set[_Node]()
        for piece in self.pieces:
            b = self.nodes[piece.target]
            if piece.source is None:
                fed.add(b)
            elif order[a := self.nodes[piece.source]] < order[b]:
                below[a].append(b)
                fed.add(b)
        for node in order:  # in the order of the program, so that sources come first
            for reader in below[node]:
                reader.layer = max(reader.layer, node.layer + 1)
        for node in order:
            if node not in fed and below[node]:
                node.layer = min(reader.layer for reader in below[node]) - 1

    def _fill_layers(self) -> None:
        """Nodes into their layers, with a bend wherever an edge passes one."""
        self.layers = [[] for _ in range(1 + max(node.layer for node in self.nodes.values()))]
        for node in self.nodes.values():
            self.layers[node.layer].append(node)
        for piece in self.pieces:
            target = self.nodes[piece.target]
            source = [] if piece.source is None else [self.nodes[piece.source]]
            first = source[0].layer + 1 if source else 0
            if first > target.layer:
                continue
            chain = [_Node(None, 0.0, layer) for layer in range(first, target.layer)]
            self.chains[piece] = chain
            for bend in chain:
                self.layers[bend.layer].append(bend)
            path = [*source, *chain, target]
            for upper, lower in pairwise(path):
                arrives = piece.arrives if lower is target else 0.0
                upper.below.append(_Link(lower, 0.0, arrives))
                lower.above.append(_Link(upper, arrives, 0.0))

    # -- order --------------------------------------------------------------------------------------------------------

    def _order(self) -> None:
        """Sweeps down and up; each layer is sorted by the mean places of neighbours. The best order is kept."""
        self._number()
        best, fewest = [list(layer) for layer in self.layers], self._crossings()
        for sweep in range(_SWEEPS):
            if fewest == 0:
                break
            down = sweep % 2 == 0
            for layer in self.layers if down else reversed(self.layers):
                places = {node: self._wish(node, down) for node in layer}
                layer.sort(key=places.__getitem__)
                for place, node in enumerate(layer):
                    node.place = place
            crossings = self._crossings()
            if crossings < fewest:
                best, fewest = [list(layer) for layer in self.layers], crossings
        self.layers = best
        self._number()

    def _number(self) -> None:
        for layer in self.layers:
            for place, node in enumerate(layer):
                node.place = place

    @staticmethod
    def _wish(node: _Node, down: bool) -> float:
        neighbours = node.above if down else node.below
        if not neighbours:
            return float(node.place)
        return sum(link.node.place for link in neighbours) / len(neighbours)

    def _crossings(self) -> int:
        """How many pairs of edges cross, layer by layer: those whose ends are in the other order."""
        found = 0
        for layer in self.layers:
            seen = list[int]()
            for node in layer:
                ends = sorted(link.node.place for link in node.below)
                found += sum(len(seen) - bisect_right(seen, end) for end in ends)
                for end in ends:
                    insort(seen, end)
        return found

    # -- positions ----------------------------------------------------------------------------------------------------

    def _positions(self) -> None:
        """Every node as near as can be to its neighbours; nodes of a layer keep their order and a gap."""
        for layer in self.layers:
            x = 0.0
            for node in layer:
                node.x = x + node.width / 2
                x += node.width + GAP_X
        for sweep in range(_SWEEPS):
            for layer in self.layers if sweep % 2 == 0 else list(reversed(self.layers)):
                self._settle(layer, above=sweep % 2 == 0 or sweep >= _SWEEPS - 2, below=sweep % 2 == 1)

    @staticmethod
    def _settle(layer: Sequence[_Node], *, above: bool, below: bool) -> None:
        """Least squares under the gaps: pools of neighbours that touch share the mean of their wishes."""
        pools: list[tuple[float, float, int]] = []  # sum of weighted wishes, sum of weights, nodes
        starts: list[float] = []
        x = 0.0
        for node in layer:
            x += node.width / 2
            starts.append(x)
            wishes: list[tuple[float, float]] = []
            for link in (*(node.above if above else ()), *(node.below if below else ())):
                wishes.append((link.node.x + link.there - link.here, _weight(node, link.node)))
            if wishes:
                weight = sum(w for _, w in wishes)
                wish = sum(wanted * w for wanted, w in wishes) / weight
            else:
                weight, wish = 0.01, node.x
            pools.append(((wish - x) * weight, weight, 1))
            while len(pools) > 1 and pools[-2][0] * pools[-1][1] > pools[-1][0] * pools[-2][1]:
                last, before = pools.pop(), pools.pop()
                pools.append((before[0] + last[0], before[1] + last[1], before[2] + last[2]))
            x += node.width / 2 + GAP_X
        number = 0
        for total, weight, count in pools:
            for _ in range(count):
                layer[number].x = total / weight + starts[number]
                number += 1

    def _place(self) -> None:
        """Corners of the items, bends, and the size of the frame."""
        left = min(node.x - node.width / 2 for layer in self.layers for node in layer)
        right = max(node.x + node.width / 2 for layer in self.layers for node in layer)
        inner = max(right - left, self.frame.title_width)
        shift = PADDING - left + (inner - (right - left)) / 2
        y = PADDING + self.frame.title_height
        middles: list[float] = []
        for layer in self.layers:
            height = max((node.shape.height for node in layer if node.shape is not None), default=0.0)
            middles.append(y + height / 2)
            for node in layer:
                node.x += shift
                if node.shape is not None:
                    node.shape.x = node.x - node.width / 2
                    node.shape.y = y if isinstance(node.shape, Frame) else y + (height - node.shape.height) / 2
            y += height + GAP_Y
        self._resize(inner, y - GAP_Y - PADDING - self.frame.title_height)
        for piece, chain in self.chains.items():
            piece.bends = [(node.x, middles[node.layer]) for node in chain]

    def _resize(self, width: float, height: float) -> None:
        self.frame.width = max(width, self.frame.title_width) + 2 * PADDING
        self.frame.height = height + self.frame.title_height + 2 * PADDING


def _weight(node: _Node, neighbour: _Node) -> float:
    """How much `neighbour` draws `node`."""
    if node.shape is None and neighbour.shape is None:
        return _STRAIGHT
    return _LEAF if not neighbour.above and len(neighbour.below) == 1 else 1.0
