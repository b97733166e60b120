"""Where and how an OpenAI-compatible model is asked."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from evolve.core.errors import UserError
from evolve.models.endpoint import Endpoint

OFFICIAL_URL = "https://api.openai.com/v1"

Api = Literal["chat", "responses"]
"""The two forms in which such an endpoint is asked: chat completions, or the Responses API."""

_HEADER_TEXT = re.compile(r"[!-~]*")
_MASKED = re.compile(r"\S*\*{3,}\S*")


@dataclass(frozen=True, slots=True)
class OpenAIEndpoint(Endpoint):
    """An endpoint in the OpenAI format, and the form in which it is asked.

    `sampling=False` leaves out temperature and seed, and writes `max_completion_tokens` also to endpoints other than
    OpenAI's own: the models that refuse the ones refuse `max_tokens` too. UserError for a key that no HTTP header can
    carry.
    """

    base_url: str = OFFICIAL_URL
    api: Api = "chat"

    def __post_init__(self) -> None:
        if not _HEADER_TEXT.fullmatch(self.key):
            raise UserError(
                "the key holds white space or characters that no HTTP header can carry",
                place=f"${self.key_name}" if self.key_name else "the key",
                fix="set it again, to the key alone",
            )

    @property
    def identity(self) -> str:
        """`openai:MODEL@URL`, with what else can change an answer.

        `#responses` follows where that form is used: the provider puts another prompt around the turns there, and takes
        no seed. `#unsampled` follows where temperature and seed are left to the provider. Whatever cannot change an
        answer (key, time limit) is left out, so results are found again after it changed.
        """
        form = "" if self.api == "chat" else f"#{self.api}"
        return f"openai:{self.model}@{self.base_url}{form}{'' if self.sampling else '#unsampled'}"

    def hide(self, text: str) -> str:
        """`text` without the key, and without words in which a provider shows parts of one between asterisks."""
        hidden = text.replace(self.key, "…") if self.key else text
        return _MASKED.sub("…", hidden)
