"""The words of `evolve check`."""

from __future__ import annotations

from typing import Protocol

from evolve.report.words import points


class Planned(Protocol):
    """What an estimate offers to read (evolve.campaign.plan.Estimate)."""

    @property
    def runs(self) -> dict[str, int]: ...
    @property
    def calls(self) -> int: ...
    @property
    def usd(self) -> object: ...
    @property
    def minutes(self) -> float: ...
    @property
    def alpha(self) -> float: ...
    @property
    def alpha_left(self) -> float: ...
    @property
    def heldout_units(self) -> int: ...
    @property
    def heldout_cases(self) -> int: ...
    @property
    def detectable(self) -> float | None: ...
    @property
    def warnings(self) -> tuple[str, ...]: ...
    @property
    def assumptions(self) -> tuple[str, ...]: ...


def plan_lines(plan: Planned) -> list[str]:
    """Sentences about cost first, then about what can be proven, then warnings."""
    stages = ", ".join(f"{name} {count}" for name, count in plan.runs.items())
    usd = "unknown" if plan.usd is None else f"${plan.usd}"
    lines = [
        f"At most {sum(plan.runs.values()):,} runs ({stages}), about {plan.calls:,} model calls.",
        f"Dollars: {usd}. Time: about {plan.minutes:.1f} minutes.",
        f"Assumed: {'; '.join(plan.assumptions)}.",
        f"Gate: {plan.heldout_cases} sealed cases in {plan.heldout_units} independent groups; this campaign may err with "
        f"{100 * plan.alpha:.2g} in 100 (of {100 * plan.alpha_left:.2g} left on these cases).",
    ]
    if plan.detectable is None:
        lines.append("Smallest gain it can prove: none.")
    else:
        lines.append(
            f"Smallest gain it can prove in 4 of 5 campaigns: {points(plan.detectable)} points (if 3 in 10 cases change)."
        )
    return lines + [f"WARNING: {text}" for text in plan.warnings]
