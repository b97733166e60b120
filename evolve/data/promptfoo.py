"""promptfoo test files as rows: tests with vars and assertions in YAML, JSON, JSONL, or a CSV with `__expected`."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from evolve.core.errors import UserError
from evolve.core.hashing import JSONValue
from evolve.data.promptfoo_asserts import SCORERS, TEST_FIELDS, UNGRADED_CELLS, assertion_of_cell, expected_of
from evolve.data.read import read_rows
from evolve.data.rows import BadRow, Row, RowsRead

Numbered = list[tuple[int, Any]]
"""Tests with their numbers: of the line in a table or JSON lines, else of the test in its list."""

MOST_COMBINATIONS = 10_000
_EXPECTED = "__expected"
_METADATA = "__metadata:"


def read_promptfoo(path: Path, max_line_bytes: int) -> tuple[RowsRead, str]:
    """(rows with input, expected, tags, …; the scorer to use). UserError when the tests need several scorers.

    A test that would mean something else here is a bad row that names what has no counterpart.
    """
    read, kinds = RowsRead(), Counter[str]()
    tests = _tests(path, max_line_bytes, read)
    top = max([number for number, _ in tests] + [bad.line for bad in read.bad], default=0)
    for number, test in tests:
        try:
            expanded = list(_rows(test))
        except (ValueError, RecursionError) as error:
            read.bad.append(BadRow(number, str(error)))
            continue
        if len(expanded) > 1:
            read.starts.append((top, f"test {number}"))
        read.rows += [
            Row(number if len(expanded) == 1 else top + n, row) for n, (row, _) in enumerate(expanded, start=1)
        ]
        top += len(expanded)
        kinds.update(kind for _, kind in expanded)
    scorers = {SCORERS[kind] for kind in kinds}
    if len(scorers) > 1:
        found = ", ".join(f"{kind} ({count})" for kind, count in kinds.most_common())
        raise UserError(
            f"its tests are graded in several ways: {found}", place=str(path), fix="import one kind at a time"
        )
    if any(kind.startswith("contains") for kind in kinds):
        read.notes.append("`contains` is graded without regard to case, as `icontains` is")
    return read, next(iter(scorers), "")


def _tests(path: Path, max_line_bytes: int, read: RowsRead) -> Numbered:
    """The tests of any kind of file; unreadable rows go to `read.bad`."""
    suffix = path.suffix.lower()
    if suffix in (".csv", ".tsv", ".jsonl", ".ndjson"):
        source = read_rows(path, max_line_bytes)
        read.bad += source.bad
        read.notes += source.notes
        table = suffix in (".csv", ".tsv")
        return [(row.line, _test_of_cells(row.values) if table else row.values) for row in source.rows]
    return list(enumerate(_document_tests(path), start=1))


def _document_tests(path: Path) -> list[Any]:
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, TypeError, AttributeError, RecursionError, yaml.YAMLError) as error:
        raise UserError(f"cannot be read: {error}", place=str(path), fix="mend the file") from None
    tests = document.get("tests") if isinstance(document, dict) else document
    if not isinstance(tests, list) or not all(isinstance(test, dict) for test in tests):
        fix = "write the tests into the file, or import the file that `tests:` names"
        raise UserError("no list of tests here", place=str(path), fix=fix)
    default = document.get("defaultTest") if isinstance(document, dict) else None
    if default is not None and not isinstance(default, dict):
        raise UserError(f"`defaultTest` is {default!r}", place=str(path), fix="write it into the file")
    return [_with_default(test, default) for test in tests] if default else tests


def _with_default(test: dict[str, Any], default: Mapping[str, Any]) -> dict[str, Any]:
    """What stands in the test wins; assertions add up."""
    merged = {**default, **test}
    for name in ("vars", "options", "metadata"):
        ours, theirs = test.get(name) or {}, default.get(name) or {}
        if isinstance(ours, dict) and isinstance(theirs, dict):
            merged[name] = {**theirs, **ours}
    ours, theirs = test.get("assert") or [], default.get("assert") or []
    if isinstance(ours, list) and isinstance(theirs, list):
        merged["assert"] = [*theirs, *ours]
    return merged


def _test_of_cells(cells: Mapping[str, JSONValue]) -> dict[str, Any]:
    """Columns are variables, but for those whose names begin with two underscores."""
    filled = {name: str(value) for name, value in cells.items() if str(value).strip()}
    test: dict[str, Any] = {
        "vars": {name: value for name, value in cells.items() if not name.startswith("__")},
        "assert": [assertion_of_cell(value) for name, value in filled.items() if name.startswith(_EXPECTED)],
        "metadata": {name[len(_METADATA) :]: value for name, value in filled.items() if name.startswith(_METADATA)},
    }
    known = (_EXPECTED, _METADATA, *UNGRADED_CELLS)
    return test | {name: v for name, v in filled.items() if name.startswith("__") and not name.startswith(known)}


def _rows(test: Any) -> Iterator[tuple[dict[str, JSONValue], str]]:
    """(row, kind of assertion): one, or one for each combination of variables that are lists."""
    if not isinstance(test, dict):
        raise ValueError("the test is not an object")
    strange = next(
        (name for name, value in test.items() if name not in TEST_FIELDS and value not in (None, {}, [])), None
    )
    if strange is not None:
        raise ValueError(f"`{strange}` of a test has no counterpart here")
    options = _mapping(test, "options")
    turned = next((n for n in options if n not in ("provider", "disableVarExpansion", "runSerially")), None)
    if turned is not None:
        raise ValueError(f"`options.{turned}` of a test has no counterpart here")
    metadata = {str(key): str(value) for key, value in _mapping(test, "metadata").items() if value is not None}
    for variables in _combinations(_mapping(test, "vars"), bool(options.get("disableVarExpansion"))):
        kind, expected = expected_of(test.get("assert"), variables)
        question = next(iter(variables.values())) if len(variables) == 1 else variables
        row = {"input": question, "expected": expected} | ({"tags": metadata} if metadata else {})
        yield json.loads(json.dumps(row, default=str, allow_nan=False)), kind


def _mapping(test: Mapping[str, Any], name: str) -> dict[str, Any]:
    value = test.get(name) or {}
    if not isinstance(value, dict) or not all(isinstance(key, str) for key in value):
        raise ValueError(f"`{name}` of the test is not an object with named fields")
    return value


def _combinations(variables: dict[str, Any], whole: bool) -> Iterator[dict[str, Any]]:
    """Every choice of one value for each variable that is a list; as they are with `whole`."""
    if not variables:
        raise ValueError("the test has no vars")
    named = next((name for name, v in variables.items() if isinstance(v, str) and v.startswith("file://")), None)
    if named is not None:
        raise ValueError(f"the variable {named!r} names a file: write its text into the test")
    values = [value if isinstance(value, list) and not whole else [value] for value in variables.values()]
    count = 1
    for choices in values:
        count *= len(choices)
    if not 0 < count <= MOST_COMBINATIONS:
        raise ValueError(f"its variables make {count} tests; from 1 to {MOST_COMBINATIONS:,} are allowed")
    for chosen in itertools.product(*values):
        yield dict(zip(variables, chosen, strict=True))
