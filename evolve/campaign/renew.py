"""Fresh heldout cases: the new ones are sealed, the old ones retire to train, and nothing overlaps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evolve.campaign.config import CampaignConfig
from evolve.campaign.section import data_section
from evolve.core.cases import Case, Split
from evolve.core.errors import UserError
from evolve.core.hashing import content_hash
from evolve.data import DataSettings, SplitSettings, load_cases, split_cases
from evolve.data.load import check_rows
from evolve.data.rows import Row, RowsRead
from evolve.data.write import line_bytes, write_rows
from evolve.store import Home

FEWEST = 4


@dataclass(frozen=True)
class Renewal:
    """The new file, how many cases are in which split, and the `data:` section that reads it."""

    file: Path
    fresh: int
    retired: int
    settings: DataSettings
    old_fingerprint: str
    new_fingerprint: str
    notes: tuple[str, ...] = ()

    @property
    def section(self) -> str:
        """The `data:` section of the campaign file."""
        return data_section(self.settings)


def renew_heldout(home: Home, config: CampaignConfig, root: Path, fresh_file: Path) -> Renewal:
    """Writes a new cases file beside the old one, which stays as it is, and a ledger row.

    UserError when a new case shares its text or its group with an old one, or has spent error budget in this home.
    """
    report = load_cases(root / config.data.cases, config.data)
    dataset = split_cases(report.cases, config.data.split, report.origins, name=config.name)
    fresh_settings = config.data.model_copy(update={"cases": str(fresh_file), "split": SplitSettings()})
    loaded = load_cases(fresh_file, fresh_settings)
    fresh = loaded.cases
    _refuse_overlap(report.cases, fresh, fresh_file)
    _refuse_spent(home, fresh, fresh_file)
    if len(fresh) < FEWEST:
        raise UserError(f"{len(fresh)} fresh cases are too few to test on", place=str(fresh_file), fix="bring more")
    splits = [(Split.TRAIN, dataset[Split.TRAIN]), (Split.DEV, dataset[Split.DEV])]
    splits += [(Split.TRAIN, dataset[Split.HELDOUT]), (Split.HELDOUT, tuple(fresh))]
    rows = [_row(case, split) for split, cases in splits for case in cases]
    target = _free_name(root / config.data.cases)
    settings = _settings(config.data, target, root, rows)
    report = check_rows(target, RowsRead([Row(n, row) for n, row in enumerate(rows, start=1)]), settings)
    renewed = split_cases(report.cases, settings.split, report.origins, name=config.name)
    write_rows(target, rows)
    notes = (*loaded.notes, *(f"left out: line {bad.line}: {bad.reason}" for bad in loaded.skipped))
    hashes = (dataset.content_hash, renewed.content_hash)
    renewal = Renewal(target, len(fresh), len(dataset[Split.HELDOUT]), settings, *hashes, notes)
    detail = {"from": hashes[0], "to": hashes[1], "fresh": len(fresh), "retired": renewal.retired, "file": target.name}
    key = content_hash([dataset.content_hash, [case.fingerprint for case in fresh]])
    home.ledger.append(f"data:{config.name}", "data_renewed", target.name, detail, key=key)
    return renewal


def _refuse_overlap(old: Sequence[Case], fresh: Sequence[Case], place: Path) -> None:
    ids, texts = {case.id for case in old}, {case.text_key: case.id for case in old}
    groups = {case.group for case in old if case.group}
    for case in fresh:
        if case.text_key in texts:
            words = f"case {case.id!r} has the text of {texts[case.text_key]!r}, which is not fresh"
        elif case.group and case.group in groups:
            words = f"case {case.id!r} is of the group {case.group!r}, which is known already"
        elif case.id in ids:
            words = f"the id {case.id!r} is taken"
        else:
            continue
        raise UserError(words, place=str(place), fix="bring cases that nothing was fitted or tested on, with new ids")


def _refuse_spent(home: Home, fresh: Sequence[Case], place: Path) -> None:
    spent = home.alpha.spent([case.text_key for case in fresh])
    used = [case.id for case in fresh if spent[case.text_key] > 0]
    if used:
        raise UserError(
            f"{len(used)} cases were looked at before, the first {used[0]!r}", place=str(place), fix="bring fresh ones"
        )


def _row(case: Case, split: Split) -> dict[str, Any]:
    row: dict[str, Any] = {"id": case.id, "input": case.input, "expected": case.expected, "split": split.value}
    row["tags"] = dict(case.tags)
    return {**row, "group": case.group} if case.group else row


def _free_name(cases: Path) -> Path:
    number = 2
    while (path := cases.with_name(f"{cases.stem}.renewed-{number}.jsonl")).exists():
        number += 1
    return path


def _settings(old: DataSettings, target: Path, root: Path, rows: Sequence[dict[str, Any]]) -> DataSettings:
    """How a campaign reads the new file, which has our own column names."""
    grouped = "group" if any("group" in row for row in rows) else None
    longest = max(old.max_line_bytes, *(line_bytes(row) for row in rows))
    name = target.relative_to(root).as_posix() if target.is_relative_to(root) else str(target)
    split = SplitSettings(column="split")
    settings = DataSettings(cases=name, group_by=grouped, split=split)
    return settings if longest <= settings.max_line_bytes else settings.model_copy(update={"max_line_bytes": longest})
