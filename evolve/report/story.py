"""The story of one campaign from its ledger: seed, what was tried, refused, accepted, decided, and what it cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evolve.core.errors import UserError
from evolve.core.hashing import short
from evolve.core.traces import Spend
from evolve.report.datasets import left_out_lines
from evolve.report.spending import spend_document, spend_tables, spend_words
from evolve.report.words import points, verdict_words
from evolve.store import Home


def campaign_status(home: Home, campaign: str) -> str:
    """How a campaign stands; `interrupted` when it says running and no process holds its lock."""
    status = home.campaigns.get(campaign).status
    if status != "running":
        return status
    try:
        with home.campaigns.lock(campaign):
            return "interrupted"
    except UserError:
        return status


def campaign_story(home: Home, campaign: str) -> dict[str, Any]:
    """Everything `evolve status` and `evolve why` show, as one JSON-ready document."""
    by_kind: dict[str, list[Mapping[str, Any]]] = {}
    for entry in home.ledger.rows(campaign):
        by_kind.setdefault(entry.kind, []).append(entry.detail)
    return {
        "campaign": campaign,
        "status": campaign_status(home, campaign),
        "baseline": _last(by_kind, "baseline"),
        "proposals": by_kind.get("proposal", []),
        "parents": by_kind.get("parent", []),
        "early_stop": _last(by_kind, "early_stop"),
        "screened": by_kind.get("screened", []),
        "curation": _last(by_kind, "curation"),
        "router": _last(by_kind, "router"),
        "heldout_looks": by_kind.get("heldout_look", []),
        "verdict": _last(by_kind, "verdict"),
        "conclusion": _last(by_kind, "conclusion"),
        "concurrency": by_kind.get("concurrency", []),
        "data": _last(by_kind, "data"),
        "terms": _last(by_kind, "terms"),
        "died": by_kind.get("died", []),
        **_spending(home, campaign),
    }


def _spending(home: Home, campaign: str) -> dict[str, Any]:
    """Sums by loop, role and purpose, and their total."""
    tables = spend_tables(home, campaign, ("loop", "role", "purpose"))
    documents = {part: {name: spend_document(s) for name, s in table.items()} for part, table in tables.items()}
    total = spend_document(sum(tables["purpose"].values(), Spend()))
    return {
        "spend": documents["loop"],
        "spend_by_role": documents["role"],
        "spend_by_purpose": documents["purpose"],
        "spend_total": total,
    }


def _last(rows: Mapping[str, list[Mapping[str, Any]]], kind: str) -> Mapping[str, Any] | None:
    return rows[kind][-1] if rows.get(kind) else None


def story_lines(story: Mapping[str, Any]) -> list[str]:
    """The story in sentences."""
    lines = [f"Campaign {story['campaign']}: {story['status']}"]
    if story["status"] not in ("finished", "cancelled", "running", "waiting"):
        lines.append(f"Go on with: evolve run CAMPAIGN.yaml --resume {story['campaign']}")
    if story["baseline"]:
        base = story["baseline"]
        lines.append(f"Seed: {points(base['train'])} points on train, {points(base['dev'])} on dev.")
    lines += left_out_lines(story["data"]) if story["data"] else []
    lines += _proposal_lines(story["proposals"])
    lines += [_parent_line(row) for row in story["parents"]]
    if story["early_stop"]:
        lines.append(f"Stopped early: {story['early_stop']['reason']}.")
    if story["status"] == "budget" and not story["conclusion"]:
        afforded = sum("tree" in row for row in story["proposals"])
        lines.append(f"The budget afforded {afforded} tried proposals; raise a cap in `budget` and resume to go on.")
    if story["curation"]:
        lines.append(f"Members: {story['curation']['reason']}")
    if story["router"]:
        lines.append(f"Router: {story['router']['reason']}")
    if story["verdict"]:
        lines += verdict_words(story["verdict"])
    if story["conclusion"]:
        done = story["conclusion"]
        lines.append(f"Conclusion: {done['conclusion'].replace('_', ' ')}. {done['why']}")
    return lines + _refusal_lines(story["concurrency"]) + _cost_lines(story)


def _parent_line(row: Mapping[str, Any]) -> str:
    solved = row["solved_by"]
    return (
        f"Round {row['round'][1] + 1} of the workflow loop: a parent drawn from {len(row['weights'])} by "
        f"{row['phase']} weights; {solved['nobody']} cases were solved by nobody, {solved['few']} by few, "
        f"{solved['many']} by many."
    )


def _cost_lines(story: Mapping[str, Any]) -> list[str]:
    lines = [f"Cost of {part}: {spend_words(spend)}" for part, spend in story["spend"].items()]
    purposes = story["spend_by_purpose"]
    if len(purposes) > 1:
        lines += [f"Cost of the {purpose}: {spend_words(spend)}" for purpose, spend in purposes.items()]
    if story["spend"]:
        lines.append(f"Cost in all: {spend_words(story['spend_total'])}")
    for row in story["died"]:
        lines.append(
            f"Note: {row['holder']} died with {row['calls_in_flight']} calls in flight, charged at their bounds."
        )
    return lines


def _refusal_lines(rows: list[Mapping[str, Any]]) -> list[str]:
    """Roles whose provider refused calls, one line for each run of the campaign."""
    return [
        f"The provider of {role} refused {seen['refusals']} calls: {seen['lowest']} to {seen['highest']} were let "
        f"through at once, and {seen['seconds_paused']:.0f} s were waited."
        for row in rows
        for role, seen in row.items()
        if seen["refusals"]
    ]


def _proposal_lines(proposals: list[Mapping[str, Any]]) -> list[str]:
    tried = [p for p in proposals if "tree" in p]
    refused = [p for p in proposals if "tree" not in p]
    lines = [f"Tried {len(tried)} proposals, refused {len(refused)} before any run."]
    for row in tried:
        lines.append(
            f"  {row['status']:8} {row['source']} for {row['target']}: {points(row['gain'])} points on "
            f"{row['cases']} train cases ({short(row['tree'])}); {row['reason']}"
        )
    lines += [f"  refused  {row['source']} as {row['kind']}: {row['reason']}" for row in refused]
    return lines
