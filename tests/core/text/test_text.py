"""The text of operations: what it looks like, what else is accepted, and what is kept on request."""

from __future__ import annotations

import pytest

import tx8ir
from support.dialect import BoxAttr, Colour, SourceOp, UnaryOp, test_context
from tx8ir.core import (
    Block,
    Builder,
    FileLocation,
    IrContext,
    NamedLocation,
    ParseError,
    Region,
    VTensorType,
    f32,
    parse,
    parse_op,
    print_op,
    structurally_equal,
    verify,
)
from tx8ir.core.text.printer import Printer
from tx8ir.dialects import builtin, func


def read(text, **options):
    return parse_op(text, context=test_context(), **options)


def both_ways(text, **options):
    """Read `text`, which must be what is printed; the operation."""
    op = read(text, **options)
    assert print_op(op) == text
    return op


VENDOR = """\
module {
  func.func @main(%arg0: tensor<1x1024x1024xi8>, %arg1: tensor<1024x1024xi8>) -> tuple<tensor<1x1024x1024xi8>> {
    %0 = "tx8be.Input"(%arg0) {layout_str = "Unknown", mem_scope = #tx8be<memscope_mode DDR>} : (tensor<1x1024x1024xi8>) -> tensor<1x1024x1024xi8>
    %1 = "tx8be.Input"(%arg1) {layout_str = "Unknown", mem_scope = #tx8be<memscope_mode DDR>} : (tensor<1024x1024xi8>) -> tensor<1024x1024xi8>
    %2 = "tx8be.None"() : () -> none
    %3 = "tx8be.None"() : () -> none
    %4 = "tx8be.Gemm"(%0, %1, %2, %3) {layout_str = "NTensor", op_mode = #tx8be<GemmMode Normal>, sparse_en = false, transL = false, transR = false} : (tensor<1x1024x1024xi8>, tensor<1024x1024xi8>, none, none) -> tensor<1x1024x1024xi8>
    %5 = "tx8be.Tuple"(%4) {input_nums = 1 : i64, layout_str = "Tuple"} : (tensor<1x1024x1024xi8>) -> tuple<tensor<1x1024x1024xi8>>
    %6 = "tx8be.Output"(%5) {layout_str = "Tuple", mem_scope = #tx8be<memscope_mode DDR>} : (tuple<tensor<1x1024x1024xi8>>) -> tuple<tensor<1x1024x1024xi8>>
    return %6 : tuple<tensor<1x1024x1024xi8>>
  }
}
"""  # noqa: E501  (the vendor's file as it is)


class TestTheVendorsFile:
    def test_it_loads_verifies_and_comes_back(self, golden):
        program = tx8ir.parse(VENDOR)
        program.verify()
        text = str(program)
        again = tx8ir.parse(text)
        assert structurally_equal(program.module, again.module) is None
        assert str(again) == text
        golden(text, "core/vendor.mlir")

    def test_only_the_spelling_of_tensors_differs(self):
        text = str(tx8ir.parse(VENDOR)) + "\n"
        assert text.replace("!pd.vtensor<", "tensor<") == VENDOR

    def test_it_loads_without_the_dialect_too(self):
        program = parse(VENDOR, context=test_context(), allow_unregistered=True)
        program.verify()
        assert str(program) == str(tx8ir.parse(VENDOR))


class TestForms:
    def test_a_program_with_everything(self, golden):
        """A look at every form: short ones, generic ones, regions, blocks, several results, attributes."""
        text = """\
module attributes {note = "x"} {
  func.func @main(%arg0: f32, %arg1: !pd.vtensor<2xf32>) -> (f32, f32) attributes {arg_names = ["a", "b"]} {
    %0 = "test.unary"(%arg0) : (f32) -> f32
    %1:2 = "test.many"(%0, %0) : (f32, f32) -> (f32, !pd.vtensor<2xf32>)
    "test.segments"(%0, %1#0) {operandSegmentSizes = array<i32: 1, 0, 1, 0>} : (f32, f32) -> ()
    "test.attributes"() {box = #test.box<{size = 1}>, colour = #test<colour Red>, nested = {a, b = [1, "x"]}} : () -> ()
    %2 = "test.scope"(%0) ({
      %3 = "test.unary"(%1#0) : (f32) -> f32
    }, {
    ^bb0(%arg2: f32):
      %4 = "test.unary"(%arg2) : (f32) -> f32
    }) {a} : (f32) -> f32
    "test.isolated"() ({
    ^bb0(%arg2: f32, %arg3: f32):
      %3 = "test.binary"(%arg2, %arg3) : (f32, f32) -> f32
    }) : () -> ()
    "test.graph"() ({
    ^bb0:
      "test.branch"(%0)[^bb1, ^bb2] : (f32) -> ()
    ^bb1:
      "test.jump"(%0)[^bb3] {k} : (f32) -> ()
    ^bb2:
      "test.jump"(%2)[^bb3] : (f32) -> ()
    ^bb3(%arg4: f32):
      "test.stop"() : () -> ()
    }) : () -> ()
    return %0, %2 : f32, f32
  }
  func.func @nothing() {
    return
  }
}"""
        op = read(text)
        verify(op)
        again = read(print_op(op))
        assert structurally_equal(op, again) is None
        assert print_op(again) == print_op(op)
        golden(print_op(op), "core/everything.mlir")

    @pytest.mark.parametrize(
        "text",
        [
            "module {\n}",
            'module attributes {a = 1 : i64} {\n}',
            "func.func @f() {\n  return\n}",
            'func.func @"a b"() {\n  return\n}',
            "func.func @f(%arg0: f32) -> f32 {\n  return %arg0 : f32\n}",
            "func.func @f() -> ((f32) -> f32) {\n}",
            'func.func @f() attributes {result_names = []} {\n  return {note = "x"}\n}',
            '"test.scope"() ({\n}, {\n^bb0:\n}) : () -> ()',
            '%0:2 = "test.source"() : () -> (f32, f32)',
            '"test.source"() : () -> ()',
            '%0 = "test.source"() : () -> ((f32) -> f32)',
            '"builtin.module"() ({\n^bb0:\n^bb1:\n}) : () -> ()',
            '"builtin.module"() ({\n}) : () -> ()',
            '"func.func"() ({\n^bb0(%arg0: f32):\n}) {function_type = () -> (), sym_name = "f"} : () -> ()',
            '"func.func"() ({\n^bb0:\n}) : () -> ()',
            '"func.return"() ({\n}) : () -> ()',
        ],
    )  # fmt: skip
    def test_is_read_and_printed(self, text):
        """The last ones are invalid: their short form would hide something, so the generic form is used."""
        both_ways(text)

    @pytest.mark.parametrize(
        ("text", "printed"),
        [
            ("module{}", "module {\n}"),
            ('"builtin.module"() ({^bb0:}) : () -> ()', "module {\n}"),
            ("builtin.module { }", "module {\n}"),
            ('"test.source"():()->()', '"test.source"() : () -> ()'),
            ('%a="test.source"() : () -> f32', '%0 = "test.source"() : () -> f32'),
            ('%a , %b = "test.source"() : () -> (f32, f32)', '%0:2 = "test.source"() : () -> (f32, f32)'),
            ('%a:1, %b:2 = "test.source"() : () -> (f32, f32, f32)', '%0:3 = "test.source"() : () -> (f32, f32, f32)'),
            ('"test.source"() {b = 1, a} : () -> f32', '%0 = "test.source"() {a, b = 1 : i64} : () -> f32'),
            ('"test.source"() {} : () -> f32', '%0 = "test.source"() : () -> f32'),
            ('// c\n"test.source"() // {\n {a // }\n} : () -> () // x', '"test.source"() {a} : () -> ()'),
            ('"test.source"() {a = 1 // }\n, b} : () -> ()', '"test.source"() {a = 1 : i64, b} : () -> ()'),
            ('"test.source"() : () ->\n  f32', '%0 = "test.source"() : () -> f32'),
            ('"test.source"() : () -> () loc("f":1:2)', '"test.source"() : () -> ()'),
            ('"test.source"() : () -> ()\n  loc(unknown)', '"test.source"() : () -> ()'),
            ('"test.source"() : () -> ()\r\n', '"test.source"() : () -> ()'),
            ('"test.source"() : () -> tensor<2xi8>', '%0 = "test.source"() : () -> !pd.vtensor<2xi8>'),
            ('"\\74est.source"() : () -> ()', '"test.source"() : () -> ()'),
            ('"test.isolated"() ({}) : () -> ()', '"test.isolated"() ({\n}) : () -> ()'),
            ('"test.isolated"() ({^x:}) : () -> ()', '"test.isolated"() ({\n^bb0:\n}) : () -> ()'),
        ],
    )
    def test_other_ways_to_write_the_same(self, text, printed):
        assert print_op(read(text)) == printed

    def test_several_operations_become_a_module(self):
        op = read('"test.source"() : () -> ()\n"test.source"() : () -> ()')
        assert op.name == "builtin.module"
        assert [inner.name for inner in op.body.block] == ["test.source"] * 2

    def test_one_operation_is_not_in_a_block(self):
        assert read('"test.source"() : () -> ()').parent is None

    def test_a_program_wraps_what_is_no_module(self):
        assert str(parse("func.func @f() { return }")) == "module {\n  func.func @f() {\n    return\n  }\n}"

    def test_a_region_without_blocks_is_not_one_with_an_empty_block(self):
        none, empty = (read(f'"test.isolated"() ({{{body}}}) : () -> ()') for body in ("", "^bb0:"))
        assert len(none.body) == 0
        assert len(empty.body) == 1
        assert str(structurally_equal(none, empty)) == "region 0: 0 blocks != 1 blocks"

    def test_indentation_stops_growing(self):
        op = inner = read('"test.scope"() ({^bb0:}, {}) : () -> ()')
        for _ in range(60):
            inner = inner.regions[0].block.append(read('"test.scope"() ({^bb0:}, {}) : () -> ()'))
        text = print_op(op)
        assert max(len(line) - len(line.lstrip()) for line in text.split("\n")) == 80
        assert structurally_equal(read(text), op) is None


class TestNames:
    TEXT = """\
module {
  func.func @f(%arg0: f32) -> f32 {
    %sum = "test.binary"(%arg0, %arg0) : (f32, f32) -> f32
    %0 = "test.unary"(%sum) : (f32) -> f32
    %pair:2 = "test.many"(%0) : (f32) -> (f32, f32)
    return %pair#1 : f32
  }
}"""

    def test_numbers_are_given_unless_names_are_asked_for(self):
        module = parse(self.TEXT, context=test_context(), keep_names=True).module
        assert "%sum" not in print_op(module)
        assert print_op(module, names=True) == self.TEXT

    def test_names_are_forgotten_unless_asked_for(self):
        assert print_op(parse(self.TEXT, context=test_context()).module, names=True) == print_op(read(self.TEXT))

    def test_a_value_knows_its_name(self):
        module = parse(self.TEXT, context=test_context(), keep_names=True).module
        names = [r.name_hint for op in module.walk() for r in op.results]
        assert names == ["sum", None, "pair", "pair"]

    def test_a_name_can_be_given_in_python(self):
        op = SourceOp(outs=(f32,))
        op.outs[0].name_hint = "conv1/weight"
        assert print_op(op, names=True) == '%conv1_weight = "test.source"() : () -> f32'
        op.outs[0].name_hint = "bias"
        assert op.outs[0].name_hint == "bias"

    def test_equal_names_are_told_apart(self):
        block = Block()
        with Builder.at_end(block):
            x = SourceOp(outs=(f32,)).outs[0]
            for name in ("a", "a", "a_1", "0", "arg0", "é", ""):
                x = UnaryOp(x).out
                x.name_hint = name
        builtin.ModuleOp(body=Region([block]))
        text = print_op(block.parent_op, names=True)
        given = [line.split("=")[0].strip() for line in text.split("\n") if "=" in line]
        assert given == ["%0", "%a", "%a_1", "%a_1_1", "%_0", "%_arg0", "%_", "%__1"]
        again = parse(text, context=test_context(), keep_names=True).module
        assert print_op(again, names=True) == text

    def test_isolated_regions_start_anew(self):
        both_ways(
            "module {\n"
            '  %0 = "test.source"() : () -> f32\n'
            '  "test.isolated"() ({\n    %0 = "test.source"() : () -> f32\n  }) : () -> ()\n'
            '  %1 = "test.source"() : () -> f32\n'
            "}"
        )

    def test_siblings_may_use_one_name(self):
        op = read(
            '"test.scope"() ({\n %x = "test.source"() : () -> f32\n}, {\n %x = "test.source"() : () -> i8\n'
            ' "test.stop"(%x) : (i8) -> ()\n}) : () -> ()'
        )
        assert op.regions[1].block.last_op.operands[0].type is tx8ir.core.i8

    def test_values_from_outside_of_what_is_shown_stand_out(self):
        block = Block((f32,))
        with Builder.at_end(block):
            y = UnaryOp(block.args[0])
            z = UnaryOp(y)
        assert print_op(y) == '%0 = "test.unary"(%outer0) : (f32) -> f32'
        assert print_op(z) == '%0 = "test.unary"(%outer0) : (f32) -> f32'


class TestLocations:
    TEXT = """\
module {
  func.func @f(%arg0: f32) -> f32 {
    %0 = "test.unary"(%arg0) : (f32) -> f32 loc("model.py":3:9)
    %1 = "test.unary"(%0) : (f32) -> f32 loc("relu"("model.py":4:1))
    %2 = "test.scope"() ({
    }, {
    }) : () -> f32 loc(fused<"fuse">["a.py":1:1, "b"])
    return %1 : f32 loc(unknown)
  } loc("f"(unknown))
} loc("x":1:1)"""

    def test_they_are_printed_on_request_and_read_back(self):
        op = read(self.TEXT)
        assert print_op(op, locations=True) == self.TEXT.replace('"f"(unknown)', '"f"')
        assert "loc(" not in print_op(op)

    def test_they_are_what_they_say(self):
        ops = [op for op in read(self.TEXT).walk() if op.results]
        assert ops[0].location == FileLocation("model.py", 3, 9)
        assert ops[1].location == NamedLocation("relu", FileLocation("model.py", 4, 1))
        assert ops[1].location.name == "relu"
        assert [str(part) for part in ops[2].location.locations] == ['loc("a.py":1:1)', 'loc("b")']
        assert ops[2].location.by == "fuse"

    def test_without_one_the_place_in_the_text_is_it(self):
        op = read('\n  %0 = "test.source"() : () -> f32', file="dir/x.mlir")
        assert (op.location.file, op.location.line, op.location.column) == ("dir/x.mlir", 2, 8)
        assert str(op.location) == 'loc("dir/x.mlir":2:8)'

    def test_the_fast_and_the_slow_way_agree(self):
        quick = read('%0 = "test.source"() : () -> f32')
        slow = read('%0 = "test.source"  () : () -> f32')
        assert (quick.location.line, quick.location.column) == (slow.location.line, slow.location.column) == (1, 6)

    def test_kept_names_go_around_the_location_once(self):
        op = read('%a = "test.source"() : () -> f32 loc("a"("f.py":1:2))', keep_names=True)
        assert str(op.location) == 'loc("a"("f.py":1:2))'


class TestUnregistered:
    TEXT = """\
"alien.module"() ({
  %0:2 = "alien.make"() {a = #alien.x<[1, {b}]>, b = !alien.t} : () -> (!alien.t<"x>">, f32)
  "alien.go"(%0#1)[^bb1] ({
  }) : (f32) -> ()
^bb1:
  "alien.stop"() : () -> ()
}) : () -> ()"""

    def test_they_are_kept_as_they_are_on_request(self):
        op = read(self.TEXT.replace("({\n  %0", "({\n^bb0:\n  %0"), allow_unregistered=True)
        verify(op)
        assert print_op(op) == self.TEXT.replace("({\n  %0", "({\n^bb0:\n  %0")

    def test_without_request_they_are_refused(self):
        with pytest.raises(ParseError, match=r"unknown dialect 'alien'; allow_unregistered=True keeps its operations"):
            read(self.TEXT)

    def test_a_known_dialect_lacks_an_operation(self):
        with pytest.raises(ParseError, match=r"dialect 'test' has no operation 'test.nope'"):
            read('"test.nope"() : () -> ()')
        assert read('"test.nope"() : () -> ()', allow_unregistered=True).name == "test.nope"

    @pytest.mark.parametrize("name", ["", "x", "a b", '"', "\\", "a\nb", "é", "a.b.c", "%0"])
    def test_any_name_survives(self, name):
        from tx8ir.core.location import quote

        op = read(f"{quote(name)}() : () -> ()", allow_unregistered=True)
        assert op.name == name
        assert read(print_op(op), allow_unregistered=True).name == name

    def test_one_context_has_one_class_per_name(self):
        context = IrContext()
        first, second = (parse_op('"a.b"() : () -> ()', context=context, allow_unregistered=True) for _ in range(2))
        assert first.__class__ is second.__class__
        assert first.attributes is second.attributes


class TestPrinter:
    def test_short_forms_write_through_it(self):
        printer = Printer()
        printer.write("a ")
        assert printer.attributes(func.ReturnOp(()).attributes) == ""
        op = SourceOp(outs=(f32,))
        op.set_attribute("k", 1)
        op.set_attribute("l", 2)
        assert printer.attributes(op.attributes, ("l",), " with ") == " with {k = 1 : i64}"
        assert printer.text() == "a "

    def test_one_printer_may_print_several_operations(self):
        printer = Printer()
        printer.print(SourceOp(outs=(f32,)))
        printer.write("\n")
        printer.print(SourceOp(outs=(f32,)))
        assert printer.text() == '%0 = "test.source"() : () -> f32\n%1 = "test.source"() : () -> f32'

    def test_str_is_the_text(self):
        op = SourceOp(outs=(VTensorType((2,), f32),))
        assert str(op) == print_op(op) == '%0 = "test.source"() : () -> !pd.vtensor<2xf32>'

    def test_structured_attributes_survive_the_slow_path(self):
        op = read('"test.attributes"() {box = #test.box<{size = 3}>, colour = #test<colour DarkBlue>} : () -> ()')
        assert (op.box, op.colour) == (BoxAttr(3), Colour.DARK_BLUE)


class TestFiles:
    def test_a_path_is_read_and_named_in_locations_and_errors(self, tmp_path):
        path = tmp_path / "x.mlir"
        path.write_text("module {\n}\n")
        assert parse(path).module.location.file == str(path)
        assert parse(str(path)).module.location.line == 1
        path.write_text("module {\n")
        with pytest.raises(ParseError) as caught:
            parse(path)
        assert caught.value.file == str(path)

    def test_a_missing_file_is_an_os_error(self, tmp_path):
        with pytest.raises(FileNotFoundError):
            parse(tmp_path / "nope.mlir")


class TestArgumentNames:
    TEXT = "func.func @main(%image: f32, %arg1: f32) -> f32 {\n  return %image : f32\n}"

    def test_they_are_kept_on_request_and_name_the_inputs(self):
        assert list(tx8ir.parse(self.TEXT + "\n").inputs) == ["arg0", "arg1"]
        program = tx8ir.parse(self.TEXT + "\n", keep_names=True)
        assert list(program.inputs) == ["image", "arg1"]
        again = tx8ir.parse(print_op(program.clone().module, names=True), keep_names=True)
        assert list(again.inputs) == ["image", "arg1"]
        assert "%image: f32" in print_op(again.module, names=True)

    def test_a_call_stack_may_be_deep(self):
        depth = 2000
        lines = [f'#loc{i} = loc(callsite("f.py":{i + 1}:1 at #loc{i + 1}))' for i in range(depth)]
        source = '"builtin.module"() ({}) {at = #loc1990} : () -> () loc(#loc0)\n'
        text = source + "\n".join([*lines, f'#loc{depth} = loc("main.py":7:8)'])
        op = tx8ir.core.parse_op(text)
        assert str(op.location).startswith('loc(callsite("f.py":1:1 at callsite("f.py":2:1 at')
        assert str(op.location).count("callsite") == depth
        assert str(op.attributes["at"]).count("callsite") == 10

    @pytest.mark.parametrize(
        ("definitions", "message"),
        [
            ('#a = loc("f":1:1)\n#a = loc("f":1:2)', "the alias '#a' is defined already"),
            ('#a = loc(callsite("f":1:1 at #b))\n#b = loc("x"(#a))', "the location '#a' is a part of itself"),
            ("#a = loc(#c)", "no location is called '#c'"),
        ],
    )
    def test_names_of_locations_are_of_one_location_each(self, definitions, message):
        with pytest.raises(ParseError, match=message):
            tx8ir.core.parse_op(f'"builtin.module"() ({{}}) : () -> () loc(#a)\n{definitions}')

    def test_locations_of_arguments_are_kept(self):
        text = 'func.func @f(%a: f32 loc("file":1:2)) -> f32 {\n  return %a : f32 loc(unknown)\n}'
        argument = tx8ir.core.parse_op(text).regions[0].block.args[0]
        assert str(argument.location) == 'loc("file":1:2)'
        assert '%arg0: f32 loc("file":1:2)' in print_op(tx8ir.core.parse_op(text), locations=True)


class TestWhatOthersDefine:
    def test_a_declaration_has_no_braces(self):
        text = "module {\n  func.func private @f(f32, index) -> (f32, i1)\n}"
        assert print_op(tx8ir.core.parse_op(text)) == text

    def test_properties_stay_properties(self):
        text = '"foo.a"() <{x = 1 : i64}> {y} : () -> ()'
        op = tx8ir.core.parse_op(text, allow_unregistered=True)
        assert print_op(op) == print_op(op.clone()) == print_op(op, generic=True) == text
