"""The messages that carry an embedding's parts over ZMQ: what each frame holds.

The first frame is the pickled part without its rows, the second the rows' bytes. What a record's
`frames` says is done to them; `bytes_of` are rows that travel in the place of its own.

Source of the wire's form: sglang 0.5.23, srt/disaggregation/encoder/server.py,
MMEncoder.send_to_destination
"""

import pickle
from collections.abc import Callable, Mapping
from typing import Any

#: The id of a part: its request's, and where it stands.
_SUFFIX = "_local_part_"
_CUT_ROWS: Mapping[str, Callable[[bytes, int], bytes]] = {
    "rows-cut": lambda rows, row: rows[:-1],
    "row-cut": lambda rows, row: rows[:-row],
    "row-extra": lambda rows, row: rows + rows[-row:],
    "rows-empty": lambda rows, row: b"",
}
#: What a first frame becomes that is no part any more.
_HEADS: Mapping[str, bytes] = {
    "head-junk": b"no pickle at all",
    "head-empty": b"",
    "head-blocked": pickle.dumps(pickle.Unpickler),
}


def part_id(record: Mapping[str, Any]) -> str:
    """Return the id that a part carries on its way."""
    named, suffix = record["request"], record["suffix"]
    return str(named) if suffix is None else f"{named}{_SUFFIX}{suffix}"


def message_of(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a message says, frame by frame.

    Returns:
        The record, with `head` (`whole`, or what was done to the first frame), `rows` (bytes of
        the second frame, or None), `said_dtype` and `said_shape`.
    """
    embedding, done = record["embedding"], record["frames"]
    sent = embedding if record["bytes_of"] is None else record["bytes_of"]
    rows = None
    if sent is not None and record["error"] is None and done != "rows-missing":
        rows = _bytes(sent)
        if done in _CUT_ROWS:
            rows = _CUT_ROWS[done](rows, len(rows) // max(len(sent), 1))
    own = None if embedding is None else str(embedding.dtype).removeprefix("torch.")
    shape = record["shape"]
    if shape is None and embedding is not None:
        shape = list(embedding.shape)
    head = done if done in (*_HEADS, "frames-swapped") else "whole"
    said = own if record["dtype"] is None else record["dtype"]
    said = None if said == "none" else said
    return {**record, "head": head, "rows": rows, "said_dtype": said, "said_shape": shape}


def frames_of(message: Mapping[str, Any], head: bytes) -> list[bytes]:
    """Return the frames of a message, whose honest first frame is given."""
    done = message["frames"]
    first = _HEADS.get(done, head)
    frames = [first] if message["rows"] is None else [first, message["rows"]]
    if done == "frames-swapped":
        frames.reverse()
    return [*frames, b"more"] if done == "frame-extra" else frames


def _bytes(rows: Any) -> bytes:
    import torch

    whole: bytes = rows.contiguous().view(torch.uint8).numpy().tobytes()
    return whole
