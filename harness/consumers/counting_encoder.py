"""An encoder of upstream's with upstream's own count of tokens, for a model and a medium.

Provided, by name: what the preprocessor's step for the medium returns, the image processor's merge
size, Kimi's merge kernel, the model (its rows), and what `harness.consumers.encoder_server` lists.
Features are honest in number: what the model makes of them is not read from them.
"""

import importlib
from collections.abc import Mapping
from typing import Any

import torch

from harness.consumers.encoder_server import EncoderServer
from harness.upstream.touches import Provided, without
from simulators.counted_media import FEATURES_AS, MODELS, grid_of, made_rows, told_fields
from simulators.payload import Payload

#: Where items that a model's preprocessor keeps apart are made.
_KEPT_APART = "sglang.srt.multimodal.encoder_preprocessing"
#: Columns of a patch, and rows and columns of a sound's features.
_WIDTH, _MELS, _FRAMES = 2, 2, 4


def counting_encoder(server: EncoderServer, payload: Payload, model: str, medium: str) -> Any:
    """Return an encoder whose preprocessor tells a payload, and whose model makes its rows.

    Args:
        server: The release's server.
        payload: What is told, and the rules by which rows are made.
        model: The model's true type; the server is told the payload's.
        medium: image, video or audio.
    """
    rows = made_rows(payload).to(server.device)
    encoder = server.bare(lambda items: rows, medium=medium)
    encoder.model_type = payload.beside["model"]
    processor = without(Provided("the image processor"), ("merge_size",))
    if payload.beside["merge_size"] is not None:
        processor = Provided("the image processor", merge_size=payload.beside["merge_size"])
    vision = Provided("the vision config", merge_kernel_size=payload.beside["kernel"])
    config = Provided("the model config", hf_config=Provided("hf_config", vision_config=vision))

    def processed() -> Any:
        return _processed(server, payload, model, medium)

    if not server.splits_preprocessor:

        async def process_both(items: Any, asked: Any, log_metrics: bool = True) -> Any:
            return processed(), lambda found: rows

        encoder._process_mm_items, encoder.image_processor = process_both, processor
        encoder.model_config = config
        return encoder

    async def process(items: Any, *rest: Any, **more: Any) -> Any:
        return processed()

    preprocessor = object.__new__(server.module.EncoderPreprocessor)
    preprocessor.model_type, preprocessor._model_preprocessor = encoder.model_type, None
    preprocessor.image_processor, preprocessor.model_config = processor, config
    setattr(preprocessor, f"_process_{medium}_items", process)
    encoder.preprocessor = preprocessor
    return encoder


def _processed(server: EncoderServer, payload: Payload, model: str, medium: str) -> Any:
    features = _features(payload, model, medium)
    fields: Mapping[str, Any] = {FEATURES_AS[medium]: features, **told_fields(payload)}
    if MODELS[model].features != "apart":
        return dict(fields)
    module = server.module
    items = [
        module.MultimodalDataItem(modality=module.Modality[medium.upper()], feature=feature)
        for feature in features
    ]
    return importlib.import_module(_KEPT_APART).EncoderPreprocessOutput(fields, mm_items=items)


def _features(payload: Payload, model: str, medium: str) -> Any:
    kind = MODELS[model]
    if medium == "audio":
        each = [torch.zeros(_MELS, _FRAMES) for _ in payload.records]
        return torch.stack(each) if kind.features == "joined" else each
    patches = [torch.Size(grid_of(item.raw, kind.rules)).numel() for item in payload.records]
    pixels = [torch.zeros(count, _WIDTH) for count in patches]
    return pixels if kind.features == "apart" else torch.cat(pixels)
