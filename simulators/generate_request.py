"""A /generate request as a payload: one record for each prompt, sent as columns."""

from collections.abc import Mapping
from typing import Any

from simulators.payload import RECORDS, REQUEST, Payload

COLUMNS = ("input_ids", "image_data", "sampling_params")


def honest_request(body: Mapping[str, Any]) -> Payload:
    """Return the payload of a request that the stage sent, of one prompt or of a batch."""
    batch = isinstance(body["input_ids"][0], list)
    values = [body[column] if batch else [body[column]] for column in COLUMNS]
    rows = tuple(dict(zip(COLUMNS, row, strict=True)) for row in zip(*values, strict=True))
    return Payload(REQUEST, rows, beside={"batch": batch})


def columns_of(payload: Payload) -> dict[str, Any]:
    """Return the body that the records make."""
    if payload.beside["batch"]:
        return {column: [row[column] for row in payload.records] for column in COLUMNS}
    return dict(payload.records[0])


def request_body(payload: Payload) -> Any:
    """Return what is sent: the body that a fault has set, or the columns of the records."""
    return columns_of(payload) if payload.body is RECORDS else payload.body
