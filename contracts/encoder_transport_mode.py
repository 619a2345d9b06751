"""encoder-transport-mode: a mode and the encoders' URLs become a receiver.

- The mode is `http` or `grpc`.
- The URLs are a list of texts, each with the scheme of the mode, and each reaches its encoder.

The payload holds `mode` and `urls`. What was asked for says `hosts`, the host and port of each
encoder. By http an encoder is asked at its URL with `/encode` behind it; by grpc at its URL
without `grpc://`.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from contracts.contract import Clause, Contract, Guard, OwnerOf, Unchecked, Violation
from contracts.releases import Span
from contracts.source import Source

_NEW = "srt/disaggregation/encoder/receiver.py"
_OLD = "srt/disaggregation/encode_receiver.py"
_SCHEMES = {"http": "http://", "grpc": "grpc://"}
_OTHER = {"http": "grpc", "grpc": "http"}
_ENCODE = "/encode"


def _guards(text: str, symbol: str, maker: str = "") -> tuple[Guard, ...]:
    new, old = Source("0.5.23", _NEW, symbol), Source("0.5.18", _OLD, symbol)
    return (
        Guard("ValueError", text, Span("0.5.19"), new, maker=maker),
        Guard("ValueError", text, Span(until="0.5.19"), old, maker=maker),
    )


def _scheme(mode: str) -> Clause:
    other = _OTHER[mode]
    return Clause(
        f"{mode}-scheme",
        f"In {mode} mode no URL begins with {other}://.",
        guards=_guards(
            f"EPD MMReceiver: {mode} mode requires {mode}:// encoder URLs. "
            f"Set SGLANG_ENCODER_MM_RECEIVER_MODE={other} for {other}:// URLs.",
            "_validate_transport_mode",
            maker="error_msg",
        ),
    )


SCHEME = {mode: _scheme(mode) for mode in _SCHEMES}
URL_TEXT = Clause("url-text", "A URL is a text.", incidental=("AttributeError",))
MODE_KNOWN = Clause(
    "mode-known",
    "The mode is `http` or `grpc`.",
    guards=_guards("Unsupported transport_mode: {got}", "create_mm_receiver"),
)
URLS_LIST = Clause("urls-list", "The URLs are a list.")
URL_REACHES = Clause("url-reaches", "Each URL reaches its encoder in the mode.")

_CLAUSES = (URL_TEXT, *SCHEME.values(), MODE_KNOWN, URLS_LIST, URL_REACHES)


def _walk(
    payload: Mapping[str, Any], request: Mapping[str, Any], owner_of: OwnerOf | None
) -> Iterator[Violation | Unchecked]:
    mode, urls = payload["mode"], payload["urls"]
    known = isinstance(mode, str) and mode in _SCHEMES
    if known and isinstance(urls, list):
        yield from _walk_schemes(mode, urls)
    if not known:
        expected = " or ".join(_SCHEMES)
        yield Violation(MODE_KNOWN, "mode", expected, repr(mode), {"got": mode})
        yield Unchecked(URL_REACHES, "there is no mode")
        return
    if not isinstance(urls, list):
        yield Violation(URLS_LIST, "urls", "a list", type(urls).__name__)
        yield Unchecked(URL_REACHES, "there is no list of URLs")
        return
    for index, (url, host) in enumerate(zip(urls, request["hosts"], strict=False)):
        if isinstance(url, str) and not _reaches(mode, url, host):
            yield Violation(URL_REACHES, f"urls[{index}]", f"{mode} to {host}", repr(url))


def _walk_schemes(mode: str, urls: Sequence[Any]) -> Iterator[Violation]:
    for index, url in enumerate(urls):
        where = f"urls[{index}]"
        if not isinstance(url, str):
            yield Violation(URL_TEXT, where, "a text", repr(url))
        elif url.startswith(_SCHEMES[_OTHER[mode]]):
            yield Violation(SCHEME[mode], where, _SCHEMES[mode], url)


def _reaches(mode: str, url: str, host: str) -> bool:
    if mode == "grpc":
        return url.removeprefix(_SCHEMES[mode]) == host
    asked = urlsplit(url + _ENCODE)
    # urlsplit drops spaces in front, and a client does not.
    whole = url == url.strip() and asked.scheme in ("http", "https")
    return whole and asked.netloc == host and asked.path == _ENCODE


CONTRACT = Contract(
    "encoder-transport-mode",
    "A mode and the encoders' URLs become a receiver.",
    _CLAUSES,
    _walk,
)
check = CONTRACT.check
answers = CONTRACT.answers
