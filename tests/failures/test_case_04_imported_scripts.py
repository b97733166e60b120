"""Case 4 for imported files: texts of every script come through every format as they are."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from evolve.data import load_cases
from evolve.data.importing import ImportOptions, import_cases

TEXTS = [
    "emoji \U0001f469\u200d\U0001f4bb\U0001f3fd",
    "\u65e5\u672c\u8a9e\u306e\u8cea\u554f",
    "e\u0301 is not \u00e9",
    "line\u2028para\u2029next\x85end",
    "\u202e\u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627\u202c",
    '\ufeffmark, "quoted"\nand a new line',
]


def as_csv(path: Path) -> Path:
    with path.with_suffix(".csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([["input", "expected"], *([text, text] for text in TEXTS)])
    return path.with_suffix(".csv")


def as_parquet(path: Path) -> Path:
    pq.write_table(pa.table({"input": TEXTS, "expected": TEXTS}), path.with_suffix(".parquet"))
    return path.with_suffix(".parquet")


def as_promptfoo(path: Path) -> Path:
    tests = [{"vars": {"q": text}, "assert": [{"type": "equals", "value": text}]} for text in TEXTS]
    path.with_suffix(".yaml").write_text(yaml.safe_dump({"tests": tests}), encoding="utf-8")
    return path.with_suffix(".yaml")


def as_inspect(path: Path) -> Path:
    lines = [json.dumps({"input": text, "target": text}, ensure_ascii=False) + "\n" for text in TEXTS]
    path.with_suffix(".jsonl").write_text("".join(lines), encoding="utf-8")
    return path.with_suffix(".jsonl")


@pytest.mark.parametrize("write", [as_csv, as_parquet, as_promptfoo, as_inspect])
def test_every_text_comes_through(tmp_path: Path, write: Callable[[Path], Path]) -> None:
    out = tmp_path / "out.jsonl"
    found = import_cases(write(tmp_path / "source"), out, ImportOptions())
    assert [(case.input, case.expected) for case in load_cases(out, found.settings).cases] == [(t, t) for t in TEXTS]


def test_a_lone_surrogate_is_kept(tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").write_text('{"input": "lone \\ud83d", "expected": 1}\n')
    found = import_cases(tmp_path / "s.jsonl", tmp_path / "out.jsonl", ImportOptions())
    assert load_cases(tmp_path / "out.jsonl", found.settings).cases[0].input == "lone \ud83d"
