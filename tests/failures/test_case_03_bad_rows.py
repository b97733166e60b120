"""Broken rows are named by line and reason; `skip_bad` counts what it left out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evolve.core.errors import UserError
from evolve.data import DataSettings, load_cases

GOOD = b'{"id": "%d", "input": "question %d", "expected": 1}'


def good(number: int) -> bytes:
    return GOOD % (number, number)


BAD = {
    "truncated last line": (good(1) + b"\n" + good(2)[:-9], 2, "the last line is cut off"),
    "5 MB line": (
        good(1) + b'\n{"id": "2", "input": "' + b"x" * 5_000_000 + b'"}\n' + good(3),
        2,
        "longer than 1,000,000",
    ),
    "blank line": (good(1) + b"\n\n" + good(3), 2, "a blank line"),
    "blank CRLF line": (good(1) + b"\r\n\r\n" + good(3), 2, "a blank line"),
    "not an object": (good(1) + b"\n[1]\n" + good(3), 2, "a list, not an object"),
    "not UTF-8": (good(1) + b'\n{"id": "\xff"}\n' + good(3), 2, "not UTF-8 at byte 9"),
    "NaN": (good(1) + b'\n{"id": "2", "input": "x", "expected": NaN}\n' + good(3), 2, "NaN is not JSON"),
    "1e999": (good(1) + b'\n{"id": "2", "input": "x", "expected": 1e999}\n' + good(3), 2, "1e999 is too large"),
    "one key twice": (
        good(1) + b'\n{"id": "2", "id": "3", "input": "x", "expected": 1}\n' + good(3),
        2,
        "the key 'id' appears twice",
    ),
    "no input": (good(1) + b'\n{"id": "2", "expected": 1}\n' + good(3), 2, "no 'input' in this row"),
    "nested too deeply": (good(1) + b"\n" + b"[" * 100_000 + b"\n" + good(3), 2, "nested too deeply"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_line_is_named_and_can_be_left_out(tmp_path: Path, name: str) -> None:
    content, line, reason = BAD[name]
    path = tmp_path / "cases.jsonl"
    path.write_bytes(content)
    with pytest.raises(UserError, match=f"line {line}: {reason}") as caught:
        load_cases(path, DataSettings(cases=path.name))
    assert caught.value.place == f"{path}:{line}"
    assert "--skip-bad" in caught.value.fix
    report = load_cases(path, DataSettings(cases=path.name, skip_bad=True))
    assert [row.line for row in report.skipped] == [line]
    assert [case.id for case in report.cases] == [
        str(n) for n in (1, 2, 3) if f"question {n}".encode() in content and n != line
    ]


def test_the_limit_of_a_line_can_be_set(tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl"
    row = json.dumps({"id": "1", "input": "x" * 5_000_000, "expected": 1})
    path.write_text(row + "\n", encoding="utf-8")
    assert len(load_cases(path, DataSettings(cases=path.name, max_line_bytes=len(row))).cases) == 1
    with pytest.raises(UserError, match="longer than"):
        load_cases(path, DataSettings(cases=path.name, max_line_bytes=len(row) - 1))


def test_a_byte_order_mark_and_crlf_change_nothing(tmp_path: Path) -> None:
    plain, windows = tmp_path / "plain.jsonl", tmp_path / "windows.jsonl"
    plain.write_bytes(good(1) + b"\n" + good(2) + b"\n")
    windows.write_bytes(b"\xef\xbb\xbf" + good(1) + b"\r\n" + good(2) + b"\r\n\r\n")
    expected = load_cases(plain, DataSettings(cases="plain.jsonl"))
    found = load_cases(windows, DataSettings(cases="windows.jsonl"))
    assert found.cases == expected.cases
    assert found.notes == ("line 1: a byte-order mark was left out", "line 3: a blank line at the end")


def test_a_line_separator_inside_a_text_is_text(tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl"
    text = "one\u2028two\u0085three"
    path.write_text(json.dumps({"id": "1", "input": text, "expected": 1}, ensure_ascii=False), encoding="utf-8")
    assert load_cases(path, DataSettings(cases=path.name)).cases[0].input == text


def test_many_bad_rows_are_counted_and_the_first_shown(tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_bytes(b"{\n" * 40 + good(1))
    with pytest.raises(UserError, match=r"(?s)40 bad rows.*line 1: .*line 5: .*and 35 more"):
        load_cases(path, DataSettings(cases=path.name))
    assert len(load_cases(path, DataSettings(cases=path.name, skip_bad=True)).skipped) == 40
