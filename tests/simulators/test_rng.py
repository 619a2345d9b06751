"""Random streams: one for each use, all from one seed."""

from simulators.rng import stream


def test_equal_labels_give_equal_streams() -> None:
    """A run can be replayed from its seed."""
    assert stream(7, "fault", 3).random() == stream(7, "fault", 3).random()


def test_other_seeds_and_labels_give_other_streams() -> None:
    """Uses do not disturb each other, and labels do not run together."""
    firsts = {stream(*labels).random() for labels in ((7, "a", "b"), (7, "ab"), (8, "a", "b"))}

    assert len(firsts) == 3
