"""Honest degrees fit together; their faults, by hand; and numbered tokens."""

import math
from typing import Any

import pytest

from simulators.degrees import coordinate_of, honest_degrees, numbered_latents, token_of
from simulators.faults import FAULTS
from simulators.rng import stream

HONEST = {"sp": 4, "ulysses": 4, "ring": 1, "heads": 8, "shard": True}


def changed(name: str) -> dict[str, Any]:
    """Return what a fault makes of the degrees of four ranks: only what differs."""
    told = FAULTS[name].change(honest_degrees(4, 8), (), stream(0)).records[0]
    return {key: told.get(key, "lost") for key in HONEST if told.get(key, "lost") != HONEST[key]}


def test_honest_degrees_are_those_of_ulysses_alone() -> None:
    """The flag is on, as it is by default."""
    assert honest_degrees(4, 8).records == (HONEST,)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("degree-ulysses-half", {"ulysses": 2}),
        ("degree-ulysses-negative", {"ulysses": -4}),
        ("degree-ulysses-fraction", {"ulysses": 4.5}),
        ("degree-ulysses-missing", {"ulysses": None}),
        ("degree-ring-two", {"ring": 2}),
        ("degree-ring-half", {"ulysses": 2, "ring": 2}),
        ("degree-ring-all", {"ulysses": 1, "ring": 4}),
        ("degree-sp-half", {"sp": 2}),
        ("degree-sp-more", {"sp": 5}),
        ("degree-flag-lost", {"shard": "lost"}),
        ("degree-flag-text", {"shard": "false"}),
        ("heads-one-less", {"heads": 7}),
        ("heads-text", {"heads": "8"}),
    ],
)
def test_degrees_change_as_the_picture_says(name: str, told: dict[str, Any]) -> None:
    """The others are honest."""
    assert changed(name) == told


@pytest.mark.parametrize(("name", "degree"), [("ulysses", 4.0), ("sp", 4.0), ("heads", 8.0)])
def test_a_float_of_the_same_value_is_another_kind(name: str, degree: float) -> None:
    """It is equal, and no int."""
    fault = "heads-float" if name == "heads" else f"degree-{name}-float"
    told = FAULTS[fault].change(honest_degrees(4, 8), (), stream(0)).records[0][name]

    assert told == degree
    assert type(told) is float


def test_a_patch_carries_the_number_of_its_token() -> None:
    """All of its latents do; zeros and fractions are nobody's."""
    latents = numbered_latents(2, 3, 5)

    assert tuple(latents.shape) == (1, 1, 2, 6, 10)
    assert latents[0, 0, 1, 2:4, 4:6].unique().tolist() == [23.0]
    assert [token_of(number) for number in (23.0, 1.0, 0.0, 1.5)] == [22, 0, None, None]


@pytest.mark.parametrize("coordinate", range(44))
def test_a_coordinate_is_read_from_its_cosine_and_sine(coordinate: int) -> None:
    """Each that is told apart; the middle of two is none."""
    assert coordinate_of(math.cos(coordinate), math.sin(coordinate)) == coordinate
    assert coordinate_of(math.cos(0.07), math.sin(0.07)) is None
