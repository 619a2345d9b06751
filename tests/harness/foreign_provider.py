"""A foreign AR server, and what the contract and the real stage make of it.

A plain Starlette app that knows nothing of our faults: it stamps its ids, and in each of five
modes it answers in another way. Run as a program, it prints one line of JSON a mode.
"""

import json
import sys
import threading
from dataclasses import dataclass
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from contracts import ar_batch
from contracts.releases import NEWEST
from harness.consumers.ar_batch import ArBatch
from harness.oracle import Where, judge
from harness.outcome import Run
from harness.seams import SEAMS
from harness.upstream.hermetic import Hermetic
from harness.upstream.source import find
from simulators.stamp import StampReader, owner_number, stamped_ids

MODES = ("honest", "one row dropped", "error dict", "short row", "rows swapped")
DIMS = {"records": "3", "shape": "64x96", "entry": "grouped", "outputs": "1", "seeds": "int"}


@dataclass(frozen=True)
class Seen:
    """What was asked and answered, with the stamps that were used."""

    request: Any
    reply: Any
    sequences: dict[int | str, tuple[int, ...]]


class Provider:
    """The app, its mode, and the last exchange."""

    def __init__(self) -> None:
        self.mode = MODES[0]
        self.seen: Seen | None = None
        self.app = Starlette(routes=[Route("/generate", self.generate, methods=["POST"])])

    async def generate(self, request: Request) -> JSONResponse:
        asked = await request.json()
        rows = [
            stamped_ids(owner_number(prompt), 0, params["max_new_tokens"])
            for prompt, params in zip(asked["input_ids"], asked["sampling_params"], strict=True)
        ]
        reply = self.reply([self.item(p, r) for p, r in zip(asked["input_ids"], rows, strict=True)])
        self.seen = Seen(asked, reply, dict(enumerate(rows)))
        return JSONResponse(reply)

    def item(self, prompt: list[int], row: tuple[int, ...]) -> dict[str, Any]:
        usage = {"prompt_tokens": len(prompt), "completion_tokens": len(row), "cached_tokens": 0}
        return {"text": "", "output_ids": list(row), "meta_info": usage}

    def reply(self, items: list[dict[str, Any]]) -> Any:
        if self.mode == "one row dropped":
            return items[:1] + items[2:]
        if self.mode == "error dict":
            return {"error": {"message": "out of memory"}}
        if self.mode == "short row":
            items[1]["output_ids"] = items[1]["output_ids"][:100]
        if self.mode == "rows swapped":
            items[0], items[2] = items[2], items[0]
        return items


def main() -> None:
    provider = Provider()
    config = uvicorn.Config(provider.app, port=0, log_level="critical")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        thread.join(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    tree = find(NEWEST)
    stage = ArBatch(Hermetic(tree), SEAMS["ar-batch"].module(tree.release), "cpu")
    golden: Run | None = None
    for mode in MODES:
        provider.mode = mode
        run = stage.drive_against(f"http://127.0.0.1:{port}", DIMS, lambda: provider.seen)
        golden = golden or run
        seen = provider.seen
        assert seen is not None
        broken = list(ar_batch.check(seen.reply, seen.request, StampReader(seen.sequences)))
        reference = None if run is golden else golden.outcome
        judged = judge(broken, run.outcome, reference, Where(tree.release))
        clauses = list(dict.fromkeys(violation.clause.name for violation in broken))
        said = {"mode": mode, "clauses": clauses, "verdict": judged.verdict}
        print(json.dumps({**said, "detail": judged.detail}))
    stage.close()
    server.should_exit = True
    sys.stdout.flush()


if __name__ == "__main__":
    main()
