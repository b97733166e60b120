"""Saving a campaign of a home as a recording."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from evolve import __version__
from evolve.books import REDACTED
from evolve.campaign.config import CampaignConfig
from evolve.campaign.replay.record import (
    CAMPAIGN,
    EXPECTED,
    HARNESS,
    RECORD,
    ROWS,
    SECONDS,
    Expected,
    LedgerLine,
    Record,
    RecordedRole,
    rows_digest,
    write_document,
    write_packed,
    write_rows,
)
from evolve.campaign.sources import CAMPAIGN_FILE, CASES_FILE, SCORER_FILE
from evolve.core.cases import Case
from evolve.core.errors import UserError
from evolve.core.yaml_document import parse_document
from evolve.data import load_cases
from evolve.evaluate.scorers.custom import CustomOptions
from evolve.store import Home
from evolve.store.transfer import Scope, seconds_of, take_out
from harnesses.directory import write_harness

PASSING_KINDS = frozenset({"died", "terms", "concurrency"})
"""Ledger rows about the circumstances of a run, which a replay does not share."""


def save_recording(home: Home, campaign: str, folder: Path) -> Record:
    """Writes a recording into a new or empty folder.

    UserError when the campaign kept no replies, began before engines kept what a replay needs, or when the folder holds
    something.
    """
    if folder.exists() and any(folder.iterdir()):
        raise UserError("this is not a new or empty folder", place=str(folder), fix="name a new folder")
    _refuse_unkept(home, campaign)
    _refuse_redacted(home, campaign)
    sources, terms = _sources(home, campaign), _terms(home, campaign)
    folder.mkdir(parents=True, exist_ok=True)
    config = _write_campaign(home, sources, folder)
    cases = _write_cases(home, sources, folder)
    scorer = _write_scorer(home, sources, folder, config)
    write_harness(home.trees.get(_seed(home, campaign)), folder / HARNESS)
    models = {role: RecordedRole(**who) for role, who in terms["models"].items()}
    record = Record(
        schema=1,
        engine=__version__,
        campaign=campaign,
        portfolio=config.portfolio.name,
        cases=cases,
        scorer=scorer,
        models=models,
    )
    write_document(folder / EXPECTED, outcome_of(home, campaign, config.portfolio.name))
    loaded = load_cases(folder / cases, config.data).cases
    scope = _scope(home, record, loaded)
    write_rows(folder / ROWS, take_out(home, scope))
    write_packed(folder / SECONDS, seconds_of(home, scope))
    record = record.model_copy(update={"rows": rows_digest(folder / ROWS)})
    write_document(folder / RECORD, record)
    return record


def outcome_of(home: Home, campaign: str, portfolio: str) -> Expected:
    """How a campaign stands, and everything that happened in it, without the circumstances."""
    rows = home.ledger.rows(campaign)
    conclusion = next((row for row in rows if row.kind == "conclusion"), None)
    number = conclusion.detail.get("version") if conclusion else None
    version = home.versions.get(portfolio, int(number)).content_hash if number is not None else None
    lines = [
        LedgerLine(kind=r.kind, subject=r.subject, detail=dict(r.detail)) for r in rows if r.kind not in PASSING_KINDS
    ]
    return Expected(
        status=home.campaigns.get(campaign).status,
        conclusion=conclusion.subject if conclusion else None,
        version=version,
        ledger=tuple(lines),
    )


def _refuse_unkept(home: Home, campaign: str) -> None:
    home.campaigns.get(campaign)
    unkept = sorted({r.role for r in home.journal.iter(campaign) if r.state == "finished" and not r.has_reply})
    if unkept:
        raise UserError(
            f"the journal kept no replies of the role{'s' if len(unkept) > 1 else ''} {', '.join(unkept)}",
            place=f"campaign:{campaign}",
            fix="only campaigns with `journal: full` can be replayed",
        )


def _refuse_redacted(home: Home, campaign: str) -> None:
    redacted = [row.role for row in home.journal.iter(campaign) if REDACTED in row.note]
    if redacted:
        raise UserError(
            f"{len(redacted)} replies of the role {', '.join(sorted(set(redacted)))} held secrets, kept redacted",
            place=f"campaign:{campaign}",
            fix="a reply that is not what the model said cannot be replayed: take the secrets out of the cases",
        )


def _sources(home: Home, campaign: str) -> Mapping[str, Any]:
    sources: Mapping[str, Any] = home.campaigns.get(campaign).config.get("sources") or {}
    missing = [name for name in (CAMPAIGN_FILE, CASES_FILE) if not _is_kept(home, sources.get(name))]
    if missing:
        raise UserError(
            f"its {' and '.join(missing)} file was not kept: too large, forgotten, or run by an older engine",
            place=f"campaign:{campaign}",
            fix="run it again; files up to 64 MB are kept",
        )
    return sources


def _is_kept(home: Home, source: Mapping[str, str] | None) -> bool:
    return source is not None and bool(home.artifacts.get(source["sha"]))


def _terms(home: Home, campaign: str) -> Mapping[str, Any]:
    rows = home.ledger.rows(campaign, "terms")
    if not rows:
        raise UserError("it has not run yet", place=f"campaign:{campaign}", fix="evolve run first")
    return rows[-1].detail


def _seed(home: Home, campaign: str) -> str:
    fingerprints = home.campaigns.get(campaign).fingerprints
    return home.trees.resolve(str(fingerprints["seed harness"]))


def _write_campaign(home: Home, sources: Mapping[str, Any], folder: Path) -> CampaignConfig:
    """What the campaign file says, without its comments, which may hold anything."""
    text = home.artifacts.get(sources[CAMPAIGN_FILE]["sha"]).decode("utf-8-sig")
    config = parse_document(text, CampaignConfig, CAMPAIGN)
    said = config.model_dump(mode="json", by_alias=True, exclude_unset=True)
    (folder / CAMPAIGN).write_text(yaml.safe_dump(said, sort_keys=False, allow_unicode=True), encoding="utf-8")
    return config


def _write_cases(home: Home, sources: Mapping[str, Any], folder: Path) -> str:
    name = f"cases/{sources[CASES_FILE]['name']}"
    (folder / "cases").mkdir()
    (folder / name).write_bytes(home.artifacts.get(sources[CASES_FILE]["sha"]))
    return name


def _write_scorer(home: Home, sources: Mapping[str, Any], folder: Path, config: CampaignConfig) -> str | None:
    """The scorer's paths are part of its identity, so its files must stand where they stood."""
    if not isinstance(config.scorer, CustomOptions):
        return None
    _write_beside(home, sources.get(SCORER_FILE), folder, Path(config.scorer.path), "scorer.path")
    for name in config.scorer.files:
        _write_beside(home, sources.get(f"{SCORER_FILE}:{name}"), folder, Path(name), "scorer.files")
    return str(Path(config.scorer.path))


def _write_beside(home: Home, source: Mapping[str, str] | None, folder: Path, path: Path, place: str) -> None:
    if path.is_absolute() or ".." in path.parts:
        raise UserError(
            f"{path} stands outside the campaign's folder", place=place, fix="move it beside the campaign file"
        )
    if source is None or not _is_kept(home, source):
        fix = "run it again; files up to 64 MB are kept"
        raise UserError(f"{path} was not kept: too large, or run by an older engine", place=place, fix=fix)
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    (folder / path).write_bytes(home.artifacts.get(source["sha"]))


def _scope(home: Home, record: Record, cases: tuple[Case, ...]) -> Scope:
    """Every tree that the campaign proposed or started from, and those of the versions before it."""
    trees = {_seed(home, record.campaign)}
    trees |= {row.subject for row in home.ledger.rows(record.campaign, "proposal") if "tree" in row.detail}
    for version in home.versions.list(record.portfolio):
        content: Any = version.content
        trees |= {member["tree"] for member in content["members"]}
    return Scope(record.campaign, record.portfolio, trees, {case.fingerprint for case in cases})
