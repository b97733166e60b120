"""Whether the books of a home add up: journal, providers' usage, prices, results, caps, looks and the store itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from evolve.books import PriceBook
from evolve.books.billing import NOT_REPORTED
from evolve.books.documents import read_reply
from evolve.books.prices import split_identity
from evolve.books.purposes import purpose_of
from evolve.core.errors import EvolveError, UserError, WorldError
from evolve.core.traces import Spend
from evolve.models.usage import usage_of
from evolve.report.references import resolve_reference
from evolve.store import CallRow, Home

MOST = 20
"""Findings of one kind that are listed; the rest is counted."""


@dataclass(frozen=True)
class Discrepancy:
    """Something that does not add up: where, what, and what to do."""

    where: str
    what: str
    fix: str = ""


def reconcile(home: Home) -> list[Discrepancy]:
    """Every check, in order; empty when the books are right. Reads page by page."""
    checks: list[Callable[[Home], Iterator[Discrepancy]]] = [
        _store,
        _usage_and_prices,
        _caps,
        _results,
        _in_flight,
        _looks,
        _versions,
    ]
    found: list[Discrepancy] = []
    for check in checks:
        mine = _run(check, home)
        found += mine[:MOST]
        if len(mine) > MOST:
            found.append(Discrepancy(mine[0].where, f"and {len(mine) - MOST:,} more of this kind"))
    return found


def _run(check: Callable[[Home], Iterator[Discrepancy]], home: Home) -> list[Discrepancy]:
    """What one check finds; a store that cannot be read is a finding too."""
    try:
        return list(check(home))
    except WorldError as error:
        return [Discrepancy(str(home.path), str(error))]


def _store(home: Home) -> Iterator[Discrepancy]:
    for line in home.check_integrity():
        yield Discrepancy(str(home.path), f"the database is damaged: {line}", "restore it from a backup")


def _usage_and_prices(home: Home) -> Iterator[Discrepancy]:
    """The provider's own account of each call against what was booked, and what was booked against the prices."""
    for owner in home.journal.owners():
        pinned = _pinned(home, owner)
        for row, document in home.journal.replies(owner):
            where = f"{owner} call {row.id}"
            reply = read_reply(document)
            if row.note == NOT_REPORTED:
                continue
            told = usage_of(split_identity(row.model)[0], reply.raw_usage) if reply.raw_usage else reply.usage
            if told != row.usage:
                yield Discrepancy(where, f"the provider said {told}, the books say {row.usage}")
            elif row.usd not in _possible_prices(row, pinned):
                yield Discrepancy(
                    where, f"{row.usage} of {row.model} was booked as ${row.usd}, which no pinned price gives"
                )


def _pinned(home: Home, campaign: str) -> dict[str, list[PriceBook]]:
    """Identity → price books with each set of rates that the campaign has run on."""
    books: dict[str, list[PriceBook]] = {}
    for entry in home.ledger.rows(campaign, "terms"):
        for described in entry.detail["prices"].values():
            books.setdefault(described["model"], []).append(PriceBook.pinned(described))
    return books


def _possible_prices(row: CallRow, pinned: dict[str, list[PriceBook]]) -> set[Decimal | None]:
    """By the pinned rates and, for models priced by the hour, by the package's rates at the moment of the call."""
    moment = datetime.fromisoformat(row.created_at)
    books = [*pinned.get(row.model, []), PriceBook(clock=lambda: moment)]
    return {book.price(row.model, row.usage) for book in books}


def _caps(home: Home) -> Iterator[Discrepancy]:
    for campaign in home.campaigns.list():
        spend = sum((row.spend for row in home.journal.iter(campaign.id)), Spend())
        terms = [row.detail["caps"] for row in home.ledger.rows(campaign.id, "terms")]
        for name, used in (("calls", spend.calls), ("usd", spend.usd), ("tokens", spend.usage.total_tokens)):
            caps = [caps[name] for caps in terms]
            if caps and None not in caps and used > max(Decimal(str(cap)) for cap in caps):
                yield Discrepancy(campaign.id, f"{used} {name} were spent, more than any cap it ran under ({caps})")


def _results(home: Home) -> Iterator[Discrepancy]:
    """No result may claim calls that the journal does not hold, and a whole match must match in money too."""
    paid: dict[tuple[str, str, int], Spend] = {}
    for owner in home.journal.owners():
        for row in home.journal.iter(owner):
            if purpose_of(row.role) == "agent":
                key = (row.candidate, row.case, row.repetition)
                paid[key] = paid.get(key, Spend()) + row.spend
    for stored in home.results.iter():
        result, spend = stored.result, paid.get((stored.tree, stored.case_fingerprint, stored.repetition), Spend())
        claimed = (result.calls, result.tokens, result.usd)
        booked = (spend.calls, spend.usage.total_tokens, spend.usd)
        too_much = result.calls > spend.calls or result.tokens > booked[1] or result.usd > spend.usd
        if too_much or (result.calls == spend.calls and claimed != booked):
            where = f"result of tree {stored.tree[:12]} on case {result.case_id}, repetition {stored.repetition}"
            yield Discrepancy(where, f"it claims {claimed} calls, tokens and dollars, the journal holds {booked}")


def _in_flight(home: Home) -> Iterator[Discrepancy]:
    """Calls that nobody waits for any more; what they hold stays charged until the campaign is resumed."""
    for campaign in home.campaigns.list():
        try:
            with home.campaigns.lock(campaign.id):
                held = [row.spend for row in home.journal.iter(campaign.id) if row.state == "in_flight"]
        except UserError:
            continue
        if held:
            total = sum(held, Spend())
            what = f"{len(held)} calls were in flight when its process died; ${total.usd} stay charged"
            yield Discrepancy(campaign.id, what, f"resume it, or `evolve cancel {campaign.id}`")


def _looks(home: Home) -> Iterator[Discrepancy]:
    """Nothing sealed may be looked at before its error budget was reserved."""
    for campaign in home.campaigns.list():
        looks = home.ledger.rows(campaign.id, "heldout_look")
        if looks and home.alpha.reserved(f"gate/{campaign.id}") is None:
            yield Discrepancy(campaign.id, f"{len(looks)} looks at heldout, and no error budget was reserved for them")


def _versions(home: Home) -> Iterator[Discrepancy]:
    for name in home.versions.names():
        for row in home.versions.list(name):
            try:
                found = resolve_reference(home, f"{name}@{row.number}")
                for tree in found.members:
                    home.trees.get(tree)
                if found.content is not None:
                    home.artifacts.get(found.content.edges_sha)
            except EvolveError as error:
                yield Discrepancy(f"{name}@{row.number}", f"cannot be read back: {error}")
