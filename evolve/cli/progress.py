"""Live progress of a campaign on stderr: one line that moves, and one line for each thing that happened."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Any, Self

from rich.console import Console
from rich.status import Status

from evolve.core.redact import Redactor


class Progress:
    """Observes a campaign. Quiet prints nothing; secrets are never printed."""

    def __init__(self, *, quiet: bool = False, redactor: Redactor | None = None) -> None:
        self._redactor = redactor or Redactor()
        self._console = Console(stderr=True, quiet=quiet, highlight=False, soft_wrap=True)
        self._status: Status | None = None
        self._started = time.monotonic()
        self._stage = "start"
        self._runs = 0
        self._detail = ""

    def __enter__(self) -> Self:
        self._status = self._console.status("starting")
        self._status.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._status is not None:
            self._status.stop()

    def observe(self, event: str, **fields: Any) -> None:
        """Takes one event; unknown ones are shown as they are."""
        fields = self._redactor.value(fields)
        if event == "run":
            self._runs += 1
        elif event == "stage":
            self._stage, self._detail = fields["name"], ""
            self._say(f"[bold]{fields['name']}[/bold]")
        elif event == "trying":
            self._detail = f"{fields['source']} for {fields['target'] or 'all cases'}"
        else:
            self._say(_line(event, fields))
        if self._status is not None:
            self._status.update(f"{self._stage}: {self._runs} runs {self._detail}")

    def _say(self, text: str) -> None:
        if text:
            self._console.print(f"[dim]{time.monotonic() - self._started:6.1f}s[/dim] {text}")


def _line(event: str, fields: dict[str, Any]) -> str:
    """What one event says, with data escaped so that it cannot style the terminal."""
    from rich.markup import escape

    if event == "note":
        return escape(str(fields["text"]))
    if event == "proposal" and fields["status"] == "refused":
        return escape(f"  refused {fields['source']} as {fields['kind']}: {fields['reason']}"[:300])
    if event == "proposal":
        mark = "[green]accepted[/green]" if fields["accepted"] else "rejected"
        gain = f"{100 * fields['gain']:+.0f} points on {fields['cases']} cases"
        text = f"{fields['source']} for {fields['target']}: {gain}"
        return f"  {mark} {escape(text)}"
    if event == "verdict":
        return f"[bold]{escape(fields['decision'])}[/bold] {escape(fields['reason'])}"
    if event == "conclusion":
        return f"[bold]{escape(fields['conclusion'].replace('_', ' '))}[/bold]: {escape(fields['why'])}"
    return escape(f"{event} {fields}")
