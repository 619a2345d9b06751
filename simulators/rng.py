"""The only maker of randomness: one labelled stream for each use, all from one seed."""

import hashlib
import random


def stream(seed: int, *labels: object) -> random.Random:
    """Return the random stream of one use; equal seed and labels give equal streams.

    Args:
        seed: The run's seed.
        labels: What the stream is for, from coarse to fine: `("fault", "ar-batch", 3)`.
    """
    text = "\x1f".join([str(seed), *map(str, labels)])
    digest = hashlib.blake2b(text.encode(), digest_size=16).digest()
    return random.Random(int.from_bytes(digest, "big"))
