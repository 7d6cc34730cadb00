"""ONNX's own suite of models (`onnx.backend.test`) on our devices, test by test: passed, refused, wrong or crashed.

    PYTHONPATH=tests python -m support.onnx_suite --device CPU --match resize --failures

A test is *refused* by a documented error of import, compilation or run, *wrong* when outputs differ by more than the
suite's tolerance, and has *crashed* with any other exception, also one that the import took for a malformed model.
What never ran an operation on the device, because all of it was known on import, counts as passed and is listed as
*folded*.
"""

from __future__ import annotations

import argparse
import re
import signal
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Literal

import attrs
import numpy as np
import onnx
from onnx import numpy_helper
from onnx.backend.test.loader import load_model_tests
from onnx.backend.test.runner import Runner

from tx8ir.core import IrError
from tx8ir.frontends.onnx import OnnxImportError
from tx8ir.frontends.onnx.backend import PreparedModel, prepare

KINDS = ("node", "simple", "pytorch-converted", "pytorch-operator")
"""The parts of the suite that need no network."""

SEED = 20
"""The suite draws inputs of some tests with NumPy's global generator."""

Verdict = Literal["passed", "refused", "wrong", "crashed"]


@attrs.frozen(eq=False)
class SuiteCase:
    """One test: a model, inputs and the outputs to expect."""

    name: str
    model: onnx.ModelProto
    data: Sequence[tuple[Sequence[Any], Sequence[Any]]]
    rtol: float
    atol: float


@attrs.frozen
class SuiteResult:
    """What became of a test."""

    name: str
    verdict: Verdict
    message: str = ""
    folded: bool = False


def suite(match: str = "", kinds: Sequence[str] = KINDS) -> Iterator[SuiteCase]:
    """The tests whose names match a regular expression, in the suite's order; those of nodes take seconds to make."""
    pattern = re.compile(match)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        np.random.seed(SEED)  # noqa: NPY002
        cases = [case for kind in kinds for case in load_model_tests(kind=kind)]
    for case in cases:
        if not pattern.search(case.name):
            continue
        if case.model is not None:
            yield SuiteCase(case.name, case.model, case.data_sets, case.rtol, case.atol)
        else:
            yield _stored(case)


def _stored(case: Any) -> SuiteCase:
    """A test that is a folder of files."""
    from pathlib import Path

    folder = Path(case.model_dir)
    model = onnx.load(folder / "model.onnx")
    data = []
    for part in sorted(folder.glob("test_data_set_*")):
        arrays = []
        for kind, infos in (("input", model.graph.input), ("output", model.graph.output)):
            files = [part / f"{kind}_{index}.pb" for index in range(len(list(part.glob(f"{kind}_*.pb"))))]
            arrays.append([_value(file.read_bytes(), infos[index].type) for index, file in enumerate(files)])
        data.append((arrays[0], arrays[1]))
    return SuiteCase(case.name, model, data, case.rtol, case.atol)


def _value(content: bytes, type_: onnx.TypeProto) -> Any:
    match type_.WhichOneof("value"):
        case "sequence_type":
            return numpy_helper.to_list(onnx.SequenceProto.FromString(content))
        case "optional_type":
            return numpy_helper.to_optional(onnx.OptionalProto.FromString(content))
        case _:
            return numpy_helper.to_array(onnx.TensorProto.FromString(content))


def _plain(value: Any) -> Any:
    return numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value


class TooLong(Exception):
    """A test took longer than its share."""


def run_case(case: SuiteCase, device: str) -> SuiteResult:
    """Run a test."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            prepared = prepare(case.model, device)
            for inputs, expected in case.data:
                outputs = prepared.run([_plain(item) for item in inputs])
                _compare(case, [_plain(item) for item in expected], outputs)
    except AssertionError as error:
        lines = [line for line in str(error).splitlines() if line.strip()]
        return SuiteResult(case.name, "wrong", " | ".join(lines[:5]))
    except IrError as error:
        return SuiteResult(case.name, "crashed" if is_unforeseen(error) else "refused", error.message)
    except Exception as error:
        kind = type(error)
        refused = kind.__module__.startswith("tx8ir.") and kind.__name__ in ("InputError", "RangeError", "SimError")
        return SuiteResult(case.name, "refused" if refused else "crashed", f"{kind.__name__}: {error}")
    return SuiteResult(case.name, "passed", folded=_is_folded(prepared))


def is_unforeseen(error: IrError) -> bool:
    """Whether an exception of Python's own in a converter is behind a refusal: a fault of the converter's."""
    cause = error.__cause__
    return isinstance(error, OnnxImportError) and cause is not None and type(cause).__module__ == "builtins"


def _compare(case: SuiteCase, expected: Sequence[Any], outputs: Sequence[Any]) -> None:
    assert _shape_of(expected) == _shape_of(outputs), "outputs are sequences of other lengths"
    # Part by part: the suite's own function cannot compare numbers of rank 0 in sequences.
    Runner.assert_similar_outputs(_flat(expected), _flat(outputs), rtol=case.rtol, atol=case.atol)


def _flat(values: Sequence[Any]) -> list[Any]:
    found: list[Any] = []
    for value in values:
        if value is not None:
            found += _flat(value) if isinstance(value, list | tuple) else [np.asarray(value)]
    return found


def _shape_of(values: Sequence[Any]) -> list[Any]:
    return [_shape_of(v) if isinstance(v, list | tuple) else v is not None for v in values]


def _is_folded(prepared: PreparedModel) -> bool:
    return all(
        op.name in ("builtin.constant", "builtin.get_parameter", "func.return")
        for program in prepared.programs
        for op in program.main.body.block
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="CPU")
    parser.add_argument("--match", default="")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--verbose", "-v", action="store_true")
    parser.add_argument("--all", action="store_true")
    given = parser.parse_args()

    def stop(*_: Any) -> None:
        raise TooLong(f"more than {given.seconds} s")

    signal.signal(signal.SIGALRM, stop)
    results: list[SuiteResult] = []
    for case in suite(given.match):
        signal.alarm(given.seconds)
        results.append(run_case(case, given.device))
        signal.alarm(0)
        last = results[-1]
        if given.all or (given.verbose and last.verdict != "passed"):
            print(f"{last.verdict:8} {last.name:60} {last.message[:300]}", flush=True)
    print(dict(Counter(r.verdict for r in results)), "folded:", sum(r.folded for r in results), "of", len(results))


if __name__ == "__main__":
    main()
