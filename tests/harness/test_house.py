"""The rules of the house, checked: imports, sizes, names, tables and documents."""

import ast
import importlib
import re
from pathlib import Path

import pytest

from contracts import CONTRACTS
from contracts.releases import NEWEST
from harness.case import cases, parse
from harness.seams import SEAMS
from harness.upstream.source import Tree
from simulators.faults import FAULTS

REPOSITORY = Path(__file__).parents[2]
PACKAGES = ("contracts", "simulators", "harness")
SOURCES = [f for package in PACKAGES for f in sorted((REPOSITORY / package).rglob("*.py"))]
#: What each package may import of the others.
ALLOWED = {
    "contracts": {"contracts"},
    "simulators": {"contracts", "simulators"},
    "harness": {"contracts", "simulators", "harness"},
}
VAGUE = {"utils", "util", "helpers", "helper", "common", "misc", "manager", "base"}


def imported(file: Path) -> set[str]:
    """Return the modules that a file imports, at any depth."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file} imports relatively"
            found.add(node.module or "")
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def named(file: Path) -> str:
    """Return a file's path in the repository."""
    return str(file.relative_to(REPOSITORY))


@pytest.mark.parametrize("file", SOURCES, ids=named)
def test_imports_go_one_way(file: Path) -> None:
    """contracts <- simulators <- harness, and never the other way."""
    package = file.relative_to(REPOSITORY).parts[0]
    ours = {name.partition(".")[0] for name in imported(file)} & {*PACKAGES, "tests"}

    assert ours <= ALLOWED[package]


def test_contracts_import_only_the_standard_library() -> None:
    """A consumer may use a contract without installing anything."""
    import sys

    for file in (REPOSITORY / "contracts").rglob("*.py"):
        tops = {name.partition(".")[0] for name in imported(file)} - {"contracts"}
        assert tops <= sys.stdlib_module_names, file


def test_no_seam_and_no_fault_knows_another() -> None:
    """Two seams' files, or two kinds of fault, never import each other."""
    seams = {name.replace("-", "_") for name in SEAMS}
    contracts = [REPOSITORY / f"contracts/{name}.py" for name in seams]
    consumers = [
        REPOSITORY / (seam.consumer.partition(":")[0].replace(".", "/") + ".py")
        for seam in SEAMS.values()
    ]
    for file in (*contracts, *consumers):
        known = {part for module in imported(file) for part in module.split(".")}
        assert not known & (seams - {file.stem}), file
    kinds = [f for f in (REPOSITORY / "simulators/faults").glob("*.py") if f.stem != "__init__"]
    stems = {f.stem for f in kinds} - {"fault"}
    for file in kinds:
        own = {m.rpartition(".")[2] for m in imported(file) if "simulators.faults." in m}
        assert not own & (stems - {file.stem}), file


def test_the_oracle_and_the_contracts_know_no_fault() -> None:
    """Who judges cannot see what was done."""
    for file in (REPOSITORY / "harness/oracle.py", *(REPOSITORY / "contracts").rglob("*.py")):
        assert not any("faults" in name for name in imported(file)), file


def test_triton_and_pytest_stay_where_they_belong() -> None:
    """Triton only in kernel files, pytest only in the plugin."""
    for file in SOURCES:
        tops = {name.partition(".")[0] for name in imported(file)}
        assert "pytest" not in tops or file.name == "pytest_plugin.py", file
        assert "triton" not in tops or "kernel" in str(file), file


@pytest.mark.parametrize("file", SOURCES, ids=named)
def test_a_file_is_one_idea(file: Path) -> None:
    """Under 400 lines, with a name that says something and a sentence of purpose."""
    text = file.read_text()

    assert text.count("\n") <= 400
    assert file.stem not in VAGUE
    assert ast.get_docstring(ast.parse(text))


@pytest.mark.parametrize("file", SOURCES, ids=named)
def test_no_error_is_swallowed(file: Path) -> None:
    """No bare except, and none that passes over every error."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ExceptHandler):
            assert node.type is not None
            broad = isinstance(node.type, ast.Name) and "Exception" in node.type.id
            assert not (broad and all(isinstance(n, ast.Pass) for n in node.body))


def test_every_seam_has_its_contract_consumer_and_clauses() -> None:
    """From a row every file is one hop."""
    assert set(SEAMS) == set(CONTRACTS)
    for name, seam in SEAMS.items():
        module, _, kind = seam.consumer.partition(":")
        assert hasattr(importlib.import_module(module), kind)
        assert CONTRACTS[name].seam == name
        names = [clause.name for clause in CONTRACTS[name].clauses]
        assert len(names) == len(set(names))
        assert seam.spaces
        assert set(seam.forms) <= {form for fault in FAULTS.values() for form in fault.forms}


def test_every_case_is_one_line_that_replays_it() -> None:
    """The line of a case parses back to it, and no two cases share one."""
    for seam in SEAMS.values():
        every = list(cases(seam))
        lines = [case.line for case in every]
        assert len(set(lines)) == len(lines)
        assert [parse(line) for line in lines] == every


def test_every_fault_is_used_and_named_like_its_function() -> None:
    """No row of the table is dead, and its kind is one of the design's words."""
    kinds = {"noop", "omission", "truncation", "duplication", "reordering", "merge"} | {
        "substitution", "skew", "staleness", "delay", "disconnect",
    }  # fmt: skip
    used = {step.fault for seam in SEAMS.values() for c in cases(seam) for step in c.steps}

    assert used == {name for name, fault in FAULTS.items() if fault.scope != "fuzz"}
    assert next(iter(FAULTS)) == "noop"
    for name, fault in FAULTS.items():
        assert fault.name == name
        assert fault.kind in kinds
        assert "->" in fault.picture


def test_every_guard_stands_where_the_contract_says(newest: Tree) -> None:
    """The documented text is raised in the file and function that the clause names."""
    from harness.upstream.raise_sites import guard_site

    for contract in CONTRACTS.values():
        for clause in contract.clauses:
            for guard in clause.guards:
                if NEWEST not in guard.span:
                    continue
                file = newest.root / "sglang" / guard.source.path
                site = guard_site(file, guard)
                assert site is not None, clause.name
                assert site.symbol == guard.source.symbol


def test_the_readme_and_ci_call_one_test_command() -> None:
    """The README's test command, `.ci/run` and the workflow are one line."""
    (line,) = re.findall(r"^python3 .*tox run -m ci$", (REPOSITORY / ".ci/run").read_text(), re.M)

    assert line in (REPOSITORY / "README.md").read_text()
    assert line in (REPOSITORY / ".github/workflows/ci.yml").read_text()


def test_the_readme_has_every_seam() -> None:
    """A row for each, so that nobody has to look into the table of the code."""
    text = (REPOSITORY / "README.md").read_text()

    assert [name for name in SEAMS if f"\n| `{name}` | " not in text] == []


def test_every_file_that_the_documents_name_is_there() -> None:
    """A document that points nowhere is mended or removed."""
    documents = [*REPOSITORY.glob("*.md"), *(REPOSITORY / "docs").rglob("*.md")]
    pattern = re.compile(r"`((?:contracts|simulators|harness|tests|docs|benchmarks)/[\w./-]+)`")
    for document in documents:
        for path in pattern.findall(document.read_text()):
            assert (REPOSITORY / path).exists(), f"{document.name} names {path}"


def test_the_packages_are_all_listed() -> None:
    """A package that is not listed would be missing from the wheel."""
    import tomllib

    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())
    found = {
        ".".join(file.parent.relative_to(REPOSITORY).parts)
        for file in SOURCES
        if file.name == "__init__.py"
    }

    assert found == set(project["tool"]["setuptools"]["packages"])
