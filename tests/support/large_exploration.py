"""Data of the explorer for a program of any size, without compiling one."""

from __future__ import annotations

from typing import Any

_ENGINES = ("CT", "NE", "RDMA", "WDMA", "TDMA", "DTE", "SCALAR")
_OPS_PER_LAYER = 100


def large(operations: int, events: int) -> dict[str, Any]:
    """JSON of `ExplorerData`: a network of layers of 100 operations, each a group of its own, over 16 tiles.

    Each operation is loaded, computed and stored; executions come round robin.
    """
    layers = operations // _OPS_PER_LAYER
    kinds = ("matmul", "add", "relu", "layer_norm", "multiply")
    scopes = [{"name": "model", "path": "", "parent": -1}]
    scopes += [{"name": f"layers.{n}", "path": f"model.layers.{n}", "parent": 0} for n in range(layers)]
    source = [
        {
            "kind": f"pd.{kinds[n % 5]}", "name": f"node_{n}", "type": "16x64xf32", "scope": 1 + n // _OPS_PER_LAYER,
            "inputs": [max(-1, n - 1), *([n - 3] if n % 7 == 0 and n > 3 else [])],
            "arguments": ["x"] * (2 if n % 7 == 0 and n > 3 else 1), "constants": [], "is_constant": False,
            "attributes": "{axis = 1 : i64}", "location": f"node_{n}", "line": n, "parent": -1,
        }
        for n in range(operations)
    ]  # fmt: skip
    lines = [f'    %{n} = "pd.{kinds[n % 5]}"(%{n - 1}) : (!pd.vtensor<16x64xf32>)' for n in range(operations)]
    lines += [f'    "tx8.{name}"() {{number = {n} : i64}}' for n in range(operations) for name in ("a", "b", "c")]
    ops = [{"kind": source[n]["kind"], "steps": [], "sources": [n]} for n in range(operations)]
    ops += [{"kind": "tx8.unary", "steps": [0], "sources": [n // 3]} for n in range(3 * operations)]
    texts = []
    for start, count in ((0, operations), (operations, 3 * operations)):
        numbers = list(range(start, start + count))
        texts.append({"lines": numbers, "ops": numbers, "forms": numbers})
    instructions = []
    for n in range(operations):
        low = 0x10000 + n % 8 * 4096
        spm = {"ddr": False, "low": [low], "extent": 4096, "terms": []}
        ddr = {"ddr": True, "low": [0x280000000 + n % 64 * 65536], "extent": 65536, "terms": []}
        for engine, spans in (
            ("RDMA", [{"writes": False, **ddr}, {"writes": True, **spm}]),
            (("NE", "CT")[n % 2], [{"writes": False, **spm}, {"writes": True, **spm}]),
            ("WDMA", [{"writes": False, **spm}, {"writes": True, **ddr}]),
        ):
            instructions.append({
                "name": engine.lower(), "engine": engine, "tiles": 0, "group": n, "source": f"group {n} Op node_{n}",
                "op": operations + len(instructions), "sources": [n], "times": 1, "operations": 1000 * (engine == "NE"),
                "moved": 65536 * (engine != "NE"), "spans": spans,
            })  # fmt: skip
    chosen = [e * len(instructions) // events for e in range(events)]
    columns: dict[str, list[int]] = {
        "instruction": chosen,
        "start": [e * 40 for e in range(events)],
        "end": [e * 40 + 30 + e % 90 for e in range(events)],
        "issued": [e * 40 for e in range(events)],
        "tiles": [e % 4 for e in range(events)],
        "cause": [e % 3 for e in range(events)],
        "blocker": [e - 1 for e in range(events)],
        "trips": [0] * events,
    }
    return {
        "format": 2, "title": "large", "scopes": scopes, "source": source, "names": ["generate-tx8"],
        "machine": {"name": "tx8", "tiles": 16, "columns": 4, "spm_low": 0x10000, "spm_high": 0x2F0000,
                    "spm_bytes": 0x300000},
        "lines": lines, "ops": ops, "texts": texts,
        "passes": [{"name": "generate-tx8", "text": "generate-tx8", "doc": "Generates.", "seconds": 1.0, "after": 1,
                    "changed": True, "statistics": {}, "rewrites": [], "misses": []}],
        "groups": [{"id": n, "op": n, "ops": [kinds[n % 5]], "sources": [n], "facts": {"sharding": "1 × 16"},
                    "spm_bytes": 4096, "tiles": 16, "template": -1, "candidates": [], "priced": 0}
                   for n in range(operations)],
        "run": {
            "cycles": max(columns["end"]), "cycles_per_second": 10**9, "engines": list(_ENGINES),
            "causes": ["", "RAW", "barrier"], "tile_sets": [list(range(16)), list(range(4)), [5], [6, 7]],
            "trips": [[]], "instructions": instructions, "events": columns, "critical": list(range(0, events, 10)),
            "stalls": {"RAW": {"CT": 1000}}, "complete": True,
            "segments": [{"name": f"scratch.{n}", "kind": "scratch", "address": 0x280000000 + n * 65536, "size": 65536}
                         for n in range(64)],
            "roof": {"peak": 2e13, "bandwidth": 2e11, "operations": 1000 * operations, "bytes": 131072 * operations,
                     "attained": 1e11},
        },
        "tables": [],
    }  # fmt: skip
