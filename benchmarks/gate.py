"""What the gate promotes by mistake, what it finds, and how many cases it looks at.

    python benchmarks/gate.py [--json] [--quick]

Neutral challengers: baseline and challengers pass each case with probability 0.6 whatever they are, so every promotion
is false. One campaign sends 40 of them to one sealed set; each gets alpha / 40 (a union bound, so it does not matter
that they share the baseline's runs). The engine itself sends one finalist portfolio a campaign, with the whole level.
Power: one challenger on 300 cases, 30 % of which are won or lost, alpha 0.05, stops for futility included.
Everything runs through the test that runs in the gate (`PrimaryTest`), many campaigns at a time.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

if __name__ == "__main__":
    import sys

    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from evolve.evaluate.plan import draw_differences
from evolve.evaluate.sequential import Outcome, PrimaryTest, Rules, run_campaigns

ALPHA = 0.05
CHALLENGERS = 40
CASES = 300
DISCORDANCE = 0.3
PASS_RATE = 0.6


def neutral_differences(cases: int, campaigns: int, challengers: int, rate: float, seed: int) -> NDArray[np.float64]:
    """Differences of shape (cases, campaigns * challengers); the challengers of a campaign share its baseline runs."""
    rng = np.random.default_rng(seed)
    baseline = rng.random((cases, campaigns, 1)) < rate
    challenger = rng.random((cases, campaigns, challengers)) < rate
    differences = challenger.astype(np.float64) - baseline
    return np.asarray(differences.reshape(cases, campaigns * challengers), dtype=np.float64)


def promoted(test: PrimaryTest) -> NDArray[np.bool_]:
    return np.asarray(test.outcome == Outcome.PROVEN)


def campaign_rate(cases: int, campaigns: int, seed: int) -> float:
    """Share of campaigns that promote any of their 40 neutral challengers, each tested at alpha / 40."""
    draws = neutral_differences(cases, campaigns, CHALLENGERS, PASS_RATE, seed)
    test = run_campaigns(Rules(ALPHA / CHALLENGERS, cases), draws)
    return float(promoted(test).reshape(campaigns, CHALLENGERS).any(axis=1).mean())


def strict_rate(campaigns: int, seed: int) -> float:
    """The same for the common rule: strictly better on a fresh batch of 3 cases, one run each side."""
    rng = np.random.default_rng(seed)
    baseline, challenger = (rng.binomial(3, PASS_RATE, (campaigns, CHALLENGERS)) for _ in range(2))
    return float((challenger > baseline).any(axis=1).mean())


def single_rates(campaigns: int, seed: int) -> dict[str, float]:
    """Share of single neutral challengers promoted at level alpha, a look after each of 2,000 cases, by pass rate."""
    rates = {}
    for rate in (0.05, 0.3, 0.6, 0.9):
        draws = neutral_differences(2000, campaigns, 1, rate, seed)
        rates[f"{rate:g}"] = float(promoted(run_campaigns(Rules(ALPHA, 2000), draws)).mean())
    return rates


def mcnemar_power(cases: int, gain: float) -> float:
    """Power of the exact one-sided McNemar test at level ALPHA on a fixed number of cases."""
    win = (DISCORDANCE + gain) / 2 / DISCORDANCE
    total = 0.0
    for decided in range(cases + 1):
        chance = math.exp(_log_binomial(cases, decided, DISCORDANCE))
        tail = 0.0
        found = 0.0
        for wins in range(decided, -1, -1):
            tail += math.exp(_log_binomial(decided, wins, 0.5))
            if tail > ALPHA:
                break
            found += math.exp(_log_binomial(decided, wins, win))
        total += chance * found
    return total


def _log_binomial(n: int, k: int, p: float) -> float:
    choose = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
    return choose + k * math.log(p) + (n - k) * math.log1p(-p)


def mcnemar_cases(power: float, gain: float) -> int:
    """The fewest cases on which the fixed McNemar test reaches `power`."""
    low, high = 1, 2
    while mcnemar_power(high, gain) < power:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if mcnemar_power(middle, gain) >= power else (middle, high)
    return high


def power_figures(campaigns: int, seed: int) -> dict[str, Any]:
    figures: dict[str, Any] = {}
    rules = Rules(ALPHA, CASES)
    for points in (0, 5, 10, 15):
        draws = draw_differences(points / 100, DISCORDANCE, (CASES, campaigns), seed + points)
        test = run_campaigns(rules, draws)
        looked = float(test.stopped_at.mean())
        figures[f"power_{points}" if points else "false_promotion_rate_one_challenger"] = float(promoted(test).mean())
        figures[f"mean_cases_{points}"] = round(looked, 1)
    same_power = mcnemar_cases(figures["power_10"], 0.10)
    figures["mcnemar_cases"] = same_power
    figures["mean_cases_vs_horizon"] = round(figures["mean_cases_10"] / CASES, 4)
    figures["mean_cases_vs_mcnemar"] = round(figures["mean_cases_10"] / same_power, 4)
    return figures


def measure(quick: bool, seed: int = 1) -> dict[str, Any]:
    """Every figure, as one JSON object; rates are fractions of `campaigns` (or `power_campaigns`)."""
    campaigns, many = (1000, 5000) if quick else (4000, 20000)
    return {
        "campaigns": campaigns,
        "challengers": CHALLENGERS,
        "alpha": ALPHA,
        "false_promotion_rate": campaign_rate(20, campaigns, seed),
        "campaigns_300_cases": campaigns // 5,
        "false_promotion_rate_300_cases": campaign_rate(300, campaigns // 5, seed),
        "strict_false_promotion_rate": strict_rate(campaigns, seed),
        "false_promotion_rate_2000_looks_by_pass_rate": single_rates(many, seed),
        "power_campaigns": many,
        **power_figures(many, seed),
    }


def words(f: dict[str, Any]) -> str:
    single = ", ".join(f"{v:.3f} at p = {p}" for p, v in f["false_promotion_rate_2000_looks_by_pass_rate"].items())
    return "\n".join(
        [
            f"{f['campaigns']} campaigns of {f['challengers']} neutral challengers, 20 sealed cases, pass rate 0.6",
            f"  promoted something, gate at alpha {f['alpha']} / 40 each:   {f['false_promotion_rate']:.3f}",
            f"  the same on 300 sealed cases ({f['campaigns_300_cases']} campaigns):    "
            f"{f['false_promotion_rate_300_cases']:.3f}",
            f"  promoted something, strictly better on 3 cases:  {f['strict_false_promotion_rate']:.3f}",
            f"one neutral challenger at alpha {f['alpha']}, a look after each of 2,000 cases: {single}",
            f"one challenger, 300 cases, 30 % won or lost, alpha {f['alpha']} ({f['power_campaigns']} campaigns)",
            *(f"  power at +{g} points: {f[f'power_{g}']:.3f}, mean cases {f[f'mean_cases_{g}']}" for g in (5, 10, 15)),
            f"  no gain: promoted {f['false_promotion_rate_one_challenger']:.3f}, mean cases {f['mean_cases_0']}",
            f"  at +10 points the gate looks at {f['mean_cases_vs_horizon']:.2f} of the horizon, and at "
            f"{f['mean_cases_vs_mcnemar']:.2f} of the",
            f"  {f['mcnemar_cases']} cases that a fixed exact McNemar test needs for the same power",
        ]
    )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--quick", action="store_true", help="fewer campaigns, under 50 seconds")
    options = parser.parse_args(arguments)
    figures = measure(options.quick)
    print(json.dumps(figures) if options.json else words(figures))


if __name__ == "__main__":
    main()
