"""The contract of encoder-counts, alone: grids, lengths and rows by hand."""

from typing import Any

import pytest
import torch

from contracts import encoder_counts, ending
from contracts.contract import Violation
from simulators.encoder import WIDTH, owner_of, stamped_rows

#: Two media, of two requests: what is told of each, and the tokens of each, by model and medium.
HONEST: dict[tuple[str, str], tuple[list[Any], list[int]]] = {
    ("qwen2_vl", "image"): ([[1, 4, 6], [1, 8, 6]], [6, 12]),
    ("qwen2_vl", "video"): ([[2, 4, 6], [3, 4, 4]], [12, 12]),
    ("kimi_vl", "image"): ([[1, 4, 6], [1, 8, 6]], [6, 12]),
    ("kimi_k25", "image"): ([[1, 4, 6], [1, 8, 6]], [6, 12]),
    ("muse_spark", "video"): ([[2, 2, 3], [3, 2, 2]], [12, 12]),
    ("muse_spark", "audio"): ([20, 7], [20, 7]),
    ("mimo_v2", "audio"): ([20, 7], [20, 7]),
    # Of each hundred 13, and of the rest an eighth, up.
    ("qwen3_omni_moe", "audio"): ([250, 101], [33, 14]),
    # Half of a half, the first one up, the second one down.
    ("qwen2_audio", "audio"): ([250, 101], [62, 25]),
    ("unknown", "audio"): ([99, 1], [25, 0]),
    ("unknown", "image"): ([[1, 4, 6], [1, 8, 6]], [6, 12]),
}
NAMES = {"image": "image_grid_thw", "video": "video_grid_thw", "audio": "audio_feature_lens_raw"}
QWEN, CLIP, KIMI, K25 = list(HONEST)[:4]
SOUND = ("qwen2_audio", "audio")


def check(of: tuple[str, str], told: Any = None, **changed: Any) -> list[Violation]:
    """Return the violations where two media of a model are told as given.

    Args:
        of: The model and the medium.
        told: Grids or lengths, if not the honest ones.
        changed: Parts of the payload in place of the honest ones.
    """
    honest, counts = HONEST[of]
    fields = {NAMES[of[1]]: torch.tensor(honest if told is None else told)}
    request = {
        "model": of[0],
        "medium": of[1],
        "merge_size": 2,
        "kernel": (2, 2),
        "told": [one if isinstance(one, list) else [one] for one in honest],
        "counts": counts,
        "items": [1, 1],
        "names": ["request 0", "request 1"],
        "width": WIDTH,
        "dtype": "torch.float32",
    }
    made = changed.pop("made", counts)
    rows = torch.cat([stamped_rows(owner, count) for owner, count in enumerate(made)])
    payload = {"model": of[0], "merge_size": 2, "kernel": (2, 2), "fields": fields}
    payload |= {"made": made, "rows": rows, **changed}
    return list(encoder_counts.check(payload, request, owner_of))


def names(found: list[Violation]) -> set[str]:
    """Return the clauses that are broken."""
    return {violation.clause.name for violation in found}


def refusal(found: list[Violation], release: str) -> str:
    """Return the text that a release refuses with, empty if it refuses nothing."""
    violation = ending(found, release)
    guard = violation.clause.guard(release) if violation is not None else None
    return violation.refusal(guard) if violation is not None and guard is not None else ""


def accident(found: list[Violation], release: str) -> str:
    """Return the clause at which a release ends by accident, empty if it does not."""
    violation = ending(found, release)
    if violation is None or violation.clause.guard(release) is not None:
        return ""
    return violation.clause.name


@pytest.mark.parametrize("of", HONEST)
def test_what_is_honest_breaks_nothing(of: tuple[str, str]) -> None:
    """Whatever the rule: also as floats, where they are whole."""
    assert check(of) == []
    assert check(of, torch.tensor(HONEST[of][0]).float().tolist()) == []


@pytest.mark.parametrize(
    ("of", "told", "clauses"),
    [
        (QWEN, [[1, 4, 6]], {"item-count", "rows-count"}),
        (QWEN, [[1, 6, 4], [1, 8, 6]], {"told-asked"}),
        (QWEN, [[1, 8, 6], [1, 4, 6]], {"told-asked", "count-asked"}),
        (QWEN, [[1, 4, 7], [1, 8, 6]], {"told-asked", "rows-count", "count-asked", "as-announced"}),
        (QWEN, [[4, 6], [8, 6]], {"grid-sides", "told-asked"}),
        (CLIP, [[3, 4, 6], [1, 4, 6]], {"told-asked", "count-asked"}),
        (KIMI, [[4, 6], [8, 6]], {"kimi-frames"}),
        (KIMI, [[2, 4, 6], [1, 8, 6]], {"told-asked"}),
        (KIMI, [[6], [6]], {"kimi-sides", "told-asked"}),
        (K25, [[4, 6], [8, 6]], {"grid-sides"}),
        (K25, [[6], [6]], {"kimi-cut-sides", "told-asked"}),
        (SOUND, [[1, 250], [1, 101]], {"one-length", "told-asked"}),
        (SOUND, [249, 101], {"told-asked"}),
        (SOUND, [350, 1], {"told-asked", "count-asked"}),
        (("mimo_v2", "audio"), [30, -3], {"told-asked", "count-asked", "as-announced"}),
    ],
)
def test_what_is_told_otherwise_breaks_its_own_clauses(
    of: tuple[str, str], told: Any, clauses: set[str]
) -> None:
    """Nothing else is said to be broken."""
    assert names(check(of, told)) == clauses


@pytest.mark.parametrize(
    ("of", "changed", "clauses"),
    [
        (QWEN, {"fields": {}}, {"grids-there"}),
        (QWEN, {"fields": {"video_grid_thw": torch.ones(2, 3)}}, {"grids-there"}),
        (QWEN, {"fields": {"image_grid_thw": HONEST[QWEN][0]}}, {"grids-tensor"}),
        (SOUND, {"fields": {NAMES["audio"]: [250, 101]}}, {"lengths-tensor"}),
        (QWEN, {"merge_size": None}, {"merge-size"}),
        (KIMI, {"merge_size": 1}, {"merge-size"}),
        (QWEN, {"kernel": (1, 1)}, {"kernel"}),
        (QWEN, {"model": "unknown"}, {"model-named"}),
        (QWEN, {"made": [7, 11]}, {"rows-asked", "row-identity"}),
        (QWEN, {"made": [7, 13]}, {"rows-asked", "row-identity", "rows-count"}),
    ],
)
def test_what_holds_for_all_media_breaks_its_own_clauses(
    of: tuple[str, str], changed: dict[str, Any], clauses: set[str]
) -> None:
    """Where it makes other counts, these are named too."""
    assert names(check(of, **changed)) == clauses


def test_the_name_that_is_read_first_depends_on_the_model() -> None:
    """Stale grids under another one are harmless, and under that one they are counted."""
    true = torch.tensor(HONEST[QWEN][0])
    both = {"grid_thws": true.flip(0), "image_grid_thw": true}

    assert names(check(QWEN, fields=both)) == {"names-agree"}
    assert names(check(K25, fields=both)) == {"names-agree", "told-asked", "count-asked"}
    assert names(check(KIMI, fields=both)) == {"names-agree"}


def test_kimis_guard_stands_from_0_5_17_and_counts_k25_from_0_5_19() -> None:
    """Before, too few sides were an accident; too many were cut."""
    few, many = [[6], [6]], [[1, 1, 4, 6], [1, 1, 8, 6]]
    text = "Invalid Kimi image grid metadata: {}; expected [h, w] or [t, h, w]"

    assert accident(check(KIMI, few), "0.5.16") == "kimi-sides"
    assert refusal(check(KIMI, few), "0.5.17") == text.format("[6]")
    assert accident(check(K25, few), "0.5.18") == "kimi-cut-sides"
    assert refusal(check(K25, few), "0.5.19") == text.format("[6]")
    for of in (KIMI, K25):
        assert ending(check(of, many), "0.5.16") is None
        assert refusal(check(of, many), "0.5.17") == text.format("[1, 1, 4, 6]")


def test_kimis_two_sides_are_counted_from_0_5_17_and_never_cut_for_k25() -> None:
    """One model's patches are cut by rows and columns, the other's by frames too."""
    two = [[4, 6], [8, 6]]

    assert accident(check(KIMI, two), "0.5.16") == "kimi-frames"
    assert ending(check(KIMI, two), "0.5.17") is None
    assert accident(check(K25, two), "0.5.23") == "grid-sides"


def test_lists_of_lengths_are_an_accident_before_0_5_17() -> None:
    """Lists of grids are one in every release, but where items are kept apart."""
    lengths = check(SOUND, fields={NAMES["audio"]: [250, 101]})
    muse = ("muse_spark", "video")

    assert accident(lengths, "0.5.16") == "lengths-tensor"
    assert ending(lengths, "0.5.17") is None
    assert accident(check(QWEN, fields={NAMES["image"]: HONEST[QWEN][0]}), "0.5.23")
    assert ending(check(muse, fields={NAMES["video"]: HONEST[muse][0]}), "0.5.23") is None


def test_the_sum_is_refused_from_0_5_19_and_a_sum_that_fits_never() -> None:
    """One clip that is told longer and one shorter, or rows moved from one to the other."""
    more, moved = check(QWEN, made=[7, 13]), check(CLIP, [[3, 4, 6], [1, 4, 6]])

    said = "Encoder produced 20 tokens, but preprocessor metadata expected 18"
    assert ending(more, "0.5.18") is None
    assert refusal(more, "0.5.19") == said
    for release in ("0.5.16", "0.5.23"):
        assert ending(moved, release) is None
        assert ending(check(QWEN, made=[7, 11]), release) is None


def test_a_negative_length_is_refused_as_it_was_announced() -> None:
    """The sum fits, and what is cut does not."""
    found = check(("mimo_v2", "audio"), [30, -3])

    assert "expected=[30, 8]/torch.float32, actual=[27, 8]/torch.float32" in refusal(
        found, "0.5.23"
    )
    assert ending(found, "0.5.18") is None


@pytest.mark.parametrize(
    ("medium", "older", "newer"),
    [
        ("video", "['video_grid_thw']", "('video_grid_thw',)"),
        ("audio", "['audio_feature_lens_raw']", "('audio_feature_lens_raw',)"),
    ],
)
def test_missing_grids_are_refused_with_the_names_of_the_medium(
    medium: str, older: str, newer: str
) -> None:
    """A list before 0.5.19, and a tuple from there on."""
    found = check(("muse_spark", medium), fields={})

    assert refusal(found, "0.5.18") == f"Grid dim ({older}) not found in "
    assert refusal(found, "0.5.19") == f"Grid dim ({newer}) not found in "
