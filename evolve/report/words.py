"""A verdict for a person without a statistics course: what was compared, who won, how sure, and what to do next."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def points(value: float | None) -> str:
    """A fraction as points of 100; `unmeasured` for None."""
    return "unmeasured" if value is None else f"{100 * value:.1f}"


def verdict_words(verdict: Mapping[str, Any]) -> list[str]:
    """Sentences for a stored verdict row."""
    name = {"promote": "PROMOTED", "reject": "REJECTED", "indecisive": "INDECISIVE"}[verdict["decision"]]
    lines = [
        f"{name}: {verdict['reason']}",
        f"Compared: {verdict['challenger']} against {verdict['baseline']} on {verdict['cases_looked_at']} of "
        f"{verdict['cases']} sealed cases ({verdict['looked']} of {verdict['horizon']} independent groups).",
        f"Score there: {points(verdict['baseline_mean'])} → {points(verdict['challenger_mean'])} of 100 points; "
        f"groups won {verdict['wins']}, lost {verdict['losses']}, equal {verdict['ties']}.",
        f"Gain {points(verdict['gain'])} points. It is at least {points(verdict['gain_low'])} and at most "
        f"{points(verdict['gain_high'])}; each bound is wrong in at most {100 * verdict['alpha']:.2g} of 100 such "
        "tests, however often one looks.",
    ]
    if verdict["missing"]:
        lines.append(f"{verdict['missing']} groups had no result; a promotion counts each against the challenger.")
    lines += [_guard_words(guard) for guard in verdict["guards"]]
    lines += [f"Note: {note}" for note in verdict["notes"]]
    if verdict["decision"] == "indecisive":
        lines.append(_next_step(verdict))
    return lines


def _guard_words(guard: Mapping[str, Any]) -> str:
    state = {
        "passed": "holds: not worse by more than the margin",
        "harmed": "BROKEN: worse by more than the margin",
        "open": "open: too few cases to tell",
        "off": f"OFF: {guard['reason']}",
    }[guard["state"]]
    return f"Guard {guard['name']} (margin {guard['margin']:g}, {guard['units']} groups): {state}."


def _next_step(verdict: Mapping[str, Any]) -> str:
    needed = verdict.get("needed")
    if needed:
        return f"Next: about {needed} groups would decide at this gain; bring more heldout cases."
    return "Next: at the gain seen, more cases would not decide soon; look for a larger improvement."
