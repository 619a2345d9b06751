"""An encoder of upstream's with upstream's own preprocessor behind it, and a simulated processor.

Provided, by name: what the image processor returns, its merge size, the model (a row for each
group of patches), and what `harness.consumers.encoder_server` lists.
"""

from collections.abc import Callable
from typing import Any

import torch

from harness.consumers.encoder_server import EncoderServer
from harness.upstream.touches import Provided, without
from simulators.processed_media import modelled_rows


def modelled(items: Any) -> torch.Tensor:
    """Return the rows that the model makes of media items."""
    return modelled_rows(torch.cat([item.feature for item in items]))


def processing_encoder(
    server: EncoderServer, processed: Callable[[], Any], merge_size: int | None, cache: Any = None
) -> Any:
    """Return an encoder whose image processor gives an output.

    Args:
        server: The release's server.
        processed: Returns the processor's output.
        merge_size: The size that the processor says, if it says one.
        cache: The prefix cache, if it is on.
    """
    encoder = server.bare(modelled, cache)
    processor = without(Provided("the image processor"), ("merge_size",))
    if merge_size is not None:
        processor = Provided("the image processor", merge_size=merge_size)

    async def process(items: Any, *rest: Any, **more: Any) -> Any:
        return processed()

    if not server.splits_preprocessor:

        async def process_both(items: Any, asked: Any, log_metrics: bool = True) -> Any:
            return processed(), modelled

        encoder._process_mm_items, encoder.image_processor = process_both, processor
        return encoder
    preprocessor = object.__new__(server.module.EncoderPreprocessor)
    preprocessor.model_type, preprocessor._model_preprocessor = encoder.model_type, None
    preprocessor.image_processor = processor
    preprocessor._process_image_items = process
    encoder.preprocessor = preprocessor
    return encoder
