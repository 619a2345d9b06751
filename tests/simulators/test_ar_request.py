"""What the server refuses, in upstream's words, release by release.

The texts were compared with the answers of the real route of sglang 0.5.23.
"""

import json
from typing import Any

import pytest

from simulators.ar_server import ArSimulator
from simulators.ar_server.asking import batch_request, single_request

TWO = {"input_ids": [[1], [2]]}


def answer(body: Any, release: str = "0.5.23") -> tuple[int, Any]:
    """Return the status and the parsed body, or its text where it is no JSON."""
    said = ArSimulator(release).answer("POST", "/generate", json.dumps(body).encode())
    try:
        return said.status, json.loads(said.body)
    except ValueError:
        return said.status, said.body.decode()


@pytest.mark.parametrize("release", ["0.5.16", "0.5.19", "0.5.22", "0.5.23"])
@pytest.mark.parametrize(
    ("body", "text"),
    [
        ({}, "Either text, input_ids or input_embeds should be provided."),
        ({"input_ids": []}, "input_ids cannot be empty."),
        (
            {**TWO, "image_data": [["x"]]},
            "The length of image_data should be equal to the batch size.",
        ),
        (
            {**TWO, "sampling_params": [{"n": 2}, {}]},
            "The parallel_sample_num should be the same for all samples in sample params.",
        ),
        (
            {**TWO, "rid": ["a"]},
            "The specified rids length mismatch with the batch_size for batch processing.",
        ),
        (
            {**TWO, "rid": ["a", "a"]},
            "Duplicate request IDs detected within the request: ['a']",
        ),
        (
            {**TWO, "sampling_params": {"max_new_tokens": -1}},
            "max_new_tokens must be at least 0, got -1.",
        ),
    ],
)
def test_a_value_error_is_a_400(release: str, body: Any, text: str) -> None:
    """What breaks a rule of the batch gets status 400 with upstream's text."""
    assert (400, {"error": {"message": text}}) == answer(body, release)


def test_a_value_error_in_a_stream_is_an_event() -> None:
    """The status has gone out before the request is looked at, so it stays 200."""
    said = ArSimulator().answer("POST", "/generate", b'{"input_ids":[],"stream":true}')

    event = {"message": "input_ids cannot be empty.", "type": "invalid_request_error"}
    error = json.dumps({"error": {**event, "code": 400, "retryable": False}})
    assert said.status == 200
    assert f"data: {error.replace(': ', ':').replace(', ', ',')}\n\ndata: [DONE]\n\n" == (
        said.body.decode()
    )


@pytest.mark.parametrize(
    "body",
    [
        {**TWO, "sampling_params": [{}]},
        {**TWO, "sampling_params": []},
        {**TWO, "sampling_params": {"n": 0}},
        {**TWO, "sampling_params": {"n": None}},
        {"input_ids": [1], "sampling_params": [{}]},
    ],
)
def test_what_upstream_stumbles_over_is_a_500(body: Any) -> None:
    """A list that is too short is found out late: an unhandled error in plain text."""
    assert answer(body) == (500, "Internal Server Error")


def test_an_unhandled_error_cuts_a_stream() -> None:
    """The head of a stream has gone out; then the connection is closed with no event."""
    body = json.dumps({**TWO, "sampling_params": [{}], "stream": True}).encode()

    said = ArSimulator().answer("POST", "/generate", body)

    assert said.status == 200
    assert said.head == said.render()
    assert not said.keeps_alive


@pytest.mark.parametrize(
    ("body", "kinds"),
    [
        ([1], ["dataclass_type"]),
        (None, ["dataclass_type"]),
        ({"input_ids": "x"}, ["value_error"]),
        ({"input_ids": [1.0]}, ["value_error"]),
        ({"input_ids": [[1], 2]}, ["value_error"]),
        ({"input_ids": [2**63]}, ["value_error"]),
        ({"input_ids": [1], "rid": 5}, ["string_type", "list_type"]),
        ({"input_ids": [1], "sampling_params": 7}, ["list_type", "dict_type"]),
        ({"input_ids": [1], "stream": None}, ["bool_type"]),
        ({"input_ids": [1], "stream": "maybe"}, ["bool_parsing"]),
    ],
)
def test_a_wrong_shape_is_a_400_of_fastapi(body: Any, kinds: list[str]) -> None:
    """A body that is no request gets an error object with pydantic's findings."""
    status, error = answer(body)

    message = error.pop("message")
    assert status == 400
    assert error == {"object": "error", "type": "Bad Request", "param": None, "code": 400}
    assert all(f"'type': '{kind}'" in message for kind in kinds)


GATED = [
    ({"input_ids": [True]}, "invalid type: boolean `true`, expected a sequence"),
    ({"input_ids": [[1], [True]]}, "invalid type: boolean `true`, expected i64"),
    (
        {"input_ids": [1], "sampling_params": {"max_new_tokens": 1.5}},
        "invalid type: floating point `1.5`, expected i64",
    ),
    (
        {"input_ids": [1], "sampling_params": {"max_new_tokens": "8"}},
        'invalid type: string "8", expected i64',
    ),
    (
        {"input_ids": [1], "sampling_params": {"ignore_eos": 1}},
        "invalid type: integer `1`, expected a boolean",
    ),
    (
        {"input_ids": [1], "image_data": 5},
        "invalid type: integer `5`, expected one of the MediaInput shapes",
    ),
]


@pytest.mark.parametrize("release", ["0.5.22", "0.5.23"])
@pytest.mark.parametrize(("body", "text"), GATED)
def test_the_gate_refuses_types_from_0_5_22_on(release: str, body: Any, text: str) -> None:
    """A wrong type gets one line of text, not an object."""
    assert (400, {"error": text}) == answer(body, release)


@pytest.mark.parametrize(("body", "text"), GATED)
def test_there_is_no_gate_before_0_5_22(body: Any, text: str) -> None:
    """Older releases do not know the gate's texts."""
    assert {"error": text} != answer(body, "0.5.21")[1]


def test_the_gate_lists_the_sampling_fields_of_the_release() -> None:
    """An unknown sampling field is refused with the known ones; `choice` came with 0.5.23."""
    body = {"input_ids": [1], "sampling_params": {"bar": 1}}

    new, old = (answer(body, release)[1]["error"] for release in ("0.5.23", "0.5.22"))

    assert new == f"{old}, `choice`"
    assert old.startswith("unknown field `bar`, expected one of `max_new_tokens`, `stop`, ")


@pytest.mark.parametrize("release", ["0.5.21", "0.5.23"])
@pytest.mark.parametrize("seed", [2**63, -(2**63) - 1])
def test_a_seed_of_more_than_64_bits_is_a_400_from_0_5_21_on(release: str, seed: int) -> None:
    """Before it is handed on; the releases before take what they get."""
    body = {"input_ids": [1], "sampling_params": {"max_new_tokens": 1, "sampling_seed": seed}}
    text = f"sampling_seed must be in [-2**63, 2**63 - 1], got {seed}."

    assert answer(body, release) == (400, {"error": {"message": text}})
    assert answer(body, "0.5.20")[0] == 200


def test_a_seed_that_is_no_integer_is_refused_by_0_5_21_itself() -> None:
    """Later releases refuse it at the gate, with another text."""
    body = {"input_ids": [1], "sampling_params": {"max_new_tokens": 1, "sampling_seed": "7"}}
    text = "sampling_seed must be an integer, got str."

    assert answer(body, "0.5.21") == (400, {"error": {"message": text}})
    assert answer(body, "0.5.22") == (400, {"error": 'invalid type: string "7", expected i64'})


@pytest.mark.parametrize("release", ["0.5.16", "0.5.18", "0.5.22", "0.5.23"])
def test_what_the_stage_sends_is_accepted(release: str) -> None:
    """The stage's batch and single requests pass every check of every release."""
    batch = batch_request([[1, 2], [3]], 64, 96, seed=11)

    assert answer(batch, release)[0] == 200
    assert answer(single_request([1], 64, 96), release)[0] == 200
    assert [params["sampling_seed"] for params in batch["sampling_params"]] == [11, 12]


def test_an_unknown_release_is_refused() -> None:
    """A release must be a version, or nothing could be said of its rules."""
    with pytest.raises(ValueError, match="is no SGLang version"):
        ArSimulator("newest")
