"""Faults of encoders' URLs and of the mode that is told beside them."""

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

from simulators.faults.fault import Change, Fault, Place, each, whole
from simulators.payload import URLS, Payload

_OTHER = {"http": "grpc", "grpc": "http"}


def url_becomes(edit: Callable[[str, str], Any]) -> Change:
    """Return the fault that makes one URL anew, from its scheme and the rest of it."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        url = payload.records[at[0]]
        scheme, parted, rest = url.partition("://") if isinstance(url, str) else ("", "", "")
        known = parted and scheme in _OTHER
        return payload.with_record(at[0], edit(scheme, rest)) if known else payload

    return change


def mode_becomes(edit: Callable[[str], Any]) -> Change:
    """Return the fault that makes another mode of the honest one."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        mode = payload.beside["mode"]
        told = edit(mode) if mode in _OTHER else mode
        return replace(payload, beside={**payload.beside, "mode": told})

    return change


def urls_become(edit: Callable[[list[Any]], Any]) -> Change:
    """Return the fault that tells something else than the list."""

    def change(payload: Payload, at: Place, rng: Random) -> Payload:
        return payload.with_body(edit(list(payload.records)))

    return change


def _url(name: str, edit: Callable[[str, str], Any], picture: str) -> Fault:
    change = url_becomes(edit)
    return Fault(name, "substitution", change, (URLS,), each, picture, scope="items")


def _mode(name: str, edit: Callable[[str], Any], picture: str) -> Fault:
    change = mode_becomes(edit)
    return Fault(name, "substitution", change, (URLS,), whole, picture, scope="mode")


#: The rows of these faults in the table.
FAULTS = (
    _url("encoder-url-other", lambda s, r: f"{_OTHER[s]}://{r}", "http://a -> grpc://a"),
    _url("encoder-url-secure", lambda s, r: f"{s}s://{r}", "http://a -> https://a"),
    _url("encoder-url-other-secure", lambda s, r: f"{_OTHER[s]}s://{r}", "http://a -> grpcs://a"),
    _url("encoder-url-large", lambda s, r: f"{s.upper()}://{r}", "http://a -> HTTP://a"),
    _url("encoder-url-other-large", lambda s, r: f"{_OTHER[s].upper()}://{r}",
         "http://a -> GRPC://a"),
    _url("encoder-url-spaced", lambda s, r: f" {s}://{r}", "http://a -> ' http://a'"),
    _url("encoder-url-other-spaced", lambda s, r: f" {_OTHER[s]}://{r}",
         "http://a -> ' grpc://a'"),
    _url("encoder-url-bare", lambda s, r: r, "http://a -> a"),
    _url("encoder-url-slash", lambda s, r: f"{s}://{r}/", "http://a -> http://a/"),
    _url("encoder-url-path", lambda s, r: f"{s}://{r}/encode", "http://a -> http://a/encode"),
    _url("encoder-url-empty", lambda s, r: "", "http://a -> nothing"),
    _url("encoder-url-null", lambda s, r: None, "http://a -> null"),
    _url("encoder-url-number", lambda s, r: 30_000, "http://a:30000 -> 30000"),
    Fault("encoder-urls-text", "merge", urls_become(lambda u: ",".join(map(str, u))), (URLS,),
          whole, '[a b] -> "a,b"', scope="body"),
    _mode("mode-other", lambda m: _OTHER[m], "http -> grpc"),
    _mode("mode-unknown", lambda m: "rdma", "http -> rdma"),
    _mode("mode-large", str.upper, "http -> HTTP"),
    _mode("mode-spaced", lambda m: f"{m} ", "http -> 'http '"),
    _mode("mode-secure", lambda m: f"{m}s", "http -> https"),
    _mode("mode-empty", lambda m: "", "http -> nothing"),
    _mode("mode-number", lambda m: 7, "http -> 7"),
)  # fmt: skip
