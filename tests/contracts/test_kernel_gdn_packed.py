"""The contract of kernel-gdn-packed, alone: a packed batch and a pool of states, by hand."""

from typing import Any

import pytest
import torch

from contracts import ending, kernel_gdn_packed
from contracts.clauses.packed_decode import CHECKED
from contracts.contract import Answer, Violation
from contracts.releases import RELEASES
from simulators.decode_batch import Batch, decode_reader, honest_decode, index_told

NAMES = ("mixed_qkv", "a", "b", "A_log", "dt_bias", "initial_state", "out", "scale")
ENTRIES = ("gdn", "kda", "helion")


def honest(entry: str) -> dict[str, Any]:
    """Return an honest payload of three requests."""
    batch = Batch(3, by_key=entry != "gdn")
    payload = honest_decode(batch)
    told = {name: payload.beside[name] for name in NAMES}
    return {**told, "ssm_state_indices": index_told(payload)}


def check(entry: str, **changed: Any) -> list[Violation]:
    """Return the violations of a payload with some of it changed."""
    request = {
        "entry": entry,
        "heads": 1,
        "scale": 0.25,
        "dtypes": {"out": "torch.float32", "initial_state": "torch.float32"},
    }
    read = decode_reader(Batch(3, by_key=entry != "gdn"))
    return list(kernel_gdn_packed.check({**honest(entry), **changed}, request, read))


def refusal(found: list[Violation], release: str = "0.5.23") -> str:
    """Return the text that a release refuses with, empty if it refuses nothing."""
    violation = ending(found, release)
    guard = violation.clause.guard(release) if violation is not None else None
    return violation.refusal(guard) if violation is not None and guard is not None else ""


def apart(tensor: torch.Tensor, dim: int) -> torch.Tensor:
    """Return a view of the same elements with others between them."""
    return tensor.repeat_interleave(2, dim).unflatten(dim, (-1, 2)).select(dim + 1, 0)


@pytest.mark.parametrize("entry", ENTRIES)
def test_an_honest_payload_breaks_nothing(entry: str) -> None:
    """Nor do rows, gates or slots with room between them."""
    told = honest(entry)
    rows = {name: apart(told[name], 0) for name in ("mixed_qkv", "a", "b", "initial_state")}

    assert check(entry) == []
    assert check(entry, **rows, ssm_state_indices=apart(told["ssm_state_indices"], 0)) == []


def lie(entry: str, name: str) -> dict[str, Any]:
    """Return a change of an entry's payload by its name."""
    told = honest(entry)
    rows, pool, out = told["mixed_qkv"], told["initial_state"], told["out"]
    wide = torch.cat([rows, rows, rows], 1)
    every: dict[str, dict[str, Any]] = {
        "rows deep": {"mixed_qkv": rows[:, None]},
        "rows apart": {"mixed_qkv": apart(rows, 1)},
        "a flat": {"a": told["a"].flatten()},
        "b apart": {"b": apart(told["b"], 1)},
        "rates deep": {"A_log": told["A_log"][None]},
        "biases apart": {"dt_bias": apart(told["dt_bias"], 0)},
        "slots deep": {"ssm_state_indices": told["ssm_state_indices"][:, None]},
        "out apart": {"out": apart(out, 0)},
        "b elsewhere": {"b": told["b"].to("meta")},
        "b of two": {"b": told["b"][:2]},
        "two slots": {"ssm_state_indices": told["ssm_state_indices"][:2]},
        "pool flat": {"initial_state": pool.flatten(1, 2)},
        "pool apart": {"initial_state": apart(pool, 3)},
        "out of two": {"out": out[:2]},
        "no queries": {"mixed_qkv": rows[:, :32].contiguous()},
        "odd": {"mixed_qkv": wide[:, :65].contiguous()},
        "two more": {"mixed_qkv": wide[:, :66].contiguous()},
        "three heads": {"mixed_qkv": wide[:, :128].contiguous()},
        "wide a": {"a": torch.cat([told["a"], told["a"]], 1)},
        "wide b": {"b": torch.cat([told["b"], told["b"]], 1)},
        "long rates": {"A_log": told["A_log"].repeat(2)},
        "long biases": {"dt_bias": told["dt_bias"].repeat(2)},
        "fifteen keys": {"initial_state": pool[..., :15].contiguous()},
    }
    return every[name]


TEXTS = {
    "rows deep": "`mixed_qkv` must be a 2D tensor (got ndim=3).",
    "rows apart": "`mixed_qkv` must be contiguous in the last dim.",
    "a flat": "`a` and `b` must be 2D tensors (got a.ndim=1, b.ndim=2).",
    "b apart": "`a`/`b` must be contiguous in the last dim.",
    "rates deep": "`A_log`/`dt_bias` must be 1D tensors.",
    "biases apart": "`A_log`/`dt_bias` must be contiguous.",
    "slots deep": "`ssm_state_indices` must be 1D for packed decode (got ndim=2).",
    "out apart": "`out` must be contiguous.",
    "b elsewhere": "All inputs must be on the same device.",
    "b of two": "Mismatched batch sizes: mixed_qkv.shape[0]=3, a.shape[0]=3, b.shape[0]=2.",
    "two slots": "`ssm_state_indices` must have shape [B] (got (2,); expected (3,)).",
    "pool flat": "`initial_state` must be a 4D tensor (got ndim=3).",
    "pool apart": "`initial_state` must be contiguous in the last dim.",
    "out of two": "`out` must have shape (3, 1, 2, 16) (got out.shape=(2, 1, 2, 16)).",
    "no queries": "Invalid packed `mixed_qkv` last dim=32 for HV=2, V=16.",
    "odd": "Invalid packed `mixed_qkv` last dim=65 for HV=2, V=16.",
    "two more": "Invalid packed Q size 17: must be divisible by K=16.",
    "three heads": "Invalid head config inferred from mixed_qkv: H=3, HV=2.",
}
OF_GDN = {
    "wide a": "`a`/`b` must have shape [B, HV] with HV=2 (got a.shape=(3, 4), b.shape=(3, 2)).",
    "long biases": "`A_log` and `dt_bias` must have 2 elements "
    "(got A_log.numel()=2, dt_bias.numel()=4).",
    "fifteen keys": "Invalid packed Q size 16: must be divisible by K=15.",
}
BY_KEY = {
    "wide a": "`a` must have shape [B, HV*K] with HV=2, K=16 (got a.shape=(3, 64)).",
    "wide b": "`b` must have shape [B, HV] with HV=2 (got b.shape=(3, 4)).",
    "long rates": "`A_log` must have 2 elements (got 4).",
    "long biases": "`dt_bias` must have 32 elements (got 64).",
}


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("entry", ENTRIES)
def test_every_entry_refuses_it_in_the_same_words(entry: str, name: str) -> None:
    """With the numbers."""
    assert refusal(check(entry, **lie(entry, name))) == TEXTS[name]


@pytest.mark.parametrize("entry", ENTRIES)
def test_an_entry_has_words_of_its_own(entry: str) -> None:
    """Where its gates are others."""
    for name, text in (OF_GDN if entry == "gdn" else BY_KEY).items():
        assert refusal(check(entry, **lie(entry, name))) == text


def test_helion_asks_for_powers_of_two_since_0_5_19() -> None:
    """And is checked at all since 0.5.18."""
    found = check("helion", **lie("helion", "fifteen keys"))

    assert refusal(found).endswith("(got K=15, V=16).")
    assert refusal(found, "0.5.18").startswith("`a` must have shape")
    assert refusal(found, "0.5.17") == ""


@pytest.mark.parametrize("release", RELEASES)
def test_the_other_entries_check_in_every_release(release: str) -> None:
    """All the same."""
    for entry in ("gdn", "kda"):
        for name, text in TEXTS.items():
            assert refusal(check(entry, **lie(entry, name)), release) == text


@pytest.mark.parametrize("release", RELEASES)
def test_slots_and_states_are_nobodys_business(release: str) -> None:
    """Any slot is followed, and room between heads is not seen."""
    slots = [([5, 3, 1], "state-identity"), ([1, 3, 7], "slot-within"), ([1, 1, 5], "slot-once")]
    for told, clause in slots:
        found = check("gdn", ssm_state_indices=torch.tensor(told))
        assert found[0].clause.name == clause
        assert ending(found, release) is None
    pool = honest("gdn")["initial_state"]
    (found_gap,) = check("gdn", initial_state=apart(pool, 1))
    assert found_gap.clause.name == "heads-together"
    assert ending([found_gap], release) is None


@pytest.mark.parametrize(
    ("changed", "clause"),
    [
        ({"scale": 0.0}, "scale-asked"),
        ({"out": torch.zeros(3, 1, 2, 16).half()}, "dtypes-asked"),
    ],
)
def test_what_was_asked_for_is_compared(changed: dict[str, Any], clause: str) -> None:
    """Upstream does not."""
    (found,) = check("kda", **changed)

    assert (found.clause.name, ending([found], "0.5.23")) == (clause, None)


def test_rows_in_another_order_are_told() -> None:
    """By their stamps."""
    found = check("gdn", mixed_qkv=honest("gdn")["mixed_qkv"].flip(0))

    assert [v.clause.name for v in found] == ["row-identity"] * 2
    assert (found[0].expected, found[0].actual) == ("request 0", "request 2")


def test_one_block_always_holds_all_keys() -> None:
    """Its check stands in upstream, and no call can come to it."""
    for clause in kernel_gdn_packed.ONE_BLOCK.values():
        assert clause.guard("0.5.23") is None
        assert clause.dead_guard("0.5.23") is not None


def test_every_check_has_a_name_of_its_own() -> None:
    """Its entry's behind it."""
    names = [clause.name for clause in CHECKED]

    assert len(names) == len(set(names))
    assert {name.rpartition("-")[2] for name in names} == set(ENTRIES)


def test_without_a_reader_identity_is_unchecked() -> None:
    """And whoever asks is told."""
    request = {"entry": "gdn", "heads": 1, "scale": 0.25, "dtypes": {}}
    said = kernel_gdn_packed.answers(honest("gdn"), request)

    assert said["row-identity"] is said["state-identity"] is Answer.UNCHECKED
