"""Case 3 for imported files: a bad row is named by its place in the source; what is left out is counted and gone."""

from __future__ import annotations

from pathlib import Path

import pytest

from evolve.core.errors import UserError
from evolve.data import load_cases
from evolve.data.importing import ImportOptions, import_cases

GOOD = '{"input": "good %d", "expected": %d}\n'
BAD = {
    "truncated last line": (GOOD % (1, 1) + '{"input": "cut', "row 2: the last line is cut off"),
    "5 MB line": (
        GOOD % (1, 1) + '{"input": "' + "x" * 5_000_000 + '", "expected": 1}\n',
        "row 2: longer than 1,000,000",
    ),
    "blank line": (GOOD % (1, 1) + "\r\n" + GOOD % (2, 2), "row 2: a blank line"),
    "empty input": (GOOD % (1, 1) + '{"input": " ", "expected": 1}\n', "row 2: 'input' is empty"),
    "no answer": (GOOD % (1, 1) + '{"input": "x", "expected": null}\n', "row 2: no answer in 'expected'"),
    "NaN": (GOOD % (1, 1) + '{"input": "x", "expected": NaN}\n', "row 2: NaN is not JSON"),
    "two answers": (GOOD % (1, 1) + GOOD % (2, 2) + GOOD % (2, 3), "row 2: expects another answer"),
    "the same twice": (GOOD % (1, 1) + GOOD % (2, 2) + GOOD % (1, 1), "row 3: the same case as row 1"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_row_is_refused_by_its_place_or_counted(tmp_path: Path, name: str) -> None:
    content, reason = BAD[name]
    source, out = tmp_path / "source.jsonl", tmp_path / "out.jsonl"
    source.write_bytes(b"\xef\xbb\xbf" + content.encode())
    with pytest.raises(UserError, match=reason) as caught:
        import_cases(source, out, ImportOptions())
    assert caught.value.place == str(source) and not out.exists()
    found = import_cases(source, out, ImportOptions(skip_bad=True))
    assert any("left out" in note for note in found.notes)
    assert any("byte-order mark" in note for note in found.notes)
    assert load_cases(out, found.settings).cases, "a campaign accepts what is left, without skip_bad"


def test_a_failed_import_leaves_the_old_file_and_no_draft(tmp_path: Path) -> None:
    (tmp_path / "out.jsonl").write_text("old")
    (tmp_path / "source.jsonl").write_text("{broken")
    with pytest.raises(UserError):
        import_cases(tmp_path / "source.jsonl", tmp_path / "out.jsonl", ImportOptions())
    assert (tmp_path / "out.jsonl").read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.jsonl", "source.jsonl"]


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "source.jsonl").write_text(GOOD % (1, 1))
    with pytest.raises(UserError, match="cannot be written") as caught:
        import_cases(tmp_path / "source.jsonl", tmp_path / "absent" / "out.jsonl", ImportOptions())
    assert caught.value.place.endswith("out.jsonl")
