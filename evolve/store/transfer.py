"""Rows of one campaign, and what stood in the home when it began, taken out as JSON and put into another home."""

from __future__ import annotations

import base64
import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Select, Table, select

from evolve.core.hashing import JSONValue
from evolve.store import tables
from evolve.store.home import Home
from evolve.store.sqlite import insert_new

Line = tuple[str, dict[str, JSONValue]]
"""A table's name and one of its rows; bytes are {"base64": text}."""

TREES = "trees"
_CHUNK = 400


@dataclass(frozen=True)
class Scope:
    """Which campaign, which portfolio it tests against, and the trees and cases that it measures."""

    campaign: str
    portfolio: str
    trees: Collection[str]
    cases: Collection[str]


def take_out(home: Home, scope: Scope) -> Iterator[Line]:
    """Everything that a replay starts from, in a fixed order. Requests are left out: their hashes say enough."""
    begun = home.campaigns.get(scope.campaign).created_at
    with home.database.read() as connection:
        yield from _calls(connection, scope.campaign)
        yield from _earlier_results(connection, scope, begun)
        versions = list(_versions(connection, scope.portfolio, begun))
        yield from versions
        yield from _spent_alpha(connection, scope.campaign)
    yield from _belongings(home, [row for name, row in versions if name == "versions"])


def seconds_of(home: Home, scope: Scope) -> dict[str, float]:
    """Result key → seconds of every result that the campaign may have made or found."""
    wanted = set(scope.cases)
    return {r.key: r.result.seconds for r in home.results.iter() if r.case_fingerprint in wanted}


def put_in(home: Home, lines: Iterable[Line]) -> None:
    """Writes the rows into a home, all in one transaction; trees become git objects."""
    with home.database.write() as connection:
        for name, row in lines:
            if name == TREES:
                home.trees.put({path: _decoded(data) for path, data in row["files"].items()})
            else:
                values = {column: _decoded(value) for column, value in row.items()}
                connection.execute(insert_new(tables.metadata.tables[name]), values)


def _calls(connection: Connection, campaign: str) -> Iterator[Line]:
    calls, ends = tables.calls, tables.call_ends
    for name, row in _rows(connection, calls, select(calls).where(calls.c.campaign == campaign).order_by(calls.c.id)):
        yield name, {**row, "request": None}
    mine = select(calls.c.id).where(calls.c.campaign == campaign)
    yield from _rows(connection, ends, select(ends).where(ends.c.id.in_(mine)).order_by(ends.c.id))


def _earlier_results(connection: Connection, scope: Scope, begun: str) -> Iterator[Line]:
    """Results that were there before: the campaign may have used them without paying."""
    results, trees = tables.results, sorted(scope.trees)
    for start in range(0, len(trees), _CHUNK):
        query = (
            select(results)
            .where(results.c.tree.in_(trees[start : start + _CHUNK]), results.c.created_at < begun)
            .order_by(results.c.key)
        )
        for name, row in _rows(connection, results, query):
            if row["case_fingerprint"] in scope.cases:
                yield name, row


def _versions(connection: Connection, portfolio: str, begun: str) -> Iterator[Line]:
    versions, moves = tables.versions, tables.pointer_moves
    query = select(versions).where(versions.c.name == portfolio, versions.c.created_at < begun)
    yield from _rows(connection, versions, query.order_by(versions.c.number))
    before = select(moves).where(moves.c.name == portfolio, moves.c.created_at < begun).order_by(moves.c.number)
    last: dict[str, dict[str, JSONValue]] = {}
    for name, row in _rows(connection, moves, before):
        yield name, row
        last[str(row["which"])] = row
    for which, row in last.items():
        pointer = {"name": portfolio, "which": which, "number": row["after"]}
        yield "pointers", {**pointer, "created_at": row["created_at"], "moved_at": row["created_at"]}


def _spent_alpha(connection: Connection, campaign: str) -> Iterator[Line]:
    """What others had spent of the error budget when this campaign reserved its own."""
    reservations, spends = tables.alpha_reservations, tables.alpha_spends
    own = select(reservations.c.created_at).where(reservations.c.campaign == campaign)
    moment = connection.execute(own).scalar()
    for table in (reservations, spends):
        query = select(table).order_by(table.c.key)
        if table is spends:
            query = query.order_by(table.c.text_key)
        if moment is not None:
            query = query.where(table.c.created_at < moment)
        yield from _rows(connection, table, query)


def _belongings(home: Home, versions: list[dict[str, JSONValue]]) -> Iterator[Line]:
    """Trees and edge tables of the versions."""
    contents = [json.loads(row["content"]) for row in versions]
    for tree in sorted({member["tree"] for content in contents for member in content["members"]}):
        files = {path: _encoded(data) for path, data in home.trees.get(tree).items()}
        yield TREES, {"tree": tree, "files": files}
    for sha in sorted({content["edges_sha"] for content in contents}):
        row = {"sha": sha, "created_at": "", "data": _encoded(home.artifacts.get(sha))}
        yield "artifacts", row


def _rows(connection: Connection, table: Table, query: Select[Any]) -> Iterator[Line]:
    for row in connection.execute(query).mappings():
        yield table.name, {column: _encoded(value) for column, value in row.items()}


def _encoded(value: Any) -> JSONValue:
    return {"base64": base64.b64encode(value).decode("ascii")} if isinstance(value, bytes) else value


def _decoded(value: JSONValue) -> Any:
    return base64.b64decode(value["base64"]) if isinstance(value, Mapping) else value
