"""Each form of a dose hits exactly the requests that it names."""

import pytest

from simulators.ar_server import Dose
from simulators.ar_server.dose import FORMS

CAT, DOG = b'{"text":"a cat"}', b'{"text":"a d\xc3\xb6g"}'


def hits(text: str, count: int = 8, seed: int = 0, body: bytes = CAT) -> list[int]:
    """Return the 0-based indices of the requests hit, of so many."""
    dose = Dose.parse(text)
    return [index for index in range(count) if dose.hits(index, body, seed, healed=False)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("always", [0, 1, 2, 3, 4, 5, 6, 7]),
        ("until-healed", [0, 1, 2, 3, 4, 5, 6, 7]),
        ("nth:1", [0]),
        ("nth:3", [2]),
        ("nth:9", []),
        ("first:2", [0, 1]),
        ("every:1", [0, 1, 2, 3, 4, 5, 6, 7]),
        ("every:3", [2, 5]),
        ("probability:0", []),
        ("probability:1", [0, 1, 2, 3, 4, 5, 6, 7]),
        ("match:cat", [0, 1, 2, 3, 4, 5, 6, 7]),
        ("match:dog", []),
    ],
)
def test_exact_hits(text: str, expected: list[int]) -> None:
    """Eight requests, and the indices of those that are hit."""
    assert expected == hits(text)


def test_a_match_reads_the_decoded_body() -> None:
    """The text is looked for in the body as UTF-8, colons and all."""
    assert hits("match:dög", 1, body=DOG) == [0]
    assert hits('match:"text":"a d', 1, body=DOG) == [0]
    assert hits("match:cat", 1, body=b"\xff") == []


def test_a_probability_is_decided_per_request_and_seed() -> None:
    """The same seed hits the same requests however many are asked; another seed hits others."""
    assert hits("probability:0.25", 40)[:3] == hits("probability:0.25", 400)[:3]
    assert hits("probability:0.5", 40, seed=1) != hits("probability:0.5", 40, seed=2)
    assert 200 < len(hits("probability:0.25", 1000)) < 300


def test_only_until_healed_heals() -> None:
    """Healing ends one form and no other."""
    healed = {
        text: Dose.parse(text).hits(0, CAT, 0, healed=True)
        for text in ("always", "first:1", "every:1", "until-healed")
    }

    assert healed == {"always": True, "first:1": True, "every:1": True, "until-healed": False}


@pytest.mark.parametrize("text", FORMS)
def test_a_dose_prints_as_it_is_written(text: str) -> None:
    """The text of a dose parses to the same dose."""
    assert text == str(Dose.parse(text))


@pytest.mark.parametrize(
    "text",
    ["", "never", "nth", "nth:", "nth:0", "nth:-1", "nth:1.5", "every:0", "first:x", "match:",
     "probability:1.5", "probability:-1", "probability:nan", "probability:x", "always:1"],
)  # fmt: skip
def test_a_bad_dose_is_named(text: str) -> None:
    """The error names the text and every form that is allowed."""
    with pytest.raises(ValueError, match="is no dose") as raised:
        Dose.parse(text)

    assert repr(text) in str(raised.value)
    assert all(form in str(raised.value) for form in FORMS)
