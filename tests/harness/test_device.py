"""Where tensors live and kernels run: what each choice comes to, with and without a card."""

import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from harness import device
from harness.cli import app
from harness.device import CUDA, INTERPRETER, NATIVE, Device, choose
from harness.errors import UsageError
from harness.pool import PRELOADED


@pytest.fixture
def no_card(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine on which torch sees no card."""
    monkeypatch.setattr(device, "card_name", lambda: "")


@pytest.fixture
def card(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine on which torch sees a card."""
    monkeypatch.setattr(device, "card_name", lambda: "a card")


@pytest.mark.usefixtures("no_card")
def test_without_a_card_all_is_on_the_cpu_and_kernels_are_interpreted() -> None:
    """Whatever is chosen; a card cannot be had by asking for it."""
    for choice in ("auto", "cpu", "interpreter"):
        assert (choose(choice).tensors, choose(choice).kernels) == ("cpu", INTERPRETER)
    with pytest.raises(UsageError, match="--device cuda: torch sees no CUDA device"):
        choose("cuda")


@pytest.mark.usefixtures("card")
def test_with_a_card_the_choice_decides() -> None:
    """The reason names the card."""
    assert choose("auto") == choose("cuda") == Device(CUDA, NATIVE, "torch sees a card")
    assert choose("interpreter") == Device(CUDA, INTERPRETER, "torch sees a card")
    assert (choose("cpu").tensors, choose("cpu").kernels) == ("cpu", INTERPRETER)


def test_an_unknown_choice_says_what_there_is() -> None:
    """And names what was asked for."""
    with pytest.raises(UsageError, match="--device tpu: there is auto, cpu, interpreter, cuda"):
        choose("tpu")


def test_a_kernels_tensors_are_on_the_cpu_where_it_is_interpreted() -> None:
    """Those of other seams are where they were."""
    mixed = Device(CUDA, INTERPRETER, "a card")

    assert [mixed.of(is_kernel) for is_kernel in (True, False)] == ["cpu", "cuda"]
    assert [mixed.interprets(is_kernel) for is_kernel in (True, False)] == [True, False]
    assert Device(CUDA, NATIVE, "a card").of(True) == "cuda"


def test_a_machine_without_a_driver_is_asked_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Torch takes seconds to say what a missing driver says at once."""
    monkeypatch.setattr(device, "_DRIVERS", ("/nowhere/at/all",))
    monkeypatch.setattr(subprocess, "run", lambda *args, **kwargs: pytest.fail("torch was asked"))
    device.card_name.cache_clear()

    assert device.card_name() == ""
    device.card_name.cache_clear()


def test_no_worker_has_triton_before_it_knows_whether_to_interpret() -> None:
    """Triton's own kernels are decorated as it is imported, and then it is too late."""
    code = (
        "import importlib, sys\n"
        f"for name in {PRELOADED!r}: importlib.import_module(name)\n"
        "print('triton' in sys.modules)"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert said.stdout.strip() == "False"


@pytest.mark.usefixtures("no_card")
def test_a_report_says_what_ran_where_and_why() -> None:
    """In JSON, of a check and of one case."""
    line = "ar-split noop records=1 shape=64x96"
    for words in (["check", "--seam", "ar-row-broadcast"], ["run", line]):
        said = json.loads(CliRunner().invoke(app, [*words, "--format", "json"]).stdout)
        where = (said["device"], said["kernels"], said["device_why"])
        assert where == ("cpu", INTERPRETER, "torch sees no CUDA device")
