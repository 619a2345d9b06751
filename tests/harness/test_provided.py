"""A provided object that is known to lack members says so as the real one does."""

from collections.abc import Iterator

import pytest

from harness.upstream.touches import LEDGER, NotProvided, Provided, without


@pytest.fixture(autouse=True)
def ledger() -> Iterator[None]:
    """Leave nothing in the ledger."""
    LEDGER.take()
    yield
    LEDGER.take()


def test_what_is_known_to_be_missing_is_an_attribute_error() -> None:
    """`getattr` with a default answers it, as it does for the real object; no touch is written."""
    batch = without(Provided("the batch", enabled=True), {"splits"})

    assert batch.enabled is True
    assert getattr(batch, "splits", None) is None
    assert not hasattr(batch, "splits")
    assert LEDGER.take() == []


def test_what_is_not_known_to_be_missing_is_still_a_touch() -> None:
    """Another name, and the same name of another object."""
    batch, other = without(Provided("the batch"), {"splits"}), Provided("another batch")

    for one, name in ((batch, "rows"), (other, "splits")):
        with pytest.raises(NotProvided, match=rf"batch\.{name} was reached \(not provided\)"):
            getattr(one, name, None)
    assert len(LEDGER.take()) == 2
