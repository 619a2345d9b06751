"""Stamps: tokens made so that each one says whose it is and where it stands.

A stamp mixes (owner, occurrence, position) into 32 bits with the finaliser of MurmurHash3
(Austin Appleby, public domain). Occurrence tells equal prompts apart, so that a sample that is
lost and another that is doubled do not look alike. Python and torch agree bit for bit.
"""

import sys
from array import array
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar
from zlib import crc32

from contracts.clauses.prior_tokens import CODEBOOK_SIZE
from contracts.contract import Origin

if TYPE_CHECKING:
    import torch

_MASK = 0xFFFFFFFF
_GOLDEN = 0x9E3779B9

_Words = TypeVar("_Words", int, "torch.Tensor")


def _finalise(value: _Words) -> _Words:
    value = value ^ value >> 16
    value = value * 0x85EBCA6B & _MASK
    value = value ^ value >> 13
    value = value * 0xC2B2AE35 & _MASK
    return value ^ value >> 16


def mix(owner: int, occurrence: int, position: int) -> int:
    """Return the 32-bit stamp of one token; every argument counts modulo 2**32."""
    sequence = _finalise(owner & _MASK) + occurrence * _GOLDEN
    return _finalise(_finalise(sequence & _MASK) + position * _GOLDEN & _MASK)


def mix_torch(
    owner: "int | torch.Tensor", occurrence: "int | torch.Tensor", positions: "torch.Tensor"
) -> "torch.Tensor":
    """Return many stamps at once.

    Args:
        owner: Number of the owner; or of each, int64, on the device of the positions.
        occurrence: Which of several equal owners; one for all or one for each.
        positions: Any shape that fits those of the others, int64, any device.

    Returns:
        The stamps, in the shape of all three together, int64 with values below 2**32.
    """
    import torch

    owners, occurrences = torch.as_tensor(owner & _MASK), torch.as_tensor(occurrence & _MASK)
    sequence = _finalise(_finalise(owners) + occurrences * _GOLDEN & _MASK)
    return _finalise(positions * _GOLDEN + sequence & _MASK)


def owner_number(token_ids: Iterable[int]) -> int:
    """Return the owner number of a prompt, from its input ids (32 bits)."""
    return crc32(",".join(map(str, token_ids)).encode())


@lru_cache(maxsize=1024)
def stamped_ids(owner: int, occurrence: int, count: int) -> tuple[int, ...]:
    """Return the first `count` ids of a stamped sequence, each in the image codebook.

    All are mixed at once, each in a 64-bit lane of one large integer: ten times faster than one
    by one, and without a package that a server would have to import first.
    """
    if count == 0:
        return ()
    sequence = _finalise((_finalise(owner & _MASK) + occurrence * _GOLDEN) & _MASK)
    positions, ones = _lanes(count)
    mask = ones * _MASK
    value = (positions * _GOLDEN + ones * sequence) & mask
    value ^= value >> 16 & mask
    value = value * 0x85EBCA6B & mask
    value ^= value >> 13 & mask
    value = value * 0xC2B2AE35 & mask
    value ^= value >> 16 & mask
    lanes = array("Q", (value & ones * (CODEBOOK_SIZE - 1)).to_bytes(8 * count, "little"))
    if sys.byteorder == "big":
        lanes.byteswap()
    return tuple(lanes)


@lru_cache(maxsize=64)
def _lanes(count: int) -> tuple[int, int]:
    def packed(numbers: Iterable[int]) -> int:
        return int.from_bytes(b"".join(n.to_bytes(8, "little") for n in numbers), "little")

    return packed(range(count)), packed([1] * count)


class StampReader:
    """Reads whose tokens a sequence holds, among a set of known stamped sequences.

    Ids of a small codebook collide, so a lone match proves little: a token counts as known when
    it continues a run of at least two, or belongs to the expected owner.
    """

    def __init__(self, sequences: Mapping[int | str, Sequence[int]]) -> None:
        self._sequences = {owner: tuple(ids) for owner, ids in sequences.items()}
        self._places: dict[int, list[Origin]] | None = None

    def __call__(self, tokens: Any) -> list[Origin | None]:
        """Return the origin of each token; `None` for one that carries no known stamp."""
        return self.read(tokens)

    def read(self, tokens: Any, expected: Origin | None = None) -> list[Origin | None]:
        """Return the origin of each token.

        Args:
            tokens: Any sequence; what is no integer carries no stamp.
            expected: Where the first token should come from. It breaks ties, and a sequence
                that comes through whole is recognised at once.
        """
        values = [t if type(t) is int else None for t in tokens]
        start = self._whole(tuple(values), expected)
        if start is not None:
            return [Origin(start.owner, start.position + i) for i in range(len(values))]
        origins: list[Origin | None] = []
        while len(origins) < len(values):
            start, run = self._longest(values[len(origins) :], expected)
            if start is None:
                origins.append(None)
            else:
                origins.extend(Origin(start.owner, start.position + i) for i in range(run))
        return origins

    def _whole(self, values: tuple[int | None, ...], expected: Origin | None) -> Origin | None:
        # Most sequences come through whole; comparing tuples is far cheaper than an index.
        starts = [Origin(owner, 0) for owner in self._sequences]
        if expected is not None:
            there = [Origin(owner, expected.position) for owner in self._sequences]
            starts = [expected, *there, *starts]
        for start in starts:
            known = self._sequences.get(start.owner, ())
            if known[start.position : start.position + len(values)] == values:
                return start
        return None

    def _longest(
        self, values: list[int | None], expected: Origin | None
    ) -> tuple[Origin | None, int]:
        places = self._index().get(values[0], []) if values[0] is not None else []
        runs = [(self._continues(values, place), place) for place in places]
        owner = expected.owner if expected is not None else None
        known = [(run, place) for run, place in runs if run > 1 or place.owner == owner]
        if not known:
            return None, 1
        run, place = max(known, key=lambda found: (found[0], found[1].owner == owner))
        return place, run

    def _continues(self, values: list[int | None], place: Origin) -> int:
        known = self._sequences.get(place.owner, ())[place.position :]
        run = 0
        for value, stamp in zip(values, known, strict=False):
            if value != stamp:
                break
            run += 1
        return run

    def _index(self) -> dict[int, list[Origin]]:
        if self._places is None:
            self._places = {}
            for owner, sequence in self._sequences.items():
                for position, value in enumerate(sequence):
                    self._places.setdefault(value, []).append(Origin(owner, position))
        return self._places
