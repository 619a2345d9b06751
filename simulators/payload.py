"""What passes a seam, in a form that a fault can change without knowing the seam.

Most faults touch only the list of records, so the same omission serves a JSON list and a tensor
of rows. A fault that replaces the payload as a whole sets `body`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final


class _Records:
    def __repr__(self) -> str:
        return "RECORDS"


#: The value of `Payload.body` while the payload is made of its records.
RECORDS: Final = _Records()

#: Form of a payload: a JSON list of reply items.
REPLY = "reply"
#: Form of a payload: a two-dimensional tensor of token rows.
ROWS = "rows"
#: Form of a payload: one HTTP answer as it goes out, and beside it the server's `url`.
ANSWER = "answer"
#: Form of a payload: the rows of `image_grid_thw`, tuples of (frames, rows, columns).
GRIDS = "grids"
#: Form of a payload: the seeds of a request, one for each output or one for all of them.
SEEDS = "seeds"
#: Form of a payload: a /generate request, one record for each prompt.
REQUEST = "request"

#: Form of a payload: a group of requests, one description for each.
GROUP = "group"
#: Form of a payload: what denoisers made, one result for each request, and beside it the end of
#: the AR batch, `ar_error`.
RESULTS = "results"
#: Form of a payload: the size of one picture, as it was asked for and as it is told on.
SIZE = "size"
#: Form of a payload: decoded pictures, and beside them the size to cut out, `target`.
FRAMES = "frames"
#: Form of a payload: chunks of keys and values, one description for each, and beside them the
#: `cursor` of the cache.
CHUNKS = "chunks"
#: Form of a payload: a camera's embedding for one call, and what was computed from it before.
CAMERA = "camera"
#: Form of a payload: text masks, one row of booleans for each prompt, and beside them the
#: `size` of the picture.
MASKS = "masks"
#: Form of a payload: the splits of a sequence, one int for each rank, and beside them all else
#: that a scheduler tells the ranks: see `simulators.scheduler`.
SPLITS = "splits"
#: Form of a payload: the degrees of parallelism that a launcher tells, in one record.
DEGREES = "degrees"
#: Form of a payload: items with their rows, and beside them the `prompts` with placeholders.
PLACEHOLDERS = "placeholders"
#: Form of a payload: the items of one request with their rows, as a processor laid them out, and
#: beside them what was `received`: pairs of a modality and all rows of it.
PRECOMPUTED = "precomputed"
#: Form of a payload: encoded items, the rows of each and what was told of it, and beside them the
#: `form` of what the encoder returns: see `simulators.encoder`.
EMBEDDINGS = "embeddings"
#: Form of a payload: one processor's output for a batch, its fields in one record, and beside it
#: the `merge_size` that the processor says: see `simulators.processed_media`.
PROCESSED = "processed"
#: Form of a payload: pictures, clips or sounds, the grid or length that is told of each, and beside
#: them the rules by which the model makes rows: see `simulators.counted_media`.
TALLY = "tally"
#: Form of a payload: items that a preprocessor keeps apart, and beside them their `grids`: see
#: `simulators.media_items`.
MEDIA = "media"
#: Form of a payload: a prepared batch, one record for each request, and beside it the `error` that
#: is raised instead: see `simulators.prepared_requests`.
PREPARED = "prepared"
#: Form of a payload: the parts of an encoder's embedding, in the order in which they arrive.
PARTS = "parts"
#: Form of a payload: a request to encode, one record for each item: see
#: `simulators.encode_request`.
ENCODE = "encode"
#: Form of a payload: tensors that a kernel is called with, by position, and beside them all else
#: that it is told: see `simulators.kernel_rows`.
TENSORS = "tensors"
#: Form of a payload: the flat positions of kept tokens, one int for each, and beside them the dense
#: tensors: see `simulators.varlen_rows`.
INDICES = "indices"
#: Form of a payload: the URLs of encoders, and beside them the `mode` of transport.
URLS = "urls"
#: Form of a payload: how many items each encoder has to encode, and beside it what it is told
#: with: see `simulators.assigned_items`.
ASSIGNED = "assigned"
#: Form of a payload: the media of a request as a receiver gets them: see
#: `simulators.requested_media`.
ASKED_MEDIA = "asked-media"
#: Form of a payload: registrations of ranks at the encoder, and beside them the `states` of the
#: requests there.
DESTINATIONS = "destinations"
#: Form of a payload: slots in a pool of states, one for each sequence, and beside them the pool,
#: the tokens and their `starts`: see `simulators.stateful_sequences`.
STATES = "states"
#: Form of a payload: slots in a pool of states, one for each request of one token, and beside
#: them the pool and the packed batch: see `simulators.decode_batch`.
DECODE = "decode"
#: Form of a payload: the cached frames of a video, one for each record, and beside them the next
#: chunk and the padding: see `simulators.chunked_frames`.
CHUNKED = "chunked"
#: Form of a payload: the angles of positions, cosines and sines of each, and beside them the rows
#: that they turn: see `simulators.rotary_rows`.
ANGLES = "angles"
#: Form of a payload: hidden states, their scale and their shift, by position, and beside them the
#: `constant` that is added to the scale: see `simulators.modulated_rows`.
MODULATIONS = "modulations"


@dataclass(frozen=True)
class JsonItem:
    """One reply item with its encoding, so that it is encoded once however often it is sent."""

    value: Mapping[str, Any]
    encoded: bytes = field(repr=False)


@dataclass(frozen=True)
class Payload:
    """One payload: its records, and what stands beside them."""

    form: str
    records: tuple[Any, ...]
    #: Records of another request, one for each place, of the same shape.
    foreign: tuple[Any, ...] = ()
    #: Fields that travel beside the records, such as usage records.
    beside: Mapping[str, Any] = field(default_factory=dict)
    #: What is sent instead of the records, once a fault has set it.
    body: Any = RECORDS

    def with_records(self, records: "tuple[Any, ...] | list[Any]") -> "Payload":
        """Return the payload with other records."""
        return replace(self, records=tuple(records))

    def with_record(self, index: int, record: Any) -> "Payload":
        """Return the payload with one record replaced."""
        records = list(self.records)
        records[index] = record
        return self.with_records(records)

    def with_body(self, body: Any) -> "Payload":
        """Return the payload with something else sent in its place."""
        return replace(self, body=body)


def plain(record: Any) -> Any:
    """Return a record as the JSON value that it is."""
    return dict(record.value) if isinstance(record, JsonItem) else record
