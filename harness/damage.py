"""What a fault did to those who wait for the answer, worst first, and how it looks to a user.

Read from a verdict and its words, of which `harness.oracle` is the author: it names every place of
an output that has other data than its own, and whose they are.
"""

import fnmatch
import re
from enum import Enum

from harness.verdict import Verdict


class Damage(Enum):
    """Kinds of damage, each with what it means; the order is that of their weight."""

    LEAK = ("cross-request leak", "another request's data")
    HUNG = ("hang", "no answer")
    CRASHED = ("crash", "a dead process")
    MIXED = ("mix-up", "data of another item, rank or place of the same request")
    GARBAGE = ("garbage", "data that are nobody's")
    LOST = ("loss", "data that are missing")
    MISPLACED = ("misplacement", "own data out of place")
    MISDESCRIBED = ("misdescription", "false words about the data")

    def __init__(self, word: str, meaning: str) -> None:
        self.word = word
        self.meaning = meaning


#: Verdicts of what nobody noticed in time.
HARMFUL = (Verdict.SILENT, Verdict.HUNG, Verdict.CRASHED)
_OTHERS = re.compile(r"another (request|batch|head|stream|prompt|client)'s")
_REQUEST = re.compile(r"(?<!\w)request (\d+)")
_CARRIED = re.compile(r" carries (.*)")


def damage_of(verdict: Verdict, detail: str) -> Damage:
    """Return the worst that a verdict's words tell.

    Args:
        verdict: `silent`, `hung` or `crashed`.
        detail: Its words.
    """
    if verdict is not Verdict.SILENT:
        return Damage.HUNG if verdict is Verdict.HUNG else Damage.CRASHED
    order = list(Damage)
    found = [_of_place(part) for part in detail.split("; ")]
    return min(found, key=order.index)


def told(verdict: Verdict, detail: str) -> Damage | None:
    """Return the damage of a case, or None where its verdict tells of none."""
    return damage_of(verdict, detail) if verdict in HARMFUL else None


def _of_place(words: str) -> Damage:
    carried = _CARRIED.search(words)
    if carried is None:
        empty = " lacks " in words or words.endswith(" is empty") or "missing" in words
        return Damage.LOST if empty else Damage.MISDESCRIBED
    place, content = words[: carried.start()], carried[1]
    own = set(_REQUEST.findall(place))
    if _OTHERS.search(content) or (own and set(_REQUEST.findall(content)) - own):
        return Damage.LEAK
    if "nobody" in content:
        return Damage.GARBAGE
    if content.startswith("its own"):
        return Damage.MISPLACED
    return Damage.MIXED


#: Seams by what a user waits for, and what each damage makes of it.
_SHOWS: tuple[tuple[str, dict[Damage, str]], ...] = (
    (
        "encoder-transport-mode",
        {
            Damage.LOST: "No encoder is asked, and the request waits for one.",
            Damage.MISDESCRIBED: "The encoder is called where it does not listen, and the request "
            "fails or waits, long after the setting was read.",
        },
    ),
    (
        "ar-seed",
        {
            Damage.LEAK: "A picture is drawn with the seed of another user's request.",
            Damage.MIXED: "A picture cannot be had again: its seed was another's.",
            Damage.GARBAGE: "A picture cannot be had again: nobody asked for its seed.",
            Damage.LOST: "A picture cannot be had again: it had no seed.",
            Damage.MISPLACED: "A picture cannot be had again: its seed was another's.",
            Damage.MISDESCRIBED: "A picture cannot be had again from what is told of its seed.",
        },
    ),
    (
        "ar-request",
        {
            Damage.LEAK: "A user gets a picture of another user's prompt.",
            Damage.MIXED: "A picture is drawn after another picture or prompt than was sent.",
            Damage.GARBAGE: "A picture is drawn after a prompt that nobody wrote.",
            Damage.LOST: "A picture is drawn as if a part of what was sent were not there.",
            Damage.MISPLACED: "A picture is drawn after what was sent in another order.",
            Damage.MISDESCRIBED: "The server is asked for another number of tokens, or another way "
            "to draw them.",
        },
    ),
    (
        "ar-*|image-*|krea2-*",
        {
            Damage.LEAK: "A user gets a picture of another user's prompt.",
            Damage.MIXED: "A prompt's picture shows another prompt, or a part of it does.",
            Damage.GARBAGE: "The picture is noise, or parts of it are.",
            Damage.LOST: "The picture, or a part of it, is missing or drawn from nothing.",
            Damage.MISPLACED: "The picture is shifted or torn.",
            Damage.MISDESCRIBED: "What is told of the picture is false: its size, kind or cost.",
        },
    ),
    (
        "shard-*|lingbot-*",
        {
            Damage.LEAK: "A user's video has parts of another user's.",
            Damage.MIXED: "Frames are torn: patches of one rank stand in another's place.",
            Damage.GARBAGE: "Frames are noise, or parts of them are.",
            Damage.LOST: "Frames are drawn without a part of what stands beside or before them.",
            Damage.MISPLACED: "Frames are torn: patches stand in one another's place.",
            Damage.MISDESCRIBED: "Frames have another size or kind than what comes next expects.",
        },
    ),
    (
        "encoder-*|embedding-*",
        {
            Damage.LEAK: "A user is answered about another user's picture, clip or sound.",
            Damage.MIXED: "The model takes one picture of a request for another.",
            Damage.GARBAGE: "The model sees noise where a picture should be.",
            Damage.LOST: "The model answers as if a picture, or a part of it, were not there.",
            Damage.MISPLACED: "The model sees a picture shifted or torn.",
            Damage.MISDESCRIBED: "The model is told another size or place of what it sees.",
        },
    ),
    (
        "*",
        {
            Damage.LEAK: "A user is answered with another user's data.",
            Damage.MIXED: "An answer is made of parts that belong elsewhere in it.",
            Damage.GARBAGE: "An answer is made of memory that nobody wrote.",
            Damage.LOST: "An answer is made without a part of what it needs.",
            Damage.MISPLACED: "An answer is made of its parts in another order.",
            Damage.MISDESCRIBED: "What comes next is told another size or kind.",
        },
    ),
)
_ALWAYS = {
    Damage.HUNG: "The request never ends. What waits with it waits too, until a watchdog ends all.",
    Damage.CRASHED: "The process dies, and with it every request that it serves.",
}


def shows(seam: str, damage: Damage) -> str:
    """Return what a user of the server sees of a damage at a seam."""
    if damage in _ALWAYS:
        return _ALWAYS[damage]
    for globs, words in _SHOWS:
        if damage in words and any(fnmatch.fnmatch(seam, glob) for glob in globs.split("|")):
            return words[damage]
    raise KeyError(f"{seam}: {damage}")
