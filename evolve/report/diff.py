"""What differs between two versions, members or trees: files, graphs, behaviour, cost, evidence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from evolve.core.errors import UserError
from evolve.core.hashing import short
from evolve.report.references import Reference, resolve_reference
from evolve.store import Home
from harnesses.diff import diff_trees
from harnesses.manifest import harness_workflow
from workflows.diff import diff_workflows

SHOWN_CASES = 12


@dataclass(frozen=True)
class Behaviour:
    """Train and dev cases by what changed on them; heldout is never listed."""

    won: tuple[tuple[str, str], ...]
    lost: tuple[tuple[str, str], ...]
    same: int


def diff_references(home: Home, left: str, right: str) -> dict[str, Any]:
    """The whole comparison as one JSON-ready document."""
    a, b = resolve_reference(home, left), resolve_reference(home, right)
    return {
        "a": a.label,
        "b": b.label,
        "members": {"removed": _names(a, b), "added": _names(b, a), "kept": _kept(a, b)},
        "trees": _tree_diffs(home, a, b),
        "behaviour": _behaviour(home, a, b),
        "evidence": {"a": dict(a.evidence), "b": dict(b.evidence)},
    }


def _names(one: Reference, other: Reference) -> list[str]:
    return [f"{one.members[tree]} {short(tree)}" for tree in one.members if tree not in other.members]


def _kept(one: Reference, other: Reference) -> list[str]:
    return [f"{one.members[tree]} {short(tree)}" for tree in one.members if tree in other.members]


def _tree_diffs(home: Home, a: Reference, b: Reference) -> list[dict[str, Any]]:
    """Each new member against the nearest old one: the one whose files differ least."""
    old = {tree: home.trees.get(tree) for tree in a.members}
    rows = []
    for tree in (t for t in b.members if t not in a.members):
        files = home.trees.get(tree)
        nearest = min(old, key=lambda t: (len(diff_trees(old[t], files).render()), t))
        rows.append(
            {
                "from": short(nearest),
                "to": short(tree),
                "member": b.members[tree],
                "text": diff_trees(old[nearest], files).render(),
                "graph": diff_workflows(harness_workflow(old[nearest]), harness_workflow(files)),
            }
        )
    return rows


def _behaviour(home: Home, a: Reference, b: Reference) -> dict[str, Any]:
    """Cases won and lost by name, on train and dev, where both sides have been measured."""
    left, right = behaviour_rows(home, a), behaviour_rows(home, b)
    if left is None or right is None:
        return {"recorded": False, "reason": "no behaviour was recorded for both sides"}
    compared = compare_behaviour(left, right)
    return {
        "recorded": True,
        "won": [list(pair) for pair in compared.won],
        "lost": [list(pair) for pair in compared.lost],
        "same": compared.same,
        "cost": {"a": mean_costs(left), "b": mean_costs(right)},
    }


def mean_costs(rows: Mapping[str, Any]) -> dict[str, float | None]:
    """Mean calls, tokens, seconds and dollars per case; dollars are None when any case has an unpriced call."""
    costs: dict[str, float | None] = {}
    for measure in ("calls", "tokens", "seconds", "usd"):
        values = [row[measure] for row in rows.values()]
        known = [value for value in values if value is not None]
        costs[measure] = sum(known) / len(known) if known and len(known) == len(values) else None
    return costs


def behaviour_rows(home: Home, reference: Reference) -> Mapping[str, Any] | None:
    """What was recorded for a version; a rollback's is that of the version it restored."""
    if reference.version is None:
        return None
    rows = home.ledger.rows(f"portfolio:{reference.name}", "behaviour")
    wanted = f"{reference.name}@{reference.source_version}"
    hit = next((row for row in rows if row.subject == wanted), None)
    return None if hit is None else dict(home.artifacts.get_json(str(hit.detail["artifact"])))


def compare_behaviour(left: Mapping[str, Any], right: Mapping[str, Any]) -> Behaviour:
    """Pairs (case id, text) that the right side does better or worse."""
    won: list[tuple[str, str]] = []
    lost: list[tuple[str, str]] = []
    same = 0
    for case_id in sorted(set(left) & set(right)):
        before, after = left[case_id]["score"], right[case_id]["score"]
        if before is None or after is None:
            continue
        if after == before:
            same += 1
        else:
            (won if after > before else lost).append((case_id, str(right[case_id]["text"])))
    return Behaviour(tuple(won), tuple(lost), same)


def diff_lines(document: Mapping[str, Any]) -> list[str]:
    """The comparison in text."""
    lines = [f"{document['a']} → {document['b']}"]
    members = document["members"]
    lines += [f"- {name}" for name in members["removed"]] + [f"+ {name}" for name in members["added"]]
    for row in document["trees"]:
        lines += ["", f"## {row['member']}: {row['from']} → {row['to']}"]
        lines += [f"graph: {line}" for line in row["graph"]]
        lines += row["text"].splitlines()
    behaviour = document["behaviour"]
    lines.append("")
    if not behaviour["recorded"]:
        return [*lines, f"behaviour: {behaviour['reason']}"]
    lines.append(
        f"behaviour on train and dev: {len(behaviour['won'])} cases won, {len(behaviour['lost'])} lost, "
        f"{behaviour['same']} equal"
    )
    lines.append("cost of a case: " + "; ".join(_cost_words(behaviour["cost"], name) for name in _COSTS))
    for sign, rows in (("+", behaviour["won"]), ("-", behaviour["lost"])):
        lines += [f"  {sign} {case_id}: {text[:100]}" for case_id, text in rows[:SHOWN_CASES]]
        if len(rows) > SHOWN_CASES:
            lines.append(f"  {sign} … and {len(rows) - SHOWN_CASES} more (--json lists all)")
    return lines


_COSTS = {"calls": "calls", "tokens": "tokens", "seconds": "s", "usd": "dollars"}


def _cost_words(cost: Mapping[str, Any], measure: str) -> str:
    before, after = ("unknown" if side[measure] is None else f"{side[measure]:.4g}" for side in (cost["a"], cost["b"]))
    return f"{before} → {after} {_COSTS[measure]}"


def require_version(reference: Reference) -> int:
    """The version number of a reference that must be one."""
    if reference.version is None:
        raise UserError("a version is needed here", place=reference.label, fix="write NAME or NAME@NUMBER")
    return reference.version
