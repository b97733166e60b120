"""What every scorer shares: its fault, its identity, how an output is read as text, and when faults stop a run."""

from __future__ import annotations

import inspect
import json
from types import ModuleType

from pydantic import BaseModel, ConfigDict

from evolve.core.errors import EvolveError, UserError
from evolve.core.hashing import JSONValue, canonical_json, content_hash, sha256_hex, short


class ScorerFault(EvolveError):
    """The scorer itself failed on one case: that result is missing, not 0. `details` holds the traceback or stderr."""

    def __init__(self, message: str, *, details: str = "") -> None:
        self.details = details
        super().__init__(message)


class FaultCounter:
    """Tells a scorer that fails on every case from one that fails on some.

    `limit` different cases in a row without one success between them raise UserError with the last traceback;
    anything less is isolated.
    """

    def __init__(self, limit: int = 5) -> None:
        self._limit = limit
        self._failed: set[str] = set()

    def succeeded(self) -> None:
        """A case was scored (or was honestly ungraded): the row of failures ends."""
        self._failed.clear()

    def failed(self, case_id: str, fault: ScorerFault) -> None:
        """A case could not be scored; repeated attempts at one case count once. UserError when it is one too many."""
        self._failed.add(case_id)
        if len(self._failed) >= self._limit:
            details = f"\n{fault.details.rstrip()}" if fault.details else ""
            raise UserError(
                f"the scorer failed on {len(self._failed)} cases in a row, last on {case_id!r}: {fault}{details}",
                place="scorer",
                fix="correct the scorer, then resume: nothing that was finished is paid again",
            )


class Options(BaseModel):
    """Base of every scorer's settings."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def scorer_identity(options: Options, module: ModuleType, extra: str = "") -> str:
    """`kind@hash`, over the settings and the source that decides the score."""
    source = inspect.getsource(module) + inspect.getsource(inspect.getmodule(scorer_identity) or module)
    parts = [options.model_dump(mode="json"), sha256_hex(source.encode()), extra]
    return f"{getattr(options, 'kind', module.__name__)}@{short(content_hash(parts))}"


def text_of(value: JSONValue) -> str | None:
    """A text as it is, a number or boolean as JSON writes it; None for what is no single value."""
    if isinstance(value, str):
        return value
    return json.dumps(value) if isinstance(value, bool | int | float) else None


def shown(value: JSONValue, limit: int = 80) -> str:
    """A value for a reason: one line, cut."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def same_json(ours: JSONValue, theirs: JSONValue) -> bool:
    """Equal as JSON: key order does not matter, `1` is not `true`, and NaN equals nothing."""
    try:
        return canonical_json(ours) == canonical_json(theirs)
    except ValueError:
        return False
