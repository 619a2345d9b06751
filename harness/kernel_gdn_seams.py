"""Rows of the table of seams: upstream's kernels of the gated delta rule.

`harness.seams` is the table; from a row every file is one hop. Triton's interpreter runs what its
calibration trusts it with; the kernels of `chunk` it does not, and the consumer bars them.
"""

from collections.abc import Mapping

from contracts.releases import Span
from harness.device import Device
from harness.kernels.trust import lacks
from harness.seam import Dim, Seam, Space, one_of, whole_number
from simulators.payload import DECODE, STATES

_FUSED = "sglang.kernels.ops.attention.fla.fused_recurrent"
_MOST_SEQUENCES, _MOST_TOKENS = 4, 8
_HEAD_SIZES = one_of("16", "32", "64")

_HEADS = Dim("heads of queries and keys, 1 to 4", whole_number(1, 4), "1")
_SHARED = Dim("value heads for each of them, 1 to 4", whole_number(1, 4), "1")
_KEYS = Dim("keys of a head: 16, 32 or 64", _HEAD_SIZES, "16")
_VALUES = Dim("values of a head: 16, 32 or 64", _HEAD_SIZES, "16")
_DTYPE = Dim("float32, float16 or bfloat16", one_of("float32", "float16", "bfloat16"), "float32")
_NORM = Dim("none or l2: queries and keys are made of length 1", one_of("none", "l2"), "none")


def _lengths(value: str) -> bool:
    lengths = value.split(",")
    return len(lengths) <= _MOST_SEQUENCES and all(
        length.isdecimal() and int(length) <= _MOST_TOKENS for length in lengths
    )


_LENGTHS = Dim("tokens of each of 1 to 4 sequences, 0 to 8: 2,4", _lengths)


def _sequences(dims: Mapping[str, str]) -> int:
    return len(dims["lengths"].split(","))


def _states_misfit(dims: Mapping[str, str]) -> str:
    if dims["entry"] == "chunk" and dims["dtype"] == "float32":
        return "entry=chunk takes no dtype=float32"
    return "" if set(dims["lengths"]) - set("0,") else "lengths= has no tokens"


def _lacks_arithmetic(dims: Mapping[str, str], device: Device) -> str:
    dtype = dims["dtype"]
    needs = [f"move {dtype}", f"masked load {dtype}", f"cast {dtype}"]
    computed = ("add", "mul", "reduction", "exp")
    return lacks(device, [*needs, *(f"{operation} float32" for operation in computed)])


def _lacks_loops(dims: Mapping[str, str], device: Device) -> str:
    # Over the tokens of a sequence, whose number is loaded.
    return _lacks_arithmetic(dims, device) or lacks(device, ["loop of a loaded number int64"])


#: Scopes of the faults of both fused entries.
_OF_EACH = ("records", "starts", "batch", "scale")
_TWO_LIES = (
    (("gdn-batch-of-two", ()), ("gdn-starts-none", ())),
    (("gdn-batch-of-two", ()), ("omission", (0,))),
    (("omission", (0,)), ("gdn-scale-zero", ())),
    (("omission", (1,)), ("gdn-start-missing", (1,))),
    (("omission", (0,)), ("gdn-start-missing", (1,))),
    (("reordering", (0, 1)), ("gdn-state-stale", (0,))),
)

#: Faults that a check refuses: where a kernel is barred, others show nothing.
_CHECKED = (
    "omission", "duplication-extra", "gdn-qkv-row-less", "gdn-qkv-row-more", "gdn-qkv-deep",
    "gdn-qkv-apart", "gdn-qkv-column-more", "gdn-qkv-two-*", "gdn-qkv-no-queries", "gdn-a-*",
    "gdn-b-*", "gdn-rate-*", "gdn-bias-*", "gdn-index-column", "gdn-index-elsewhere", "gdn-out-*",
    "gdn-pool-flat", "gdn-pool-keys-apart", "gdn-pool-*-less",
)  # fmt: skip
_TWO_OF_A_BATCH = (
    (("omission", (0,)), ("gdn-a-row-less", ())),
    (("gdn-qkv-row-less", ()), ("omission", (2,))),
    (("gdn-qkv-deep", ()), ("gdn-out-flat", ())),
    (("reordering", (0, 2)), ("gdn-qkv-rows-swapped", ())),
    (("gdn-index-next", (0,)), ("gdn-index-negative", (1,))),
)


def _packed_misfit(dims: Mapping[str, str]) -> str:
    fused = dims["entry"] == "kda" and dims["norm"] == "l2"
    return "entry=kda norm=l2 takes a kernel of CUDA" if fused else ""


KERNEL_GDN_SEAMS = (
    Seam(
        name="kernel-gdn-states",
        consumer="harness.consumers.kernel_gdn_states:KernelGdnStates",
        forms=(STATES,),
        modules=((Span(), _FUSED),),
        symbol="fused_recurrent_gated_delta_rule",
        dims={
            "lengths": _LENGTHS,
            "entry": Dim(
                "recurrent, update or chunk", one_of("recurrent", "update", "chunk"), "recurrent"
            ),
            "heads": _HEADS,
            "shared": _SHARED,
            "keys": _KEYS,
            "values": _VALUES,
            "dtype": _DTYPE,
            "norm": _NORM,
        },
        spaces=(
            Space({"lengths": ("2,3",)}, scopes=_OF_EACH, composites=_TWO_LIES),
            Space(
                {"lengths": ("2,3",), "entry": ("recurrent", "update"), "shared": ("2",)},
                scopes=("states",),
            ),
            Space({"lengths": ("2,3",)}, scopes=("deep",)),
            Space({"lengths": ("2,1,2",)}, scopes=("records", "starts")),
            Space(
                {"lengths": ("2,3",), "entry": ("update",)},
                scopes=(*_OF_EACH, "slots", "told", "places", "nowhere"),
                composites=_TWO_LIES,
            ),
            Space({"lengths": ("2,1,2",), "entry": ("update",)}, scopes=("records", "slots")),
            Space(
                {"lengths": ("2,3",), "entry": ("chunk",), "dtype": ("bfloat16",)},
                scopes=("records", "batch", "tokens"),
                composites=_TWO_LIES[1:2],
            ),
            Space(
                {
                    "lengths": ("1", "2,0,3", "1,1,1,1"),
                    "entry": ("recurrent", "update"),
                    "norm": ("none", "l2"),
                },
                faults=("noop",),
            ),
            Space(
                {
                    "lengths": ("2,3",),
                    "entry": ("recurrent", "update"),
                    "dtype": ("float16", "bfloat16"),
                },
                faults=("noop", "reordering", "substitution"),
                every_place=False,
            ),
            Space(
                {
                    "lengths": ("1,2",),
                    "entry": ("recurrent", "update"),
                    "heads": ("1", "2"),
                    "shared": ("1", "3"),
                    "keys": ("32",),
                },
                faults=("noop", "reordering", "gdn-states-turned"),
            ),
        ),
        count=_sequences,
        misfit=_states_misfit,
        lacks=_lacks_loops,
        kernel=True,
    ),
    Seam(
        name="kernel-gdn-packed",
        consumer="harness.consumers.kernel_gdn_packed:KernelGdnPacked",
        forms=(DECODE,),
        modules=((Span(), _FUSED),),
        symbol="fused_recurrent_gated_delta_rule_packed_decode",
        dims={
            "records": Dim("a count of requests, 1 to 8", whole_number(1, 8), "3"),
            "entry": Dim("gdn, kda or helion", one_of("gdn", "kda", "helion"), "gdn"),
            "heads": _HEADS,
            "shared": Dim(_SHARED.meaning, _SHARED.accepts, "2"),
            "keys": _KEYS,
            "values": _VALUES,
            "dtype": _DTYPE,
            "norm": _NORM,
        },
        spaces=(
            Space({"entry": ("gdn", "kda")}, composites=_TWO_OF_A_BATCH),
            Space(
                {"entry": ("helion",)},
                faults=_CHECKED,
                without=("gdn-*-rows-apart", "gdn-out-half"),
                every_place=False,
            ),
            Space(
                {"records": ("1", "4"), "entry": ("gdn", "kda")},
                scopes=("records",),
                every_place=False,
            ),
            Space({"records": ("2",), "norm": ("l2",)}, scopes=("records", "index")),
            Space(
                {
                    "records": ("2",),
                    "entry": ("gdn", "kda"),
                    "heads": ("1", "2"),
                    "shared": ("1", "3"),
                    "keys": ("32",),
                },
                faults=("noop", "gdn-pool-turned"),
            ),
            Space(
                {"records": ("2",), "entry": ("gdn", "kda"), "dtype": ("float16", "bfloat16")},
                faults=("noop", "reordering", "substitution"),
                every_place=False,
            ),
        ),
        misfit=_packed_misfit,
        lacks=_lacks_arithmetic,
        kernel=True,
    ),
)
