"""The words of `evolve check`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evolve.report.datasets import left_out_lines
from evolve.report.words import points


def plan_lines(plan: Mapping[str, Any]) -> list[str]:
    """Sentences about an estimate (as a dict): cost first, then what can be proven, then warnings."""
    stages = ", ".join(f"{name} {count}" for name, count in plan["runs"].items())
    usd = "unknown" if plan["usd"] is None else f"${plan['usd']}"
    lines = [
        f"At most {sum(plan['runs'].values()):,} runs ({stages}), about {plan['calls']:,} model calls.",
        f"Dollars: {usd}. Time: about {plan['minutes']:.1f} minutes.",
        f"Assumed: {'; '.join(plan['assumptions'])}.",
        f"Gate: {plan['heldout_cases']} sealed cases in {plan['heldout_units']} independent groups; this campaign may "
        f"err with {100 * plan['alpha']:.2g} in 100 (of {100 * plan['alpha_left']:.2g} left on these cases).",
    ]
    if plan["detectable"] is None:
        lines.append("Smallest gain it can prove: none.")
    else:
        lines.append(
            f"Smallest gain it can prove in 4 of 5 campaigns: {points(plan['detectable'])} points "
            "(if 3 in 10 cases change)."
        )
    return lines + left_out_lines(plan) + [f"WARNING: {text}" for text in plan["warnings"]]
