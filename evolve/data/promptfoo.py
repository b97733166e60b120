"""promptfoo test files as rows: `tests:` with vars and assertions in YAML or JSON, or a CSV with `__expected`."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from evolve.core.errors import UserError
from evolve.core.hashing import JSONValue
from evolve.data.read import read_rows
from evolve.data.rows import BadRow, Row, RowsRead

SCORERS: Mapping[str, str] = {
    "equals": "{kind: exact, strict: true}",
    "contains": "{kind: contains, whole_words: false}",
    "icontains": "{kind: contains, whole_words: false}",
    "contains-all": "{kind: contains, whole_words: false}",
    "icontains-all": "{kind: contains, whole_words: false}",
    "contains-any": "{kind: contains, need: any, whole_words: false}",
    "icontains-any": "{kind: contains, need: any, whole_words: false}",
    "llm-rubric": "{kind: judge, rubric: the answer meets what is expected}",
}
"""Assertion type → the scorer that grades it here. Case does not count in any `contains`."""

_EXPECTED = "__expected"


def read_promptfoo(path: Path, max_line_bytes: int) -> tuple[RowsRead, str]:
    """(rows with input, expected, tags, …; the scorer to use). UserError when the tests need several scorers.

    A test whose assertion has no scorer here is a bad row that names the assertion.
    """
    tests = _csv_tests(path, max_line_bytes) if path.suffix.lower() == ".csv" else _document_tests(path)
    read, kinds = RowsRead(), Counter[str]()
    for number, test in enumerate(tests, start=1):
        try:
            row, kind = _row(test)
        except ValueError as error:
            read.bad.append(BadRow(number, str(error)))
            continue
        kinds[kind] += 1
        read.rows.append(Row(number, row))
    scorers = {SCORERS[kind] for kind in kinds}
    if len(scorers) > 1:
        found = ", ".join(f"{kind} ({count})" for kind, count in kinds.most_common())
        raise UserError(
            f"its tests are graded in several ways: {found}", place=str(path), fix="import one kind at a time"
        )
    return read, next(iter(scorers), "")


def _document_tests(path: Path) -> list[dict[str, Any]]:
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise UserError(f"cannot be read: {error}", place=str(path), fix="mend the file") from None
    tests = document.get("tests") if isinstance(document, dict) else document
    if not isinstance(tests, list) or not all(isinstance(test, dict) for test in tests):
        fix = "write the tests into the file, or import the file that `tests:` names"
        raise UserError("no list of tests here", place=str(path), fix=fix)
    default = document.get("defaultTest") if isinstance(document, dict) else None
    return [_with_default(test, default if isinstance(default, dict) else {}) for test in tests]


def _with_default(test: dict[str, Any], default: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **test,
        "vars": {**(default.get("vars") or {}), **(test.get("vars") or {})},
        "assert": [*(default.get("assert") or []), *(test.get("assert") or [])],
    }


def _csv_tests(path: Path, max_line_bytes: int) -> list[dict[str, Any]]:
    """Columns are variables, but for `__expected`, `__expected1`, … and `__description`, `__metadata:KEY`."""
    tests = []
    for row in read_rows(path, max_line_bytes).rows:
        asserts = [
            _csv_assert(str(v)) for name, v in row.values.items() if name.startswith(_EXPECTED) and str(v).strip()
        ]
        metadata = {n.partition(":")[2]: v for n, v in row.values.items() if n.startswith("__metadata:")}
        variables = {name: value for name, value in row.values.items() if not name.startswith("__")}
        tests.append({"vars": variables, "assert": asserts, "metadata": metadata})
    return tests


def _csv_assert(text: str) -> dict[str, Any]:
    """`icontains: x` is an assertion of that type, a text without a known type is to be equalled."""
    kind, colon, value = text.partition(":")
    if colon and (kind.strip() in SCORERS or (kind.strip().replace("-", "").isalpha() and " " not in kind.strip())):
        found = value.strip()
        return {"type": kind.strip(), "value": found.split(",") if kind.strip().endswith(("-all", "-any")) else found}
    return {"type": "equals", "value": text}


def _row(test: Mapping[str, Any]) -> tuple[dict[str, JSONValue], str]:
    variables = test.get("vars") or {}
    if not variables:
        raise ValueError("the test has no vars")
    kind, expected = _expected(test.get("assert") or [])
    row: dict[str, JSONValue] = {
        "input": next(iter(variables.values())) if len(variables) == 1 else dict(variables),
        "expected": expected,
    }
    tags = {str(key): str(value) for key, value in (test.get("metadata") or {}).items() if value is not None}
    if tags:
        row["tags"] = tags
    if test.get("description"):
        row["description"] = str(test["description"])
    return json.loads(json.dumps(row, default=str)), kind


def _expected(asserts: Sequence[Any]) -> tuple[str, JSONValue]:
    """The type and value of the one assertion; several `contains` are one with all their values."""
    if not asserts:
        raise ValueError("the test has no assert")
    kinds = [str(item.get("type")) if isinstance(item, dict) else "?" for item in asserts]
    unknown = [kind for kind in kinds if kind not in SCORERS]
    if unknown:
        raise ValueError(f"the assertion {unknown[0]!r} has no scorer here; known: {', '.join(SCORERS)}")
    values = [item.get("value") for item in asserts]
    if len(set(kinds)) == 1 and len(asserts) == 1:
        return kinds[0], values[0]
    if set(kinds) <= {"contains", "icontains"}:
        return "contains-all", values
    raise ValueError(f"several assertions in one test: {', '.join(kinds)}")
