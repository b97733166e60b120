"""One mailbox folder: requests, claims, replies, and what was rejected."""

from __future__ import annotations

import json
import os
import re
import stat
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

from pydantic import ValidationError

from evolve.core.errors import PointerMoved, UserError
from evolve.core.messages import ModelReply
from evolve.models.mailbox.claims import Claim, Claims
from evolve.models.mailbox.documents import ReplyDocument, RequestDocument
from evolve.models.mailbox.files import PRIVATE_FOLDER, create_file, disk, json_bytes, replace_file
from evolve.models.mailbox.judge import MOST_BYTES, Unfit, read_reply
from evolve.models.mailbox.readme import README

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_FOLDERS = ("requests", "claims", "replies", "rejected")


def check_name(name: str) -> None:
    """UserError for a name that is no plain folder name."""
    if not _NAME.fullmatch(name):
        raise UserError(
            f"{name!r} cannot be the name of a mailbox",
            place=f"model 'mailbox:{name}'",
            fix="letters, digits, - and _, 64 at most, the first a letter or a digit",
        )


@dataclass(frozen=True, slots=True)
class Delivery:
    """A reply file as it lies there: its bytes, and a mark that changes when it is written to."""

    data: bytes
    mark: tuple[int, int, int]
    odd: str = ""
    """why it cannot be read at all"""


@dataclass(frozen=True)
class Box:
    """The folder of one mailbox. Methods raise WorldErrors that halt when the disk refuses."""

    folder: Path
    _claims: Claims = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_claims", Claims(self.folder / "claims"))

    @property
    def name(self) -> str:
        """What stands after `mailbox:`."""
        return self.folder.name

    def request_path(self, id: str) -> Path:
        """Where a request lies."""
        return self.folder / "requests" / f"{id}.json"

    def reply_path(self, id: str) -> Path:
        """Where its reply is expected."""
        return self.folder / "replies" / f"{id}.json"

    def error_path(self, id: str) -> Path:
        """Where the reason stands why the last reply was rejected."""
        return self.folder / "replies" / f"{id}.error.txt"

    def prepare(self) -> None:
        """Makes the folders, the README and the two JSON schemas; what is there and right stays."""
        texts = {
            "README.md": README.format(name=self.name).encode(),
            "request.schema.json": json_bytes(RequestDocument.model_json_schema()),
            "reply.schema.json": json_bytes(ReplyDocument.model_json_schema()),
        }
        with disk(self.folder):
            for name in _FOLDERS:
                (self.folder / name).mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
            for name, data in texts.items():
                path = self.folder / name
                if not path.exists() or path.read_bytes() != data:
                    replace_file(path, data)

    def ids(self) -> list[str]:
        """Every request that was ever made here, sorted."""
        return sorted(path.stem for path in (self.folder / "requests").glob("[!.]*.json"))

    def open_ids(self) -> list[str]:
        """Requests without a reply, sorted."""
        return [id for id in self.ids() if not self.reply_path(id).exists()]

    def post(self, asked: RequestDocument) -> None:
        """Writes a request, durably; one that lies there already stays as it is."""
        with disk(self.folder):
            replace_file(self.request_path(asked.id), json_bytes(asked.document))

    def read(self, id: str) -> RequestDocument:
        """A request that lies there. UserError when it was changed into something else."""
        path = self.request_path(id)
        try:
            return RequestDocument.model_validate(json.loads(path.read_bytes()))
        except FileNotFoundError:
            raise UserError("there is no such request", place=str(path), fix="evolve mailbox list") from None
        except (ValidationError, ValueError) as error:
            raise UserError(f"this is not a request: {error}", place=str(path), fix="put the file back") from None

    def claim(self, id: str, by: str, now: datetime, hold: timedelta) -> Claim:
        """Takes the request for one reader. PointerMoved when it is answered or somebody's claim holds."""
        self.read(id)
        self._require_open(id)
        claim = Claim(id=id, by=by, claimed_at=now, expires_at=now + hold)
        with disk(self.folder):
            self._claims.take(claim)
        return claim

    def claimed(self, id: str, now: datetime) -> Claim | None:
        """The claim that holds now."""
        return self._claims.find(id, now)

    def answer(self, id: str, data: bytes, by: str, now: datetime) -> ModelReply:
        """Checks a reply and delivers it. UserError when it does not fit; PointerMoved when somebody else was first."""
        asked = self.read(id)
        try:
            reply = read_reply(data, asked)
        except Unfit as reason:
            raise UserError(
                str(reason), place=f"the answer to {id}", fix="see reply.schema.json; nothing was sent"
            ) from None
        self._require_open(id)
        with disk(self.folder):
            self._claims.require_free(id, by, now)
            try:
                create_file(self.reply_path(id), data)
            except FileExistsError:
                raise _answered(id) from None
        return reply

    def delivered(self, id: str) -> Delivery | None:
        """The reply file as it is now, whole or not; None while there is none."""
        path = self.reply_path(id)
        try:
            facts = path.lstat()
            mark = (facts.st_mtime_ns, facts.st_size, facts.st_ino)
            if not stat.S_ISREG(facts.st_mode):
                return Delivery(b"", mark, "the reply is not a plain file")
            if facts.st_size > MOST_BYTES:
                return Delivery(b"", mark, f"the reply has {facts.st_size:,} bytes; {MOST_BYTES:,} are allowed")
            return Delivery(path.read_bytes(), mark)
        except FileNotFoundError:
            return None

    def reject(self, id: str, reason: str) -> Path:
        """Moves the reply aside, writes why, and returns where the reason stands."""
        rejected = self.folder / "rejected"
        with disk(self.folder):
            number = 1 + sum(1 for _ in rejected.glob(f"{id}.*.json"))
            with suppress(FileNotFoundError):  # whoever wrote it has taken it back
                os.rename(self.reply_path(id), rejected / f"{id}.{number}.json")
            words = f"{reason}\n\nThe rejected reply is rejected/{id}.{number}.json. Write a new replies/{id}.json.\n"
            replace_file(self.error_path(id), words.encode("utf-8", "backslashreplace"))
        return self.error_path(id)

    def accept(self, id: str) -> None:
        """Forgets why an earlier reply was rejected."""
        with disk(self.folder):
            self.error_path(id).unlink(missing_ok=True)

    def _require_open(self, id: str) -> None:
        if self.reply_path(id).exists():
            raise _answered(id)


def _answered(id: str) -> PointerMoved:
    return PointerMoved(f"the reply to {id}", "none", "an answer: somebody else was first, and it stays")
