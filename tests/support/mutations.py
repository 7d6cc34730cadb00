"""Mutated texts: program texts with pieces removed, repeated, moved or replaced, at the level of bytes and of tokens.

Everything is drawn from a `random.Random`, so that one number names one mutant.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence

WORDS = r"""
module func.func return attributes loc( loc(unknown) unknown fused[ @main @"a_b" %0 %0#1 %a %0:2 ^bb0 ^bb1:
( ) { } [ ] < > -> = : , // " "" :: ?x 0x \22 \FF é
"test.unary" "test.graph" "alien.op" "func.func" "builtin.module" "func.return" "scf.if" "scf.while" "scf.yield"
f32 i4 bf16 tensor<2x?xf32> !pd.vtensor< !builtin.list< tuple<> none !alien.t<[>]> !builtin.dict<"a":f32>
array<i64:1,2> dense<1.0>:!pd.vtensor<2xf32> dense<"0x00">:tensor<1xi8> true unit 1 -1 1.0 1e5 1.0e999 0x7FC00000 -0.0
#alien<x> #test.box<{size=1:i64}> 99999999999999999999 1.0:bf16
"""
TOKENS = [*WORDS.split(), "\n", "\r\n", "\t", " ", "\0", "\x0b", "\ud800", "#test<colour Red>"]
NUMBERS = ["0", "1", "-1", "2", "3", "7", "255", "65536", "2147483647", "-2147483648", "4294967296"]
NUMBERS += ["9223372036854775807", "-9223372036854775808", "1" + "0" * 30, "1.5", "-0.0", "1.0e308", "0x7F800001"]

_TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|[%^@#!]?[\w$.]+|->|\s+|.', re.DOTALL)
_NUMBER = re.compile(r"(?<![\w%^@#.])-?[0-9]+(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?(?![\w#])")


def tokens_of(text: str) -> list[str]:
    """The tokens of a text, white space included: joined, they are the text."""
    return _TOKEN.findall(text)


class Corpus:
    """Texts to start from, cut into tokens once."""

    def __init__(self, texts: Sequence[str]) -> None:
        # Short texts are chosen more often: mutants of long ones cost more and meet the same code.
        self.texts = sorted(texts, key=lambda text: (len(text), text))
        self.tokens = [tokens_of(text) for text in self.texts]
        self._weights = [(200 + len(text)) ** -2.5 for text in self.texts]
        self._vocabulary = sorted({token for tokens in self.tokens for token in tokens} | set(TOKENS))
        self._lines = sorted({line for text in self.texts for line in text.splitlines()})

    def draw(self, rng: random.Random) -> str:
        """A mutant of one of the texts."""
        (index,) = rng.choices(range(len(self.texts)), self._weights)
        if rng.random() < 0.4:
            return mutate_bytes(rng, self.texts[index])
        return self._mutate_tokens(rng, index)

    def _mutate_tokens(self, rng: random.Random, index: int) -> str:
        text = ""
        tokens = list(self.tokens[index])
        for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 5))):
            rng.choice(_EDITS)(rng, tokens, self._vocabulary)
        text = "".join(tokens)
        if rng.random() < 0.25:
            text = self._mutate_lines(rng, text)
        return text

    def _mutate_lines(self, rng: random.Random, text: str) -> str:
        lines = text.split("\n")
        at, other = rng.randrange(len(lines)), rng.randrange(len(lines))
        how = rng.randrange(5)
        if how == 0:
            del lines[at]
        elif how == 1:
            lines.insert(other, lines[at])
        elif how == 2:
            lines[at], lines[other] = lines[other], lines[at]
        elif how == 3:
            lines.insert(at, rng.choice(self._lines))
        else:
            del lines[at:]
        return "\n".join(lines)


def _solid(rng: random.Random, tokens: Sequence[str]) -> int:
    """The index of a token, rather one that is not white space."""
    for _ in range(4):
        at = rng.randrange(len(tokens))
        if not tokens[at].isspace():
            break
    return at


def _delete(rng: random.Random, tokens: list[str], _: Sequence[str]) -> None:
    if len(tokens) > 1:
        at = _solid(rng, tokens)
        del tokens[at : at + rng.choice((1, 1, 1, 2, 4, 9))]
    if not tokens:
        tokens.append(" ")


def _repeat(rng: random.Random, tokens: list[str], _: Sequence[str]) -> None:
    at = _solid(rng, tokens)
    piece = tokens[at : at + rng.choice((1, 1, 2, 4, 9))]
    tokens[at:at] = piece * rng.choice((1, 1, 1, 2, 30))


def _swap(rng: random.Random, tokens: list[str], _: Sequence[str]) -> None:
    a, b = _solid(rng, tokens), _solid(rng, tokens)
    tokens[a], tokens[b] = tokens[b], tokens[a]


def _replace_by_own(rng: random.Random, tokens: list[str], _: Sequence[str]) -> None:
    tokens[_solid(rng, tokens)] = tokens[_solid(rng, tokens)]


def _replace(rng: random.Random, tokens: list[str], vocabulary: Sequence[str]) -> None:
    tokens[_solid(rng, tokens)] = rng.choice(vocabulary)


def _insert(rng: random.Random, tokens: list[str], vocabulary: Sequence[str]) -> None:
    tokens.insert(_solid(rng, tokens), rng.choice(vocabulary))


def _renumber(rng: random.Random, tokens: list[str], _: Sequence[str]) -> None:
    text = "".join(tokens)
    found = list(_NUMBER.finditer(text))
    if found:
        match = rng.choice(found)
        tokens[:] = tokens_of(text[: match.start()] + rng.choice(NUMBERS) + text[match.end() :])


_EDITS: list[Callable[[random.Random, list[str], Sequence[str]], None]] = [
    _delete, _repeat, _swap, _replace_by_own, _replace_by_own, _replace, _insert, _renumber, _renumber,
]  # fmt: skip


def mutate_bytes(rng: random.Random, text: str) -> str:
    """`text` after a few changes to its bytes; what is not UTF-8 then becomes half a surrogate pair."""
    data = bytearray(text.encode("utf-8", "surrogatepass"))
    for _ in range(rng.choice((1, 1, 2, 3, 8))):
        mutate_data(rng, data)
    return data.decode("utf-8", "surrogateescape" if rng.random() < 0.1 else "ignore")


def mutate_data(rng: random.Random, data: bytearray) -> None:
    """Change bytes: flip a bit, replace, remove, repeat, insert, or cut off the rest."""
    if not data:
        data += rng.randbytes(rng.randrange(1, 20))
        return
    at = rng.randrange(len(data))
    how = rng.randrange(8)
    if how == 0:
        data[at] ^= 1 << rng.randrange(8)
    elif how == 1:
        data[at] = rng.randrange(256)
    elif how == 2:
        del data[at : at + rng.choice((1, 1, 2, 8, 60))]
    elif how == 3:
        data[at:at] = data[at : at + rng.choice((1, 2, 8, 60))]
    elif how == 4:
        data[at:at] = rng.randbytes(rng.choice((1, 2, 8)))
    elif how == 5:
        data[at] = rng.choice(b'(){}[]<>"%^@!#:,=-0179 \n')
    elif how == 6:
        other = rng.randrange(len(data))
        data[at : at + 4] = data[other : other + 4]
    elif rng.random() < 0.2:
        del data[at:]
    else:
        data[at] = (data[at] + 1) % 256
