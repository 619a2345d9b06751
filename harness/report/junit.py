"""The report for CI: JUnit XML, one test case for each case."""

from xml.etree import ElementTree

from harness.report.digest import head, replay
from harness.result import CaseResult
from harness.runner import Report
from harness.verdict import UNJUDGED, Promise


def text(report: Report, strict: bool = False) -> str:
    """Return the report as JUnit XML.

    Args:
        report: What a check found.
        strict: Whether an open promise fails too.
    """
    root = ElementTree.Element("testsuites", name=f"seamproof: {head(report)}")
    for seam in dict.fromkeys(result.seam for result in report.results):
        results = [result for result in report.results if result.seam == seam]
        suite = ElementTree.SubElement(
            root,
            "testsuite",
            name=seam,
            tests=str(len(results)),
            failures=str(sum(_fails(r, strict) for r in results)),
            errors="0",
            skipped=str(sum(r.verdict in UNJUDGED for r in results)),
            time=f"{sum(r.seconds for r in results):.3f}",
        )
        for result in results:
            _add(suite, report, result, strict)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _fails(result: CaseResult, strict: bool) -> bool:
    return result.promise is Promise.BROKEN or (strict and result.promise is Promise.OPEN)


def _add(suite: ElementTree.Element, report: Report, result: CaseResult, strict: bool) -> None:
    case = ElementTree.SubElement(
        suite,
        "testcase",
        classname=f"seamproof.{result.seam}",
        name=f"[{result.case}]",
        time=f"{result.seconds:.3f}",
    )
    said = f"{result.verdict}: {result.detail or result.message or ''}".rstrip(": ")
    if _fails(result, strict):
        failure = ElementTree.SubElement(case, "failure", message=said)
        failure.text = "\n".join([*result.violations, replay(report, result)])
    elif result.verdict in UNJUDGED:
        ElementTree.SubElement(case, "skipped", message=said)
    else:
        ElementTree.SubElement(case, "system-out").text = f"{result.promise}, {said}"
