"""A check's report as JUnit XML, in the form that Jenkins and GitLab show well.

A test suite is a METS document or an archive; a test case is a code (or a requirement of E-ARK) with findings
about it or one of its files. Names of test cases are the same in every run, so that a history shows when a
fault began and ended. A document without findings is one passed test case. If several packages were checked,
a test suite is a package. Findings below ``--fail-on`` are no failures: they are in the output of the test
case.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import groupby

from metspack import safexml
from metspack.checking import explained
from metspack.checking.links.graph import LinkState
from metspack.layouts.names import is_archive
from metspack.model import Finding
from metspack.reporting.model import Frame, kind, line, nearest, parts, places, printable, sampled
from metspack.reporting.store import FindingStore
from metspack.reporting.text import INTERRUPTED
from metspack.sizes import counted

_SHOWN = 100  # lines of one test case; CI systems cut longer ones, and refuse documents of many megabytes


def document(frame: Frame, kept: FindingStore) -> Iterator[str]:
    """Yield the report as JUnit XML, well-formed with any names in the package."""
    owner = make_owner_lookup(frame)
    suites = _suites(frame, kept, owner)
    tests = sum(each for each, _ in suites.values()) + (not frame.is_complete)
    failures = sum(each for _, each in suites.values())
    title = ", ".join(each for each in (f"metspack check {frame.path}", sampled(frame)) if each)
    yield '<?xml version="1.0" encoding="UTF-8"?>\n'
    yield (
        f'<testsuites name={_attribute(title)} tests="{tests}" '
        f'failures="{failures}" errors="{int(not frame.is_complete)}" time="0">\n'
    )
    if not frame.is_complete:
        yield '<testsuite name="metspack check" tests="1" failures="0" errors="1" skipped="0" time="0">\n'
        yield '<testcase classname="metspack check" name="the check was complete" time="0">'
        yield f'<error type="interrupted" message={_attribute(INTERRUPTED)}/>'
        yield "</testcase>\n</testsuite>\n"
    found = groupby(kept.of_owner(owner), key=lambda each: each[0])
    ahead = next(found, None)
    stamp = f" timestamp={_attribute(frame.created.removesuffix('Z'))}" if frame.created else ""
    for name, suite in sorted(suites.items()):
        yield (
            f'<testsuite name={_attribute(name)} tests="{suite[0]}" failures="{suite[1]}" '
            f'errors="0" skipped="0" time="0"{stamp}>\n'
        )
        if ahead is not None and ahead[0] == name:
            yield from _cases(frame, name, (finding for _, finding in ahead[1]))
            ahead = next(found, None)
        else:
            yield f'<testcase classname={_attribute(name)} name="nothing found" time="0"/>\n'
        yield "</testsuite>\n"
    yield "</testsuites>\n"


def make_owner_lookup(frame: Frame) -> Callable[[str], str]:
    """Return a function that gives the owner of a path: of several packages, that with the path.

    In a single package it is the archive itself, else the nearest METS above the path.
    """
    if frame.are_several:
        return frame.make_package_lookup()
    nodes = [each.child for each in frame.facts.children] + list(frame.facts.tops)
    folders = {each.folder: each.path for each in nodes if each.path}
    folders.setdefault("", "mets.xml")

    def owner(path: str) -> str:
        if is_archive(path) or path in frame.summary.apart:
            return path
        return folders[nearest(path, folders)]

    return owner


def _suites(frame: Frame, kept: FindingStore, owner: Callable[[str], str]) -> dict[str, tuple[int, int]]:
    """Return the numbers of tests and of failures by the names of the suites."""
    suites: dict[str, tuple[int, int]] = {}
    for name, group in kept.by_owner(owner):
        tests, failures = suites.get(name, (0, 0))
        suites[name] = tests + 1, failures + frame.fails(group.severity)
    there = (each.child for each in frame.facts.children if each.state is not LinkState.MISSING)
    documents = (each.path for each in (*frame.facts.tops, *there))
    packages = (printable(each.path) for each in frame.summary.results)
    for name in filter(None, packages if frame.are_several else documents):
        suites.setdefault(name, (1, 0))
    if not suites:  # for most readers a file without a test is an error
        suites[owner("")] = 1, 0
    return suites


def _cases(frame: Frame, suite: str, findings: Iterator[Finding]) -> Iterator[str]:
    for (severity, _, name, standard), rows in groupby(findings, key=kind):
        first, text, more = _message(rows)
        yield f"<testcase classname={_attribute(suite)} "
        yield f"name={_attribute(f'{name} {explained(name, standard).title}')} "
        line_number = f' line="{first.line}"' if first.line else ""
        yield f'file={_attribute(first.path)}{line_number} time="0">'
        message = parts(first)[1] + (f" (and {counted(more, 'more finding')})" if more else "")
        if frame.fails(severity):
            yield f'<failure type="{severity.value}" message={_attribute(message)}>{text}</failure>'
        else:
            yield f"<system-out>{text}</system-out>"
        yield "</testcase>\n"


def _message(findings: Iterator[Finding]) -> tuple[Finding, str, int]:
    """Return the first finding of a test case, its lines as XML, and how many follow."""
    first = next(findings)
    lines, more = [line(first), *places(first, _SHOWN)], 0
    for each in findings:
        more += 1
        if more < _SHOWN:
            lines += [line(each), *places(each, _SHOWN)]
    if more >= _SHOWN:
        lines.append(f"... and {counted(more + 1 - _SHOWN, 'more finding')}")
    lines.append(f"To do: {first.remedy}\n")
    return first, safexml.escaped("\n".join(lines)), more


def _attribute(text: str) -> str:
    return safexml.quoted(printable(text))
