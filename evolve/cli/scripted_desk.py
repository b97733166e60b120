"""The scripted model of `evolve demo --scripted`: it knows the cases and answers better when it is shown examples.

It stands in for a model where the engine, not the model, is shown. Nothing it does is evidence about a model.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from pathlib import Path

from evolve.core.hashing import JSONValue
from evolve.core.messages import ModelRequest
from evolve.models import ScriptedReply

GOOD, POOR = 0.9, 0.25
"""Chance of a right answer with and without demonstrations of the same form."""


def scripted_desk(cases: Path) -> dict[str, ScriptedReply]:
    """The script under the name that campaign.scripted.yaml uses."""
    rows = [json.loads(line) for line in cases.read_text(encoding="utf-8").splitlines() if line.strip()]
    known = {row["input"]: row["expected"] for row in rows}

    def reply(request: ModelRequest, rng: random.Random) -> str:
        prompt = "\n".join(m.content for m in request.messages)
        expected = _asked(prompt, known)
        if expected is None:
            return '{"answer": 0}'
        chance = GOOD if _is_shown(prompt, expected) else POOR
        if request.labels:
            return _label(request, expected) if rng.random() < GOOD else rng.choice(request.labels)
        return json.dumps(expected) if rng.random() < chance else "I am not sure."

    return {"desk": reply}


def _asked(prompt: str, known: Mapping[str, JSONValue]) -> JSONValue:
    """What is expected of the known text that stands last in the prompt; demonstrations stand before it."""
    places = {text: prompt.rfind(text) for text in known}
    last = max(places, key=lambda text: (places[text] + len(text) if places[text] >= 0 else -1, len(text)))
    return known[last] if places[last] >= 0 else None


def _is_shown(prompt: str, expected: JSONValue) -> bool:
    """Whether the prompt holds two answered examples with the same keys beside the form itself."""
    head = "{" + json.dumps(next(iter(expected))) if isinstance(expected, dict) and expected else ""
    return bool(head) and prompt.replace(" ", "").count(head) >= 3


def _label(request: ModelRequest, expected: JSONValue) -> str:
    values = list(expected.values()) if isinstance(expected, dict) else [expected]
    return next((label for label in request.labels if label in values), request.labels[0])
