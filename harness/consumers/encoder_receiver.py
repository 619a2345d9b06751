"""The receiver of an encoder's parts, loaded from upstream, and parts as it knows them.

Loaded for real beside it: the safe unpickler's module, and those that define the modality. So
nothing is provided for the parts themselves.
"""

from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any

import torch

from contracts.contract import Origin
from harness.consumers.consumer import Output, spans
from harness.outcome import Passed, Span, Whose
from harness.upstream.loading import Needs, Upstream
from simulators.embedding_parts import OTHER, REQUEST, grids, modalities, owner_name, reader
from simulators.part_rows import WIDTH
from simulators.payload import Payload

_SRT = "sglang.srt"
#: What the receiver stands on, as far as a release has it.
_REAL = (
    f"{_SRT}.utils.common",
    f"{_SRT}.multimodal.modality",
    f"{_SRT}.managers.schedule_batch",
)
_META = {"IMAGE": "img_grid_thw", "VIDEO": "video_grid_thw", "AUDIO": "audio_feature_lens"}


def load_with_modality(upstream: Upstream, module: str) -> ModuleType:
    """Return a module of upstream's that knows the modality and reads pickled parts."""
    real = [name for name in _REAL if upstream.tree.file_of(name)]
    return upstream.load(Needs(module, real=real))


def part_of(receiver: ModuleType, record: Mapping[str, Any], request_id: str) -> Any:
    """Return a part as upstream's object, or as the plain dict that a fault makes of it."""
    name = record["modality"]
    known = name is not None and not record["as_text"]
    fields = {
        "req_id": request_id,
        "num_parts": record["num_parts"],
        "part_idx": record["part_idx"],
        "grid_dim": record["grid"],
        "modality": receiver.Modality[name] if known else name,
        "embedding": record["embedding"],
        "embedding_shape": record["shape"],
        "error_msg": record["error"],
    }
    return receiver.EmbeddingData(**fields) if record["kind"] == "EmbeddingData" else fields


def passed_parts(payload: Payload, dims: Mapping[str, str]) -> Passed:
    """Return the parts that pass, and what was asked for."""
    count, modality = int(dims["records"]), dims["modality"]
    request = {
        "request": REQUEST,
        "modalities": modalities(count, modality),
        "grids": grids(count, modality),
        "width": WIDTH,
        "dtype": f"torch.{dims['dtype']}",
    }
    return Passed(list(payload.records), request, reader())


def read_embeddings(
    embeddings: Mapping[Any, torch.Tensor] | None,
    meta: Mapping[str, Any],
    passed: Passed,
    honest: Payload,
) -> Output:
    """Return whose rows stand where in the joined embeddings; None where none were joined."""
    facts: dict[str, str] = {"state": "waits" if embeddings is None else "whole"}
    found: list[Span] = []
    joined = {modality.name: rows for modality, rows in (embeddings or {}).items()}
    names = passed.request["modalities"]
    for name in sorted({*names, *joined}):
        place = REQUEST if {*names, *joined} == {name} else owner_name(REQUEST, name)
        count = sum(len(r["embedding"]) for r in honest.records if r["modality"] == name)
        found += _of_modality(name, joined.get(name), count, passed, place)
        owner = owner_name(REQUEST, name)
        facts[f"the grid of {owner}"] = _listed(meta.get(_META[name]))
        facts[f"the count of {owner}"] = str(len(joined[name])) if name in joined else "none"
        facts[f"the form of {owner}"] = _form(joined.get(name))
    return Output(tuple(found), facts, [list(joined.values()), dict(meta)])


def _of_modality(
    name: str, rows: torch.Tensor | None, count: int, passed: Passed, place: str
) -> tuple[Span, ...]:
    wants = [Whose(REQUEST, position) for position in range(count)]
    read = passed.owner_of
    assert read is not None
    origins: Sequence[Origin | None] = [] if rows is None else read(rows.tolist())
    has = [None if o is None else Whose(_short(o, name), o.position) for o in origins]
    return spans(place, wants, has, unit=f"{name.lower()} rows")


def _short(origin: Origin, modality: str) -> str:
    # Rows of the modality that they stand in are named by their request alone.
    for request in (REQUEST, OTHER):
        if origin.owner == owner_name(request, modality):
            return request
    return str(origin.owner)


def _listed(grid: Any) -> str:
    return "none" if grid is None else str(grid.tolist())


def _form(rows: torch.Tensor | None) -> str:
    return "none" if rows is None else f"{tuple(rows.shape[1:])}, {rows.dtype}"
