"""The codes of bytes: one number for each 256 bytes of a memory, and one for each byte only where these differ.

A code is 0 where nothing was written, else the number of a content, with the begin of its tensor if it has one. `Run`
is the bytes of an access that lie without gaps: it is made once; filling it or asking whether it holds one code is then
a few NumPy calls for all tiles together.

A zone of a shadow has a stamp, which is new when a code in it has changed, and only then: what was found in bytes whose
stamps are old still holds. Loops soon write the codes that are there already, and their trips cost a look at stamps.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from tx8ir.sim.memory.rows import RowStarts
from tx8ir.sim.memory.stores import ByteStore

Codes: TypeAlias = NDArray[np.int64]

PAGE = 256
BITS = 40
BIAS = 1 << (BITS - 1)  # a part that is copied to a lower address may belong to a tensor that would begin below 0
MASK = (1 << BITS) - 1
_MIXED = -1
_ZONE = 1 << 12
_ZONES = 256


class Shadow:
    """The codes of one store.

    Args:
        store: the bytes.
        clock: the stamps that are new, shared by the shadows of all stores.
    """

    __slots__ = ("_clock", "_free", "_pool", "_slots", "_stamps", "_zone", "around", "pages", "used")

    def __init__(self, store: ByteStore, clock: Iterator[int]) -> None:
        count = store.size // PAGE + 2
        # np.zeros takes fresh pages from the system, so codes that nobody writes cost nothing.
        self.pages: Codes = np.zeros(count, np.int64)
        """Of each page; -1 where its bytes differ."""
        self.around = store.size // store.copies
        """Tensors in a scratch-pad begin at bytes of that, not of the memory of all tiles."""
        self.used = False
        self._clock = clock
        self._zone = max(_ZONE, -(-self.around // _ZONES))
        self._stamps = [next(clock)] * (self.around // self._zone + 1)
        """Of each zone, in all copies of a store."""
        self._slots: NDArray[np.int32] = np.zeros(count, np.int32)
        """Where in the pool the bytes of a page have their codes; 0: nowhere."""
        self._pool: Codes = np.zeros((1, PAGE), np.int64)
        self._free = 1

    def clear(self) -> None:
        """Forget everything."""
        if self.used:
            self.pages[:] = 0
            self.used = False
            self._stamps[:] = [next(self._clock)] * len(self._stamps)

    def zones(self, low: int, high: int) -> slice:
        """Those of the bytes [low, high), which are in one copy of the store."""
        first = low % self.around
        return slice(first // self._zone, (first + high - low - 1) // self._zone + 1)

    def stamp(self, zones: slice) -> int:
        """The latest stamp of zones."""
        return max(self._stamps[zones], default=0)

    def touch(self, zones: slice) -> None:
        """A code in these zones has changed."""
        self.used = True
        self._stamps[zones] = [next(self._clock)] * (zones.stop - zones.start)

    def fill(self, low: int, high: int, code: int) -> None:
        """The bytes [low, high) get a code."""
        if self._fill(low, high, code):
            self.touch(self.zones(low, high))

    def _fill(self, low: int, high: int, code: int) -> bool:
        first, end = -(-low // PAGE), high // PAGE
        if first > end:
            return self.set_part(np.array([end]), low - end * PAGE, high - end * PAGE, code)
        changed = _set(self.pages[first:end], code)
        if low % PAGE:
            changed |= self.set_part(np.array([first - 1]), low % PAGE, PAGE, code)
        if high % PAGE:
            changed |= self.set_part(np.array([end]), 0, high % PAGE, code)
        return changed

    def set_part(self, pages: NDArray[np.int64], low: int, high: int, code: int | Codes) -> bool:
        """The bytes [low, high) of distinct pages get a code, the same or one for each; whether that changes any.

        A page of which nothing is known gets it as a whole: bytes that were never written cannot be read anyway.
        """
        now = self.pages[pages]
        same = now == code
        if same.all():
            return False
        if (same | (now == 0)).all():
            self.pages[pages] = code
            return True
        slots = self._slots[pages]
        missing = slots == 0
        if missing.any():
            slots[missing] = self._allocate(int(missing.sum()))
            self._slots[pages] = slots
        plain = now != _MIXED
        codes = code if isinstance(code, int) else code[:, None]
        if not plain.any() and (self._pool[slots, low:high] == codes).all():
            return False
        self._pool[slots[plain]] = now[plain][:, None]
        self._pool[slots, low:high] = codes
        self.pages[pages] = _MIXED
        return True

    def codes(self, offsets: NDArray[np.int64]) -> Codes:
        """The codes of single bytes."""
        numbers = offsets // PAGE
        found = self.pages[numbers]
        mixed = found == _MIXED
        if mixed.any():
            found[mixed] = self._pool[self._slots[numbers[mixed]], offsets[mixed] % PAGE]
        return found

    def part(self, pages: NDArray[np.int64], low: int, high: int) -> Codes:
        """The codes of the bytes [low, high) of pages, one column for them all where they are alike."""
        now = self.pages[pages][:, None]
        mixed = now == _MIXED
        if not mixed.any():
            return now
        return np.where(mixed, self._pool[self._slots[pages], low:high], now)

    def fill_many(self, starts: NDArray[np.int64], length: int, code: int | Codes) -> None:
        """The `length` bytes from each of `starts` on, which do not overlap, get a code: the same or one for each."""
        changed = False
        phases = starts % PAGE
        for phase in sorted(set(map(int, phases.tolist()))):
            chosen = phases == phase
            base: Codes = starts[chosen] // PAGE
            one = code if isinstance(code, int) else code[chosen]
            first, end = int(phase > 0), (phase + length) // PAGE
            if end > first:
                whole: Codes = np.add.outer(base, np.arange(first, end))
                codes = one if isinstance(one, int) else one[:, None]
                if (self.pages[whole] != codes).any():
                    self.pages[whole] = codes
                    changed = True
            if first > end:
                changed |= self.set_part(base, phase, phase + length, one)
                continue
            if phase:
                changed |= self.set_part(base, phase, PAGE, one)
            if (phase + length) % PAGE:
                changed |= self.set_part(base + end, 0, (phase + length) % PAGE, one)
        if changed:
            begins = starts % self.around
            self.touch(self.zones(int(begins.min()), int(begins.max()) + length))

    def segments(self, low: int, high: int) -> list[tuple[int, int, int]]:
        """[low, high) in stretches of one code: first byte, end, code."""
        first, end = low // PAGE, -(-high // PAGE)
        now = self.pages[first:end]
        cuts = np.flatnonzero(now[1:] != now[:-1]) + 1
        bounds = [0, *cuts.tolist(), end - first]
        found: list[tuple[int, int, int]] = []
        for a, b in itertools.pairwise(bounds):
            code = int(now[a])
            if code != _MIXED:
                found.append((max(low, (first + a) * PAGE), min(high, (first + b) * PAGE), code))
                continue
            for page in range(first + a, first + b):
                begin = page * PAGE
                start, stop = max(low, begin), min(high, begin + PAGE)
                row = self._pool[self._slots[page], start - begin : stop - begin]
                inner = [0, *(np.flatnonzero(row[1:] != row[:-1]) + 1).tolist(), stop - start]
                found += [(start + x, start + y, int(row[x])) for x, y in itertools.pairwise(inner)]
        return found

    def set_of(self, low: int, high: int) -> set[int]:
        """The codes that occur in [low, high)."""
        now = self.pages[low // PAGE : -(-high // PAGE)]
        if now[0] != _MIXED and (now == now[0]).all():
            return {int(now[0])}
        return {code for _, _, code in self.segments(low, high)}

    def _allocate(self, count: int) -> NDArray[np.int32]:
        if self._free + count > len(self._pool):
            grown = np.zeros((max(2 * len(self._pool), self._free + count, 64), PAGE), np.int64)
            grown[: len(self._pool)] = self._pool
            self._pool = grown
        self._free += count
        return np.arange(self._free - count, self._free, dtype=np.int32)


class Run:
    """The bytes [start, start + length) of each of several rows, in the pages of a shadow.

    Args:
        shadow: of the store.
        rows: where they begin; each lies in one copy of the store.
        length: bytes of each.
    """

    __slots__ = ("_begins", "_code", "_edges", "_found", "_inner", "_rows", "_zones", "length", "shadow")

    def __init__(self, shadow: Shadow, rows: RowStarts, length: int) -> None:
        self.shadow, self.length = shadow, length
        self._rows = rows
        self._begins: int | Codes = rows.start % shadow.around
        """Addresses of their first bytes: one number, or [rows, 1]."""
        low = high = self._begins
        if rows.offsets is not None or rows.step % shadow.around:
            begins = rows.starts() % shadow.around
            low, high = int(begins.min()), int(begins.max())
            if low != high:
                self._begins = begins[:, None]
        self._zones = shadow.zones(low, high + length)
        self._code: int | None = None
        self._found = -1
        """The stamp at which `uniform` was `_code`."""
        self._inner: Codes | None = None
        """The pages that are covered whole, [rows, n]: a view; None: rows are to be looked at one by one."""
        self._edges: list[tuple[NDArray[np.int64], int, int]] = []
        """Pages that are covered in part, and which of their bytes."""
        if rows.offsets is not None or rows.step % PAGE or (rows.count > 1 and 0 < abs(rows.step) < length):
            return
        if rows.count > 1 and rows.step == 0:
            rows = RowStarts(rows.start, 0, None, 1)
        low, high = rows.start, rows.start + length
        first, end = -(-low // PAGE), high // PAGE
        step, pages = rows.step // PAGE, shadow.pages
        steps = np.arange(rows.count) * step
        self._inner = np.ndarray((rows.count, max(end - first, 0)), pages.dtype, pages, first * 8, (step * 8, 8))  # pyright: ignore[reportArgumentType]  # any buffer will do
        if first > end:
            self._edges.append((steps + end, low % PAGE, high - end * PAGE))
            return
        if low % PAGE:
            self._edges.append((steps + first - 1, low % PAGE, PAGE))
        if high % PAGE:
            self._edges.append((steps + end, 0, high % PAGE))

    @property
    def starts(self) -> NDArray[np.int64]:
        """The first byte of each row."""
        return self._rows.starts()

    @property
    def stamp(self) -> int:
        """New when one of the codes has changed, or one near them."""
        return self.shadow.stamp(self._zones)

    def fill(self, code: int) -> None:
        """All bytes get a code, which is relative to where each row begins if it has a begin."""
        shadow = self.shadow
        codes = code + self._begins if code & MASK else code
        if self._inner is None:
            by_row = np.broadcast_to(np.asarray(codes).reshape(-1), self.starts.shape)
            if len(self.starts) > 1 and (np.diff(np.sort(self.starts)) >= self.length).all():
                shadow.fill_many(self.starts, self.length, by_row)
                self._code, self._found = code, self.stamp
                return
            for start, one in zip(self.starts.tolist(), by_row.tolist(), strict=True):
                shadow.fill(start, start + self.length, one)
            return
        if not isinstance(codes, int) and len(self._inner) != len(codes):
            codes = codes[:1]
        changed = _set(self._inner, codes)
        for pages, low, high in self._edges:
            changed |= shadow.set_part(pages, low, high, codes if isinstance(codes, int) else codes[:, 0])
        if changed:
            shadow.touch(self._zones)
        self._code, self._found = code, self.stamp

    def uniform(self) -> int | None:
        """The code that all bytes have, relative to where each row begins if it has a begin; None if they differ."""
        stamp = self.stamp
        if self._found != stamp:
            self._code = self._uniform_by_row() if self._inner is None else self._uniform_by_page(self._inner)
            self._found = stamp
        return self._code

    def _uniform_by_page(self, inner: Codes) -> int | None:
        shadow, begins = self.shadow, self._begins
        held = [shadow.part(*edge) for edge in self._edges]
        if inner.size:
            held.append(inner)
        first = int(held[-1][0, 0])
        if first == _MIXED:
            return None
        expected: int | Codes = first
        relative = first
        if first & MASK:
            relative = first - (begins if isinstance(begins, int) else int(begins[0, 0]))
            expected = relative + begins
        for codes in held:
            if not (codes == expected).all():
                return None
        return relative

    def codes(self) -> set[int]:
        """All codes that occur."""
        if self._inner is None:
            held = self._pages_of_rows()
            found = set(_distinct(held))
            if _MIXED in found:
                found.remove(_MIXED)
                for start in self.starts[(held == _MIXED).any(axis=1)].tolist():
                    found |= self.shadow.set_of(start, start + self.length)
            return found
        found = set(_distinct(self._inner))
        for pages, low, high in self._edges:
            found.update(_distinct(self.shadow.part(pages, low, high)))
        if _MIXED in found:
            found.remove(_MIXED)
            for row in self._inner:
                (where,) = np.nonzero(row == _MIXED)
                if len(where):
                    first = (row.__array_interface__["data"][0] - self.shadow.pages.__array_interface__["data"][0]) // 8
                    found.update(_distinct(self.shadow.part(where + first, 0, PAGE)))
        return found

    def _pages_of_rows(self) -> Codes:
        """The codes of all pages of each row, [rows, n]; that of its last page is repeated."""
        starts = self.starts
        first, last = starts // PAGE, (starts + self.length - 1) // PAGE
        steps = np.arange(int((last - first).max()) + 1)
        return self.shadow.pages[np.minimum(first[:, None] + steps, last[:, None])]

    def _uniform_by_row(self) -> int | None:
        held = self._pages_of_rows()
        first = int(held[0, 0])
        if first != _MIXED and not first & MASK and (held == first).all():
            return first
        relative = held - self._begins
        relative = np.where(held & MASK, relative, held)
        mixed = held == _MIXED
        found = set(_distinct(relative[~mixed]))
        for start in self.starts[mixed.any(axis=1)].tolist():
            if len(found) > 1:
                return None
            begin = start % self.shadow.around
            codes = self.shadow.set_of(start, start + self.length)
            found |= {code - begin if code & MASK else code for code in codes}
        return found.pop() if len(found) == 1 else None

    def key(self) -> bytes:
        """Equal when all codes are, and the rows begin at the same place in their pages."""
        parts: list[bytes] = []
        for start in self.starts.tolist():
            first, end = start // PAGE, -(-(start + self.length) // PAGE)
            now = self.shadow.pages[first:end]
            parts.append(now.tobytes())
            mixed = np.flatnonzero(now == _MIXED) + first
            if len(mixed):
                parts.append(self.shadow.part(mixed, 0, PAGE).tobytes())
        return b"".join(parts)


def _set(codes: Codes, code: int | Codes) -> bool:
    """Set all of an array; whether that changes any."""
    if (codes == code).all():
        return False
    codes[...] = code
    return True


def _distinct(codes: Codes) -> list[int]:
    """The values of an array, of which few follow a different one."""
    flat = codes.ravel()
    if not len(flat):
        return []
    changes = np.flatnonzero(flat[1:] != flat[:-1])
    return list(dict.fromkeys([int(flat[0]), *flat[changes + 1].tolist()]))
