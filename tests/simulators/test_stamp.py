"""Stamps: known vectors, the same in Python and torch, and read back."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from contracts.clauses.prior_tokens import CODEBOOK_SIZE
from contracts.contract import Origin
from simulators.stamp import StampReader, mix, mix_torch, owner_number, stamped_ids

WORDS = st.integers(0, 2**32 - 1)


@pytest.mark.parametrize(
    ("arguments", "stamp"),
    [
        # MurmurHash3's finaliser maps 0 to 0 and 1 to 0x514E28B7; the others from its definition.
        ((0, 0, 0), 0x00000000),
        ((1, 2, 3), 0x729ABA74),
        ((2**32, 0, 0), 0x00000000),
    ],
)
def test_known_vectors(arguments: tuple[int, int, int], stamp: int) -> None:
    """The mix never changes: snapshots and records rely on it."""
    assert mix(*arguments) == stamp


def test_the_mix_is_murmurs_finaliser_applied_thrice() -> None:
    """Computed another way: in 64-bit integers, from the published constants."""

    def finalise(value: int) -> int:
        for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35), (16, 1)):
            value = ((value ^ (value >> shift)) * factor) % 2**32
        return value

    sequence = finalise((finalise(7) + 5 * 0x9E3779B9) % 2**32)
    assert mix(7, 5, 11) == finalise((sequence + 11 * 0x9E3779B9) % 2**32)
    assert finalise(1) == 0x514E28B7


@given(WORDS, st.integers(0, 1000), st.lists(st.integers(0, 10**6), min_size=1, max_size=8))
def test_python_and_torch_agree(owner: int, occurrence: int, positions: list[int]) -> None:
    """Bit for bit, for any owner, occurrence and position."""
    stamps = mix_torch(owner, occurrence, torch.tensor(positions))

    assert stamps.tolist() == [mix(owner, occurrence, position) for position in positions]


def test_ids_are_in_the_codebook_and_tell_equal_prompts_apart() -> None:
    """Occurrence is mixed in."""
    first, second = (stamped_ids(owner_number([1, 2]), i, 500) for i in range(2))

    assert all(0 <= i < CODEBOOK_SIZE for i in first)
    assert first != second
    assert first == tuple(mix(owner_number([1, 2]), 0, p) % CODEBOOK_SIZE for p in range(500))


SEQUENCES = {0: stamped_ids(1, 0, 300), 1: stamped_ids(2, 0, 300), "other": stamped_ids(3, 0, 300)}


@given(st.sampled_from(list(SEQUENCES)), st.integers(0, 290), st.integers(2, 10))
def test_a_run_is_read_back_whoever_it_belongs_to(owner: int | str, start: int, count: int) -> None:
    """Owner and position of each token, without being told what to expect."""
    tokens = SEQUENCES[owner][start : start + count]

    origins = StampReader(SEQUENCES).read(tokens)

    assert origins == [Origin(owner, start + i) for i in range(len(tokens))]


def test_a_shift_and_a_seam_between_two_owners_are_read() -> None:
    """Runs of different owners in one sequence, and a token of nobody before them."""
    tokens = [-1, *SEQUENCES[0][5:10], *SEQUENCES["other"][100:104]]

    origins = StampReader(SEQUENCES)(tokens)

    assert origins == [
        None,
        *(Origin(0, 5 + i) for i in range(5)),
        *(Origin("other", 100 + i) for i in range(4)),
    ]


def test_a_lone_token_is_read_where_it_is_expected() -> None:
    """One token says little by itself; at the expected position of another owner it says whose."""
    expected = Origin(0, 256)

    assert StampReader(SEQUENCES).read(SEQUENCES[1][256:257], expected) == [Origin(1, 256)]


def test_what_is_no_integer_carries_no_stamp() -> None:
    """Floats, booleans, strings and nulls."""
    assert StampReader(SEQUENCES)([1.5, True, "7", None]) == [None] * 4
