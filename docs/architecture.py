"""Draws docs/architecture.svg: the packages of tx8ir and their imports, as they are.

`python docs/architecture.py` writes it; tests/test_site.py says whether it is current. An arrow that follows from
others is left out.
"""

from __future__ import annotations

import re
import sys
import tomllib
from html import escape
from pathlib import Path

import attrs
import grimp
import networkx as nx

from tx8ir.viz.layered import Edge, Frame, Shape, arrange

PICTURE = Path(__file__).parent / "architecture.svg"
ABOUT = {
    "cli": "the command tx8ir",
    "testing": "fuzzing, proofs, cases",
    "viz": "pictures, notebooks",
    "frontends": "ONNX, Python",
    "explorer": "one page of everything",
    "runtime": "executables on shared chips",
    "compiler": "the default pipeline",
    "executable": "run, save, load",
    "signature": "inputs, outputs",
    "reports": "what it cost",
    "backend": "graph to instructions",
    "autodiff": "gradients",
    "sim": "the chip",
    "kernels": "programs by hand",
    "transforms": "passes for any target",
    "passes": "pass manager",
    "rewriting": "patterns, conversion",
    "analysis": "alias, dataflow",
    "interpreter": "the reference",
    "dialects": "operations",
    "core": "IR, text, verifier",
    "support": "tables, display",
    "target": "the TX8 as data",
}
_COLOURS = {"backend": "#d9ead3", "sim": "#fff2cc", "kernels": "#fff2cc", "target": "#fff2cc", "dialects": "#cfe2f3"}
_GREY = "#7d8590"


@attrs.define(eq=False)
class Package(Shape):
    """A box with a name."""

    name: str = ""


def packages() -> list[str]:
    """The packages from the top, as the import rules in pyproject.toml have them."""
    rules = tomllib.loads((PICTURE.parents[1] / "pyproject.toml").read_text(encoding="utf-8"))
    (layers,) = (c["layers"] for c in rules["tool"]["importlinter"]["contracts"] if c["name"] == "Layers")
    return [name for layer in layers for name in re.findall(r"\w+", layer)]


def imports(names: list[str]) -> list[tuple[str, str]]:
    """Which package imports which, without those that follow."""
    modules = grimp.build_graph("tx8ir", exclude_type_checking_imports=True, cache_dir=None)
    order = {name: number for number, name in enumerate(names)}
    graph = nx.DiGraph()
    graph.add_nodes_from(names)
    for importer in names:
        for imported in names:
            down = order[importer] < order[imported]
            ends = {"importer": f"tx8ir.{importer}", "imported": f"tx8ir.{imported}"}
            if down and modules.direct_import_exists(**ends, as_packages=True):
                graph.add_edge(importer, imported)
    return sorted(nx.transitive_reduction(graph).edges, key=lambda edge: (order[edge[0]], order[edge[1]]))


def picture() -> str:
    """The SVG document."""
    names = packages()
    root = Frame(0, 0)
    boxes = {name: Package(max(len(name) * 7.5, len(ABOUT[name]) * 5.6) + 20, 40, name=name) for name in names}
    for box in boxes.values():
        root.add(box)
    edges = [Edge(boxes[a], boxes[b]) for a, b in imports(names)]
    arrange(root, edges)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {root.width:.0f} {root.height:.0f}" '
        f'width="{root.width:.0f}" '
        'font-family="system-ui, sans-serif" text-anchor="middle">',
        '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        f'<path d="M0,1L7,4L0,7z" fill="{_GREY}"/></marker></defs>',
    ]
    for edge in edges:
        (x, y), *rest = edge.points
        path = f"M{x:.1f},{y:.1f}"
        for to_x, to_y in rest:
            half = (y + to_y) / 2
            path += f"C{x:.1f},{half:.1f} {to_x:.1f},{half:.1f} {to_x:.1f},{to_y:.1f}"
            x, y = to_x, to_y
        lines.append(f'<path d="{path}" fill="none" stroke="{_GREY}" marker-end="url(#head)"/>')
    for name, box in boxes.items():
        colour = _COLOURS.get(name, "#f3f4f6")
        lines += [
            f'<rect x="{box.x:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" height="{box.height:.1f}" rx="5" '
            f'fill="{colour}" stroke="{_GREY}"/>',
            f'<text x="{box.middle:.1f}" y="{box.y + 17:.1f}" font-size="13" font-weight="600" fill="#1f2328">'
            f"{name}</text>",
            f'<text x="{box.middle:.1f}" y="{box.y + 32:.1f}" font-size="10.5" fill="#57606a">'
            f"{escape(ABOUT[name])}</text>",
        ]
    return "\n".join([*lines, "</svg>"]) + "\n"


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit("`python docs/architecture.py` renews it" if PICTURE.read_text(encoding="utf-8") != picture() else 0)
    PICTURE.write_text(picture(), encoding="utf-8")
