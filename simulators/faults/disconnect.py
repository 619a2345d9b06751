"""Disconnect: the connection ends before the answer is whole."""

from dataclasses import replace

from simulators.http_answer import OMIT, Answer, Wire

#: A base URL on which nothing listens: port 1 of loopback is nobody's.
CLOSED_URL = "http://127.0.0.1:1"


def reset_before(answer: Answer) -> Answer:
    """Return the answer whose connection is reset before its first byte."""
    return replace(answer, wire=Wire(reset_at=0))


def reset_within(answer: Answer) -> Answer:
    """Return the answer whose connection is reset in the middle of its body."""
    return replace(answer, wire=Wire(reset_at=len(answer.head) + len(answer.body) // 2))


def cut_short(answer: Answer) -> Answer:
    """Return the answer that ends in the middle, while its head declares the whole."""
    return replace(answer, wire=Wire(cut_at=len(answer.body) // 2))


def cut_unnoticed(answer: Answer) -> Answer:
    """Return the answer that ends in the middle, and whose head declares no length."""
    return replace(answer, wire=Wire(cut_at=len(answer.body) // 2, content_length=OMIT))


def cut_declared(answer: Answer) -> Answer:
    """Return half of the answer, whose head declares just that half."""
    return replace(answer, body=answer.body[: len(answer.body) // 2])


def length_short(answer: Answer) -> Answer:
    """Return the answer whose head declares half of its length."""
    return replace(answer, wire=Wire(content_length=len(answer.body) // 2))


def length_long(answer: Answer) -> Answer:
    """Return the answer whose head declares more than comes."""
    longer = len(answer.body) + 100
    return replace(answer, wire=Wire(content_length=longer, cut_at=len(answer.body)))


def closed(url: str) -> str:
    """Return a URL at which nothing listens."""
    return CLOSED_URL


def with_slash(url: str) -> str:
    """Return the URL with a slash at its end."""
    return url + "/"
