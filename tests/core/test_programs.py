"""Programs and stores: parameters written and read, startup and main, shared stores, files, runtime attributes."""

from __future__ import annotations

import copy
import gc
import pickle

import ml_dtypes
import numpy as np
import pytest
import safetensors

import tx8ir
from tx8ir.analysis.effects import mutable_parameters
from tx8ir.core import (
    IrError,
    ListType,
    MissingFileError,
    ParseError,
    Program,
    VTensorType,
    WeightError,
    WeightStore,
    f32,
    parse,
)
from tx8ir.interpreter import EvaluationError, evaluate, run_startup
from tx8ir.passes import PassManager

STARTUP = """
    func.func @main() -> () {
      %0 = "builtin.constant"() {value = dense<[1.0, 2.0]> : tensor<2xf32>} : () -> !pd.vtensor<2xf32>
      %1 = "builtin.constant"() {value = dense<0.5> : tensor<f32>} : () -> !pd.vtensor<f32>
      %2 = "builtin.combine"(%0, %1) : (!pd.vtensor<2xf32>, !pd.vtensor<f32>)
        -> !builtin.list<!pd.vtensor<2xf32>, !pd.vtensor<f32>>
      "builtin.set_combine_parameter"(%2) {names = ["w", "rate"]}
        : (!builtin.list<!pd.vtensor<2xf32>, !pd.vtensor<f32>>) -> ()
      return
    }
"""
READ = """
    func.func @main() -> !pd.vtensor<2xf32> {
      %0 = "builtin.get_parameter"() {name = "w"} : () -> !pd.vtensor<2xf32>
      return %0 : !pd.vtensor<2xf32>
    }
"""
TRAIN = """
    func.func @main() -> !pd.vtensor<2xf32> {
      %0 = "builtin.get_parameter"() {name = "w"} : () -> !pd.vtensor<2xf32>
      %1 = "builtin.get_parameter"() {name = "rate"} : () -> !pd.vtensor<f32>
      %2 = "pd.multiply"(%0, %1) : (!pd.vtensor<2xf32>, !pd.vtensor<f32>) -> !pd.vtensor<2xf32>
      "builtin.set_parameter"(%2) {name = "w"} : (!pd.vtensor<2xf32>) -> ()
      return %2 : !pd.vtensor<2xf32>
    }
"""


def program_of(text, weights=None):
    program = tx8ir.parse(text)
    program.verify()
    return Program(program.module, weights)


def result_of(program):
    return evaluate(program, {})["result0"].tolist()


def flags(store):
    return {name: variable.is_mutable for name, variable in store.items()}


def test_startup_fills_a_store_and_main_reads_it():
    startup, main = program_of(STARTUP), program_of(TRAIN)
    main.weights = run_startup(startup)
    assert main.weights is startup.weights
    assert result_of(main) == [0.5, 1]
    assert result_of(main) == [0.25, 0.5]
    assert startup.weights["w"].numpy().tolist() == [0.25, 0.5]
    assert startup.weights["rate"].numpy().tolist() == 0.5


def test_a_startup_program_has_no_outputs():
    with pytest.raises(EvaluationError, match="a startup program has no outputs, this one gives result0"):
        run_startup(program_of(READ))


def test_one_graph_runs_over_many_stores():
    text = tx8ir.parse(READ)
    for number in (1, 2):
        text.weights = WeightStore()
        text.weights.add("w", np.float32([number, 0]))
        assert result_of(text) == [number, 0]


def test_a_variable_is_mutable_when_any_program_attached_to_its_store_writes_it():
    store = WeightStore()
    store.add("w", np.float32([1, 2]))
    store.add("rate", np.float32(0.5))
    reader, trainer = program_of(READ, store), program_of(TRAIN, store)
    assert set(store.users) == {reader, trainer}
    assert reader.mutable_parameters() == mutable_parameters(reader) == {"w"}
    assert flags(store) == {"w": False, "rate": False}  # the store's own word; programs are asked each time
    trainer.weights = WeightStore()  # it uses another store now
    assert reader.mutable_parameters() == set()
    trainer.weights = store
    del trainer
    gc.collect()
    assert reader.mutable_parameters() == set()


def test_a_parameter_is_no_constant_while_another_program_trains_it():
    store = WeightStore()
    store.add("w", np.float32([1, 2]))
    store.add("rate", np.float32(0.5))
    trainer = program_of(TRAIN, store)

    def merged():
        reader = program_of(
            """
            func.func @main() -> (!pd.vtensor<2xf32>, !pd.vtensor<2xf32>) {
              %0 = "builtin.get_parameter"() {name = "w"} : () -> !pd.vtensor<2xf32>
              %1 = "builtin.get_parameter"() {name = "w"} : () -> !pd.vtensor<2xf32>
              return %0, %1 : !pd.vtensor<2xf32>, !pd.vtensor<2xf32>
            }
            """,
            store,
        )
        PassManager.parse("cse").run(reader)
        return len(reader.main.body.block) == 2

    assert not merged()
    trainer.weights = WeightStore()
    assert merged()


def test_a_tensor_that_aliases_a_parameter_makes_it_mutable():
    program = program_of(READ.replace("vtensor", "tensor"))
    assert program.written_parameters() == {"w"}


def test_mutability_is_recomputed_on_load_for_every_program_attached(tmp_path):
    store = WeightStore()
    store.add("w", np.float32([1, 2]), is_mutable=True)
    store.add("rate", np.float32(0.5), is_mutable=True)
    program_of(TRAIN, store).save(tmp_path / "train")
    program_of(READ, store).save(tmp_path / "read")
    reader = Program.load(tmp_path / "read")
    assert flags(reader.weights) == {"w": False, "rate": False}
    trainer = Program.load(tmp_path / "train", weights=reader.weights)
    assert trainer.weights is reader.weights
    assert flags(reader.weights) == {"w": True, "rate": False}
    again = Program.load(tmp_path / "read", weights=reader.weights)
    assert flags(reader.weights) == {"w": True, "rate": False}
    result_of(trainer)
    assert result_of(reader) == result_of(again) == [0.5, 1]


def test_a_variable_of_another_type_than_declared_is_refused_on_load(tmp_path):
    program = program_of(READ)
    program.weights.add("w", np.float32([1, 2, 3]))
    program.save(tmp_path)
    with pytest.raises(WeightError, match=r"'w' is !pd.vtensor<3xf32>; builtin.get_parameter at .* as !pd.vtensor<2xf"):
        Program.load(tmp_path)


def test_all_of_a_list_is_written_or_nothing():
    program = program_of(STARTUP)
    program.weights.add("rate", np.float32(1))
    with pytest.raises(EvaluationError, match="'rate', which is not mutable"):
        evaluate(program, {})
    assert list(program.weights) == ["rate"]


def test_several_parameters_are_read_as_a_list():
    list_type = ListType([VTensorType((2,), f32), VTensorType((), f32)])
    program = program_of(f"""
        func.func @main() -> !pd.vtensor<2xf32> {{
          %0 = "builtin.get_combine_parameter"() {{names = ["w", "rate"]}} : () -> {list_type}
          %1:2 = "builtin.split"(%0) : ({list_type}) -> (!pd.vtensor<2xf32>, !pd.vtensor<f32>)
          %2 = "pd.add"(%1#0, %1#1) : (!pd.vtensor<2xf32>, !pd.vtensor<f32>) -> !pd.vtensor<2xf32>
          return %2 : !pd.vtensor<2xf32>
        }}
    """)
    program.weights.add("w", np.float32([1, 2]))
    program.weights.add("rate", np.float32(0.5))
    assert result_of(program) == [1.5, 2.5]


def test_attributes_that_an_operation_does_not_declare_are_dropped_on_export(tmp_path):
    program = program_of(READ)
    program.weights.add("w", np.float32([1, 2]))
    read = program.main.body.block.first_op
    read.set_attribute("hint", 3)
    program.main.set_attribute("note", "fast")
    text = str(program)
    assert 'hint = 3 : i64, name = "w"' in text
    assert str(tx8ir.parse(text)) == text
    program.save(tmp_path / "bare")
    assert str(Program.load(tmp_path / "bare")) == text.replace("hint = 3 : i64, ", "").replace(
        ' attributes {note = "fast"}', ""
    )
    assert str(program) == text
    program.save(tmp_path / "all", runtime_attributes=True)
    assert str(Program.load(tmp_path / "all")) == text


def test_an_empty_program_comes_from_the_callers_line():
    assert Program.empty().module.location.file == __file__


def test_a_copy_knows_what_others_may_write():
    """Its own store has no other programs attached, so that it keeps what they may do as marks."""
    store = WeightStore()
    trainer, reader = program_of(TRAIN, store), program_of(READ, store)
    store.add("w", np.float32([1, 2]))
    store.add("rate", np.float32(0.5))
    assert reader.mutable_parameters() == trainer.mutable_parameters() == {"w"}
    copy = reader.clone()
    assert copy.mutable_parameters() == copy.clone().mutable_parameters() == {"w"}
    assert flags(store) == {"w": False, "rate": False}, "the copy is marked, not the store"
    assert trainer.clone().mutable_parameters() == {"w"}
    assert flags(trainer.clone().weights) == {"w": False, "rate": False}, "what it writes itself, its graph says"
    copy.recompute_mutability()
    assert copy.mutable_parameters() == frozenset()
    del trainer
    assert reader.clone().mutable_parameters() == frozenset()


def test_functions_are_found_by_name() -> None:
    program = parse("module { func.func @a() { return } func.func @b() { return } }")
    assert program["b"] is program.function("b")
    assert "a" in program
    assert "c" not in program
    assert [op.sym_name for op in program] == ["a", "b"]
    with pytest.raises(IrError, match="the program has no function 'c'; it has: a, b"):
        program["c"]
    with pytest.raises(IrError, match=r"asked for a function by its name, as program\['main'\], not by 0"):
        program[0]  # type: ignore[index]


def test_programs_are_pickled_and_copied() -> None:
    program = parse('"builtin.get_parameter"() {name = "w"} : () -> !pd.vtensor<2xf32>')
    program.weights.add("w", np.array([1, 2], np.float32), is_mutable=True)
    location = str(program.body.first_op.location)
    for other in (pickle.loads(pickle.dumps(program)), copy.copy(program), copy.deepcopy(program)):
        assert str(other) == str(program)
        assert str(other.body.first_op.location) == location
        assert other.weights["w"].is_mutable
        assert other.weights["w"].numpy().tolist() == [1, 2]
        assert other.weights.users == (other,)
    assert copy.copy(program).weights["w"].data is program.weights["w"].data
    assert copy.deepcopy(program).weights["w"].data is not program.weights["w"].data


def test_a_path_that_names_nothing_is_a_missing_file() -> None:
    with pytest.raises(MissingFileError, match=r"nosuch.mlir: expected a file of IR text, found nothing there"):
        parse("nosuch.mlir")


def test_one_file_holds_a_graph_and_its_weights(tmp_path):
    program = program_of(READ)
    program.weights.add("w", np.float32([1, 2]))
    program.weights.add("half", np.float32([3]).astype(ml_dtypes.bfloat16))
    file = tmp_path / "model.safetensors"
    program.save(file)
    loaded = Program.load(file)
    assert str(loaded) == str(program)
    assert {n: v.type for n, v in loaded.weights.items()} == {n: v.type for n, v in program.weights.items()}
    assert result_of(loaded) == [1, 2]
    assert str(tx8ir.load(file)) == str(program)
    assert list(WeightStore.load(file)) == list(loaded.weights)  # weights, to whom the graph means nothing
    with safetensors.safe_open(file, "numpy") as seen:  # and to others
        assert sorted(seen.keys()) == ["half", "w"]
        assert seen.metadata()["tx8ir.graph"] == str(program) + "\n"


def test_a_file_of_one_program_takes_the_weights_of_another(tmp_path):
    program = program_of(READ)
    program.weights.add("w", np.float32([1, 2]))
    program.save(tmp_path / "a.safetensors")
    store = WeightStore()
    store.add("w", np.float32([5, 6]))
    assert result_of(Program.load(tmp_path / "a.safetensors", weights=store)) == [5, 6]


def test_weights_alone_and_damaged_files_are_no_program(tmp_path):
    store = WeightStore()
    store.add("w", np.float32([1, 2]))
    file = tmp_path / "weights.safetensors"
    store.save(file)
    with pytest.raises(WeightError, match=r"holds weights alone: its metadata has no 'tx8ir\.graph'"):
        Program.load(file)
    with pytest.raises(WeightError, match=r"missing\.safetensors"):
        Program.load(tmp_path / "missing.safetensors")
    store.save(file, metadata={"tx8ir.graph": "this is not IR"})
    with pytest.raises(ParseError, match=r"weights\.safetensors:1:1"):
        Program.load(file)
    store.save(file, metadata={"tx8ir.graph": "func.func private @f()"})
    with pytest.raises(WeightError, match=r"holds func\.func, expected a module"):
        Program.load(file)


def test_a_graph_too_large_for_the_header_of_a_file_is_refused(tmp_path):
    with pytest.raises(WeightError, match=r"its header has 1000.* bytes, the format allows 100000000"):
        WeightStore().save(tmp_path / "x.safetensors", metadata={"tx8ir.graph": "a" * 100_000_000})
    assert not list(tmp_path.iterdir())
