"""The two sides of a comparison: one tree for every case, or a router that picks a member for each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from evolve.core.cases import Case, Split
from evolve.core.scores import Result, Scorecard
from evolve.evaluate.suite import Evaluation, Suite

Route = Callable[[Sequence[str]], list[str]]
"""Query texts → the tree chosen for each."""


class Arm(Protocol):
    """Something that answers cases."""

    @property
    def label(self) -> str:
        """What reports call it."""
        ...

    async def run(self, cases: Sequence[Case]) -> Scorecard:
        """Results of these cases."""
        ...


@dataclass(frozen=True)
class ArmSetting:
    """Where and how often an arm runs."""

    suite: Suite
    split: Split
    loop: str
    repetitions: int = 1


@dataclass(frozen=True)
class SingleArm:
    """Every case goes to one tree."""

    label: str
    tree: str
    setting: ArmSetting

    async def run(self, cases: Sequence[Case]) -> Scorecard:
        """Results of the tree on `cases`."""
        return await self.setting.suite.evaluate(_evaluation(self.setting, self.tree, cases))


@dataclass(frozen=True)
class RoutedArm:
    """Each case goes to the member its text is routed to. Nothing but the text is seen."""

    label: str
    route: Route
    setting: ArmSetting

    async def run(self, cases: Sequence[Case]) -> Scorecard:
        """Results of the chosen members, one member after another so that prompt prefixes stay cached."""
        chosen = self.route([case.text for case in cases])
        by_tree: dict[str, list[Case]] = {}
        for case, tree in zip(cases, chosen, strict=True):
            by_tree.setdefault(tree, []).append(case)
        return Scorecard(self.label, await self._results(by_tree))

    async def _results(self, by_tree: Mapping[str, list[Case]]) -> Mapping[tuple[str, int], Result]:
        results: dict[tuple[str, int], Result] = {}
        for tree, cases in sorted(by_tree.items()):
            card = await self.setting.suite.evaluate(_evaluation(self.setting, tree, cases))
            results.update(card.results)
        return results


def _evaluation(setting: ArmSetting, tree: str, cases: Sequence[Case]) -> Evaluation:
    return Evaluation(tree, cases, setting.split, setting.loop, setting.repetitions)
