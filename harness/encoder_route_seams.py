"""Rows of the table of seams: how a request's media get to the encoders, and where rows go.

`harness.seams` is the table; from a row every file is one hop.
"""

from collections.abc import Mapping

from contracts.releases import Span
from harness.encoder_link_seams import (
    HASHES,
    ITEMS_DIM,
    OF_SEVERAL_HASHES,
    ONE_MODALITY,
    RECEIVER,
    REQUESTS_TWICE,
)
from harness.encoder_seams import SERVER
from harness.seam import Dim, Seam, Space, one_of, whole_number
from simulators.payload import ASKED_MEDIA, ASSIGNED, DESTINATIONS, ENCODE

_DISAGGREGATION = "sglang.srt.disaggregation"
#: The app was a part of the server.
_APP = (
    (Span(until="0.5.19"), f"{_DISAGGREGATION}.encode_server"),
    (Span("0.5.19"), f"{_DISAGGREGATION}.encoder.http_server"),
)
_ENCODERS = Dim("encoders, 1 to 8", whole_number(1, 8))
_ITEMS = Dim("items of the request, 1 to 16", whole_number(1, 16))
_MODE = Dim("http or grpc", one_of("http", "grpc"), "http")
_MODALITY = Dim("image, or mixed: videos behind the images", one_of("image", "mixed"), "image")
_ENTRY = Dim(
    "encode, which is told the counts, or request: the tokenizer's, which makes them",
    one_of("encode", "request"),
    "encode",
)
_FEW_ENCODERS = Dim("encoders, 1 to 4", whole_number(1, 4), "1")
_MEDIA_TWICE = (
    (("modality-video", (1,)), ("modality-audio", (0,))),
    (("modality-video", (1,)), ("modality-plain", (0,))),
    (("modality-plain", (1,)), ("modality-video", (0,))),
    (("modality-all-plain", ()), ("substitution", (1,))),
    (("modality-url-null", (1,)), ("modality-video", (0,))),
    (("modality-options", (0,)), ("reordering", (0, 1))),
)
_REGISTERED_TWICE = (
    (("destination-after-release", ()), ("destination-count-more", (1,))),
    (("destination-url-foreign", (0,)), ("destination-count-less", (1,))),
    (("destination-id-unknown", (1,)), ("destination-count-more", (0,))),
    (("destination-late", (0,)), ("destination-url-shared", (0, 1))),
    (("destination-url-bare", (0,)), ("destination-counts-more", ())),
)
#: Faults of a request of the client's, and not of the counts.
_OF_A_CLIENT = ("assigned-hashes-*", "assigned-by-grpc")
_CLIENT_TWICE = (
    (("assigned-by-grpc", ()), ("assigned-hashes-short", ())),
    (("assigned-by-grpc", ()), ("assigned-encoders-none", ())),
)
_ASSIGNED_TWICE = (
    (("assigned-by-none", ()), ("assigned-encoders-none", ())),
    (("assigned-one-less", (0,)), ("assigned-one-more", (1,))),
    (("assigned-text", (1,)), ("assigned-encoder-gone", ())),
    (("assigned-null", (0,)), ("assigned-encoder-gone", ())),
    (("assigned-one-less", (0,)), ("assigned-encoder-gone", ())),
    (("assigned-list", ()), ("assigned-one-less", (1,))),
)


def _assign_misfit(dims: Mapping[str, str]) -> str:
    if dims["mode"] == "grpc" and dims["modality"] == "mixed":
        return "by gRPC there are images only: see encoder-modality"
    if dims["mode"] == "grpc" and dims["entry"] == "request":
        return "by gRPC no request of a client's gets out: see the fault assigned-by-grpc"
    return ""


ENCODER_ROUTE_SEAMS = (
    Seam(
        name="encoder-assign",
        consumer="harness.consumers.encoder_assign:EncoderAssign",
        forms=(ASSIGNED,),
        modules=RECEIVER,
        symbol="MMReceiverBase.send_encode_request",
        dims={
            "records": _ENCODERS,
            "items": _ITEMS,
            "mode": _MODE,
            "modality": _MODALITY,
            "entry": _ENTRY,
        },
        spaces=(
            Space(
                {"records": ("1", "2"), "items": ("3",), "mode": ("http", "grpc")},
                without=_OF_A_CLIENT,
            ),
            Space(
                {"records": ("3",), "items": ("4",), "mode": ("http", "grpc")},
                without=_OF_A_CLIENT,
                composites=_ASSIGNED_TWICE,
            ),
            Space(
                {"records": ("3",), "items": ("6",), "modality": ("mixed",)},
                without=_OF_A_CLIENT,
            ),
            Space(
                {"records": ("8",), "items": ("5", "16"), "mode": ("http", "grpc")},
                without=_OF_A_CLIENT,
                every_place=False,
            ),
            Space(
                {"records": ("2",), "items": ("2", "4"), "entry": ("request",)},
                faults=(*_OF_A_CLIENT, "assigned-encoders-none", "assigned-encoder-gone"),
                composites=_CLIENT_TWICE,
            ),
            Space(
                {
                    "records": ("3",),
                    "items": ("5",),
                    "modality": ("mixed",),
                    "entry": ("request",),
                },
                faults=("assigned-hashes-*",),
            ),
        ),
        misfit=_assign_misfit,
    ),
    Seam(
        name="encoder-modality",
        consumer="harness.consumers.encoder_modality:EncoderModality",
        forms=(ASKED_MEDIA,),
        modules=RECEIVER,
        symbol="MMReceiverGrpc.encode",
        dims={"records": Dim("items, 1 to 8", whole_number(1, 8)), "encoders": _FEW_ENCODERS},
        spaces=(
            Space({"records": ("1", "2", "3")}, composites=_MEDIA_TWICE),
            Space({"records": ("3", "5"), "encoders": ("2",)}, every_place=False),
        ),
    ),
    Seam(
        name="encoder-destinations",
        consumer="harness.consumers.encoder_destinations:EncoderDestinations",
        forms=(DESTINATIONS,),
        modules=SERVER,
        symbol="MMEncoder.send_with_url",
        dims={"records": Dim("ranks that receive, 1 to 8", whole_number(1, 8))},
        spaces=(
            Space({"records": ("1", "2", "4")}),
            Space({"records": ("2",)}, faults=("noop",), composites=_REGISTERED_TWICE),
            Space({"records": ("8",)}, every_place=False),
        ),
    ),
    Seam(
        name="encoder-http",
        consumer="harness.consumers.encoder_http:EncoderHttp",
        forms=(ENCODE,),
        modules=_APP,
        symbol="handle_encode_request",
        dims={"records": ITEMS_DIM, "modality": ONE_MODALITY, "hashes": HASHES},
        spaces=(
            Space({"records": ("1",)}, without=OF_SEVERAL_HASHES),
            Space({"records": ("2",)}, composites=REQUESTS_TWICE),
            Space({"records": ("4",)}, scopes=("records", "items"), every_place=False),
            Space(
                {"records": ("2",), "modality": ("video", "audio")},
                faults=("encode-modality-*", "encode-item-*", "substitution"),
                every_place=False,
            ),
        ),
    ),
)
