"""Malformed operations: every registered operation with missing, surplus and wrong parts, as generic text.

A draw starts from an operation as some program of the corpus has it, or from what the op class declares, and changes
parts of it: operands, operand and result types, attributes, regions, blocks, terminators, successors.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from typing import Any

from support.mutations import NUMBERS, mutate_bytes
from tx8ir.core import IrContext, Op, Operation, parse_op
from tx8ir.core.errors import IrError
from tx8ir.core.location import quote
from tx8ir.core.opdef.definition import SEGMENTS

TYPES = """
f32 i1 i64 none !builtin.token tuple<> tuple<f32> () -> () (f32) -> f32
!pd.vtensor<f32> !pd.vtensor<0xf32> !pd.vtensor<2xf32> !pd.vtensor<?xf32> !pd.vtensor<2x3xf32> !pd.vtensor<3x2xbf16>
!pd.vtensor<1x3x8x8xf32> !pd.vtensor<4x3x3x3xf32> !pd.vtensor<?x?x?x?xf32> !pd.vtensor<2x3x4x5x6xf32>
!pd.vtensor<i1> !pd.vtensor<1xi1> !pd.vtensor<2xi64> !pd.vtensor<2x3xi32> !pd.vtensor<2xi4> !pd.vtensor<0x3xi8>
!pd.tensor<2x3xf32> !pd.tensor<i1> !pd.tensor<1000000x1000000x1000000x1000000xf32> !pd.vtensor<9223372036854775807xf32>
!builtin.list<f32> !builtin.list<!pd.vtensor<2x3xf32>,!pd.vtensor<2x3xf32>> !builtin.list<> !builtin.dict<"a":f32>
!pd.vtensor<2x3xui8> !pd.vtensor<16x64xf16> !pd.vtensor<64x16xf16> !pd.vtensor<1x16x16x64xbf16>
"""
KINDS = [t.replace("()->()", "() -> ()").replace("(f32)->f32", "(f32) -> f32")
         for t in TYPES.replace("() -> ()", "()->()").replace("(f32) -> f32", "(f32)->f32").split()]  # fmt: skip

ATTRIBUTES = r"""
1 -1 0 true false unit 1.5 0x7FF0000000000000 "" "a" "Tensor" "relu" @main @"" [] [1] [1,"a"] [[1],[2]] {} {a=1}
array<i64> array<i64:0> array<i64:1,2> array<i64:-1,0,1,9223372036854775807> array<i64:1,1,1,1> array<i1:true>
array<f64:1.5> array<i32:1,2> dense<1.0>:!pd.vtensor<2x3xf32> dense<[]>:!pd.vtensor<0xi64> dense<true>:!pd.vtensor<i1>
i32 f32 !pd.vtensor<2x3xf32> !pd.vtensor<?xf32> none 5:i8 255:ui8 1.5:bf16 #alien<x> #alien.y<z> ["a","a"] ["a","b"]
#tx8be<memscope_mode_DDR> #tx8be<GemmMode_Normal> #tx8be<Activation_Relu> #tx8be.region<{}> #tx8be.dev_attr<{}>
#tx8.chip<{}> #tx8.requantize<{}> #tx8.follow<{}>
"""
VALUES = [a.replace("_mode_", "_mode ").replace("Mode_", "Mode ").replace("Activation_", "Activation ")
          for a in ATTRIBUTES.split()] + ["() -> ()", "(f32) -> f32"]  # fmt: skip
SEGMENT_VALUES = ["array<i32>", "array<i32: 1>", "array<i32: 1, 1>", "array<i32: -1, 3>", "array<i32: 1, 1, 1>",
                  "array<i64: 9223372036854775807, 1>", "array<f64: 1.0, 1.0>", "[1, 1]", "1",
                  "array<i32: 1, 0, 1, 0>"]  # fmt: skip
ENDINGS = ("scf.yield", "scf.condition", "func.return", "cf.br", "cf.cond_br")
NAMES = ("sym_name", "function_type", "callee", "name", "value", "arg_names")


class Parts:
    """What an operation of a program consists of, as text."""

    def __init__(self, op: Operation) -> None:
        self.inputs = [str(v.type) for v in op.operands]
        self.outputs = [str(r.type) for r in op.results]
        self.attributes = {key: str(value) for key, value in op.attributes.items()}


class MalformedOps:
    """Draws texts of one module with one operation of each draw's choice, malformed.

    Args:
        context: the dialects whose operations are drawn.
        texts: programs to take operations from.
    """

    def __init__(self, context: IrContext, texts: Iterable[str]) -> None:
        self.classes: list[type[Op]] = [
            cls for dialect in context for cls in dialect.ops.values() if issubclass(cls, Op)
        ]
        self.by_name = {cls.name: cls for cls in self.classes}
        self._holders = [cls for cls in self.classes if cls.definition.regions]
        self._known: dict[str, list[Parts]] = {}
        for text in texts:
            try:
                root = parse_op(text, context=context, allow_unregistered=True)
            except IrError:
                continue
            for op in root.walk():
                known = self._known.setdefault(op.name, [])
                if len(known) < 12:
                    known.append(Parts(op))

    def snippets(self, each: int = 3) -> list[str]:
        """Small sound programs: one operation of the corpus each, on operands that come from nowhere."""
        found: list[str] = []
        for name, known in sorted(self._known.items()):
            for parts in known[:each]:
                sources = [f'%v{i} = "alien.source"() : () -> ({kind})' for i, kind in enumerate(parts.inputs)]
                operands = ", ".join(f"%v{i}" for i in range(len(parts.inputs)))
                attributes = ", ".join(f"{quote(k)} = {v}" for k, v in parts.attributes.items())
                signature = f"({', '.join(parts.inputs)}) -> ({', '.join(parts.outputs)})"
                body = "\n".join([*sources, f"{quote(name)}({operands}) {{{attributes}}} : {signature}"])
                found.append(f"module {{\n{body}\n}}")
        return found

    def draw(self, rng: random.Random, cls: type[Op] | None = None) -> str:
        """A module's text around a malformed operation of `cls`, by default of any class."""
        self._count = 0
        lines = self._op(rng, cls or rng.choice(self.classes), 0, 0)
        holder = rng.randrange(6)
        if holder == 0:
            lines = self._op(rng, rng.choice(self._holders), 0, 0, body=lines)
        elif holder == 1:
            function_type = rng.choice(("() -> ()", "() -> f32", "(f32) -> ()"))
            ending = rng.choice(('"func.return"() : () -> ()', '"cf.br"()[^bb0] : () -> ()', ""))
            attributes = f'{{function_type = {function_type}, sym_name = "main"}}'
            lines = [f'"func.func"() ({{\n^bb0:\n{chr(10).join([*lines, ending])}\n}}) {attributes} : () -> ()']
        text = "\n".join(lines)
        if rng.random() < 0.05:
            text = mutate_bytes(rng, text)
        return f"module {{\n{text}\n}}" if rng.random() < 0.9 else text

    def _op(
        self, rng: random.Random, cls: type[Op], depth: int, num_blocks: int, body: Sequence[str] | None = None
    ) -> list[str]:
        d = cls.definition
        known = self._known.get(cls.name)
        parts = rng.choice(known) if known and rng.random() < 0.7 else None
        inputs = list(parts.inputs) if parts is not None else self._types(rng, d.operands)
        outputs = list(parts.outputs) if parts is not None else self._types(rng, d.results)
        attributes = dict(parts.attributes) if parts is not None else self._attributes(rng, cls)
        regions = len(d.regions)
        successors = len(d.successors)
        for _ in range(rng.choice((0, 1, 1, 1, 2, 3))):
            what = rng.randrange(9)
            if what == 0:
                self._change_list(rng, inputs, KINDS)
            elif what == 1:
                self._change_list(rng, outputs, KINDS)
            elif what == 2:
                regions = max(0, regions + rng.choice((-1, 1, 1)))
            elif what == 3:
                successors = max(0, successors + rng.choice((-1, 1)))
            elif what == 4 and attributes:
                del attributes[rng.choice(sorted(attributes))]
            elif what == 5:
                attributes[rng.choice(NAMES)] = rng.choice(VALUES)
            elif what == 6:
                attributes[SEGMENTS] = rng.choice(SEGMENT_VALUES)
            else:
                keys = sorted({*attributes, *(f.key for f in d.attributes)})
                if keys:
                    key = rng.choice(keys)
                    attributes[key] = self._value(rng, attributes.get(key))
        lines: list[str] = []
        operands: list[str] = []
        for kind in inputs:
            name = f"%v{self._count}"
            self._count += 1
            lines.append(self._source(rng, name, kind))
            operands.append(name)
        if operands and rng.random() < 0.1:
            operands[0] = operands[-1]
        shown = "".join(f"{quote(k)} = {v}, " for k, v in sorted(attributes.items())).removesuffix(", ")
        targets = ", ".join(f"^bb{rng.randrange(max(1, num_blocks))}" for _ in range(successors))
        signature = f"({', '.join(inputs)}) -> ({', '.join(outputs)})"
        head = f"{quote(cls.name)}({', '.join(operands)})" + (f"[{targets}]" if targets and num_blocks else "")
        if regions:
            bodies = [self._region(rng, depth + 1, body) for _ in range(regions)]
            head += " (" + ", ".join(bodies) + ")"
        lines.append(f"{head} {{{shown}}} : {signature}")
        return lines

    def _source(self, rng: random.Random, name: str, kind: str) -> str:
        """A line that defines the value `name`: constants too, because inference looks at them."""
        if "vtensor<2xi64>" in kind and rng.random() < 0.7:
            numbers = ", ".join(rng.choice(NUMBERS[:8]) for _ in range(2))
            return f'{name} = "builtin.constant"() {{value = dense<[{numbers}]> : {kind}}} : () -> {kind}'
        return f'{name} = "alien.source"() : () -> ({kind})'

    def _types(self, rng: random.Random, fields: Sequence[Any]) -> list[str]:
        found: list[str] = []
        for field in fields:
            count = 1 if field.count == "one" else rng.randrange(2 if field.count == "optional" else 4)
            found += [rng.choice(KINDS) for _ in range(count)]
        if rng.random() < 0.5 and found:
            found = [found[0]] * len(found)
        return found

    def _attributes(self, rng: random.Random, cls: type[Op]) -> dict[str, str]:
        found: dict[str, str] = {}
        for field in cls.definition.attributes:
            codec, optional = cls.definition.codecs[field.name]
            if optional and rng.random() < 0.7:
                continue
            found[field.key] = self._accepted(rng, codec.expected)
        return found

    def _accepted(self, rng: random.Random, expected: str) -> str:
        """An attribute that is probably what the codec expects."""
        if expected == "an int":
            return rng.choice(NUMBERS[:13])
        if expected == "a float":
            return rng.choice(("0.0", "1.0", "-1.5", "1.0e308", "0x7FF0000000000000", "0x7FF8000000000000"))
        if expected == "a str":
            return rng.choice(('""', '"a"', '"sum"', '"Tensor"', '"const"', '"NCHW"', '"SAME"', '"max"'))
        if expected == "a bool":
            return rng.choice(("true", "false"))
        if expected == "a tuple of int":
            return f"array<i64: {', '.join(rng.choice(NUMBERS[:13]) for _ in range(rng.randrange(1, 6)))}>"
        if expected == "a tuple of str":
            return rng.choice(("[]", '["a"]', '["a", "b"]', '["a", "a"]'))
        if expected.startswith("a ") and "(" in expected:  # an enumeration
            spelling = rng.choice(expected[expected.index("(") + 1 : -1].split(", "))
            return f"#tx8be<{expected[2 : expected.index(' (')]} {spelling}>"
        return rng.choice(VALUES)

    def _value(self, rng: random.Random, before: str | None) -> str:
        """Another value for an attribute: of its kind, or any."""
        if before is not None and rng.random() < 0.6:
            if before.startswith("array<i64"):
                numbers = [n for n in before[len("array<i64") : -1].strip(": ").split(", ") if n]
                self._change_list(rng, numbers, NUMBERS[:13])
                return f"array<i64: {', '.join(numbers)}>" if numbers else "array<i64>"
            if before.split(" ")[0].lstrip("-").isdigit():
                return rng.choice(NUMBERS[:13])
            if "<{" in before:
                return before.replace(rng.choice("0123456789"), rng.choice(NUMBERS[:13]), 1)
        return rng.choice(VALUES)

    @staticmethod
    def _change_list(rng: random.Random, items: list[str], pool: Sequence[str]) -> None:
        how = rng.randrange(5)
        if how == 0 and items:
            del items[rng.randrange(len(items))]
        elif how == 1:
            items.insert(rng.randrange(len(items) + 1), rng.choice(pool))
        elif how == 2 and items:
            items.append(rng.choice(items))
        elif items:
            items[rng.randrange(len(items))] = rng.choice(pool)

    def _region(self, rng: random.Random, depth: int, body: Sequence[str] | None) -> str:
        how = rng.randrange(12)
        if how == 0:
            return "{}"
        count = rng.choice((1, 1, 1, 1, 2, 3)) if how > 1 else 1
        lines: list[str] = []
        for number in range(count):
            arguments = ""
            if rng.random() < 0.3:
                kinds = [rng.choice(KINDS) for _ in range(rng.randrange(1, 3))]
                names: list[str] = []
                for kind in kinds:
                    names.append(f"%v{self._count}: {kind}")
                    self._count += 1
                arguments = f"({', '.join(names)})"
            lines.append(f"^bb{number}{arguments}:")
            if how == 1:
                continue
            if body is not None and number == 0 and rng.random() < 0.8:
                lines += body
                body = None
            for _ in range(rng.randrange(2) if depth < 3 else 0):
                lines += self._op(rng, rng.choice(self.classes), depth, count)
            ending = self.by_name.get(rng.choice(ENDINGS))
            if ending is not None and rng.random() < 0.7:
                lines += self._op(rng, ending, depth, count)
        return "{\n" + "\n".join(lines) + "\n}"
