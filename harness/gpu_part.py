"""One part of the check of a card: what it was asked, and what became of it."""

from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Part:
    """What became of one part."""

    name: str
    #: `fit`, `unfit`, `inconclusive` (it did not come to its end) or `unavailable` (known before).
    state: str
    cases: int = 0
    said: list[str] = field(default_factory=list)
    figures: dict[str, object] = field(default_factory=dict)
    seconds: float = 0.0


@dataclass(frozen=True)
class Asked:
    """What the command line asks for."""

    out: Path
    device: str
    small: bool
    source: str | None
    sanitizer: bool = False

    @property
    def torch_device(self) -> str:
        """Where tensors lie: the interpreter reads those of the CPU."""
        return "cuda" if self.device == "cuda" else "cpu"
