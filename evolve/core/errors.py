"""One error tree; the class decides the exit code and, later, the HTTP status.

EvolveError
├── UserError        exit 2   the input is wrong: the message names file, line or key, and the fix
├── WorldError       exit 3   a provider, the disk, the network or a sandbox failed
├── BudgetExceeded   exit 4   the next call does not fit under a cap; nothing was started
├── PointerMoved     exit 5   a compare-and-set lost: somebody else moved the pointer meanwhile
├── HarnessFault     (none)   the harness itself failed on one case: becomes a Trace, never leaves `execute`
└── HeldoutSealed    (none)   code asked for something heldout hides: a bug, never caught
"""

from __future__ import annotations


class EvolveError(Exception):
    """Root of everything this engine raises on purpose."""

    exit_code = 1


class UserError(EvolveError):
    """Wrong input. `place` names file, line or key; `fix` says what to do."""

    exit_code = 2

    def __init__(self, message: str, *, place: str = "", fix: str = "") -> None:
        self.message = message
        self.place = place
        self.fix = fix
        super().__init__(self.describe())

    def describe(self) -> str:
        """`place: message` and, on its own line, the fix."""
        head = f"{self.place}: {self.message}" if self.place else self.message
        return f"{head}\n  fix: {self.fix}" if self.fix else head


class WorldError(EvolveError):
    """The outside failed. `passing` says whether trying again may help; `retry_after` is in seconds.

    `halts`: every other call would fail alike (a refused key, an empty account, a long wait), so the whole campaign
    stops and can be resumed later. `maybe_billed`: the provider may have charged for the call although no answer came.
    """

    exit_code = 3

    def __init__(
        self,
        message: str,
        *,
        passing: bool = True,
        retry_after: float | None = None,
        halts: bool = False,
        maybe_billed: bool = False,
    ) -> None:
        self.passing = passing
        self.retry_after = retry_after
        self.halts = halts
        self.maybe_billed = maybe_billed
        super().__init__(message)


class BudgetExceeded(EvolveError):
    """A reservation was refused: `cap` names which cap, `need` and `left` are in its unit."""

    exit_code = 4

    def __init__(self, cap: str, need: str, left: str) -> None:
        self.cap = cap
        self.need = need
        self.left = left
        super().__init__(f"budget reached: {cap} cap has {left} left, the next call may need {need}")


class PointerMoved(EvolveError):
    """`pointer` was expected at `expected` but stands at `actual`."""

    exit_code = 5

    def __init__(self, pointer: str, expected: str, actual: str) -> None:
        self.pointer = pointer
        self.expected = expected
        self.actual = actual
        super().__init__(f"{pointer} moved meanwhile: expected {expected}, found {actual}")


class HarnessFault(EvolveError):
    """The harness failed on one case by its own doing (unparsable answer, own limit reached). Scores 0."""


class HeldoutSealed(EvolveError):
    """Something asked for per-case heldout results or traces before the split was retired."""
