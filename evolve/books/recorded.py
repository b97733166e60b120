"""Models of a replay: they are known by name and can do what they could, and are never asked."""

from __future__ import annotations

from dataclasses import dataclass

from evolve.books.owner import Owner
from evolve.core.errors import WorldError
from evolve.core.hashing import short
from evolve.core.messages import Capability, ModelReply, ModelRequest


class NotRecorded(WorldError):
    """A replay came to a call that the recording does not hold: from here on it is another campaign."""

    def __init__(self, owner: Owner, step: str, request_hash: str) -> None:
        self.owner = owner
        self.step = step
        self.request_hash = request_hash
        super().__init__(
            f"a call of role {owner.role} in loop {owner.loop}, step {step!r}, for tree {short(owner.candidate)} "
            f"on case {short(owner.case)} was never recorded "
            f"(repetition {owner.repetition}, request {short(request_hash)})",
            passing=False,
            halts=True,
        )


class RecordedStop(WorldError):
    """What stopped the recorded campaign at this call stops its replay too."""

    def __init__(self, message: str) -> None:
        super().__init__(message, passing=False, halts=True)


@dataclass(frozen=True)
class RecordedModel:
    """Identity and capabilities of a model that a campaign ran on."""

    identity: str
    capabilities: frozenset[Capability]

    async def reply(self, request: ModelRequest) -> ModelReply:
        """Never called by closed books; WorldError for whoever asks all the same."""
        raise WorldError(f"{self.identity} is a recording and cannot be asked", passing=False, halts=True)

    async def close(self) -> None:
        """Nothing to end."""
