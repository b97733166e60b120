"""The calls of one node visit: named for the books, seeded, counted; and the tree's files read for them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

from evolve.core.errors import HarnessFault
from evolve.core.hashing import derive_seed
from evolve.core.messages import Model, ModelReply, ModelRequest, Usage
from workflows.asking.memo import Memo
from workflows.kit import Kit

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Place:
    """Which visit of which node. `index` is the node's canonical position, so that seeds survive a renaming."""

    node: str
    index: int
    visit: int


class Calls:
    """What an operator asks with. `usage` and `count` cover every call that this visit made."""

    def __init__(self, kit: Kit, memo: Memo, place: Place) -> None:
        self.kit = kit
        self.usage = Usage()
        self.count = 0
        self._memo = memo
        self._place = place

    async def ask(self, role: str, request: ModelRequest) -> ModelReply:
        """One call of the role's model. The seed depends on the run, the node, the visit and the call's number."""
        number, place = self.count, self._place
        self.count += 1
        seed = derive_seed(self.kit.seed, place.index, place.visit, number)
        step = f"{place.node}#{place.visit}/{number}"
        reply = await self._model(role).reply(replace(request, seed=seed, step=step))
        self.usage += reply.usage
        return reply

    def read(self, path: str) -> str:
        """A text file of the tree. Raises HarnessFault when it is missing or not UTF-8."""
        try:
            return self._bytes(path).decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise HarnessFault(f"{path}: not UTF-8 at byte {error.start}") from error

    def derive(self, path: str, build: Callable[[bytes], T], *, under: str = "") -> T:
        """`build` of a file's bytes, computed once for each content. Its ValueError becomes a HarnessFault.

        `under` names the derivation where `build` is not a function that stays the same from call to call.
        """
        data = self._bytes(path)
        try:
            return self._memo.get((under or build, data), lambda: build(data))
        except ValueError as error:
            raise HarnessFault(f"{path}: {error}") from error

    def _model(self, role: str) -> Model:
        if role not in self.kit.models:
            raise HarnessFault(f"no model plays the role {role!r}")
        return self.kit.models[role]

    def _bytes(self, path: str) -> bytes:
        if path not in self.kit.files:
            raise HarnessFault(f"{path}: no such file in the tree")
        return self.kit.files[path]
