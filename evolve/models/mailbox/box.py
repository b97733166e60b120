"""One mailbox as a folder: requests, claims, replies and what was rejected; every file appears whole or not at all."""

from __future__ import annotations

import json
import os
import secrets
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evolve.core.errors import UserError, WorldError
from evolve.models.mailbox.documents import ReplyDocument, RequestDocument, read_reply

README = """# Mailbox {name}

Each file in `requests/` is a question to a model, and you are the model. Answer `requests/ID.json` by writing
`replies/ID.json` in the form of `reply.schema.json`; `{{"text": "…"}}` is enough. Where a request has a `json_schema`,
`text` must be JSON that fits it. Use what stands in the request and nothing else.

Write to another name first and rename, or use `evolve mailbox answer ID FILE`, so that nobody reads half a file.
Several people or programs may answer one mailbox: `evolve mailbox claim` takes a request for an hour. The first whole
reply counts. A reply that cannot be used moves to `rejected/`, with the reason beside it, and the request stays open.
"""

CLAIM_SECONDS = 3600.0


@dataclass(frozen=True)
class Box:
    """The mailbox of one model name in one campaign."""

    folder: Path

    def prepare(self) -> None:
        """Makes the folders, the read-me and the schemas. WorldError when the disk refuses."""
        try:
            for name in ("requests", "claims", "replies", "rejected"):
                (self.folder / name).mkdir(parents=True, exist_ok=True)
            self._write_once("README.md", README.format(name=self.folder.name))
            self._write_once("request.schema.json", _schema(RequestDocument))
            self._write_once("reply.schema.json", _schema(ReplyDocument))
        except OSError as error:
            raise WorldError(f"the mailbox {self.folder} cannot be made: {error.strerror}", passing=False) from error

    def count(self) -> int:
        """Requests that were ever put in."""
        return sum(1 for _ in self._ids("requests"))

    def has(self, id: str) -> bool:
        """Whether this was asked before."""
        return self._path("requests", id).exists()

    def put_request(self, request: RequestDocument) -> None:
        """Puts a request in, durably."""
        text = request.model_dump_json(by_alias=True, indent=1, exclude_defaults=True)
        self._publish(self._path("requests", request.id), text, replace=True)

    def request(self, id: str) -> RequestDocument:
        """One request. UserError when there is none."""
        try:
            return RequestDocument.model_validate_json(self._path("requests", id).read_bytes())
        except FileNotFoundError:
            raise UserError(f"there is no request {id}", place=str(self.folder), fix="evolve mailbox list") from None

    def open_requests(self) -> list[str]:
        """Ids without a reply, sorted."""
        answered = set(self._ids("replies"))
        return sorted(id for id in self._ids("requests") if id not in answered)

    def reply_bytes(self, id: str) -> bytes | None:
        """What stands in the reply's file; None while there is none."""
        try:
            return self._path("replies", id).read_bytes()
        except FileNotFoundError:
            return None

    def settled(self, id: str, seconds: float) -> bool:
        """Whether the reply's file has not changed for so long."""
        with suppress(FileNotFoundError):
            return time.time() - self._path("replies", id).stat().st_mtime >= seconds
        return False

    def reject(self, id: str, reason: str) -> int:
        """Puts a reply that cannot be used aside, with the reason; returns how many this request has had."""
        number = 1 + sum(1 for path in (self.folder / "rejected").glob(f"{id}-*.json"))
        aside = self.folder / "rejected" / f"{id}-{number}.json"
        with suppress(FileNotFoundError):
            os.rename(self._path("replies", id), aside)
        aside.with_suffix(".txt").write_text(f"{reason}\n", encoding="utf-8")
        return number

    def claim(self, id: str, who: str, seconds: float = CLAIM_SECONDS) -> bool:
        """Takes a request for one answerer. False when somebody else has it and the claim has not run out."""
        self.request(id)
        path, text = self._path("claims", id), json.dumps({"who": who, "until": time.time() + seconds})
        while not self._publish(path, text, replace=False):
            held = self.claimed_by(id)
            if held is not None:
                return held == who
            with suppress(FileNotFoundError):  # only one of several gets the claim that ran out
                os.rename(path, path.with_suffix(f".{secrets.token_hex(4)}.old"))
        return True

    def claimed_by(self, id: str) -> str | None:
        """Who holds a claim that has not run out."""
        try:
            claim = json.loads(self._path("claims", id).read_text(encoding="utf-8"))
        except (FileNotFoundError, ValueError):
            return None
        return str(claim["who"]) if claim["until"] > time.time() else None

    def answer(self, id: str, data: bytes, who: str) -> None:
        """Checks a reply and puts it in. UserError when it cannot be used, is claimed by another, or came too late."""
        request = self.request(id)
        try:
            read_reply(data, request)
        except ValueError as error:
            raise UserError(
                str(error), place=f"reply to {id}", fix=f"see {self.folder / 'reply.schema.json'}"
            ) from None
        holder = self.claimed_by(id)
        if holder not in (None, who):
            raise UserError(
                f"request {id} is claimed by {holder}", fix="answer another one, or wait for the claim to end"
            )
        if not self._publish(self._path("replies", id), data.decode("utf-8"), replace=False):
            raise UserError(f"request {id} was answered already", fix="evolve mailbox list shows what is open")

    def _path(self, part: str, id: str) -> Path:
        if not id or any(c not in "0123456789abcdef-" for c in id):
            raise UserError(f"{id!r} is no request id", fix="evolve mailbox list")
        return self.folder / part / f"{id}.json"

    def _ids(self, part: str) -> Iterator[str]:
        with suppress(FileNotFoundError):
            for entry in os.scandir(self.folder / part):
                if entry.name.endswith(".json") and not entry.name.startswith("."):
                    yield entry.name.removesuffix(".json")

    def _write_once(self, name: str, text: str) -> None:
        if not (self.folder / name).exists():
            self._publish(self.folder / name, text, replace=True)

    def _publish(self, path: Path, text: str, *, replace: bool) -> bool:
        """The file appears whole. Without `replace` an existing one stays, and False is returned."""
        draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
        with draft.open("wb") as file:
            file.write(text.encode("utf-8", "surrogatepass"))
            file.flush()
            os.fsync(file.fileno())
        try:
            if replace:
                os.replace(draft, path)
            else:
                os.link(draft, path)
        except FileExistsError:
            return False
        finally:
            draft.unlink(missing_ok=True)
        return True


def open_boxes(root: Path) -> list[Box]:
    """Every mailbox below a home's mailbox folder, sorted."""
    return [Box(path.parent) for path in sorted(root.glob("*/*/requests"))]


def _schema(model: Any) -> str:
    return json.dumps(model.model_json_schema(), indent=1, ensure_ascii=False) + "\n"
