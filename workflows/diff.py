"""What changed between two workflows, as sentences: nodes, parameters, branches and limits."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

from evolve.core.hashing import JSONValue, canonical_json
from workflows.canonical import canonical_order, full_params, live_branches, node_params
from workflows.spec import Node, Workflow

_SAME_NAME, _SAME_OPERATOR, _SAME_PARAMS, _SAME_POSITION = 4.0, 3.0, 2.0, 0.5
_SHOWN = 60


def diff_workflows(a: Workflow, b: Workflow) -> list[str]:
    """How to get from `a` to `b`; empty when they say the same, defaults filled in. A renamed node is one line."""
    pairs = match_nodes(a, b)
    old_names = {new: old for old, new in pairs.items()}
    lines = [f"renamed node {old} → {new}" for old, new in pairs.items() if old != new]
    lines += [f"removed node {name} ({a.nodes[name].operator})" for name in a.nodes if name not in pairs]
    lines += [f"added node {name} ({b.nodes[name].operator})" for name in b.nodes if name not in old_names]
    for old, new in pairs.items():
        lines += _diff_node(new, a.nodes[old], b.nodes[new], pairs)
    if pairs.get(a.start, a.start) != b.start:
        lines.append(f"start {a.start} → {b.start}")
    if a.max_visits != b.max_visits:
        lines.append(f"max_visits {a.max_visits} → {b.max_visits}")
    if a.output != b.output and (a.output is None or pairs.get(a.output, a.output) != b.output):
        lines.append(f"output {a.output or 'last answer'} → {b.output or 'last answer'}")
    return lines


def match_nodes(a: Workflow, b: Workflow) -> dict[str, str]:
    """Node of `a` → the node of `b` that it became: best pairs first, by name, operator, parameters and position.

    Nodes that share neither name nor operator are never paired.
    """
    scores = {
        (old, new): _likeness(a, b, old, new)
        for old, new in product(a.nodes, b.nodes)
        if old == new or a.nodes[old].operator == b.nodes[new].operator
    }
    pairs: dict[str, str] = {}
    for old, new in sorted(scores, key=lambda pair: -scores[pair]):
        if old not in pairs and new not in pairs.values():
            pairs[old] = new
    return {old: pairs[old] for old in a.nodes if old in pairs}


def branch_text(node: Node, names: Mapping[str, str] | None = None) -> str:
    """`failed → answer, else → end`; targets are shown under the names that `names` gives them."""
    shown = names or {}
    branches = live_branches(node)
    if len(branches) == 1 and branches[0].when is None:
        return shown.get(branches[0].to, branches[0].to)
    return ", ".join(f"{branch.when or 'else'} → {shown.get(branch.to, branch.to)}" for branch in branches)


def _likeness(a: Workflow, b: Workflow, old: str, new: str) -> float:
    before, after = full_params(a.nodes[old]), full_params(b.nodes[new])
    keys = before.keys() | after.keys()
    equal = sum(1 for key in keys if key in before and key in after and _same(before[key], after[key]))
    score = _SAME_PARAMS * (equal / len(keys) if keys else 1.0)
    score += _SAME_NAME if old == new else 0.0
    score += _SAME_OPERATOR if a.nodes[old].operator == b.nodes[new].operator else 0.0
    return score + (_SAME_POSITION if _position(a, old) == _position(b, new) else 0.0)


def _position(workflow: Workflow, name: str) -> int:
    order = canonical_order(workflow)
    return order.index(name) if name in order else -1


def _diff_node(name: str, old: Node, new: Node, pairs: Mapping[str, str]) -> list[str]:
    lines = []
    if old.operator != new.operator:
        lines.append(f"node {name}: operator {old.operator} → {new.operator}")
    before = {**full_params(old), **{key: pairs.get(other, other) for key, other in node_params(old).items()}}
    after = full_params(new)
    for key in [*before, *(key for key in after if key not in before)]:
        if key not in before or key not in after or not _same(before[key], after[key]):
            lines.append(f"node {name}: params.{key} {_shown(before, key)} → {_shown(after, key)}")
    was, now = branch_text(old, pairs), branch_text(new)
    if was != now:
        lines.append(f"node {name}: next {was}; now {now}")
    return lines


def _same(one: JSONValue, other: JSONValue) -> bool:
    return canonical_json(one) == canonical_json(other)


def _shown(params: Mapping[str, JSONValue], key: str) -> str:
    if key not in params:
        return "(none)"
    text = canonical_json(params[key]).decode("utf-8", "replace")
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
