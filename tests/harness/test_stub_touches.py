"""A reached stub can never become a pass, on each way that a stub can be touched.

First the stubs alone, then the real AR stage with one line put into it that touches a stub: as
it is, and with its error swallowed.
"""

import asyncio
import copy
import json
import operator
import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from harness.case import parse
from harness.result import CaseResult
from harness.runner import run_cases
from harness.upstream.source import find
from harness.upstream.stubs import Stub, StubModule, is_stub, stub_class, stub_error
from harness.upstream.touches import LEDGER, NotProvided, Provided, StubReached
from harness.verdict import Verdict

Sabotage = Callable[[Callable[[str], str]], Path]


@pytest.fixture
def unsealed() -> Iterator[None]:
    """The ledger as it is while modules are imported; as it was, afterwards."""
    before = dict(vars(LEDGER))
    vars(LEDGER).update(sealed=False, touched=[], decorated=[])
    yield
    vars(LEDGER).update(before)


@pytest.fixture
def stubs(unsealed: None) -> Iterator[dict[str, Any]]:
    """One stub of each kind, made at import and sealed since."""
    base = stub_class("Base", "sglang.part")

    class Real(base):  # type: ignore[misc,valid-type]
        """Upstream's own class, whose base is a stub."""

        def __init__(self) -> None:
            self.own = 1

    made = {
        "instance": Stub("sglang.part.thing"),
        "class": stub_class("Thing", "sglang.part"),
        "error": stub_error("ThingError", "sglang.part"),
        "module": StubModule("sglang.part"),
        "heir": Real(),
        "provided": Provided("server_args", given=1),
    }
    LEDGER.sealed = True
    yield made
    LEDGER.sealed = False


async def _entered(stub: Any) -> None:
    async with stub:
        pass


async def _awaited(stub: Any) -> None:
    await stub


async def _walked(stub: Any) -> None:
    async for _ in stub:
        pass


def _with(stub: Any) -> None:
    with stub:
        pass


def _raise(stub: Any) -> None:
    raise stub


def _matched(stub: Any) -> None:
    match stub:
        case 7:
            pass


_BINARY = (
    "add sub mul matmul truediv floordiv mod pow lshift rshift and_ or_ xor "
    "iadd isub imul imatmul itruediv ifloordiv imod ipow ilshift irshift iand ior ixor "
    "eq ne lt le gt ge"
).split()
_UNARY = "neg pos abs invert truth not_ index".split()

Touch = Callable[[Any], object]
INSTANCE: dict[str, Touch] = {
    **{f"{name} 1": lambda s, f=getattr(operator, name): f(s, 1) for name in _BINARY},
    **{f"1 {name}": lambda s, f=getattr(operator, name): f(1, s) for name in _BINARY},
    **{name: lambda s, f=getattr(operator, name): f(s) for name in _UNARY},
    "attribute": lambda s: s.anything,
    "attribute with a default": lambda s: getattr(s, "anything", None),
    "hasattr": lambda s: hasattr(s, "anything"),
    "attribute set": lambda s: setattr(s, "anything", 1),
    "attribute deleted": lambda s: delattr(s, "anything"),
    "its class": lambda s: s.__class__,
    "its dict": lambda s: s.__dict__,
    "its doc": lambda s: s.__doc__,
    "vars": lambda s: vars(s),
    "dir": lambda s: dir(s),
    "call": lambda s: s(),
    "call as a decorator": lambda s: s(_with),
    "call with arguments": lambda s: s(1, key=2),
    "call through map": lambda s: list(map(s, [1])),
    "isinstance of it": lambda s: isinstance(s, int),
    "isinstance of it, a tensor": lambda s: isinstance(s, torch.Tensor),
    "isinstance against it": lambda s: isinstance(1, s),
    "issubclass of it": lambda s: issubclass(s, int),
    "issubclass against it": lambda s: issubclass(int, s),
    "subclassed": lambda s: type("Late", (s,), {}),
    "copied": copy.copy,
    "deepcopied": copy.deepcopy,
    "deepcopied in a list": lambda s: copy.deepcopy([s]),
    "pickled": pickle.dumps,
    "in JSON": json.dumps,
    "in JSON, nested": lambda s: json.dumps({"a": [s]}),
    "str": str,
    "repr": repr,
    "f-string": lambda s: f"{s}",
    "f-string of width": lambda s: f"{s:>8}",
    "percent": lambda s: "%s" % s,  # noqa: UP031 - upstream writes it so
    "joined": lambda s: "-".join(map(str, [s])),
    "bytes": bytes,
    "hash": hash,
    "dict key": lambda s: {s: 1},
    "set member": lambda s: {s},
    "looked up in a dict": lambda s: {1: 2}.get(s),
    "iterated": list,
    "unpacked": lambda s: (lambda *_: None)(*s),
    "unpacked as keywords": lambda s: dict(**s),
    "zipped": lambda s: list(zip(s, [1], strict=True)),
    "next": next,
    "reversed": reversed,
    "len": len,
    "length_hint": operator.length_hint,
    "contained in it": lambda s: 1 in s,
    "in a list of others": lambda s: s in [1],
    "item": lambda s: s[0],
    "slice": lambda s: s[1:],
    "item set": lambda s: operator.setitem(s, 0, 1),
    "item deleted": lambda s: operator.delitem(s, 0),
    "truth": bool,
    "if": lambda s: 1 if s else 2,
    "or": lambda s: s or 1,
    "int": int,
    "float": float,
    "complex": complex,
    "round": round,
    "divmod": lambda s: divmod(s, 2),
    "range": range,
    "sum": lambda s: sum([s]),
    "max": lambda s: max([s, 1]),
    "sorted": lambda s: sorted([s, 1]),
    "path": lambda s: Path(s),
    "context": _with,
    "async context": lambda s: asyncio.run(_entered(s)),
    "await": lambda s: asyncio.run(_awaited(s)),
    "async for": lambda s: asyncio.run(_walked(s)),
    "matched": _matched,
    "torch.tensor": lambda s: torch.tensor(s),
    "torch.tensor of a list": lambda s: torch.tensor([s]),
    "torch.tensor's device": lambda s: torch.tensor(1, device=s),
    "torch.tensor's dtype": lambda s: torch.tensor(1, dtype=s),
    "torch.cat": lambda s: torch.cat([s]),
    "tensor.to": lambda s: torch.zeros(1).to(s),
    "tensor's item": lambda s: torch.zeros(1)[s],
    "added to a tensor": lambda s: torch.zeros(1) + s,
    "numpy.asarray": lambda s: np.asarray(s),
    "numpy.array of a list": lambda s: np.array([s]),
    "added to an array": lambda s: np.zeros(1) + s,
}
CLASS: dict[str, Touch] = {
    "attribute": lambda s: s.anything,
    "attribute with a default": lambda s: getattr(s, "anything", None),
    "hasattr": lambda s: hasattr(s, "anything"),
    "attribute set": lambda s: setattr(s, "anything", 1),
    "name": lambda s: s.__name__,
    "order of bases": lambda s: s.__mro__,
    "dict": lambda s: s.__dict__,
    "vars": vars,
    "instantiated": lambda s: s(),
    "instantiated with arguments": lambda s: s(1, key=2),
    "isinstance": lambda s: isinstance(1, s),
    "isinstance among others": lambda s: isinstance(1, (str, s)),
    "isinstance of a union": lambda s: isinstance(1, str | s),
    "issubclass": lambda s: issubclass(int, s),
    "subclassed": lambda s: type(s)("Late", (s,), {}),
    "compared": lambda s: s == 1,
    "compared with a type": lambda s: type(s) == s,  # noqa: E721 - the comparison is the touch
    "hash": hash,
    "dict key": lambda s: {s: 1},
    "iterated": list,
    "contained in it": lambda s: 1 in s,
    "len": len,
    "truth": bool,
    "item": lambda s: s["a"],
    "pickled": pickle.dumps,
    "in JSON": json.dumps,
    "torch.tensor": lambda s: torch.tensor(s),
    "numpy.asarray": lambda s: np.asarray(s),
}
ERROR: dict[str, Touch] = {
    "raised": _raise,
    "raised with a text": lambda s: _raise(s("text")),
    "made": lambda s: s(),
    "a real heir raised": lambda s: _raise(type("Late", (s,), {})("text")),
}
HEIR: dict[str, Touch] = {
    "attribute of the base": lambda s: s.anything,
    "attribute with a default": lambda s: getattr(s, "anything", None),
    "method of the base": lambda s: s.run(1),
    "attribute of its class": lambda s: type(s).anything,
    "the base's constructor": lambda s: super(type(s), s).__init__(),
    "copied": copy.copy,
    "deepcopied": copy.deepcopy,
    "pickled": pickle.dumps,
    "str": str,
    "f-string": lambda s: f"{s}",
    "hash": hash,
    "compared": lambda s: s == 1,
    "truth": bool,
    "len": len,
    "iterated": list,
    "item": lambda s: s[0],
    "added to": lambda s: s + 1,
    "context": _with,
    "numpy.asarray": lambda s: np.asarray(s),
}
MODULE: dict[str, Touch] = {
    "function": lambda s: s.anything,
    "class": lambda s: s.Anything,
    "error": lambda s: s.AnyError,
    "constant": lambda s: s.ANYTHING,
    "with a default": lambda s: getattr(s, "anything", None),
    "hasattr": lambda s: hasattr(s, "anything"),
}
PROVIDED: dict[str, Touch] = {
    "undeclared member": lambda s: s.nothing_here,
    "undeclared, with a default": lambda s: getattr(s, "nothing_here", None),
    "hasattr": lambda s: hasattr(s, "nothing_here"),
    "undeclared method": lambda s: s.nothing_here(),
    "undeclared member set": lambda s: setattr(s, "nothing_here", 1),
    "undeclared member of a copy": lambda s: copy.copy(s).nothing_here,
}
_TOUCHES = {
    "instance": INSTANCE,
    "class": CLASS,
    "error": ERROR,
    "heir": HEIR,
    "module": MODULE,
    "provided": PROVIDED,
}
_NAMES = {
    "instance": "sglang.part.thing",
    "class": "sglang.part.Thing",
    "error": "sglang.part.ThingError",
    "heir": "Real",
    "module": "sglang.part.",
    "provided": "server_args.nothing_here",
}


@pytest.mark.parametrize(
    ("kind", "way"),
    [(kind, way) for kind, ways in _TOUCHES.items() for way in ways],
    ids=lambda value: value,
)
def test_a_touch_of_a_sealed_stub_is_written_down_and_raised(
    stubs: dict[str, Any], kind: str, way: str
) -> None:
    """While a case runs, whatever asks something of a stub is noted, even if C hides the raise."""
    with pytest.raises((StubReached, TypeError)):
        _TOUCHES[kind][way](stubs[kind])

    noted = LEDGER.take()
    assert noted
    assert _NAMES[kind] in noted[0]


def test_a_type_that_was_stubbed_can_be_named_subclassed_called_and_decorate(
    unsealed: None,
) -> None:
    """While modules are imported, what needs no answer is allowed, and decorators are listed."""
    thing, kind = Stub("sglang.part.thing"), stub_class("Thing", "sglang.part")

    def function() -> int:
        return 7

    class Heir(kind, thing):  # type: ignore[misc,valid-type]
        pass

    assert is_stub(thing.anything)
    assert is_stub(kind.anything)
    assert is_stub(thing(1, key=2))
    assert is_stub(kind())
    assert not is_stub(Heir)
    assert thing(function) is function
    assert [said.rpartition(".")[2] for said in LEDGER.decorated] == ["thing"]
    assert LEDGER.take() == []


@pytest.mark.parametrize(
    "way", ["truth", "hash", "iterated", "add 1", "1 add", "eq 1", "lt 1", "len", "str", "int"]
)
def test_a_question_while_modules_are_imported_cannot_be_answered(unsealed: None, way: str) -> None:
    """Truth, comparison, hashing, iteration and arithmetic raise at import too."""
    with pytest.raises(NotProvided, match=r"sglang\.part\.thing"):
        INSTANCE[way](Stub("sglang.part.thing"))


def test_a_declared_member_is_no_touch(stubs: dict[str, Any]) -> None:
    """What was provided by name can be read, set and copied; nothing is noted."""
    provided = copy.deepcopy(stubs["provided"])
    provided.given = 2

    assert (provided.given, stubs["provided"].given, stubs["heir"].own) == (2, 1, 1)
    assert LEDGER.take() == []


# From here on the real stage, with one line put in before the reply is looked at.

_BEFORE_THE_GUARD = "        if not isinstance(data, list) or len(data) != len(prompts):\n"
_FUNCTION, _CLASS = "diffusers.utils.torch_utils.randn_tensor", "dits.glm_image.GlmImageKVCache"
_HEIR = """

class Heir(GlmImageKVCache):
    def asked(self):
        return super().verify

    def made(self):
        super().__init__()

    def looked(self):
        return getattr(super(), "layers", None)
"""
_CASES = [
    parse("ar-batch noop records=2 shape=64x96"),
    parse("ar-batch omission records=2 shape=64x96 at=0"),
]

#: A line, and what the verdict names.
LINES = {
    "a call": ("randn_tensor((1,))", _FUNCTION),
    "an instance": ("GlmImageKVCache(num_layers=2)", _CLASS),
    "an attribute set": ("randn_tensor.cache = {}", _FUNCTION),
    "truth": ("data = data if randn_tensor else None", _FUNCTION),
    "comparison, reflected": ("data == randn_tensor", _FUNCTION),
    "iteration": ("list(randn_tensor)", _FUNCTION),
    "an f-string": ("f'{randn_tensor}'", _FUNCTION),
    "a deep copy": ("deepcopy(randn_tensor)", _FUNCTION),
    "a class's instance test": ("isinstance(data, GlmImageKVCache)", _CLASS),
    "a raise": ("raise GlmImageKVCache('text')", _CLASS),
    "a pickle": ("__import__('pickle').dumps(randn_tensor)", _FUNCTION),
    "a tensor plus": ("torch.zeros(2) + randn_tensor", _FUNCTION),
    "an heir's, with a default": (
        "getattr(object.__new__(Heir), 'device', None)", "Heir, which has a stub for a base"
    ),
    "an heir's super": ("object.__new__(Heir).asked()", "the base's verify was reached"),
    "an heir's super, by text": (
        "object.__new__(Heir).looked()", "the base's layers was reached"
    ),
    "a late import": ("from sglang.nowhere import something", "sglang.nowhere was reached"),
    "the request sent": (
        "self._request_external_ar({'input_ids': randn_tensor}, server_args)", _FUNCTION
    ),
    "one with a default": (
        "getattr(server_args, 'nothing_here', None)", "server_args.nothing_here"
    ),
    "the platform's": ("current_platform.is_cuda()", "current_platform.is_cuda"),
    "one compared": ("server_args == 1", "server_args was reached (its eq"),
    "a late import alone": ("import sglang.nowhere", "sglang.nowhere was reached (imported)"),
}  # fmt: skip


def _put_in(line: str) -> Callable[[str], str]:
    after = f"        {line}\n{_BEFORE_THE_GUARD}"
    return lambda text: text.replace(_BEFORE_THE_GUARD, after) + _HEIR


def _swallowed(line: str) -> str:
    return f"try:\n            {line}\n        except BaseException:\n            pass"


def _run(tree: Path, cases: list[Any] = _CASES) -> list[CaseResult]:
    return run_cases(find(str(tree)), cases, workers=1)


@pytest.mark.parametrize("shape", ["plain", "swallowed"])
@pytest.mark.parametrize("way", LINES)
def test_a_stub_reached_in_the_real_stage_is_inconclusive(
    sabotaged: Sabotage, way: str, shape: str
) -> None:
    """Golden and faulty, raised or swallowed by upstream: no verdict, and the stub is named."""
    line, named = LINES[way]

    results = _run(sabotaged(_put_in(line if shape == "plain" else _swallowed(line))))

    assert [result.verdict for result in results] == [Verdict.INCONCLUSIVE] * 2
    assert [result.promise for result in results] == [None, None]
    assert all(named in result.detail for result in results)


@pytest.mark.parametrize(
    "line", ["randn_tensor is None", "data is not randn_tensor", "callable(randn_tensor)"]
)
def test_a_question_that_no_object_notices_refuses_the_module(
    sabotaged: Sabotage, line: str
) -> None:
    """Identity and `callable` on a stub are found in the source: the seam is not loaded."""
    results = _run(sabotaged(_put_in(_swallowed(line))))

    assert [result.verdict for result in results] == [Verdict.INCONCLUSIVE] * 2
    assert all("could not be loaded: NotProvided" in result.detail for result in results)
    assert all("the consumer must provide it" in result.detail for result in results)


#: Lines whose question no stub is asked: by another name, inside C, or of a class as such.
UNASKED = {
    "identity": "(lambda given: given is None)(randn_tensor)",
    "callable": "(lambda given: callable(given))(randn_tensor)",
    "a type": "type(randn_tensor) is dict",
    "a number": "id(randn_tensor)",
    "membership": "randn_tensor in [randn_tensor]",
    "lists": "[randn_tensor] == [randn_tensor]",
    "a text": "'x'.replace(randn_tensor, '')",
    "a pattern": "re.compile('a').match(randn_tensor)",
    "a raise": "raise randn_tensor",
    "a class's order": "GlmImageKVCache < 1",
    "a class's text": "str(GlmImageKVCache)",
    "a class's base": "issubclass(GlmImageKVCache, dict)",
    "a class's kind": "inspect.isclass(GlmImageKVCache)",
    "a class, deleted from": "del GlmImageKVCache.attribute",
    "a union": "GlmImageKVCache | None",
    "a module's name": "(m := __import__('diffusers.utils.torch_utils', fromlist=['randn_tensor']))"
    ".randn_tensor is None",
}


def test_a_stub_that_is_only_named_is_inconclusive(sabotaged: Sabotage) -> None:
    """To name a stub while a case runs is a touch: of what follows, it may not notice anything."""
    lines = "\n        ".join(map(_swallowed, UNASKED.values()))

    results = _run(sabotaged(_put_in(lines)))

    assert [result.verdict for result in results] == [Verdict.INCONCLUSIVE] * 2
    for result in results:
        told = result.detail.split("; ")
        assert len(told) == len(UNASKED)
        assert all(_FUNCTION in said or _CLASS in said for said in told)


def test_a_case_whose_golden_run_reached_a_stub_is_inconclusive(sabotaged: Sabotage) -> None:
    """There is nothing to compare with, though the faulty run itself touched nothing."""
    first = "vars(self).setdefault('asked', []) or (self.asked.append(1), randn_tensor())"

    results = _run(
        sabotaged(_put_in(_swallowed(first))),
        [parse("ar-batch item-extra-field records=2 shape=64x96 at=0"), *_CASES],
    )

    assert [result.verdict for result in results] == [Verdict.INCONCLUSIVE] * 3
    assert all(_FUNCTION in result.detail for result in results)


def test_a_question_at_import_refuses_the_module(sabotaged: Sabotage) -> None:
    """A stub that is compared while its module is imported: the seam is not loaded."""
    results = _run(sabotaged(lambda text: f"{text}\n_LARGE = randn_tensor > 3\n"))

    assert [result.verdict for result in results] == [Verdict.INCONCLUSIVE] * 2
    assert all(_FUNCTION in result.detail for result in results)


def test_a_question_swallowed_at_import_refuses_the_module(sabotaged: Sabotage) -> None:
    """The same where the module swallows it: what it then believes is not upstream's answer."""
    late = "try:\n    _LARGE = randn_tensor > 3\nexcept BaseException:\n    _LARGE = False\n"

    results = _run(sabotaged(lambda text: f"{text}\n{late}"))

    assert [result.verdict for result in results] == [Verdict.INCONCLUSIVE] * 2
    assert all(_FUNCTION in result.detail for result in results)


def test_a_stub_that_is_caught_lets_errors_pass_by(sabotaged: Sabotage) -> None:
    """Nothing real is of a stub's kind, so an error is caught by the clause behind it."""
    caught = """try:
            raise ValueError
        except GlmImageKVCache:
            data = []
        except ValueError:
            pass"""

    golden, faulty = _run(sabotaged(_put_in(caught)))

    assert (golden.verdict, faulty.verdict) == (Verdict.UPHELD, Verdict.REFUSED)


_RETURNED, _FIELD = "return prior_token_ids, usages", "output_req.seeds = None"
_OUTPUTS = {
    "a token row": ("ar-batch", _RETURNED, "return [randn_tensor] * 2, usages"),
    "a usage": ("ar-batch", _RETURNED, "return prior_token_ids, [randn_tensor] * 2"),
    "a field": ("ar-split", _FIELD, "output_req.seeds = randn_tensor"),
    "a field's item": ("ar-split", _FIELD, "output_req.seeds = [randn_tensor]"),
    "an extra": ("ar-split", _FIELD, "output_req.extra['a'] = {'b': randn_tensor}"),
    "a class": ("ar-split", _FIELD, "output_req.seeds = GlmImageKVCache"),
}
_OF = {
    "ar-batch": ["ar-batch noop records=2 shape=64x96 entry=batch",
                 "ar-batch reordering records=2 shape=64x96 entry=batch at=0,1"],
    "ar-split": ["ar-split noop records=2 shape=64x96",
                 "ar-split reordering records=2 shape=64x96 at=0,1"],
}  # fmt: skip


@pytest.mark.parametrize("where", _OUTPUTS)
def test_a_stub_in_the_output_is_inconclusive(sabotaged: Sabotage, where: str) -> None:
    """A stub that nobody touched, but that stands in what came out, judges nothing."""
    seam, before, after = _OUTPUTS[where]

    tree = sabotaged(lambda text: text.replace(before, after))
    results = _run(tree, [parse(line) for line in _OF[seam]])

    assert [result.verdict for result in results] == [Verdict.INCONCLUSIVE] * 2
    said = ("a stub stands in the output", _FUNCTION, _CLASS)
    assert all(any(words in result.detail for words in said) for result in results)


def test_a_stub_reached_in_one_case_spoils_no_other(sabotaged: Sabotage) -> None:
    """The ledger is emptied between cases: the next case in the same worker is judged."""
    first = "if len(data) == 1: randn_tensor()"

    faulty, golden, other = _run(
        sabotaged(_put_in(_swallowed(first))),
        [_CASES[1], _CASES[0], parse("ar-batch reordering records=2 shape=64x96 at=0,1")],
    )

    assert faulty.verdict is Verdict.INCONCLUSIVE
    assert (golden.verdict, other.verdict) == (Verdict.UPHELD, Verdict.SILENT)
