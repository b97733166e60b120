"""`evolve forget`: a query's text taken out of everything a home keeps; rows and sums stay.

Whatever held the text goes as a whole: a call's request with its reply, and all calls and traces of the run that was
shown it, because what was answered to it can tell what was asked.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path

from evolve.campaign.checkpoints import CHECKPOINTS, rewrite_checkpoints
from evolve.campaign.route import ROUTE
from evolve.core.errors import UserError
from evolve.core.redact import shape_of
from evolve.run.trace_json import hide_texts
from evolve.store import Home
from evolve.store.compact import compact
from evolve.store.erasing import KeptCall
from evolve.store.home import DATABASE
from evolve.store.packing import json_text, unpack_json
from evolve.store.rewriting import replace_strings
from portfolios.edges import MAGIC, Edges

FORGOTTEN = "forgotten"
PACKED = b"PAR1"
"""How a file of packed rows begins."""
REPLACEMENT = f"[{FORGOTTEN}]"
SHORTEST = 8
"""Characters of a text that can be looked for: a shorter one occurs inside too many others."""
QUOTED = 200
"""Characters of a case that a version's behaviour quotes."""


@dataclass(frozen=True)
class Sought:
    """What is looked for: a text in the forms in which it may be stored, or the id of one routed query."""

    forms: tuple[str, ...]
    route: str = ""

    @cached_property
    def json_forms(self) -> tuple[str, ...]:
        """The forms as ASCII JSON writes them."""
        return tuple(json.dumps(form)[1:-1] for form in self.forms)

    def in_text(self, text: str) -> bool:
        """Whether a string holds it."""
        return any(form in text for form in self.forms)

    def in_json(self, text: str) -> bool:
        """Whether ASCII JSON holds it: a quick look that spares reading the JSON."""
        return any(form in text for form in self.json_forms)

    def in_bytes(self, data: bytes) -> bool:
        """Whether a file holds it."""
        return any(form.encode("utf-8", "surrogatepass") in data for form in self.forms)


@dataclass
class Forgotten:
    """How many of each place were changed, and what cannot be: version or tree, and its files."""

    places: dict[str, int] = field(default_factory=dict)
    carried: dict[str, list[str]] = field(default_factory=dict)

    def add(self, place: str, count: int) -> None:
        """Counts what was found in one place."""
        if count:
            self.places[place] = self.places.get(place, 0) + count


def sought_text(home: Home, text: str) -> Sought:
    """The forms of a query's text: as it is, inside JSON, redacted, and as far as a behaviour quotes it.

    UserError for a text that is too short to be told from others.
    """
    plain = text.strip()
    if len(plain) < SHORTEST:
        raise UserError(
            f"a text of {len(plain)} characters occurs in too many others",
            place="QUERY",
            fix=f"give the whole query, at least {SHORTEST} characters, or name a routed query with --id",
        )
    clean = home.redactor.text(plain)
    forms: dict[str, None] = {}
    for head in (plain, clean, plain[:QUOTED], clean[:QUOTED]):
        forms |= dict.fromkeys((head, json.dumps(head)[1:-1], json.dumps(head, ensure_ascii=False)[1:-1]))
    return Sought(tuple(forms))


def sought_route(home: Home, id: str) -> Sought:
    """One routed query by its id. UserError when the books know none of this id."""
    found = [owner for owner in home.eraser.call_owners() if owner.startswith(ROUTE) and owner.endswith(f"/{id}")]
    if not id or not found:
        raise UserError("no routed query has this id", place="--id", fix="see the id in `evolve route … --why`")
    return Sought((id,), found[0])


def forget(home: Home, sought: Sought, *, everything_else: bool) -> Forgotten:
    """Removes what is sought from the home's databases and files, and their bytes with it.

    UserError while a campaign runs here, and, unless `everything_else`, when a tree carries the text: trees never
    change, so it could not be forgotten, and then nothing is touched.
    """
    done = Forgotten()
    with ExitStack() as stack:
        for row in home.campaigns.list():
            stack.enter_context(home.campaigns.lock(row.id))
        if not sought.route:
            done.carried = _carried(home, sought)
        if done.carried and not everything_else:
            raise UserError(
                "trees never change, and these carry the text: " + "; ".join(_carriers(done)),
                place="QUERY",
                fix="forget it everywhere else with --everything-else; remove the case from your data for new versions",
            )
        _erase_calls(home, sought, done)
        if not sought.route:
            _erase_texts(home, sought, done)
        _delete_files(home, sought, done)
        for name in (DATABASE, CHECKPOINTS):
            compact(home.path / name)
    return done


def _carriers(done: Forgotten) -> list[str]:
    return [f"{who} in {', '.join(paths)}" for who, paths in sorted(done.carried.items())]


def _carried(home: Home, sought: Sought) -> dict[str, list[str]]:
    """Versions with their member and files that hold the text; other trees by their id."""
    found = home.trees.search(sought.in_bytes)
    carried: dict[str, list[str]] = {}
    used: set[str] = set()
    for name in home.versions.names() if found else ():
        for row in home.versions.list(name):
            trees = [str(member["tree"]) for member in row.content.get("members", ())]
            used.update(trees)
            carried |= {f"{name}@{row.number}/{tree[:12]}": found[tree] for tree in trees if tree in found}
    rest = {f"tree:{tree[:12]}": paths for tree, paths in found.items() if tree not in used}
    return carried | {name: paths for name, paths in rest.items() if not _is_copy(paths, used)}


def _is_copy(paths: list[str], members: set[str]) -> bool:
    """Whether a tree is the commit of a version: one folder for each member, which is named already."""
    folders = {tree[:12] for tree in members}
    return all("/" in path and path.split("/")[0] in folders for path in paths)


def _run_of(call: KeptCall) -> tuple[object, ...]:
    """The run that a call belongs to; a routed query is one run, whichever members answered it."""
    if call.campaign.startswith(ROUTE):
        return (call.campaign,)
    return (call.campaign, call.loop, call.candidate, call.case, call.repetition, call.role == "proposer")


def _erase_calls(home: Home, sought: Sought, done: Forgotten) -> None:
    """Calls of every run in which one holds the text, and the traces of these runs."""

    def is_hit(call: KeptCall) -> bool:
        if sought.route:
            return call.campaign == sought.route
        return any(sought.in_json(text) or sought.in_text(text) for text in call.texts())

    eraser = home.eraser
    runs = {_run_of(call) for call in eraser.calls() if is_hit(call)}
    found = [call for call in eraser.calls() if _run_of(call) in runs and FORGOTTEN not in call.note]
    eraser.erase_calls(found, FORGOTTEN, hashes=True)
    done.add("calls", len(found))
    shown = {(call.candidate, call.case, call.repetition) for call in found}
    traces = []
    for _, row in eraser.traces():
        trace = unpack_json(row.trace)
        hit = (row.tree, row.case_fingerprint, row.repetition) in shown
        hit = hit or sought.in_json(json_text(trace) if not sought.route else "") or sought.in_json(row.result)
        if hit and trace.get("kept") != FORGOTTEN:
            traces.append((row, hide_texts(trace, FORGOTTEN)))
    eraser.replace_traces(traces)
    done.add("traces", len(traces))


def _erase_texts(home: Home, sought: Sought, done: Forgotten) -> None:
    for table, count in home.rewriter.rewrite_rows(sought.in_text, REPLACEMENT).items():
        done.add(table, count)
    done.add("artifacts", home.rewriter.rewrite_artifacts(partial(_without, sought)))
    done.add("checkpoints", rewrite_checkpoints(home, sought.in_text, REPLACEMENT))


def _without(sought: Sought, data: bytes) -> bytes | None:
    """An artifact without the text: masked in a router's table, which needs its layout; None when it holds none.

    A campaign's own file that holds it, or whose packed content cannot be searched, is emptied: no replay any more.
    """
    if data.startswith(MAGIC):
        edges = Edges.from_bytes(data)
        if not any(map(sought.in_text, edges.texts)):
            return None
        return edges.retold(lambda text: shape_of(text) if sought.in_text(text) else text).to_bytes()
    try:
        document = json.loads(data) if data.isascii() else None
    except ValueError:
        document = None
    if document is None:
        return b"" if sought.in_bytes(data) or data.startswith(PACKED) else None
    if not sought.in_json(data.decode("ascii")):
        return None
    return json_text(replace_strings(document, sought.in_text, REPLACEMENT)).encode("ascii")


def _delete_files(home: Home, sought: Sought, done: Forgotten) -> None:
    """Loose files, such as a mailbox's, that hold the text."""
    for path in _loose_files(home):
        if sought.in_bytes(path.read_bytes()) or sought.in_text(path.name):
            path.unlink()
            done.add("files", 1)


def _loose_files(home: Home) -> Iterator[Path]:
    """Files of the home that are no database, no tree store and no lock."""
    for path in sorted(home.path.rglob("*")):
        top = path.relative_to(home.path).parts[0]
        ours = top in (home.trees.path.name, "locks", ".gitignore") or top.startswith((DATABASE, CHECKPOINTS))
        if path.is_file() and not ours:
            yield path
