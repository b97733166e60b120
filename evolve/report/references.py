"""References on the command line: `desk` (live), `desk@3`, `desk@3/ab12`, `tree:ab12…`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from evolve.core.errors import UserError
from evolve.core.hashing import short
from evolve.core.names import nearest
from evolve.store import Home
from portfolios.portfolio import PortfolioContent, parse_content


@dataclass(frozen=True)
class Reference:
    """A resolved reference. `members` maps tree → label; `version` is None for a bare tree."""

    label: str
    name: str
    version: int | None
    members: Mapping[str, str]
    content: PortfolioContent | None = None
    evidence: Mapping[str, Any] = field(default_factory=dict)

    @property
    def source_version(self) -> int | None:
        """The version whose content this is: itself, or for a rollback the one it restored."""
        restored = self.evidence.get("restores")
        return int(restored) if restored is not None else self.version


def resolve_reference(home: Home, text: str) -> Reference:
    """UserError, with the nearest known name, when there is no such thing."""
    if text.startswith("tree:"):
        tree = home.trees.resolve(text.removeprefix("tree:"))
        return Reference(f"tree:{short(tree)}", "", None, {tree: "tree"})
    version_part, _, member = text.partition("/")
    name, at, number = version_part.partition("@")
    found = _version(home, name, number if at else "")
    if not member:
        return found
    hits = [tree for tree in found.members if tree.startswith(member) or found.members[tree] == member]
    if len(hits) != 1:
        known = ", ".join(f"{short(t)} ({label})" for t, label in found.members.items())
        raise UserError(f"{member!r} names {len(hits)} members", place=text, fix=f"one of: {known}")
    return Reference(f"{found.label}/{short(hits[0])}", name, found.version, {hits[0]: found.members[hits[0]]})


def _version(home: Home, name: str, number: str) -> Reference:
    names = home.versions.names()
    if name not in names:
        hint = nearest(name, names)
        known = ", ".join(names) or "none yet; run a campaign"
        fix = f"did you mean {hint!r}?" if hint else f"known portfolios: {known}"
        raise UserError(f"there is no portfolio {name!r}", place=name, fix=fix)
    if number and not number.isdigit():
        raise UserError(f"{number!r} is not a version number", place=f"{name}@{number}", fix=f"for example {name}@1")
    version = int(number) if number else home.versions.pointer(name)
    if version is None:
        raise UserError(f"{name} has no live version", place=name, fix="name one: NAME@NUMBER")
    row = home.versions.get(name, version)
    content = parse_content(row.content)
    members = {m.tree: m.label for m in content.members}
    return Reference(f"{name}@{version}", name, version, members, content, row.evidence)
