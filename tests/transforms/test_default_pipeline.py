"""The tables in the folders of passes: which passes each one has, and which of them every program goes through."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re

import pytest

from tx8ir import transforms
from tx8ir.passes import all_passes, all_pipelines
from tx8ir.transforms.preparation import PREPARATION, REQUIRED

FOLDERS = [module.name for module in pkgutil.iter_modules(transforms.__path__) if module.ispkg]


def table(folder: str) -> str:
    """What the `__init__.py` of a folder says of its passes."""
    repeated = set(re.findall(r"[\w-]+", all_pipelines()["straighten"]))
    rows = ["| pass | in the default pipeline |", "|---|---|"]
    for name, kind in all_passes().items():
        if kind.__module__.startswith(f"tx8ir.transforms.{folder}."):
            stages = ["yes, always" if name in REQUIRED else "yes"] if name in PREPARATION else []
            stages += ["in `straighten`"] if name in repeated else []
            rows.append(f"| `{name}` | {'; '.join(stages) or 'no'} |")
    return "\n".join(rows)


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_folder_says_which_of_its_passes_are_in_the_default_pipeline(folder: str) -> None:
    assert table(folder) in inspect.cleandoc(importlib.import_module(f"tx8ir.transforms.{folder}").__doc__ or "")


def test_every_stage_of_the_default_pipeline_is_in_a_table() -> None:
    rows = "\n".join(table(folder) for folder in FOLDERS)
    assert [name for name in PREPARATION if name != "straighten" and f"| `{name}` |" not in rows] == []
