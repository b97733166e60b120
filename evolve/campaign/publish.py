"""Committing versions and moving `live`: the seed as version 1, a promoted challenger as the next one."""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from evolve.campaign.context import CampaignContext
from evolve.core.hashing import short
from evolve.core.scores import Scorecard
from evolve.store import Home, NewVersion, VersionRow
from portfolios.portfolio import PortfolioContent, parse_content

_VERSION = re.compile(r"\S+@(\d+): ")


def seed_key(context: CampaignContext) -> str:
    """The key under which this campaign commits its seed."""
    return f"seed/{context.id}"


def commit_seed(context: CampaignContext, content: PortfolioContent) -> int:
    """Makes the seed version 1, live and marked unproven; returns its number. A repeated call changes nothing."""
    versions, name = context.home.versions, context.config.portfolio.name
    new = NewVersion(
        name,
        content.as_json(),
        {"kind": "seed", "unproven": "the starting point; nothing was compared"},
        parent=None,
        reason=f"seed of campaign {context.id}",
        key=seed_key(context),
        content_hash=content.content_hash(),
    )
    row = versions.commit_and_move(new, expected=None)
    show_in_git(context.home, name)
    return row.number


def model_settings(context: CampaignContext) -> dict[str, Any]:
    """The model settings a member runs on, by role; the proposer's are not part of a version."""
    return {
        role: settings.model_dump(mode="json", exclude_defaults=True)
        for role, settings in sorted(context.config.serving_models.items())
    }


def behaviour_of(
    context: CampaignContext, chosen: Mapping[str, str], scorecards: Sequence[Scorecard]
) -> dict[str, dict[str, Any]]:
    """Case id → what a version does on it: the chosen member (or the only one) and its score, on train and dev.

    The case's text is left out where the journal does not keep the agent's texts.
    """
    by_tree: dict[str, dict[str, dict[str, Any]]] = {}
    for card in scorecards:
        by_tree.setdefault(card.tree, {}).update({cid: _case_row(card, cid) for cid in card.by_case})
    only = next(iter(by_tree)) if len(by_tree) == 1 else None
    rows = {}
    for case in (*context.material.train.fit, *context.dev):
        member = chosen.get(case.id, only)
        if member is not None and case.id in by_tree.get(member, {}):
            text = context.home.redactor.text(case.text)[:200] if context.journal == "full" else ""
            rows[case.id] = {"member": member, "text": text, **by_tree[member][case.id]}
    return rows


def _case_row(card: Scorecard, case_id: str) -> dict[str, Any]:
    """Score and mean costs of one tree on one case; dollars are None where a call has no price."""
    results = card.by_case[case_id]
    unpriced = any(result.unpriced_calls for result in results)
    return {
        "score": card.case_mean(case_id),
        "calls": sum(result.calls for result in results) / len(results),
        "tokens": sum(result.tokens for result in results) / len(results),
        "seconds": sum(result.seconds for result in results) / len(results),
        "usd": None if unpriced else float(sum(result.usd for result in results) / len(results)),
    }


def record_behaviour(context: CampaignContext, version: int, behaviour: Mapping[str, Any]) -> None:
    """Keeps a version's behaviour on train and dev for `evolve diff`; the first record of a version stays."""
    name = context.config.portfolio.name
    artifact = context.home.artifacts.put_json(dict(behaviour))
    context.home.ledger.append(
        f"portfolio:{name}", "behaviour", f"{name}@{version}", {"artifact": artifact}, key=f"behaviour/{version}"
    )


def commit_challenger(
    context: CampaignContext, content: PortfolioContent, evidence: Mapping[str, Any], expected: int
) -> int:
    """Commits and makes live in one transaction; PointerMoved when somebody else moved `live` since the gate."""
    name = context.config.portfolio.name
    new = NewVersion(
        name,
        content.as_json(),
        dict(evidence),
        parent=expected,
        reason=f"promoted by campaign {context.id}",
        key=f"promote/{context.id}",
        content_hash=content.content_hash(),
    )
    row = context.home.versions.commit_and_move(new, expected=expected)
    show_in_git(context.home, name)
    return row.number


def show_in_git(home: Home, name: str) -> None:
    """A commit of each version on the branch named like its portfolio, one folder a member, for `git log` and clones.

    The database decides what is live. Versions that a crash kept from the branch are brought up first.
    """
    ref = f"refs/heads/{name}"
    tip = home.trees.tip(ref)
    shown = _VERSION.match(tip[1]) if tip else None
    for row in home.versions.list(name):
        if shown is None or row.number > int(shown[1]):
            tree = home.trees.put(_version_files(home, row))
            tip = home.trees.tip(ref)
            message = f"{row.name}@{row.number}: {row.reason}\n"
            home.trees.commit(tree, ref=ref, message=message, parents=[tip[0]] if tip else [])


def _version_files(home: Home, row: VersionRow) -> dict[str, bytes]:
    return {
        f"{short(tree)}/{path}": data
        for tree in parse_content(row.content).trees
        for path, data in home.trees.get(tree).items()
    }


def roll_back(home: Home, name: str, to: int, reason: str) -> VersionRow:
    """A new live version with the content of version `to`. PointerMoved when `live` moves meanwhile."""
    old, live = home.versions.get(name, to), home.versions.pointer(name)
    restored = old.evidence.get("restores", to)
    evidence = {"kind": "rollback", "restores": restored, "from": live}
    new = NewVersion(
        name, old.content, evidence, live, reason, key=f"rollback/{uuid.uuid4().hex}", content_hash=old.content_hash
    )
    row = home.versions.commit_and_move(new, expected=live)
    show_in_git(home, name)
    return row
