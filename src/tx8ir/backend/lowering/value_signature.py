"""`value-signature`: `main` takes values and gives values."""

from __future__ import annotations

from typing import ClassVar

import attrs

from tx8ir.backend.graph import CompileError
from tx8ir.core import Builder, FunctionType, Program, RankedTensor, TensorType, Value, at_location
from tx8ir.dialects import builtin, func, pd
from tx8ir.passes import Pass, register_pass


@register_pass
@attrs.frozen
class ValueSignature(Pass):
    """Turns `pd.feed` and `pd.fetch` into arguments and results of `main`, and tensors among these into values.

    The chip is given copies: what a program writes into an input stays its own. A tensor argument becomes a vtensor,
    copied into storage at the start; a tensor result is what the storage holds at the end, a fetch what it holds at the
    fetch. Feeds follow the arguments, and fetches the results, in program order, under their names; feeds of one name
    are one argument.

    Assumes: nothing. Guarantees: arguments and results of `main` are no tensors with storage, and there is no feed or
    fetch; the copies are for `to-value-semantics` and `copy-elision`. Idempotent. Cost: O(operations). Statistics:
    `feeds`, `fetches`, `arguments` and `results`.

    Raises `CompileError`, the program being unchanged, when a function calls `main`, when a feed or fetch is not in the
    first block of `main`, or when two inputs or two outputs of one name are different.
    """

    name: ClassVar[str] = "value-signature"

    def run(self, program: Program) -> None:
        main = program.main
        feeds, fetches = _boundary(program)
        inputs, outputs = _names(program, feeds, fetches)
        self._arguments(main)
        self._feeds(main, feeds)
        fetched = [self._fetched(fetch) for fetch in fetches]
        for block in main.body.blocks:
            end = block.terminator
            if isinstance(end, func.ReturnOp):
                with Builder.before(end), at_location(end.location):
                    end.set_operands([*(self._result(value) for value in end.operands), *fetched])
        results = [t.to_vtensor() if isinstance(t, TensorType) else t for t in main.function_type.results]
        results += [value.type for value in fetched]
        main.set_attribute("function_type", FunctionType([a.type for a in main.body.blocks[0].args], results))
        if feeds:
            main.set_attribute("arg_names", inputs)
        if fetches:
            main.set_attribute("result_names", outputs)

    def _arguments(self, main: func.FuncOp) -> None:
        block = main.body.blocks[0]
        with Builder.at_start(block), at_location(main.location):
            for argument in block.args:
                if isinstance(argument.type, TensorType):
                    argument.type = argument.type.to_vtensor()
                    _in_storage(argument)
                    self.count("arguments")

    def _feeds(self, main: func.FuncOp, feeds: list[pd.FeedOp]) -> None:
        block = main.body.blocks[0]
        written = {feed.feed_name for feed in feeds if isinstance(feed.out.type, TensorType)}
        sources: dict[str, Value] = {}
        for feed in feeds:
            name, kind = feed.feed_name, feed.out.type
            assert isinstance(kind, RankedTensor)  # _names
            if name not in sources:
                source: Value = block.add_argument(kind.to_vtensor())
                if name in written:
                    with Builder.at_start(block), at_location(feed.location):
                        source = builtin.to_tensor(source).out
                sources[name] = source
            value = sources[name]
            if value.type is not kind:  # a value of what storage holds at the feed
                with Builder.before(feed), at_location(feed.location):
                    value = builtin.to_vtensor(value).out
            feed.replace_with([value])
            self.count("feeds")

    def _fetched(self, fetch: pd.FetchOp) -> Value:
        value = fetch.x
        if isinstance(value.type, TensorType):
            with Builder.before(fetch), at_location(fetch.location):
                value = builtin.to_vtensor(value).out
        fetch.erase(by=self.name)
        self.count("fetches")
        return value

    def _result(self, value: Value) -> Value:
        if not isinstance(value.type, TensorType):
            return value
        self.count("results")
        return builtin.to_vtensor(value).out


def _in_storage(argument: Value) -> None:
    """Puts a copy of a value where it is used."""
    if argument.has_uses:
        uses = list(argument.uses)
        copy = builtin.to_tensor(argument).out
        for use in uses:
            use.owner.set_operand(use.index, copy)


def _boundary(program: Program) -> tuple[list[pd.FeedOp], list[pd.FetchOp]]:
    """The feeds and the fetches of a program, each in order. Raises `CompileError` where they cannot be moved."""
    main = program.main
    feeds: list[pd.FeedOp] = []
    fetches: list[pd.FetchOp] = []
    for op in program.module.walk():
        if isinstance(op, func.CallOp) and op.callee.value == main.sym_name:
            raise CompileError("main is called inside the program; it has to be called from outside only", op=op)
        if isinstance(op, pd.FeedOp | pd.FetchOp):
            if op.parent is not main.body.blocks[0]:
                raise CompileError(f"{op.name} has to be in the first block of main, not inside other control flow", op)
            if isinstance(op, pd.FeedOp):
                feeds.append(op)
            else:
                fetches.append(op)
    return feeds, fetches


def _names(
    program: Program, feeds: list[pd.FeedOp], fetches: list[pd.FetchOp]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names of the inputs and of the outputs. Raises `CompileError` where one name would be two things."""
    inputs, outputs = list(program.inputs), list(program.outputs)
    types: dict[str, RankedTensor] = {}
    for feed in feeds:
        name, kind = feed.feed_name, feed.out.type
        if not isinstance(kind, RankedTensor):
            raise CompileError(f"the feed '{name}' is {kind}; only tensors can be compiled", feed)
        if name in program.inputs:
            raise CompileError(f"the feed '{name}' has the name of an argument of main", feed)
        if types.setdefault(name, kind.to_vtensor()) is not kind.to_vtensor():
            raise CompileError(f"the feed '{name}' is {kind} here and {types[name]} before", feed)
    inputs += types
    for fetch in fetches:
        if fetch.fetch_name in outputs:
            raise CompileError(f"the program has an output '{fetch.fetch_name}' already", fetch)
        outputs.append(fetch.fetch_name)
    return tuple(inputs), tuple(outputs)
