"""A packed batch: honest first, and whose state each token was made of."""

import pytest
import torch

from contracts import kernel_gdn_packed
from contracts.contract import Origin
from simulators.decode_batch import (
    SKIPPED,
    Batch,
    decode_reader,
    decode_runs,
    honest_decode,
    index_told,
)
from simulators.faults import FAULTS
from simulators.rng import stream
from simulators.state_runs import NO_STATE

NAMES = ("mixed_qkv", "a", "b", "A_log", "dt_bias", "initial_state", "out", "scale")
BATCHES = [Batch(3), Batch(1, 2, 6, 32, 16), Batch(4, by_key=True)]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("batch", BATCHES, ids=str)
def test_an_honest_payload_breaks_nothing(batch: Batch, dtype: str) -> None:
    """At the entry that it is made for."""
    payload = honest_decode(batch, dtype)
    told = {name: payload.beside[name] for name in NAMES}
    dtypes = {"out": f"torch.{dtype}", "initial_state": "torch.float32"}
    for entry in ("kda", "helion") if batch.by_key else ("gdn",):
        request = {
            "entry": entry, "heads": batch.heads, "scale": batch.keys**-0.5, "dtypes": dtypes,
        }  # fmt: skip
        slots = {"ssm_state_indices": index_told(payload)}

        found = kernel_gdn_packed.check(told | slots, request, decode_reader(batch))

        assert list(found) == []


@pytest.mark.parametrize("is_normalised", [False, True])
@pytest.mark.parametrize("batch", BATCHES, ids=str)
def test_each_request_with_each_state_reads_another_token(
    batch: Batch, is_normalised: bool
) -> None:
    """And leaves another state; a token of zeros is that of a skipped request."""
    known = decode_runs(batch, honest_decode(batch), is_normalised)
    zeros = torch.zeros(batch.value_heads, batch.values)
    kept = [i for i, o in enumerate(known.outputs.origins) if NO_STATE not in str(o.owner)]
    far = known.outputs.values[kept].flatten(1)
    nearest = torch.cdist(far, far, p=float("inf")) + torch.eye(len(far)) * 9

    assert float(nearest.min()) > 2 * 4e-3
    assert known.states.apart() > 1e-2
    assert known.outputs.origin(zeros, 1e-9) == SKIPPED


def test_the_reader_tells_rows_and_states_of_another_batch() -> None:
    """From ours, in 16 bits too."""
    batch = Batch(2)
    payload = honest_decode(batch, "float16")
    read = decode_reader(batch)

    assert read(payload.beside["mixed_qkv"])[1] == Origin("request 1", 0)
    assert read(payload.beside["others"])[1] == Origin("another batch's request", 0)
    assert read(payload.beside["initial_state"])[:2] == [
        Origin("another batch's state 0", 0), Origin("request 0's state", 0),
    ]  # fmt: skip
    assert read(payload.beside["mixed_qkv"] + 1) == [None, None]


@pytest.mark.parametrize(
    ("name", "tensor", "shape"),
    [
        ("gdn-qkv-row-less", "mixed_qkv", (2, 64)),
        ("gdn-qkv-row-more", "mixed_qkv", (4, 64)),
        ("gdn-qkv-deep", "mixed_qkv", (3, 1, 64)),
        ("gdn-qkv-column-more", "mixed_qkv", (3, 65)),
        ("gdn-qkv-two-columns-more", "mixed_qkv", (3, 66)),
        ("gdn-qkv-head-more", "mixed_qkv", (3, 96)),
        ("gdn-qkv-two-heads-more", "mixed_qkv", (3, 128)),
        ("gdn-qkv-no-queries", "mixed_qkv", (3, 32)),
        ("gdn-a-row-less", "a", (2, 2)),
        ("gdn-b-wider", "b", (3, 3)),
        ("gdn-a-flat", "a", (6,)),
        ("gdn-rate-longer", "A_log", (3,)),
        ("gdn-bias-deep", "dt_bias", (1, 2)),
        ("gdn-out-flat", "out", (3, 2, 16)),
        ("gdn-pool-flat", "initial_state", (7, 32, 16)),
        ("gdn-pool-key-less", "initial_state", (7, 2, 16, 15)),
    ],
)
def test_one_tensor_changes_as_the_picture_says(
    name: str, tensor: str, shape: tuple[int, ...]
) -> None:
    """And no other one."""
    honest = honest_decode(Batch(3))
    changed = FAULTS[name].change(honest, (), stream(0))

    assert tuple(changed.beside[tensor].shape) == shape
    others = [key for key in honest.beside if key != tensor]
    assert all(changed.beside[key] is honest.beside[key] for key in others)


@pytest.mark.parametrize(
    ("name", "tensor"),
    [
        ("gdn-qkv-apart", "mixed_qkv"),
        ("gdn-qkv-rows-apart", "mixed_qkv"),
        ("gdn-b-apart", "b"),
        ("gdn-a-rows-apart", "a"),
        ("gdn-rate-apart", "A_log"),
        ("gdn-out-apart", "out"),
        ("gdn-pool-keys-apart", "initial_state"),
        ("gdn-pool-heads-apart", "initial_state"),
        ("gdn-pool-slots-apart", "initial_state"),
    ],
)
def test_a_view_with_gaps_holds_the_same(name: str, tensor: str) -> None:
    """Only strides differ."""
    honest = honest_decode(Batch(3))
    changed = FAULTS[name].change(honest, (), stream(0)).beside[tensor]

    assert torch.equal(changed.nan_to_num(-1), honest.beside[tensor].nan_to_num(-1))
    assert changed.stride() != honest.beside[tensor].stride()


def test_slots_are_told_in_other_forms() -> None:
    """One that there is not is said."""
    honest = honest_decode(Batch(2))
    told = {
        name: index_told(FAULTS[f"gdn-index-{name}"].change(honest, (), stream(0)))
        for name in ("column", "apart", "int32", "elsewhere")
    }

    assert told["column"].tolist() == [[1], [3]]
    assert (told["apart"].tolist(), told["apart"].stride()) == ([1, 3], (2,))
    assert str(told["int32"].dtype) == "torch.int32"
    assert told["elsewhere"].is_meta
    wrong = type(honest)(honest.form, (1,), (0,), honest.beside | {"index_form": "round"})
    with pytest.raises(ValueError, match="round"):
        index_told(wrong)
