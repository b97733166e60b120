"""Requests from templates: shared prefix first (system text, demonstrations), the input last, so that caches work."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from evolve.core.cases import input_text
from evolve.core.errors import HarnessFault
from evolve.core.hashing import JSONValue
from evolve.core.messages import Message, ModelRequest
from workflows.asking.calls import Calls
from workflows.asking.demonstrations import Demonstration, read_demonstrations, written
from workflows.kit import View
from workflows.params import AskParams
from workflows.spec import INPUT

Answer = Callable[[Demonstration], str | None]
"""How a demonstration's answer is written; None leaves the row out."""

_PLACEHOLDER = re.compile(r"\{([A-Za-z_]\w{0,39})(?:\.([A-Za-z_]\w{0,39}))?\}")
_NEXT_QUESTION = "\nInput:"


@dataclass(frozen=True, slots=True)
class Prompt:
    """Everything that is sent to the model but the sampling settings."""

    system: str
    shots: tuple[tuple[str, str], ...]
    history: tuple[Message, ...]
    question: str

    def request(self, style: str, *, free_text: bool = True) -> ModelRequest:
        """The request in chat or plain style.

        Plain stops at the next `Input:`; with `free_text` also at a line's end when every shown answer is one line.
        """
        if style == "chat":
            return ModelRequest(messages=self._turns())
        blocks = "".join(f"Input: {question}\nOutput: {answer}\n\n" for question, answer in self.shots)
        head = f"{self.system}\n\n" if self.system else ""
        one_line = free_text and bool(self.shots) and not any("\n" in answer for _, answer in self.shots)
        return ModelRequest(
            messages=(Message("user", f"{head}{blocks}Input: {self.question}\nOutput:"),),
            stop=("\n", _NEXT_QUESTION) if one_line else (_NEXT_QUESTION,),
            style="plain",
        )

    def _turns(self) -> tuple[Message, ...]:
        turns = [Message("system", self.system)] if self.system else []
        for question, answer in self.shots:
            turns += [Message("user", question), Message("assistant", answer)]
        return (*turns, *self.history, Message("user", self.question))


def compose_prompt(params: AskParams, view: View, calls: Calls, answer: Answer, *, system: str = "") -> Prompt:
    """The prompt for one view. `system` is put behind the text of the system file."""
    template = calls.read(params.prompt)
    texts = [calls.read(params.system).strip() if params.system else "", system]
    shots = []
    for row in shown_rows(params, calls):
        said = answer(row)
        if said is not None:
            shots.append((render(template, View(row.input, {}, view.nodes)), said))
    history = _earlier_turns(view.input) if params.style == "chat" else ()
    return Prompt("\n\n".join(t for t in texts if t), tuple(shots), history, render(template, view))


def shown_rows(params: AskParams, calls: Calls) -> Sequence[Demonstration]:
    """The demonstrations that the parameters ask for."""
    if params.demonstrations is None:
        return ()
    return calls.derive(params.demonstrations, read_demonstrations)[: params.max_demonstrations]


def render(template: str, view: View) -> str:
    """The template with `{input}`, `{NODE}`, `{input.KEY}` and `{NODE.KEY}` filled in; all other braces stay.

    What is filled in is never expanded again. A node that has not run yet is empty text. Raises HarnessFault when a
    KEY is asked of something that does not have it.
    """

    def fill(match: re.Match[str]) -> str:
        name, key = match[1], match[2]
        if name != INPUT and name not in view.nodes:
            return match[0]
        if name != INPUT and name not in view.outputs:
            return ""
        value = view.input if name == INPUT else view.outputs[name]
        if key is not None:
            return written(_part(value, name, key))
        return input_text(value) if name == INPUT else written(value)

    return _PLACEHOLDER.sub(fill, template).strip("\n")


def placeholders(template: str) -> frozenset[str]:
    """Every `NAME` that stands in braces, whether anything is called so or not."""
    return frozenset(match[1] for match in _PLACEHOLDER.finditer(template))


def _part(value: JSONValue, name: str, key: str) -> JSONValue:
    if not isinstance(value, dict) or key not in value:
        raise HarnessFault(f"the prompt asks for {{{name}.{key}}}, which is not there")
    return value[key]


def _earlier_turns(value: JSONValue) -> tuple[Message, ...]:
    """What was said before the last user turn of an input that is a conversation."""
    if not isinstance(value, list) or not all(isinstance(turn, dict) and "role" in turn for turn in value):
        return ()
    users = [at for at, turn in enumerate(value) if turn["role"] == "user"]
    earlier = value[: users[-1]] if users else []
    return tuple(Message(t["role"], str(t.get("content", ""))) for t in earlier if t["role"] in ("user", "assistant"))
