"""Why a campaign ended as it did, and what stands behind a version."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from evolve.core.hashing import short
from evolve.report.references import Reference, resolve_reference
from evolve.report.story import campaign_story, story_lines
from evolve.report.traffic import version_traffic
from evolve.report.words import verdict_words
from evolve.store import Home


def why_reference(home: Home, reference: str) -> tuple[dict[str, Any], list[str]]:
    """A campaign's story (`campaign:ID` or ID), or a version's evidence."""
    campaign = reference.removeprefix("campaign:")
    if campaign in {row.id for row in home.campaigns.list()}:
        story = campaign_story(home, campaign)
        return story, story_lines(story)
    return show_version(home, reference)


def show_version(home: Home, reference: str) -> tuple[dict[str, Any], list[str]]:
    """Members, router and evidence of a version."""
    found = resolve_reference(home, reference)
    if found.version is None or found.content is None:
        return {"tree": next(iter(found.members))}, [f"{found.label} is a tree, not a version"]
    row = home.versions.get(found.name, found.version)
    document = {
        "version": found.label,
        "content_hash": row.content_hash,
        "parent": row.parent,
        "reason": row.reason,
        "live": home.versions.pointer(found.name) == found.version,
        "content": row.content,
        "evidence": row.evidence,
    }
    traffic = version_traffic(home, found)
    document["traffic"] = {**asdict(traffic), "alarm": traffic.alarm}
    return document, [*_version_lines(found, document), *traffic.words()]


def _version_lines(found: Reference, document: dict[str, Any]) -> list[str]:
    live = " (live)" if document["live"] else ""
    lines = [f"{found.label}{live} {short(document['content_hash'])}: {document['reason']}"]
    assert found.content is not None
    lines += [f"  {line}" for line in found.content.describe().splitlines()]
    return lines + evidence_lines(document["evidence"])


def evidence_lines(evidence: dict[str, Any]) -> list[str]:
    """What a version rests on, in words; unproven ones say so for ever."""
    if evidence.get("unproven"):
        return [f"UNPROVEN: {evidence['unproven']}"]
    if evidence.get("restores") is not None:
        return [f"Rollback: the content of version {evidence['restores']}, whose evidence stands there."]
    if evidence.get("verdict"):
        return verdict_words(evidence["verdict"])
    return ["UNPROVEN: no evidence was recorded"]


def version_log(home: Home, name: str) -> tuple[dict[str, Any], list[str]]:
    """All versions newest first, and every move of live."""
    resolve_reference(home, name)
    versions = [
        {
            "version": r.number,
            "parent": r.parent,
            "reason": r.reason,
            "content_hash": r.content_hash,
            "at": str(r.created_at),
        }
        for r in reversed(home.versions.list(name))
    ]
    moves = [
        {"pointer": m.which, "from": m.before, "to": m.after, "reason": m.reason, "at": str(m.created_at)}
        for m in home.versions.pointer_log(name)
    ]
    lines = [f"{name}@{v['version']} {short(str(v['content_hash']))} {v['at']} {v['reason']}" for v in versions]
    lines += [f"{m['pointer']}: {m['from']} → {m['to']} {m['at']} {m['reason']}" for m in moves]
    return {"versions": versions, "moves": moves}, lines
