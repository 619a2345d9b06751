"""Substitution of the body: something else is sent in place of the list or the tensor."""

from random import Random
from typing import Any

from simulators.faults.fault import Change, Place
from simulators.payload import Payload, plain
from simulators.prior_rows import assembled

_ERROR = {"error": {"message": "CUDA out of memory", "type": "ServerError", "code": 500}}


def error_object() -> dict[str, Any]:
    """Return an error as servers word it, with no ids in it."""
    return {"error": dict(_ERROR["error"])}


def body_becomes(value: Any) -> Change:
    """Return the fault that sends one fixed value in place of the payload."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        return payload.with_body(value)

    return change


def body_wrapped(payload: Payload, at: Place, rng: Random) -> Payload:
    """[a b c] -> {"data": [a b c]}"""
    return payload.with_body({"data": [plain(record) for record in payload.records]})


def body_list(payload: Payload, at: Place, rng: Random) -> Payload:
    """tensor of rows -> list of rows"""
    return payload.with_body(list(payload.records))


def body_numpy(payload: Payload, at: Place, rng: Random) -> Payload:
    """tensor of rows -> numpy array of rows"""
    return payload.with_body(assembled(payload).numpy())


def body_scalar(payload: Payload, at: Place, rng: Random) -> Payload:
    """tensor of rows -> its first token, a tensor without a dimension"""
    return payload.with_body(payload.records[0][0]) if payload.records else payload


def body_vector(payload: Payload, at: Place, rng: Random) -> Payload:
    """[1 2 3 | 4 5 6] -> [1 4]: one token for each row"""
    return payload.with_body(assembled(payload)[:, 0])


def body_cube(payload: Payload, at: Place, rng: Random) -> Payload:
    """(rows, tokens) -> (rows, 1, tokens)"""
    return payload.with_body(assembled(payload).unsqueeze(1))


def body_float(payload: Payload, at: Place, rng: Random) -> Payload:
    """int64 -> float32"""
    return payload.with_body(assembled(payload).float())


def body_int32(payload: Payload, at: Place, rng: Random) -> Payload:
    """int64 -> int32"""
    return payload.with_body(assembled(payload).int())


def body_transposed(payload: Payload, at: Place, rng: Random) -> Payload:
    """(rows, tokens) -> (tokens, rows)"""
    return payload.with_body(assembled(payload).t())


def body_strided(payload: Payload, at: Place, rng: Random) -> Payload:
    """the same rows, seen through a stride of two"""
    return payload.with_body(assembled(payload).repeat_interleave(2, dim=1)[:, ::2])
