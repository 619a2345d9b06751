"""The contract of ar-request, alone: requests written by hand."""

from typing import Any

import pytest

from contracts import Origin, ar_request, ending

GRIDS = [{"image_grid_thw": [[1, 2, 3], [1, 4, 5]]}]
PROMPTS = [[1, 2], [3, 4, 5]]
PARAMS = [
    {"temperature": 1.0, "max_new_tokens": 27, "ignore_eos": True, "sampling_seed": seed}
    for seed in (7, 9)
]
BATCH = {"input_ids": PROMPTS, "image_data": [GRIDS, GRIDS], "sampling_params": PARAMS}
SINGLE = {"input_ids": PROMPTS[0], "image_data": GRIDS, "sampling_params": PARAMS[0]}
OLD, OLDER, NEW = "0.5.21", "0.5.20", "0.5.23"


def owner_of(rows: list[Any]) -> list[Origin | None]:
    """Read the owner of a row from the row."""
    return [Origin(PROMPTS.index(row), 0) if row in PROMPTS else None for row in rows]


def found(body: dict[str, Any], meant: dict[str, Any]) -> list[Any]:
    """Return the violations of a request."""
    return list(ar_request.check(body, meant, owner_of))


def stop(meant: dict[str, Any], release: str, **changed: Any) -> tuple[str, str] | None:
    """Return the clause and the text at which a changed request ends; or the accident."""
    violation = ending(found(meant | changed, meant), release)
    if violation is None:
        return None
    guard = violation.clause.guard(release)
    said = violation.refusal(guard) if guard else " or ".join(violation.accident(release))
    return violation.clause.name, said


def params(**changed: Any) -> list[dict[str, Any]]:
    """Return the parameters of both prompts with the second one's changed."""
    return [PARAMS[0], PARAMS[1] | changed]


@pytest.mark.parametrize("meant", [BATCH, SINGLE], ids=["batch", "single"])
def test_an_honest_request_breaks_nothing(meant: dict[str, Any]) -> None:
    """As the stage sends it, of one prompt or of several."""
    assert found(meant, meant) == []


@pytest.mark.parametrize(
    ("changed", "clause", "text"),
    [
        ({"input_ids": "1 2"}, "ids-list", "must be list or null; got str"),
        ({"input_ids": [1.0, 2.0]}, "ids-first", "elements must be int or list; got float"),
        ({"input_ids": [1, 2**63]}, "ids-int64", "contains non-int64 element"),
        ({"input_ids": [1, None]}, "ids-int64", "contains non-int64 element"),
        ({"input_ids": []}, "ids-some", "input_ids cannot be empty."),
        (
            {"input_ids": None},
            "prompt-given",
            "Either text, input_ids or input_embeds should be provided.",
        ),
        (
            {"sampling_params": PARAMS[0] | {"max_new_tokens": -1}},
            "budget",
            "max_new_tokens must be at least 0, got -1.",
        ),
    ],
)
def test_one_prompt_is_refused_in_every_release(
    changed: dict[str, Any], clause: str, text: str
) -> None:
    """With the documented words."""
    assert stop(SINGLE, "0.5.16", **changed) == (clause, text)
    assert stop(SINGLE, NEW, **changed) == (clause, text)


@pytest.mark.parametrize(
    ("changed", "clause", "text"),
    [
        ({"input_ids": [[1.0], [3]]}, "rows-int64", "row 0: "),
        ({"input_ids": [[1], None]}, "rows-int64", "row 1: "),
        ({"input_ids": [None, [1]]}, "ids-first", "elements must be int or list; got NoneType"),
        (
            {"image_data": [GRIDS]},
            "images-count",
            "The length of image_data should be equal to the batch size.",
        ),
        (
            {"sampling_params": params(n=2)},
            "samples-equal",
            "The parallel_sample_num should be the same for all samples in sample params.",
        ),
        (
            {"rid": ["x"]},
            "rids-count",
            "The specified rids length mismatch with the batch_size for batch processing.",
        ),
        (
            {"rid": ["x", "x"]},
            "rids-distinct",
            "Duplicate request IDs detected within the request: ['x']",
        ),
        ({"sampling_params": []}, "params-some", "IndexError"),
        ({"sampling_params": PARAMS[:1]}, "params-count", "IndexError"),
    ],
)
def test_a_batch_is_refused_in_every_release(
    changed: dict[str, Any], clause: str, text: str
) -> None:
    """With the documented words; two of the ends are accidents."""
    assert stop(BATCH, "0.5.16", **changed) == (clause, text)
    assert stop(BATCH, NEW, **changed) == (clause, text)


@pytest.mark.parametrize(
    ("changed", "before", "gated"),
    [
        (
            {"sampling_params": params(bar=1)},
            ("fields-taken", "TypeError"),
            ("fields-known", "unknown field `bar`, expected one of "),
        ),
        (
            {"sampling_params": params(max_new_tokens="8")},
            ("budget-number", "TypeError"),
            ("integers", 'invalid type: string "8", expected i64'),
        ),
        (
            {"input_ids": [[True], [3]]},
            None,
            ("integers", "invalid type: boolean `true`, expected i64"),
        ),
        (
            {"image_data": [None, GRIDS]},
            None,
            ("media-items", "invalid type: sequence, expected one of the MediaItem shapes"),
        ),
        (
            {"image_data": [GRIDS, GRIDS[0]]},
            None,
            ("sequences", "invalid type: map, expected a sequence"),
        ),
    ],
)
def test_the_gate_came_with_a_release(changed: dict[str, Any], before: Any, gated: Any) -> None:
    """Before it the same request passes, or fails by accident when its turn comes."""
    assert stop(BATCH, OLDER, **changed) == before
    assert stop(BATCH, "0.5.22", **changed) == gated


def test_ids_of_truths_are_a_batch_to_the_gate() -> None:
    """A flat list whose first one is no number is taken for a list of rows."""
    assert stop(SINGLE, NEW, input_ids=[True, 1]) == (
        "sequences",
        "invalid type: boolean `true`, expected a sequence",
    )


def test_a_seed_is_looked_at_by_one_release_more_than_the_gate() -> None:
    """Nobody before 0.5.21; the class of the parameters in 0.5.21; the gate from then on."""
    text, wide = params(sampling_seed="7"), params(sampling_seed=2**63)

    assert stop(BATCH, OLDER, sampling_params=text) is None
    assert stop(BATCH, OLD, sampling_params=text) == (
        "seed-integer",
        "sampling_seed must be an integer, got str.",
    )
    assert stop(BATCH, NEW, sampling_params=text) == (
        "integers",
        'invalid type: string "7", expected i64',
    )
    assert stop(BATCH, OLDER, sampling_params=wide) is None
    assert stop(BATCH, OLD, sampling_params=wide) == stop(BATCH, NEW, sampling_params=wide)


@pytest.mark.parametrize(
    ("changed", "clauses"),
    [
        ({"input_ids": [[], PROMPTS[1]]}, {"ids-each", "row-identity"}),
        ({"input_ids": [[-1, -2], PROMPTS[1]]}, {"ids-each", "row-identity"}),
        ({"input_ids": PROMPTS[::-1]}, {"row-identity"}),
        ({"image_data": None}, {"images-each"}),
        ({"image_data": []}, {"images-each"}),
        ({"image_data": [GRIDS, []]}, {"images-each"}),
        ({"image_data": GRIDS[0]}, set()),
        ({"image_data": [GRIDS[0], GRIDS[0]]}, set()),
        ({"sampling_params": PARAMS[::-1]}, {"params-each"}),
        ({"sampling_params": PARAMS[0]}, {"params-each"}),
        ({"sampling_params": [*PARAMS, PARAMS[0]]}, {"params-count"}),
        ({"text": ["a", "b"]}, {"prompt-once"}),
        ({"rid": "x"}, set()),
        ({"later_field": 1}, set()),
    ],
)
def test_what_nobody_counts_ends_nowhere(changed: dict[str, Any], clauses: set[str]) -> None:
    """The server takes it, in every release."""
    violations = found(BATCH | changed, BATCH)

    assert {v.clause.name for v in violations} == clauses
    assert ending(violations, "0.5.16") is None
    assert ending(violations, NEW) is None


def test_what_is_wrong_with_the_first_prompt_is_met_before_the_second_is_missed() -> None:
    """Item by item, as the server takes them."""
    short = [PARAMS[0] | {"max_new_tokens": -1}]

    assert stop(BATCH, NEW, sampling_params=short) == (
        "budget",
        "max_new_tokens must be at least 0, got -1.",
    )
