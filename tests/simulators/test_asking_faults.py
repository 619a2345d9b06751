"""Faults of what the stage asks with, by hand: image data, seeds, and the whole request."""

from typing import Any

import pytest

from simulators import faults
from simulators.ar_server.asking import batch_request, single_request
from simulators.faults import FAULTS
from simulators.generate_request import honest_request, request_body
from simulators.grid_rows import honest_grids, image_data
from simulators.payload import Payload
from simulators.prior_grid import prior_grids
from simulators.rng import stream
from simulators.seed_values import honest_seeds, owners, seed

GRID = [1, 2, 3]
PREVIEW = [1, 13, 19]


def done(name: str, payload: Payload, at: tuple[int, ...] = ()) -> Payload:
    """Return what a fault of the table makes of a payload."""
    fault = FAULTS[name]
    place = at or next(fault.places(len(payload.records)))
    return fault.change(payload, place, stream(0))


def test_honest_image_data_is_the_pictures_grids() -> None:
    """The same rows as the processor's, in the one object that the stage sends."""
    honest = honest_grids(64, 96)

    assert image_data(honest) == [{"image_grid_thw": prior_grids(64, 96)}]
    assert image_data(honest) == single_request([1], 64, 96)["image_data"]
    assert all(ours != theirs for ours, theirs in zip(honest.records, honest.foreign, strict=True))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("images-none", []),
        ("images-number", 2),
        ("grids-missing", [{}]),
        ("grids-null", [{"image_grid_thw": None}]),
        ("grids-tuples", [{"image_grid_thw": (tuple(GRID), tuple(PREVIEW))}]),
        ("grids-flat", [{"image_grid_thw": [*GRID, *PREVIEW]}]),
        ("grids-nested", [{"image_grid_thw": [[GRID, PREVIEW]]}]),
        ("grids-two-columns", [{"image_grid_thw": [[2, 3], [13, 19]]}]),
        ("grids-ragged", [{"image_grid_thw": [GRID, [13, 19]]}]),
        ("grids-digits", [{"image_grid_thw": [["1", "2", "3"], ["1", "13", "19"]]}]),
        ("reordering", [{"image_grid_thw": [PREVIEW, GRID]}]),
        ("omission", [{"image_grid_thw": [PREVIEW]}]),
        ("body-null", None),
        ("grid-transposed", [{"image_grid_thw": [[1, 3, 2], PREVIEW]}]),
        ("grid-zero", [{"image_grid_thw": [[1, 0, 3], PREVIEW]}]),
        ("grid-fraction", [{"image_grid_thw": [[1, 1.5, 3], PREVIEW]}]),
        ("grid-compensated", [{"image_grid_thw": [[1, 1, 6], PREVIEW]}]),
    ],
)
def test_image_data_becomes_what_the_picture_says(name: str, expected: Any) -> None:
    """Each fault of the grids, by hand."""
    assert image_data(done(name, honest_grids(64, 96))) == expected


def test_another_requests_grids_stand_before_or_behind_ours() -> None:
    """One object more, whose grids are none of ours."""
    honest = honest_grids(64, 96)
    ours = image_data(honest)[0]

    behind = image_data(done("images-foreign-behind", honest))
    before = image_data(done("images-foreign-before", honest))

    assert behind[0] == before[1] == ours
    assert behind[1] == before[0] != ours


def test_honest_seeds_are_far_apart_and_known() -> None:
    """One that is made of another by counting on is nobody's."""
    values = seed(honest_seeds("list", 3))
    known = owners("list", 3)

    assert [known[value].owner for value in values] == [0, 1, 2]
    assert not {value + step for value in values for step in (1, 2)} & set(known)
    assert seed(honest_seeds("int", 3)) == values[0]
    assert seed(honest_seeds("none", 3)) is None


@pytest.mark.parametrize(
    ("name", "at", "expected"),
    [
        ("omission", (0,), lambda a, b: [b]),
        ("duplication", (0, 1), lambda a, b: [a, a]),
        ("reordering", (0, 1), lambda a, b: [b, a]),
        ("duplication-extra", (1,), lambda a, b: [a, b, b]),
        ("seed-null", (1,), lambda a, b: [a, None]),
        ("seed-true", (0,), lambda a, b: [True, b]),
        ("seed-digits", (1,), lambda a, b: [a, str(b)]),
        ("seed-negative", (0,), lambda a, b: [-a, b]),
        ("seed-beyond-int64", (1,), lambda a, b: [a, b + 2**63]),
        ("seeds-none", (), lambda a, b: []),
        ("seeds-first", (), lambda a, b: a),
        ("seeds-nested", (), lambda a, b: [[a, b]]),
        ("seeds-joined", (), lambda a, b: f"{a},{b}"),
    ],
)
def test_seeds_become_what_the_picture_says(name: str, at: Any, expected: Any) -> None:
    """Each fault of the seeds, by hand."""
    honest = honest_seeds("list", 2)

    assert seed(done(name, honest, at)) == expected(*honest.records)


def test_a_lone_seed_that_is_lost_is_an_empty_list() -> None:
    """And one more beside it makes a list of two."""
    honest = honest_seeds("int", 4)

    assert seed(done("omission", honest)) == []
    assert seed(done("duplication-extra", honest)) == [honest.records[0]] * 2


BATCH = batch_request([[1, 2], [3, 4, 5]], 64, 96, seed=5)
SINGLE = single_request([1, 2], 64, 96)


@pytest.mark.parametrize("body", [BATCH, SINGLE], ids=["batch", "single"])
def test_an_honest_request_is_sent_as_the_stage_made_it(body: Any) -> None:
    """Into rows and back."""
    assert request_body(honest_request(body)) == body


@pytest.mark.parametrize(
    ("name", "at", "column", "expected"),
    [
        ("prompt-empty", (1,), "input_ids", [[1, 2], []]),
        ("prompt-float", (0,), "input_ids", [[1.0, 2.0], [3, 4, 5]]),
        ("prompt-true", (0,), "input_ids", [[True, True], [3, 4, 5]]),
        ("prompt-nested", (0,), "input_ids", [[[1, 2]], [3, 4, 5]]),
        ("prompt-last-null", (1,), "input_ids", [[1, 2], [3, 4, None]]),
        ("prompts-short", (), "input_ids", [[1, 2]]),
        ("prompts-long", (), "input_ids", [[1, 2], [3, 4, 5], [1, 2]]),
        ("prompts-swapped", (0, 1), "input_ids", [[3, 4, 5], [1, 2]]),
        ("image-null", (0,), "image_data", [None, BATCH["image_data"][1]]),
        ("images-short", (), "image_data", BATCH["image_data"][:1]),
        ("images-first", (), "image_data", BATCH["image_data"][0][0]),
        ("images-flat", (), "image_data", [row[0] for row in BATCH["image_data"]]),
        ("params-none", (), "sampling_params", []),
        ("params-short", (), "sampling_params", BATCH["sampling_params"][:1]),
        ("params-first", (), "sampling_params", BATCH["sampling_params"][0]),
        ("params-swapped", (0, 1), "sampling_params", BATCH["sampling_params"][::-1]),
        ("rids-equal", (), "rid", ["request-0", "request-0"]),
        ("rids-short", (), "rid", ["request-0"]),
        ("rid-text", (), "rid", "request-0"),
        ("texts-beside", (), "text", ["scene-0", "scene-1"]),
    ],
)
def test_one_column_becomes_what_the_picture_says(
    name: str, at: Any, column: str, expected: Any
) -> None:
    """And the others stay as they were."""
    changed = request_body(done(name, honest_request(BATCH), at))

    assert changed[column] == expected
    assert {k: v for k, v in changed.items() if k != column} == {
        k: v for k, v in BATCH.items() if k != column
    }


def test_a_column_left_out_is_no_key() -> None:
    """Neither null nor empty."""
    for name, column in (("prompts-missing", "input_ids"), ("params-missing", "sampling_params")):
        assert column not in request_body(done(name, honest_request(SINGLE)))


def test_no_two_faults_share_a_name() -> None:
    """The second would take the first one's place in the table."""
    names = [fault.name for fault in faults._TABLE]

    assert len(set(names)) == len(names)
