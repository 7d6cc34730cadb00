"""The plan of a source tree: files, lines of code and floors of imports, folder by folder.

    python benchmarks/house.py [CHECKOUT ...]

Lines of code are those that are neither blank nor comments nor docstrings. Floors are the modules on the longest chain
of imports inside a folder, a cycle counted as one: what is to be read from the bottom up. The first figure of each kind
is that of the modules in the folder itself, `all` that of those below it too. Imports for annotations alone (`if
TYPE_CHECKING`) do not count.
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import networkx as nx

SILENT = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


def code_lines(text: str, tree: ast.Module) -> int:
    """Lines that hold code."""
    lines = {
        line
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type not in SILENT
        for line in range(token.start[0], token.end[0] + 1)
    }
    for node in ast.walk(tree):
        for inner in getattr(node, "body", ()) if isinstance(getattr(node, "body", ()), list) else ():
            if (
                isinstance(inner, ast.Expr)
                and isinstance(inner.value, ast.Constant)
                and isinstance(inner.value.value, str)
            ):
                lines -= set(range(inner.lineno, (inner.end_lineno or inner.lineno) + 1))
    return len(lines)


def imports(node: ast.AST, module: str, is_package: bool) -> Iterator[str]:
    """What a module imports: each name with its module, as if the name were a module too."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            continue
        if isinstance(child, ast.Import):
            yield from (alias.name for alias in child.names)
        elif isinstance(child, ast.ImportFrom):
            above = module.split(".")[: len(module.split(".")) - child.level + is_package] if child.level else []
            source = ".".join([*above, *([child.module] if child.module else [])])
            yield from (f"{source}.{alias.name}" for alias in child.names)
        else:
            yield from imports(child, module, is_package)


def floors(graph: nx.DiGraph, modules: Iterable[str]) -> int:
    """Modules on the longest chain of imports among some."""
    return nx.dag_longest_path_length(nx.condensation(graph.subgraph(modules))) + 1


def report(checkout: Path) -> Iterator[str]:
    """The lines of the table."""
    source = checkout / "src"
    lines: dict[str, int] = {}
    folder: dict[str, str] = {}
    named: dict[str, list[str]] = {}
    for path in sorted(source.rglob("*.py")):
        parts = path.relative_to(source).with_suffix("").parts
        is_package = parts[-1] == "__init__"
        module = ".".join(parts[:-1] if is_package else parts)
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text)
        lines[module] = code_lines(text, tree)
        folder[module] = ".".join(parts[:-1])
        named[module] = list(imports(tree, module, is_package))
    graph: nx.DiGraph = nx.DiGraph()
    graph.add_nodes_from(lines)
    for module, names in named.items():
        for name in names:
            target = name if name in lines else name.rpartition(".")[0]
            if target in lines and target != module:
                graph.add_edge(module, target)
    total = sum(lines.values())
    yield f"{checkout}: {len(lines)} files, {total} lines of code"
    yield f"{'folder':34}{'files':>6}{'all':>6}{'lines':>8}{'all':>8}{'share':>8}{'floors':>8}{'all':>6}"
    for name in sorted(set(folder.values())):
        own = [m for m in lines if folder[m] == name]
        below = [m for m in lines if f"{folder[m]}.".startswith(f"{name}.")]
        size = _sum(lines, below)
        yield (
            f"{name:34}{len(own):6}{len(below):6}{_sum(lines, own):8}{size:8}{100 * size / total:7.1f}%"
            f"{floors(graph, own):8}{floors(graph, below):6}"
        )


def _sum(lines: Mapping[str, int], modules: Iterable[str]) -> int:
    return sum(lines[module] for module in modules)


if __name__ == "__main__":
    for given in sys.argv[1:] or [str(Path(__file__).parents[1])]:
        print("\n".join(report(Path(given))))
