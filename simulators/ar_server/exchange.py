"""One request and its answer, kept for whoever asks what went over the wire."""

import json
from dataclasses import dataclass, field
from typing import Any

from simulators.ar_server.items import honest_sequences, known_sequences
from simulators.ar_server.request import Prompt
from simulators.http_answer import CHUNKED, Answer
from simulators.packed_rows import Item


@dataclass(frozen=True)
class Exchange:
    """One request and its answer."""

    #: 0-based among all exchanges of the simulator.
    index: int
    method: str
    path: str
    #: The parsed JSON body; `None` where it is no JSON.
    request: Any = field(repr=False)
    answer: Answer
    #: Whether the plan's dose hit this request and something was there to be changed.
    injected: bool
    #: What was asked, one for each item that was due. Not the items: they would fill the memory.
    prompts: tuple[Prompt, ...] = field(default=(), repr=False)

    @property
    def sequences(self) -> dict[int | str, tuple[int, ...]]:
        """The true ids of each item by its index, and those of each foreign item by its name.

        What `simulators.stamp.StampReader` takes; made anew each time, and empty where no items
        were due.
        """
        return known_sequences(self.prompts)

    @property
    def items(self) -> list[Item]:
        """Whose the ids of each item are, for those who can make them: a device."""
        return honest_sequences(self.prompts)

    @property
    def reply(self) -> Any:
        """The parsed JSON of the body as it was sent, a fresh object each time.

        Raises:
            ValueError: if what was sent is no JSON: nothing, a part, or a stream.
        """
        wire, body = self.answer.wire, self.answer.framed_body
        if wire.content_length is CHUNKED:
            raise ValueError("the reply is a stream of events, not one JSON value")
        if wire.reset_at is not None:
            body = body[: max(0, wire.reset_at - len(self.answer.head))]
        return json.loads(body)
