"""Where a model is served over HTTP, and with which key."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Endpoint:
    """`key` is empty where none is needed; `key_name` is the variable that held it. `timeout_seconds` is for one call.

    `sampling`: whether temperature and seed are sent; some models refuse them.
    """

    model: str
    base_url: str
    key: str = field(default="", repr=False)
    key_name: str = ""
    timeout_seconds: float = 120.0
    sampling: bool = True

    def hide(self, text: str) -> str:
        """The text without the key."""
        return text.replace(self.key, "…") if self.key else text
