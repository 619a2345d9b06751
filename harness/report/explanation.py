"""One seam, clause, fault or verdict in full, with the place of each guard in the source."""

import ast
import importlib.util
from pathlib import Path
from typing import Any

from contracts import CONTRACTS, Clause, Guard
from harness.errors import unknown
from harness.report.listing import VERDICTS
from harness.runner import absence
from harness.seams import SEAMS
from harness.upstream.raise_sites import guard_site
from harness.upstream.source import Tree, find
from harness.verdict import Verdict
from simulators.faults import FAULTS


def explanation(name: str, source: str) -> dict[str, Any]:
    """Return what there is to say of a name.

    Args:
        name: A seam, `SEAM/CLAUSE`, a fault or a verdict.
        source: Where guards are looked up.

    Raises:
        UsageError: if nothing has that name.
        SourceError: if a seam or clause is asked for and there is no such source.
    """
    if name in SEAMS:
        return _seam(name, find(source))
    seam, _, clause = name.partition("/")
    if clause and seam in SEAMS:
        clauses = {c.name: c for c in CONTRACTS[seam].clauses}
        if clause not in clauses:
            raise unknown(f"clause of {seam}", clause, clauses)
        return _clause(seam, clauses[clause], find(source))
    if name in FAULTS:
        return _fault(name)
    if name in list(Verdict):
        return {"verdict": name, "means": VERDICTS[Verdict(name)]}
    raise unknown("name", name, [*SEAMS, *FAULTS, *Verdict])


def _seam(name: str, tree: Tree) -> dict[str, Any]:
    row, contract = SEAMS[name], CONTRACTS[name]
    missing = absence(tree, row)
    return {
        "seam": name,
        "summary": contract.summary,
        "contract": f"contracts/{name.replace('-', '_')}.py",
        "consumer": row.consumer,
        "provided and driven": _docstring(row.consumer),
        "entry": f"{row.module(tree.release)}.{row.symbol}",
        "platform": row.platform,
        "in this release": missing or "yes",
        "dimensions": [
            f"{key}: {dim.meaning}" + (f" (default {dim.default})" if dim.default else "")
            for key, dim in row.dims.items()
        ],
        "clauses": [
            f"{clause.name}: {clause.sentence} [{_standing(clause, tree, row.platform)}]"
            for clause in contract.clauses
        ],
    }


def _clause(seam: str, clause: Clause, tree: Tree) -> dict[str, Any]:
    platform = SEAMS[seam].platform
    said: dict[str, Any] = {
        "clause": f"{seam}/{clause.name}",
        "sentence": clause.sentence,
        "in this release": _standing(clause, tree, platform),
        "if broken": "documented refusal"
        if clause.guard(tree.release, platform)
        else " or ".join(clause.incidental) + ", by accident"
        if clause.incidental
        else "accepted",
    }
    for guard in clause.guards:
        said |= {
            "error": guard.error,
            "text": guard.text,
            "releases": str(guard.span),
            "platforms": ", ".join(guard.platforms) or "every one",
            "read in": str(guard.source),
            "raised at": _site(guard, tree),
        }
        if guard.direct:
            said["reached"] = "only by calling its function directly"
        if guard.unreachable:
            said["unreachable"] = guard.unreachable
    return said


def _standing(clause: Clause, tree: Tree, platform: str) -> str:
    if clause.dead_guard(tree.release):
        return "assumed: its guard is unreachable"
    return "guarded" if clause.guard(tree.release, platform) else "assumed"


def _site(guard: Guard, tree: Tree) -> str:
    file = Path(tree.root, "sglang", guard.source.path)
    site = guard_site(file, guard) if file.is_file() else None
    if site is None:
        return f"nowhere in {tree.name}"
    return f"sglang/{guard.source.path}:{site.first} in {site.symbol}"


def _fault(name: str) -> dict[str, Any]:
    fault = FAULTS[name]
    return {
        "fault": name,
        "kind": fault.kind,
        "picture": fault.picture,
        "forms": ", ".join(fault.forms),
        "benign": "yes: it must be tolerated" if fault.benign else "no",
        "places in 3 records": ["; ".join(map(str, fault.places(3))) or "none"],
        "seams": ", ".join(s.name for s in SEAMS.values() if set(s.forms) & set(fault.forms)),
    }


def _docstring(consumer: str) -> str:
    # Read as text: importing a consumer imports torch.
    spec = importlib.util.find_spec(consumer.partition(":")[0])
    if spec is None or spec.origin is None:
        return ""
    tree = ast.parse(Path(spec.origin).read_text(encoding="utf-8"))
    shared = {
        node.module.rpartition(".")[2]
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        and node.module is not None
        and node.module.startswith("harness.consumers.")
    } - {"consumer"}
    files = [Path(spec.origin).with_name(f"{name}.py") for name in sorted(shared)]
    trees = [tree, *(ast.parse(file.read_text(encoding="utf-8")) for file in files)]
    return "\n\n".join(filter(None, map(ast.get_docstring, trees)))
