"""A routed answer for people: the answer, who gave it, and which rule decided."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from evolve.core.hashing import JSONValue, canonical_json, short
from evolve.report.spending import spend_document, spend_words
from evolve.run.answer import Answer


def routed_document(version: str, label: str, answer: Answer) -> dict[str, Any]:
    """The answer of a version's member (`label`) with its decision, as one JSON-ready document."""
    decision = answer.decision
    return {
        "output": answer.output,
        "version": version,
        "member": answer.member,
        "member_label": label,
        "rule": decision.rule,
        "reason": decision.reason,
        "estimates": [asdict(estimate) for estimate in decision.estimates],
        "margin": decision.margin,
        "margin_sd": decision.margin_sd,
        "nearest": [asdict(case) for case in decision.nearest],
        "fell_back": answer.fell_back,
        "errors": list(answer.errors),
        "spend": spend_document(answer.spend),
        "seconds": answer.seconds,
    }


def routed_lines(document: dict[str, Any], *, why: bool) -> list[str]:
    """The answer; with `why` also the rule, the predictions and the nearest known cases."""
    lines = [_text(document["output"])]
    member = f"{document['member_label']} {short(document['member'])}"
    lines.append(f"[{document['version']}, {member}: {document['reason']}]")
    lines += [f"[failed before: {error}]" for error in document["errors"]]
    if why:
        lines.append(f"  rule: {document['rule']}")
        if document["margin"] is not None:
            lines.append(f"  margin over the default: {document['margin']:+.2f} ± {document['margin_sd']:.2f}")
        lines += [f"  expected of {short(e['member'])}: {_estimate(e)}" for e in document["estimates"]]
        lines += [f"  near ({n['similarity']:.2f}) {n['case_id']}: {n['text'][:90]}" for n in document["nearest"]]
        lines += [f"  cost: {spend_words(document['spend'])}, {document['seconds']:.2f} s"]
    return lines


def _estimate(estimate: dict[str, Any]) -> str:
    score = "unknown" if estimate["score"] is None else f"{estimate['score']:.2f} ± {estimate['sd'] or 0:.2f}"
    return score if estimate["cost"] is None else f"{score}, ${estimate['cost']:.6f}"


def _text(output: JSONValue) -> str:
    return output if isinstance(output, str) else canonical_json(output).decode("utf-8", "backslashreplace")
