"""Honest URLs of encoders: each names its encoder, with the scheme of the mode beside them."""

from typing import Any

from simulators.payload import RECORDS, URLS, Payload


def hosts(count: int) -> list[str]:
    """Return the host and port of each encoder."""
    return [f"encoder-{index}:{30_000 + index}" for index in range(count)]


def honest_urls(count: int, mode: str) -> Payload:
    """Return the URLs of so many encoders, and beside them the mode, `http` or `grpc`."""
    return Payload(URLS, tuple(f"{mode}://{host}" for host in hosts(count)), (), {"mode": mode})


def told_urls(payload: Payload) -> Any:
    """Return the URLs as they are told: the body that a fault has set, or a list."""
    return list(payload.records) if payload.body is RECORDS else payload.body
