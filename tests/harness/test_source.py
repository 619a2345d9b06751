"""A source is found, fetched once and left untouched; what is wrong with it is said in one line."""

import errno
import os
import signal
import subprocess
import sys
import zipfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from socket import create_server
from types import SimpleNamespace
from typing import Any

import pytest

from contracts.releases import NEWEST, RELEASES
from harness import cache
from harness.case import parse
from harness.errors import CacheError, SourceError
from harness.runner import run_cases
from harness.upstream.source import Tree, default_source, find

Sabotage = Callable[[Callable[[str], str]], Path]

_UNKNOWN = "0.5.9999"


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache; returns its folder of trees."""
    monkeypatch.setenv("SEAMPROOF_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "trees"


def left(trees: Path) -> list[str]:
    """Return what stands in a cache beside its locks."""
    return sorted(f.name for f in trees.iterdir() if f.suffix != ".lock") if trees.exists() else []


# Releases.


def wheel_of(release: str, folder: Path) -> None:
    """Write a small wheel of SGLang into a folder, as pip would."""
    with zipfile.ZipFile(folder / f"sglang-{release}-py3-none-any.whl", "w") as wheel:
        wheel.writestr("sglang/__init__.py", "")
        wheel.writestr("sglang/kernels.so", "compiled")
        wheel.writestr(f"sglang-{release}.dist-info/METADATA", f"Version: {release}\n")


@pytest.fixture
def pip(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A pip that is not run: its commands, and what it answers (None: it gets the wheel)."""
    said = SimpleNamespace(commands=[], stderr=None)

    def run(command: list[str], **_: Any) -> Any:
        said.commands.append(command)
        if said.stderr is None:
            folder = Path(command[command.index("--dest") + 1])
            wheel_of(command[-1].partition("==")[2], folder)
        return SimpleNamespace(returncode=0 if said.stderr is None else 1, stderr=said.stderr)

    monkeypatch.setattr("harness.upstream.releases.subprocess.run", run)
    return said


def test_the_default_source_is_the_newest_release_read() -> None:
    """With no source named, the newest known release is meant."""
    assert default_source() == NEWEST


def test_a_release_is_fetched_once_without_what_is_compiled(own_cache: Path, pip: Any) -> None:
    """The wheel is downloaded without its dependencies and unpacked; the next time nothing is."""
    told: list[str] = []
    first = find("0.5.21", told.append)
    again = find("0.5.21", told.append)

    assert first == again == Tree("0.5.21", own_cache / "sglang-0.5.21", "0.5.21")
    assert len(pip.commands) == 1
    assert "--no-deps" in pip.commands[0]
    assert told == ["fetching the wheel of sglang 0.5.21", "unpacking sglang 0.5.21"]
    assert left(own_cache) == ["sglang-0.5.21"]
    assert first.file_of("sglang") == own_cache / "sglang-0.5.21/sglang/__init__.py"
    assert first.file_of("sglang.nothing") is None
    assert not list(own_cache.rglob("*.so"))


def test_a_cached_release_needs_no_network(newest: Tree, pip: Any) -> None:
    """Nothing is asked of pip for what is there."""
    pip.stderr = "Failed to establish a new connection"

    assert find(NEWEST) == newest
    assert pip.commands == []


@pytest.mark.parametrize(
    ("stderr", "said"),
    [
        ("ERROR: Could not find (from versions: 0.1)\nERROR: No matching distribution found",
         f"is not to be had; read so far: {', '.join(RELEASES)}"),
        ("ERROR: Could not find (from versions: none)\nERROR: No matching distribution found",
         "no package registry can be reached; connect, or name"),
        ("WARNING: Failed to establish a new connection\nERROR: No matching distribution",
         "no package registry can be reached; connect, or name a checkout or a cached release"),
        ("ERROR: HTTPSConnectionPool: Max retries exceeded", "no package registry can be reached"),
        ("/usr/bin/python: No module named pip", "fetching it needs pip in this environment"),
        ("noise\nERROR: 403 Forbidden", "could not be fetched: ERROR: 403 Forbidden"),
        ("", "could not be fetched: pip said nothing"),
    ],
)  # fmt: skip
def test_a_release_that_pip_cannot_get_is_explained(
    own_cache: Path, pip: Any, stderr: str, said: str
) -> None:
    """The text says which release, why, and what else there is; nothing is left in the cache."""
    pip.stderr = stderr

    with pytest.raises(SourceError) as raised:
        find(_UNKNOWN)

    assert _UNKNOWN in str(raised.value)
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)
    assert left(own_cache) == []


def test_a_disk_that_fills_while_pip_downloads_is_explained(own_cache: Path, pip: Any) -> None:
    """Pip's own full disk is a full cache."""
    pip.stderr = "ERROR: Could not install packages: [Errno 28] No space left on device"

    with pytest.raises(CacheError, match="No space left on device; free some space or name"):
        find("0.5.21")

    assert left(own_cache) == []


def test_a_disk_that_fills_while_unpacking_leaves_nothing(
    own_cache: Path, pip: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No half-written release: the next try fetches it whole."""
    extract = zipfile.ZipFile.extract

    def full(self: zipfile.ZipFile, member: zipfile.ZipInfo, path: Path) -> str:
        if "METADATA" in member.filename:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return extract(self, member, path)

    with monkeypatch.context() as patched:
        patched.setattr(zipfile.ZipFile, "extract", full)
        with pytest.raises(CacheError, match=f"cannot write the cache {own_cache}: No space left"):
            find("0.5.21")
    assert left(own_cache) == []

    assert find("0.5.21").release == "0.5.21"
    assert left(own_cache) == ["sglang-0.5.21"]


def test_a_wheel_that_is_no_wheel_leaves_nothing(
    own_cache: Path, pip: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A download that was cut short is a source that cannot be read, not a traceback."""
    monkeypatch.setattr(
        sys.modules[__name__],
        "wheel_of",
        lambda release, folder: (folder / f"sglang-{release}-x.whl").write_bytes(b"PK\3\4 cut"),
    )

    with pytest.raises(SourceError, match=r"0\.5\.21"):
        find("0.5.21")

    assert left(own_cache) == []


def test_a_cache_that_cannot_be_written_is_explained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The text names the folder and the variable that moves it."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("SEAMPROOF_CACHE", str(tmp_path / "file"))

    with pytest.raises(CacheError, match="name another folder in SEAMPROOF_CACHE"):
        find("0.5.21")


def cli(*words: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    """Run the command line with more in its environment."""
    return subprocess.run(
        [sys.executable, "-m", "harness.cli", *words],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )


@pytest.mark.parametrize("index", ["none", "closed"])
def test_the_real_pip_that_finds_nothing_is_explained(own_cache: Path, index: str) -> None:
    """No index at all, and one at which nobody answers: one line, and exit code 2."""
    with closing(create_server(("127.0.0.1", 0))) as server:
        port = server.getsockname()[1]
    environment = {
        "none": {"PIP_NO_INDEX": "1"},
        "closed": {"PIP_INDEX_URL": f"http://127.0.0.1:{port}/simple", "PIP_RETRIES": "0"},
    }
    said = f"seamproof: release {_UNKNOWN} is not in the cache, and no package registry can be"

    done = cli("check", _UNKNOWN, PIP_CONFIG_FILE=os.devnull, **environment[index])

    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.splitlines()[-1].startswith(said)
    assert "Traceback" not in done.stderr
    assert left(own_cache) == []


# The cache under kills and under company.

_CHILD = """
import sys
from pathlib import Path
from harness.cache import placed

def fill(folder):
    (folder / "first").write_text("whole")
    with Path(sys.argv[2]).open("a") as log:
        log.write("filled\\n")
    print("filling", flush=True)
    sys.stdin.readline()
    (folder / "second").write_text("whole")

print("calling", flush=True)
print(placed(Path(sys.argv[1]), fill), flush=True)
"""


def child(target: Path, log: Path) -> "subprocess.Popen[str]":
    """Start a process that fills a folder of the cache, and waits for a line in between."""
    started = subprocess.Popen(
        [sys.executable, "-c", _CHILD, str(target), str(log)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert started.stdout is not None
    assert started.stdout.readline() == "calling\n"
    return started


def test_a_kill_half_way_leaves_no_half_written_folder(tmp_path: Path) -> None:
    """What the killed process wrote is never taken for the whole, and is swept away."""
    target, log = tmp_path / "trees" / "tree", tmp_path / "log"
    killed = child(target, log)
    with killed:
        assert killed.stdout is not None
        assert killed.stdout.readline() == "filling\n"
        assert not target.exists()
        killed.send_signal(signal.SIGKILL)

    def fill(folder: Path) -> None:
        assert list(folder.iterdir()) == []
        (folder / "second").write_text("whole")

    assert not target.exists()
    assert cache.placed(target, fill) == target
    assert [file.name for file in target.iterdir()] == ["second"]
    assert left(target.parent) == ["tree"]


def test_two_processes_at_once_fill_once(tmp_path: Path) -> None:
    """The second waits for the first and takes what it made."""
    target, log = tmp_path / "trees" / "tree", tmp_path / "log"
    first = child(target, log)
    with first:
        assert first.stdout is not None
        assert first.stdout.readline() == "filling\n"
        with child(target, log) as second:
            assert not target.exists()
            outputs = [first.communicate("\n")[0], second.communicate("\n")[0]]

    assert outputs == [f"{target}\n"] * 2
    assert log.read_text() == "filled\n"
    assert sorted(file.name for file in target.iterdir()) == ["first", "second"]
    assert left(target.parent) == ["tree"]


def test_an_error_while_filling_leaves_nothing(tmp_path: Path) -> None:
    """Whatever ends the filling, an interrupt too, the next call begins anew."""
    target = tmp_path / "trees" / "tree"

    def fill(folder: Path) -> None:
        (folder / "first").write_text("")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cache.placed(target, fill)

    assert left(target.parent) == []


# Paths.


def small_tree(root: Path) -> Path:
    """Write the smallest folder that is a tree of SGLang."""
    (root / "sglang").mkdir(parents=True)
    (root / "sglang" / "__init__.py").write_text("")
    return root


@pytest.mark.parametrize(
    ("layout", "named"),
    [("", ""), ("", "sglang"), ("python", ""), ("python", "python"), ("python", "python/sglang")],
)
def test_a_checkout_is_found_by_each_of_its_folders(
    tmp_path: Path, layout: str, named: str
) -> None:
    """The folder that holds sglang/, the one that holds python/sglang/, and sglang/ itself."""
    root = small_tree(tmp_path / "checkout" / layout)

    tree = find(str(tmp_path / "checkout" / named))

    assert tree.root == root
    assert tree.mode == "hermetic"


def test_a_path_is_found_from_where_one_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A relative path and one from the home are paths too."""
    root = small_tree(tmp_path / "checkout")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))

    assert find("checkout").root == find("~/checkout").root == root


@pytest.mark.parametrize(
    ("file", "text", "release"),
    [
        ("sglang-0.5.20.dist-info/METADATA", "Name: sglang\nVersion: 0.5.20\n", "0.5.20"),
        ("sglang/_version.py", "__version__ = version = '0.5.24.dev3+gabc'\n", "0.5.24.dev3+gabc"),
        ("sglang/version.py", '__version__ = "0.5.19"\n', "0.5.19"),
        ("sglang/version.py", "__version__ = read()\n", None),
        ("README.md", "0.5.19", None),
    ],
)
def test_a_tree_says_its_release(tmp_path: Path, file: str, text: str, release: str | None) -> None:
    """In its metadata or its version file; else the newest known one is assumed, and said so."""
    root = small_tree(tmp_path / "tree")
    (root / file).parent.mkdir(exist_ok=True)
    (root / file).write_text(text)

    tree = find(str(root))

    assert (tree.release, tree.release_assumed) == (release or NEWEST, release is None)


@pytest.mark.parametrize("kind", ["empty", "file", "other package", "no package"])
def test_a_path_that_is_no_tree_is_explained(tmp_path: Path, kind: str) -> None:
    """The text names the source and the two files that it looked for."""
    path = tmp_path / "here"
    if kind == "file":
        path.write_text("")
    else:
        path.mkdir()
    if kind == "other package":
        (path / "vllm").mkdir()
        (path / "vllm" / "__init__.py").write_text("")
    if kind == "no package":
        (path / "sglang").mkdir()

    with pytest.raises(SourceError, match=r"is no SGLang tree: .*here/python/sglang/__init__\.py"):
        find(str(path))


@pytest.mark.parametrize("source", ["./nowhere", "v0.5.23", "newest", "", "0.5", "0.5.23 "])
def test_a_source_that_is_nothing_is_explained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str
) -> None:
    """The text says what a source can be."""
    monkeypatch.chdir(tmp_path)

    with pytest.raises(SourceError, match=r"expected a release such as|is no SGLang tree"):
        find(source)


def test_installed_without_sglang_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    """The text says how to install it."""
    monkeypatch.setattr("harness.upstream.source.importlib.util.find_spec", lambda name: None)

    with pytest.raises(SourceError, match="this environment has no sglang; install it, as in"):
        find("installed")


# Commits.


def git(folder: Path, *words: str) -> str:
    """Run git in a folder and return what it says."""
    who = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
    return subprocess.run(
        ["git", "-C", str(folder), *who, *words], check=True, capture_output=True, text=True
    ).stdout.strip()


@pytest.fixture
def repository(tmp_path: Path, own_cache: Path) -> Path:
    """A repository of SGLang with two commits: the first has tag v0.5.18, `main` is the second."""
    folder = tmp_path / "repository"
    small_tree(folder / "python")
    git(folder, "init", "--quiet", "--initial-branch=main")
    for text in ("first", "second"):
        (folder / "python/sglang/part.py").write_text(f'"""{text}"""\n')
        git(folder, "add", ".")
        git(folder, "commit", "--quiet", "-m", text)
    git(folder, "tag", "v0.5.18", "main~1")
    return folder


def part(tree: Tree) -> str:
    """Return the text of the one file that differs between commits."""
    file = tree.file_of("sglang.part")
    assert file is not None
    return file.read_text()


@pytest.mark.parametrize(
    ("ref", "text"),
    [("main", "second"), ("HEAD", "second"), ("main~1", "first"), ("v0.5.18", "first")],
)
def test_a_commit_is_read_by_each_name_of_it(repository: Path, ref: str, text: str) -> None:
    """A branch, a tag, an ancestor, and the number itself."""
    tree = find(f"git:{repository}@{ref}")
    number = git(repository, "rev-parse", f"{ref}^{{commit}}")

    assert part(tree) == part(find(f"git:{repository}@{number}")) == f'"""{text}"""\n'
    assert tree.name == f"git:{repository}@{ref}"


def test_a_commit_says_its_release_by_its_tags(repository: Path) -> None:
    """A commit that is tagged, or comes after a tag, is of that release; else it is assumed."""
    assert find(f"git:{repository}@v0.5.18").release == "0.5.18"
    assert find(f"git:{repository}@main").release == "0.5.18"
    git(repository, "tag", "--delete", "v0.5.18")
    assert find(f"git:{repository}@main").release_assumed


def test_a_checkout_says_its_release_by_its_tags(repository: Path) -> None:
    """The same for the work tree itself."""
    tree = find(str(repository))

    assert (tree.release, tree.release_assumed) == ("0.5.18", False)


def test_the_work_tree_is_neither_read_nor_touched(repository: Path) -> None:
    """What is changed, added or staged there is not what was committed, and stays."""
    (repository / "python/sglang/part.py").write_text("dirty\n")
    (repository / "python/sglang/new.py").write_text("")
    git(repository, "add", "python/sglang/new.py")
    before = {f: f.read_bytes() for f in repository.rglob("*") if f.is_file()}

    tree = find(f"git:{repository}@main")

    assert part(tree) == '"""second"""\n'
    assert tree.file_of("sglang.new") is None
    assert {f: f.read_bytes() for f in repository.rglob("*") if f.is_file()} == before


def test_a_commit_is_read_once(
    repository: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two names of one commit are one folder of the cache, told once."""
    told: list[str] = []
    first = find(f"git:{repository}@main", told.append)
    again = find(f"git:{repository}@HEAD", told.append)

    assert first.root == again.root
    assert len(told) == len(left(own_cache)) == 1


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("git:", "expected git:PATH@REF, as in git:~/sglang@main"),
        ("git:REPOSITORY", "expected git:PATH@REF"),
        ("git:REPOSITORY@", "expected git:PATH@REF"),
        ("git:@main", "expected git:PATH@REF"),
        ("git:REPOSITORY@nowhere", "no commit 'nowhere' in"),
        ("git:REPOSITORY@--help", "no commit '--help' in"),
        ("git:REPOSITORY@main:python", "no commit 'main:python' in"),
        ("git:REPOSITORY/nowhere@main", "there is no folder"),
        ("git:OTHER@main", "no git repository in"),
        ("git:EMPTY@main", "is no SGLang tree: it has no python/sglang/__init__.py"),
    ],
)
def test_a_commit_that_is_not_there_is_explained(
    repository: Path, tmp_path: Path, own_cache: Path, source: str, said: str
) -> None:
    """The text names the source and what it has not; the cache stays empty."""
    (tmp_path / "other").mkdir()
    empty = tmp_path / "empty"
    empty.mkdir()
    git(empty, "init", "--quiet", "--initial-branch=main")
    git(empty, "commit", "--quiet", "--allow-empty", "-m", "empty")
    named = {"REPOSITORY": repository, "OTHER": tmp_path / "other", "EMPTY": empty}
    for name, path in named.items():
        source = source.replace(name, str(path))

    with pytest.raises(SourceError) as raised:
        find(source)

    assert repr(source) in str(raised.value)
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)
    assert left(own_cache) == []


def test_a_repository_that_git_does_not_trust_is_explained(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another user's repository, as in a container: git's own words are passed on."""
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "true")

    with pytest.raises(SourceError, match="dubious ownership"):
        find(f"git:{repository}@main")


def test_a_machine_without_git_is_explained(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The text says so, rather than that there is no such file."""
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(SourceError, match="there is no git on this machine"):
        find(f"git:{repository}@main")


# A source that moves under the check.


@pytest.mark.parametrize("change", ["edited", "added", "gone"])
def test_a_checkout_that_changes_while_it_is_checked_is_no_result(
    sabotaged: Sabotage, change: str
) -> None:
    """Half of the verdicts would be another tree's: the whole check is refused."""
    root = sabotaged(lambda text: f"{text}\n")
    extra = root / "sglang" / "extra.py"
    extra.write_text("")

    def disturb(done: int, total: int) -> None:
        if change == "edited":
            extra.write_text("edited = True\n")
        elif change == "added":
            (root / "sglang" / "added.py").write_text("")
        else:
            extra.unlink()

    with pytest.raises(SourceError, match="changed while it was checked: check it again"):
        run_cases(find(str(root)), [parse("ar-split noop records=2 shape=32x32")], progress=disturb)


def test_a_checkout_that_is_only_read_gives_its_results(sabotaged: Sabotage) -> None:
    """What is no Python file may change, as an editor's swap file does."""
    root = sabotaged(lambda text: f"{text}\n")

    def disturb(done: int, total: int) -> None:
        (root / "sglang" / ".part.py.swp").write_text("")

    (result,) = run_cases(
        find(str(root)), [parse("ar-split noop records=2 shape=32x32")], progress=disturb
    )

    assert str(result.verdict) == "upheld"
