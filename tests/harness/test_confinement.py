"""Upstream keeps to loopback and the worker's folder; a case that tries to leave is not judged."""

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from harness.case import parse
from harness.result import CaseResult
from harness.runner import run_cases
from harness.upstream.source import find
from harness.verdict import ExitCode, Verdict

Sabotage = Callable[[Callable[[str], str]], Path]

_BEFORE_THE_GUARD = "        if not isinstance(data, list) or len(data) != len(prompts):\n"
_CASES = [
    parse("ar-batch noop records=2 shape=64x96"),
    parse("ar-batch omission records=2 shape=64x96 at=0"),
]
_SOCKET, _OS = "__import__('socket')", "__import__('os')"
_UDP = f"{_SOCKET}.socket(type={_SOCKET}.SOCK_DGRAM)"

#: A line that tries to leave, and what the refusal says. OUT is a folder with `there` in it.
NETWORK = {
    "connect": (f"{_SOCKET}.socket().connect(('192.0.2.1', 80))", "connect to"),
    "connect_ex": (f"{_SOCKET}.socket().connect_ex(('192.0.2.1', 80))", "connect to"),
    "connect, version 6": (
        f"{_SOCKET}.socket({_SOCKET}.AF_INET6).connect(('2001:db8::1', 80))", "connect to"
    ),
    "create_connection": (f"{_SOCKET}.create_connection(('192.0.2.1', 80))", "look up"),
    "a datagram": (f"{_UDP}.sendto(b'a', ('192.0.2.1', 9))", "connect to"),
    "a datagram in parts": (f"{_UDP}.sendmsg([b'a'], [], 0, ('192.0.2.1', 9))", "connect to"),
    "a foreign Unix socket": (
        f"{_SOCKET}.socket({_SOCKET}.AF_UNIX).connect('/run/docker.sock')", "connect to"
    ),
    "a nameless Unix socket": (
        f"{_SOCKET}.socket({_SOCKET}.AF_UNIX).connect('\\0dbus')", "connect to"
    ),
    "requests": ("requests.get('http://192.0.2.1/')", "192.0.2.1"),
    "requests by name": ("requests.get('http://hub.example/')", "look up hub.example"),
    "urlopen": ("__import__('urllib.request').request.urlopen('http://hub.example')", "look up"),
    "getaddrinfo": (f"{_SOCKET}.getaddrinfo('hub.example', 80)", "look up hub.example"),
    "gethostbyname": (f"{_SOCKET}.gethostbyname('hub.example')", "look up hub.example"),
    "gethostbyname_ex": (f"{_SOCKET}.gethostbyname_ex('hub.example')", "look up hub.example"),
    "gethostbyaddr": (f"{_SOCKET}.gethostbyaddr('192.0.2.1')", "look up 192.0.2.1"),
    "getnameinfo": (f"{_SOCKET}.getnameinfo(('192.0.2.1', 80), 0)", "look up"),
}  # fmt: skip
FILES = {
    "open": ("open('OUT/new', 'w')", "write OUT/new"),
    "open, exclusively": ("open('OUT/new', 'x')", "write OUT/new"),
    "open, at the end": ("open('OUT/there', 'a')", "write OUT/there"),
    "open, to read and write": ("open('OUT/there', 'r+')", "write OUT/there"),
    "open of bytes": ("open(b'OUT/new', 'wb')", "OUT/new"),
    "os.open": (f"{_OS}.open('OUT/new', {_OS}.O_CREAT)", "write OUT/new"),
    "open from there": (f"({_OS}.chdir('OUT'), open('new', 'w'))", "write new"),
    "write_text": ("__import__('pathlib').Path('OUT/new').write_text('a')", "write OUT/new"),
    "numpy.save": ("np.save('OUT/new', np.zeros(2))", "write OUT/new"),
    "its own source": ("open(__file__, 'a')", "glm_image.py"),
    "mkdir": (f"{_OS}.mkdir('OUT/new')", "os.mkdir OUT/new"),
    "remove": (f"{_OS}.remove('OUT/there')", "os.remove OUT/there"),
    "remove of bytes": (f"{_OS}.remove(b'OUT/there')", "OUT/there"),
    "unlink": ("__import__('pathlib').Path('OUT/there').unlink()", "os.remove OUT/there"),
    "rename": (f"{_OS}.rename('OUT/there', 'OUT/new')", "os.rename OUT/there"),
    "rename from here": (
        f"{_OS}.replace(__import__('tempfile').mkstemp()[1], 'OUT/new')", "os.rename OUT/new"
    ),
    "rmtree": ("__import__('shutil').rmtree('OUT')", "shutil.rmtree OUT"),
    "symlink": (f"{_OS}.symlink('OUT/there', 'OUT/new')", "os.symlink OUT/there"),
    "truncate": (f"{_OS}.truncate('OUT/there', 0)", "os.truncate OUT/there"),
    "chmod": (f"{_OS}.chmod('OUT/there', 0)", "os.chmod OUT/there"),
    "a data base": ("__import__('sqlite3').connect('OUT/new')", "write OUT/new"),
}  # fmt: skip
PROCESSES = {
    "subprocess": ("__import__('subprocess').run(['touch', 'OUT/new'])", "start a process"),
    "a shell": (f"{_OS}.system('touch OUT/new')", "start a process"),
    "fork": (f"{_OS}.fork()", "start a process"),
    "posix_spawn": (
        f"{_OS}.posix_spawn('/bin/touch', ['touch', 'OUT/new'], {{}})", "start a process"
    ),
    "exec": (f"{_OS}.execv('/bin/touch', ['touch', 'OUT/new'])", "start a process"),
    "a signal to its parent": (f"{_OS}.kill({_OS}.getppid(), 0)", "signal process"),
    "a signal to its group": (f"{_OS}.kill(0, 0)", "signal process"),
    "multiprocessing, forked": (
        "__import__('multiprocessing').get_context('fork').Process().start()", "start a process"
    ),
    "multiprocessing, spawned": (
        "__import__('multiprocessing').get_context('spawn').Process().start()", "start a process"
    ),
}  # fmt: skip
WAYS = {**NETWORK, **FILES, **PROCESSES}


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder that is not the worker's, with one file in it."""
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "there").write_text("as it was")
    return folder


def put_in(line: str) -> Callable[[str], str]:
    """Return the edit that runs a line before the reply is looked at."""
    return lambda text: text.replace(_BEFORE_THE_GUARD, f"        {line}\n{_BEFORE_THE_GUARD}")


def swallowed(line: str) -> str:
    """Return the line with every error of it caught."""
    return f"try:\n            {line}\n        except BaseException:\n            pass"


def run(tree: Path) -> list[CaseResult]:
    """Return the results of a golden and a faulty case."""
    return run_cases(find(str(tree)), _CASES, workers=1)


@pytest.mark.parametrize("ways", [NETWORK, FILES, PROCESSES], ids=["network", "files", "processes"])
def test_what_tries_to_leave_is_refused_though_upstream_swallows_it(
    sabotaged: Sabotage, outside: Path, ways: dict[str, tuple[str, str]]
) -> None:
    """Each refusal is written down and told, the case is inconclusive, and nothing was done."""
    lines = [swallowed(line).replace("OUT", str(outside)) for line, _ in ways.values()]

    results = run(sabotaged(put_in("\n        ".join(lines))))

    assert [result.verdict for result in results] == [Verdict.INCONCLUSIVE] * 2
    assert [result.promise for result in results] == [None, None]
    for result in results:
        told = result.detail.split("; ")
        assert len(told) == len(ways)
        for said, (_, wanted) in zip(told, ways.values(), strict=True):
            assert said.startswith("the confinement refused to")
            assert wanted.replace("OUT", str(outside)) in said
    assert [file.name for file in outside.iterdir()] == ["there"]
    assert (outside / "there").read_text() == "as it was"


@pytest.mark.parametrize("way", ["connect", "getaddrinfo", "open", "remove", "subprocess"])
def test_what_tries_to_leave_ends_the_call(sabotaged: Sabotage, outside: Path, way: str) -> None:
    """Where upstream swallows nothing, the refusal is no error of upstream's."""
    line, said = (text.replace("OUT", str(outside)) for text in WAYS[way])

    results = run(sabotaged(put_in(line)))

    assert [result.verdict for result in results] == [Verdict.INCONCLUSIVE] * 2
    assert {result.exception for result in results} == {"Refused"}
    assert all(said in result.detail for result in results)
    assert [file.name for file in outside.iterdir()] == ["there"]


@pytest.fixture
def heard() -> Iterator[tuple[str, int, Callable[[], bool]]]:
    """An address of this machine that is not loopback, and whether a datagram came to it."""
    with (
        socket.socket(type=socket.SOCK_DGRAM) as asking,
        socket.socket(type=socket.SOCK_DGRAM) as listening,
    ):
        try:
            asking.connect(("192.0.2.1", 9))
        except OSError:
            pytest.skip("this machine has no address but loopback")
        listening.bind((asking.getsockname()[0], 0))
        listening.setblocking(False)

        def came() -> bool:
            try:
                return bool(listening.recv(9))
            except BlockingIOError:
                return False

        yield (*listening.getsockname(), came)


@pytest.mark.parametrize("call", ["sendto(b'a', {})", "sendmsg([b'a'], [], 0, {})"])
def test_no_packet_leaves(
    sabotaged: Sabotage, heard: tuple[str, int, Callable[[], bool]], call: str
) -> None:
    """The refusal comes before the packet, not after it."""
    host, port, came = heard
    line = f"{_UDP}.{call.format((host, port))}"

    results = run(sabotaged(put_in(swallowed(line))))

    assert [result.verdict for result in results] == [Verdict.INCONCLUSIVE] * 2
    assert not came()


#: One after the other, in one run.
ALLOWED = {
    "a temporary file": "__import__('tempfile').NamedTemporaryFile().write(b'a')",
    "a temporary folder": "__import__('shutil').rmtree(__import__('tempfile').mkdtemp())",
    "its own folder": "open('here', 'w').close()",
    "its home": "__import__('pathlib').Path('~/.cache').expanduser().mkdir(exist_ok=True)",
    "the null device": f"open({_OS}.devnull, 'w').write('a')",
    "reading its own source": "open(__file__).read()",
    "a pipe": f"{_OS}.write({_OS}.pipe()[1], b'a')",
    "a signal to itself": f"{_OS}.kill({_OS}.getpid(), 0)",
    "a pair of sockets": f"(p := {_SOCKET}.socketpair(), p[0].send(b'a'))",
    "loopback": (
        f"(s := {_SOCKET}.create_server(('127.0.0.1', 0)),"
        f" {_SOCKET}.create_connection(s.getsockname()).send(b'a'))"
    ),
    "loopback by name": f"{_SOCKET}.getaddrinfo('localhost', 80)",
    "a datagram to loopback": f"{_UDP}.sendto(b'a', ('127.0.0.1', 9))",
    "a Unix socket of its own": (
        f"(s := {_SOCKET}.socket({_SOCKET}.AF_UNIX), s.bind('own'), s.listen(),"
        f" {_SOCKET}.socket({_SOCKET}.AF_UNIX).connect('own'), {_OS}.remove('own'))"
    ),
    "a thread": "(t := __import__('threading').Thread(target=print), t.start(), t.join())",
    "a data base in memory": "__import__('sqlite3').connect(':memory:')",
}


def test_what_stays_inside_is_allowed(sabotaged: Sabotage) -> None:
    """Loopback, the worker's own folder and the null device change no verdict."""
    results = run(sabotaged(put_in("\n        ".join(ALLOWED.values()))))

    assert [result.detail for result in results] == ["", ""]
    assert [result.verdict for result in results] == [Verdict.UPHELD, Verdict.REFUSED]


@pytest.mark.parametrize("shape", ["plain", "swallowed"])
def test_a_module_that_tries_to_leave_while_it_loads_is_not_judged(
    sabotaged: Sabotage, outside: Path, shape: str
) -> None:
    """What it found there, or did not find, would have decided what it does."""
    line = f"open('{outside}/new', 'w')"
    late = line if shape == "plain" else f"try:\n    {line}\nexcept BaseException:\n    pass"

    results = run(sabotaged(lambda text: f"{text}\n{late}\n"))

    assert [result.verdict for result in results] == [Verdict.INCONCLUSIVE] * 2
    assert all(f"refused to write {outside}/new" in result.detail for result in results)
    assert not (outside / "new").exists()


def test_a_proxy_of_the_users_is_not_asked(
    sabotaged: Sabotage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A proxy in the environment would be asked for loopback too, and the case would be lost."""
    monkeypatch.setenv("http_proxy", "http://192.0.2.1:3128")
    monkeypatch.setenv("ALL_PROXY", "http://192.0.2.1:3128")

    results = run(sabotaged(lambda text: f"{text}\n"))

    assert [result.verdict for result in results] == [Verdict.UPHELD, Verdict.REFUSED]


def test_nothing_appears_in_the_tree_under_test(sabotaged: Sabotage) -> None:
    """No bytecode, no cache, no file: the tree is after the check as it was before."""
    tree = sabotaged(lambda text: f"{text}\n")
    before = {file: file.stat().st_mtime_ns for file in [tree, *tree.rglob("*")]}
    wanted = {"PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX"}

    said = subprocess.run(
        [sys.executable, "-m", "harness.cli", "run", _CASES[1].line, "--sglang", str(tree)],
        check=False,
        env={name: value for name, value in os.environ.items() if name not in wanted},
    )

    assert said.returncode == ExitCode.OK
    assert {file: file.stat().st_mtime_ns for file in [tree, *tree.rglob("*")]} == before


PROGRAMS = """
import subprocess, sys
from pathlib import Path
from harness.confinement import COMPILERS, Refused, confine

confine(Path({folder!r}), {programs})
for command in (["gcc", "--version"], ["ls"], "gcc --version", ["sh", "-c", "gcc --version"]):
    try:
        done = subprocess.run(command, capture_output=True, shell=isinstance(command, str))
        print(command, done.returncode == 0)
    except Refused:
        print(command, "refused")
"""


@pytest.mark.skipif(shutil.which("gcc") is None, reason="there is no compiler to start")
@pytest.mark.parametrize(("programs", "first"), [("COMPILERS", "True"), ("()", "refused")])
def test_only_a_compiler_may_be_started_and_only_for_kernels(
    programs: str, first: str, tmp_path: Path
) -> None:
    """By its own name, and not through a shell."""
    code = PROGRAMS.format(folder=str(tmp_path), programs=programs)
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert [line.rpartition(" ")[2] for line in said.stdout.splitlines()] == [
        first,
        *3 * ["refused"],
    ]
