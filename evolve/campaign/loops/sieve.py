"""What a proposal must pass, for free, before it is tried: new, whole, within the models' reach, without leaks."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from evolve.campaign.capable import capability_problems
from evolve.campaign.context import CampaignContext
from evolve.core.protocols import Files
from harnesses.check import check_harness
from harnesses.leak import LeakIndex, leak_check
from harnesses.proposal import Proposal, normal_tree_hash


@dataclass(frozen=True)
class Refused:
    """A proposal that never became a candidate; its cost is booked all the same."""

    source: str
    kind: str
    reason: str


class Sieve:
    """Takes the proposals of one round in order; `seen` are the normal hashes of what earlier rounds proposed."""

    def __init__(self, context: CampaignContext, parent: Files, seen: Collection[str], leaks: LeakIndex) -> None:
        self._context = context
        self._parent = parent
        self._known = {*seen, normal_tree_hash(parent)}
        self._leaks = leaks

    def sift(self, item: Proposal | Refused) -> Proposal | Refused:
        """The proposal itself, or why it is refused."""
        if isinstance(item, Refused):
            return item
        refusal = self._refusal(item)
        self._known.add(item.normal_hash)
        return refusal or item

    def _refusal(self, item: Proposal) -> Refused | None:
        if item.normal_hash in self._known:
            words = "equal to its parent or to an earlier proposal, but for white space"
            return Refused(item.source, "duplicate", words)
        if problems := check_harness(item.files) or capability_problems(self._context, item.files):
            return Refused(item.source, "check", "; ".join(str(p) for p in problems))
        if secrets := self._secrets(item):
            return Refused(item.source, "secret", f"a secret would enter the tree in {len(secrets)} of its files")
        if found := leak_check(self._parent, item.files, self._leaks):
            cases = len({leak.case_id for leak in found})
            return Refused(item.source, "leak", f"text of {cases} cases would enter the tree")
        return None

    def _secrets(self, item: Proposal) -> list[str]:
        """Changed files with a secret in them: trees never change, so nothing could take it out later."""
        clean = self._context.home.redactor
        changed = [path for path, data in item.files.items() if self._parent.get(path) != data]
        return [p for p in changed if clean.finds(p) or clean.finds(item.files[p].decode("utf-8", "replace"))]
