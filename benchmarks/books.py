"""Randomised campaigns against a provider that keeps its own accounts: is a cap ever exceeded, do the books agree?

    python benchmarks/books.py [--quick] [--json] [--runs N] [--seed S]

Every run draws caps, concurrency, latencies, cached and written tokens in both wire forms, refusals, broken answers
that were billed all the same, cancellations, retries and restarts of the books on their journal. The provider knows
what it was asked and what it really charged.

`cap_exceeded`: runs in which a call began beyond the call cap, or the provider's true charges passed a cap.
`mismatches`: runs in which a finished call differs from the provider's account in a token or in exact dollars, journal,
budget and sums disagree, or the books say less than was charged.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from evolve.books import Amount, Books, Caps, Owner, PriceBook
from evolve.core.errors import BudgetExceeded, WorldError
from evolve.core.messages import Capability, Message, ModelReply, ModelRequest, Usage
from evolve.core.traces import Spend
from evolve.models import FixedSlots, OpenedModel, RetryPolicy
from evolve.models.usage import usage_of
from evolve.store import Home, open_home

FAST_DISK = "/dev/shm" if Path("/dev/shm").is_dir() else None
PRICED = ("openai:gpt-4o-mini", "anthropic:claude-sonnet-4-5", "openai:gpt-5-mini")
UNPRICED = "openai:homemade-9b"
CALLS = 40
CAMPAIGN = "c"


@dataclass
class Account:
    """The provider's own books: what began, and what was charged for answers and for calls that came to nothing."""

    begun: int = 0
    answered: dict[str, tuple[Usage, Decimal | None]] = field(default_factory=dict)
    lost: list[tuple[Usage, Decimal | None]] = field(default_factory=list)

    def charged(self) -> tuple[int, Decimal, int]:
        """Calls, dollars and tokens that were really charged."""
        every = [*self.answered.values(), *self.lost]
        return (
            len(every),
            sum((usd or Decimal(0) for _, usd in every), Decimal(0)),
            sum(u.total_tokens for u, _ in every),
        )


class Provider:
    """Answers within the request's bounds, or fails in one of the ways providers do."""

    capabilities: frozenset[Capability] = frozenset()

    def __init__(self, identity: str, account: Account, rng: random.Random) -> None:
        self.identity = identity
        self._account = account
        self._rng = rng
        self._prices = PriceBook()

    async def reply(self, request: ModelRequest) -> ModelReply:
        """One answer, or a WorldError that says whether it may have been billed."""
        self._account.begun += 1
        number = f"{self.identity} {self._account.begun}"
        await asyncio.sleep(self._rng.choice((0, 0, 0.001, 0.003)))
        raw = self._raw_usage(request)
        usage = usage_of(self.identity.partition(":")[0], raw)
        usd = self._prices.price(self.identity, usage)
        fate = self._rng.random()
        if fate < 0.06:
            raise WorldError("429", retry_after=0.0)
        if fate < 0.09:
            raise WorldError("400", passing=False)
        if fate < 0.15:
            self._account.lost.append((usage, usd))
            raise WorldError("the stream broke", maybe_billed=True)
        self._account.answered[number] = (usage, usd)
        if self._rng.random() < 0.03:  # the answer is on its way when the caller gives up
            await asyncio.sleep(0.01)
        return ModelReply(number, usage, raw_usage=raw, seconds=0.001)

    async def close(self) -> None:
        """Nothing to end."""

    def _raw_usage(self, request: ModelRequest) -> Mapping[str, Any]:
        rng, prompt = self._rng, self._rng.randint(1, request.prompt_bytes)
        completion, cached = rng.randint(0, request.max_tokens), rng.randint(0, prompt)
        written = rng.randint(0, prompt - cached)
        if self.identity.startswith("anthropic"):
            return {
                "input_tokens": prompt - cached - written,
                "cache_read_input_tokens": cached,
                "cache_creation_input_tokens": written,
                "cache_creation": {"ephemeral_1h_input_tokens": rng.randint(0, written)},
                "output_tokens": completion,
            }
        if rng.random() < 0.5:
            details = {"cached_tokens": cached}
            return {"input_tokens": prompt, "output_tokens": completion, "input_tokens_details": details}
        return {
            "prompt_tokens": prompt,
            "completion_tokens": completion,
            "prompt_tokens_details": {"cached_tokens": cached},
        }


def draw_caps(rng: random.Random, priced: bool) -> Caps:
    """Caps that a run of forty calls may or may not reach."""
    usd = Decimal(rng.randint(1, 400)) / 10_000 if priced and rng.random() < 0.5 else None
    tokens = rng.randint(200, 30_000) if rng.random() < 0.4 else None
    calls = rng.randint(1, 60) if usd is None or rng.random() < 0.5 else None
    return Caps(calls=calls, usd=usd, tokens=tokens)


async def session(home: Home, caps: Caps, account: Account, identities: list[str], rng: random.Random) -> Books:
    """One process's worth of concurrent calls; some callers give up."""
    books = Books(home, CAMPAIGN, caps, PriceBook())
    opened = [
        OpenedModel(
            Provider(identity, account, rng), FixedSlots(rng.randint(1, 12)), RetryPolicy(rng.randint(1, 3), 0, 0, 0)
        )
        for identity in identities
    ]

    async def ask(number: int) -> None:
        model = rng.choice(opened).booked(
            books, Owner(CAMPAIGN, "l", "t", str(number), 0, rng.choice(("agent", "judge")))
        )
        request = ModelRequest((Message("user", "q" * rng.randint(1, 600)),), max_tokens=rng.randint(1, 300))
        try:
            await asyncio.wait_for(model.reply(request), timeout=rng.choice((None, None, None, 0.004)))
        except (BudgetExceeded, WorldError, TimeoutError):
            return

    await asyncio.gather(*(ask(n) for n in range(CALLS)))
    return books


def check_caps(caps: Caps, account: Account) -> list[str]:
    """What the provider's own account says about the caps."""
    calls, usd, tokens = account.charged()
    problems = (
        [f"{calls} calls charged under a cap of {caps.calls}"] if caps.calls is not None and calls > caps.calls else []
    )
    problems += [f"${usd} charged under a cap of ${caps.usd}"] if caps.usd is not None and usd > caps.usd else []
    problems += (
        [f"{tokens} tokens under a cap of {caps.tokens}"] if caps.tokens is not None and tokens > caps.tokens else []
    )
    return problems


def check_books(home: Home, books: Books, account: Account) -> list[str]:
    """Finished calls against the provider's account, and the sums against each other."""
    problems = []
    for row, reply in home.journal.replies(CAMPAIGN):
        told = account.answered[reply["text"]]
        if (row.usage, row.usd) != told and not row.note:
            problems.append(f"call {row.id}: the provider charged {told}, the books say {(row.usage, row.usd)}")
        if row.note and (row.usd or 0) < (told[1] or 0):
            problems.append(f"call {row.id}: {row.note}, and less than was charged")
    total = sum((row.spend for row in home.journal.iter(CAMPAIGN)), Spend())
    calls, usd, tokens = account.charged()
    if books.spend() != total or books.budget.spent != Amount.of(total) or books.budget.reserved != Amount():
        problems.append(f"books {books.spend()}, budget {books.budget.spent}, journal {total}")
    if (total.calls, total.usd, total.usage.total_tokens) < (calls, usd, tokens) or total.usd < usd:
        problems.append(f"the books say {total}, the provider charged {calls} calls, ${usd}, {tokens} tokens")
    return problems


async def one_run(seed: int, folder: Path) -> tuple[list[str], list[str]]:
    """(what is wrong with the caps, what is wrong with the books) after one to three sessions on one journal."""
    rng = random.Random(seed)
    identities = rng.sample(PRICED, rng.randint(1, 2)) + ([UNPRICED] if rng.random() < 0.2 else [])
    caps = draw_caps(rng, UNPRICED not in identities)
    account = Account()
    home = open_home(folder / f"run {seed}", create=True)
    try:
        for _ in range(rng.randint(1, 3)):
            books = await session(home, caps, account, identities, rng)
        home.database.group.close()
        return check_caps(caps, account), check_books(home, books, account)
    finally:
        home.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="100 runs instead of 1,000")
    parser.add_argument("--json", action="store_true", help="only the last line")
    parser.add_argument("--runs", type=int, default=None)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    runs = options.runs or (100 if options.quick else 1000)
    started, exceeded, mismatched, stories = time.monotonic(), 0, 0, []
    with tempfile.TemporaryDirectory(dir=FAST_DISK) as scratch:
        for seed in range(options.seed, options.seed + runs):
            caps, books = asyncio.run(one_run(seed, Path(scratch)))
            exceeded += bool(caps)
            mismatched += bool(books)
            stories += [f"run {seed}: {problem}" for problem in (*caps, *books)]
    if not options.json:
        print("\n".join(stories[:40]) or "no cap was exceeded, and every call is as the provider booked it")
    figures = {"runs": runs, "cap_exceeded": exceeded, "mismatches": mismatched}
    print(json.dumps({**figures, "seconds": round(time.monotonic() - started, 1)}))


if __name__ == "__main__":
    main()
