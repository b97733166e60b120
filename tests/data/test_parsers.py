"""Whatever stands in a file, its parser reads it or refuses it by name; and every text survives the way through."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from evolve.campaign.config import CampaignConfig
from evolve.core.errors import UserError
from evolve.core.yaml_document import parse_document
from evolve.data import DataSettings, load_cases
from evolve.data.importing import ImportOptions, import_cases
from evolve.data.read import read_rows

ONCE = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
TEXTS = st.text(st.characters(codec=None), min_size=1).filter(str.strip)
SIZED = settings(ONCE, max_examples=60)


@ONCE
@given(st.binary(max_size=300) | st.text(max_size=200).map(lambda t: t.encode("utf-8", "surrogatepass")))
@pytest.mark.parametrize("suffix", [".jsonl", ".json", ".csv", ".tsv"])
def test_any_bytes_are_cases_or_a_user_error(tmp_path: Path, suffix: str, data: bytes) -> None:
    path = tmp_path / f"cases{suffix}"
    path.write_bytes(data)
    for skip in (False, True):
        try:
            load_cases(path, DataSettings(cases=path.name, skip_bad=skip))
        except UserError as refusal:
            assert str(path) in str(refusal)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**25), 10**25) | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@ONCE
@given(st.lists(st.dictionaries(st.sampled_from(["id", "input", "expected", "tags"]), VALUES), max_size=4))
def test_any_rows_are_cases_or_a_user_error(tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    try:
        report = load_cases(path, DataSettings(cases=path.name, skip_bad=True))
    except UserError:
        return
    assert len(report.cases) + len(report.skipped) == len(rows)


@ONCE
@given(TEXTS)
def test_every_text_survives_loading_and_importing(tmp_path: Path, text: str) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps({"input": text, "expected": text}) + "\n")
    found = import_cases(path, tmp_path / "out.jsonl", ImportOptions())
    (case,) = load_cases(tmp_path / "out.jsonl", found.settings).cases
    assert (case.input, case.expected) == (text, text)


CELLS = st.text(max_size=20).map(lambda text: text.encode("utf-8", "replace").decode())


@ONCE
@given(st.lists(st.lists(CELLS, min_size=1, max_size=4), min_size=1, max_size=4), st.sampled_from([",", "\t"]))
def test_every_table_comes_back_as_it_was_written(tmp_path: Path, rows: list[list[str]], delimiter: str) -> None:
    """As the csv module writes tables; U+2028, quotes and line ends inside of cells are text."""
    path = tmp_path / ("t.csv" if delimiter == "," else "t.tsv")
    texts = [text.replace("\r", "\n") for row in rows for text in row]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter=delimiter)
        writer.writerow(["input", "note"])
        writer.writerows([f"q{n}", text] for n, text in enumerate(texts))
    if any("\0" in text for text in texts):
        return
    assert [row.values["note"] for row in read_rows(path, 10_000).rows] == texts


DOCUMENTS = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=12)
    | st.just("file://x")
    | st.just("{{q}}"),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["tests", "vars", "assert", "type", "value", "options", "metadata", "defaultTest", "q"])
            | st.text(max_size=4),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


def refused_or_read(path: Path, out: Path, **options: Any) -> None:
    for skip in (False, True):
        try:
            found = import_cases(path, out, ImportOptions(skip_bad=skip, **options))
        except UserError:
            continue
        assert load_cases(out, found.settings).cases == found.report.cases


@SIZED
@given(DOCUMENTS | st.lists(DOCUMENTS, max_size=3).map(lambda tests: {"tests": tests}))
def test_any_promptfoo_document_is_cases_or_a_user_error(tmp_path: Path, document: Any) -> None:
    path = tmp_path / "p.yaml"
    path.write_text(yaml.safe_dump(document, allow_unicode=False))
    refused_or_read(path, tmp_path / "out.jsonl", format="promptfoo")


@SIZED
@given(
    st.lists(
        st.dictionaries(st.sampled_from(["input", "target", "choices", "id", "metadata", "files"]), VALUES), max_size=3
    )
)
def test_any_inspect_samples_are_cases_or_a_user_error(tmp_path: Path, samples: list[Any]) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text("".join(json.dumps(sample) + "\n" for sample in samples))
    refused_or_read(path, tmp_path / "out.jsonl", format="inspect")


@SIZED
@given(st.binary(max_size=200), st.sampled_from([".yaml", ".json", ".jsonl", ".csv", ".parquet"]))
@pytest.mark.parametrize("format", [None, "promptfoo", "inspect", "rows", "parquet"])
def test_any_bytes_are_imported_or_a_user_error(tmp_path: Path, format: str | None, data: bytes, suffix: str) -> None:
    path = tmp_path / f"source{suffix}"
    path.write_bytes(data)
    refused_or_read(path, tmp_path / "out.jsonl", format=format)


@pytest.mark.parametrize(
    "text",
    [
        "when: 2024-13-45",
        "budget: {calls: !!int 9" + "9" * 5000 + "}",
        "&a [*a]",
        "goal: &a {b: *a}",
        "? [a, b]\n: c",
        "? {a: b}\n: c",
        "[" * 5000,
        "{a: " * 3000,
        "goal: !!binary '%'",
        "goal: !!timestamp x",
        "goal: .nan",
        "- \ud800",
        "\x00",
    ],
    ids=range(13),
)
def test_yaml_that_breaks_parsers_is_a_user_error_with_its_place(text: str) -> None:
    with pytest.raises(UserError) as refusal:
        parse_document(text, CampaignConfig, "campaign.yaml")
    assert str(refusal.value).startswith("campaign.yaml")


@ONCE
@given(st.text(max_size=200) | st.dictionaries(st.text(max_size=6), VALUES, max_size=4).map(json.dumps))
def test_any_yaml_is_a_campaign_or_a_user_error(text: str) -> None:
    with pytest.raises(UserError) as refusal:
        parse_document(text, CampaignConfig, "campaign.yaml")
    assert str(refusal.value).startswith("campaign.yaml")
