"""What learning a provider's capacity costs, beside knowing it: throughput and refusals on a simulated provider.

    python benchmarks/adaptive.py [--quick] [--json]

The provider answers up to `capacity` calls at once, each after 50 ms (give or take a fifth), and refuses what is over
with a 429 after 2 ms; real time, asyncio, retries as in a campaign but for shorter waits. Calls go through adaptive
slots, and through slots fixed at 1, at the capacity (which nobody knows: the oracle) and at four times the capacity.
`adaptive_vs_oracle` divides the throughputs; refusals are counted for one answer.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import statistics
import time
from collections.abc import Callable

from evolve.books import Slots
from evolve.core.errors import WorldError
from evolve.core.messages import Capability, Message, ModelReply, ModelRequest, Usage
from evolve.models import AdaptiveSlots, FixedSlots, OpenedModel, RetryPolicy

LATENCY, REFUSAL = 0.05, 0.002
MOST, WORKERS = 128, 192
RETRY = RetryPolicy(attempts=1000, first_wait=0.025, longest_wait=0.2, jitter=0.025)


class Provider:
    """Answers up to `capacity` calls at once and refuses the others."""

    identity = "simulated:provider"
    capabilities: frozenset[Capability] = frozenset()

    def __init__(self, capacity: int, rng: random.Random) -> None:
        self._capacity, self._rng = capacity, rng
        self._at_once = 0
        self.refusals = 0

    async def reply(self, request: ModelRequest) -> ModelReply:
        """An answer after LATENCY, or a 429."""
        if self._at_once >= self._capacity:
            self.refusals += 1
            await asyncio.sleep(REFUSAL)
            raise WorldError("429: too many calls at once")
        self._at_once += 1
        seconds = LATENCY * self._rng.uniform(0.8, 1.2)
        try:
            await asyncio.sleep(seconds)
        finally:
            self._at_once -= 1
        return ModelReply("yes", usage=Usage(4, 1), seconds=seconds)

    async def close(self) -> None:
        """Nothing to end."""


async def measure(slots: Slots, capacity: int, calls: int, seed: int) -> tuple[float, int]:
    """Answers a second, and refusals, of `calls` calls that all want to be made at once."""
    provider = Provider(capacity, random.Random(seed))
    model = OpenedModel(provider, slots, RETRY)
    left = calls

    async def work() -> None:
        nonlocal left
        while left > 0:
            left -= 1
            await model.reply(ModelRequest((Message("user", "q"),)))

    start = time.perf_counter()
    await asyncio.gather(*(work() for _ in range(min(WORKERS, calls))))
    return calls / (time.perf_counter() - start), provider.refusals


def compare(capacity: int, seconds: float, seed: int) -> dict[str, float]:
    """One capacity: throughputs and refusals of the four ways, each as long as the oracle takes for `seconds`."""
    calls = int(seconds * capacity / LATENCY)
    ways: dict[str, tuple[Callable[[], Slots], int]] = {
        "adaptive": (lambda: AdaptiveSlots(MOST), calls),
        "oracle": (lambda: FixedSlots(capacity), calls),
        "fixed_4c": (lambda: FixedSlots(4 * capacity), calls),
        "fixed_1": (lambda: FixedSlots(1), max(20, calls // capacity)),
    }
    result: dict[str, float] = {"capacity": capacity}
    for name, (slots, number) in ways.items():
        rate, refusals = asyncio.run(measure(slots(), capacity, number, seed))
        result |= {f"rate_{name}": round(rate, 1), f"refusals_{name}": round(refusals / number, 4)}
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    capacities, seconds = ((4, 24), 3.0) if options.quick else ((2, 8, 24, 48), 10.0)
    rows = [compare(capacity, seconds, seed) for seed, capacity in enumerate(capacities)]
    if not options.json:
        for row in rows:
            print(
                f"capacity {row['capacity']}: adaptive {row['rate_adaptive']} answers/s, oracle {row['rate_oracle']}, "
                f"fixed 4C {row['rate_fixed_4c']}, fixed 1 {row['rate_fixed_1']}; refusals for one answer: adaptive "
                f"{row['refusals_adaptive']}, fixed 4C {row['refusals_fixed_4c']}"
            )
    print(
        json.dumps(
            {
                "adaptive_vs_oracle": _mean(rows, "rate_adaptive", "rate_oracle"),
                "fixed_4c_vs_oracle": _mean(rows, "rate_fixed_4c", "rate_oracle"),
                "fixed_1_vs_oracle": _mean(rows, "rate_fixed_1", "rate_oracle"),
                "refusals_adaptive": round(statistics.fmean(row["refusals_adaptive"] for row in rows), 3),
                "refusals_fixed_4c": round(statistics.fmean(row["refusals_fixed_4c"] for row in rows), 3),
                "capacities": list(capacities),
            }
        )
    )


def _mean(rows: list[dict[str, float]], above: str, below: str) -> float:
    return round(statistics.geometric_mean(row[above] / row[below] for row in rows), 3)


if __name__ == "__main__":
    main()
