"""`journal:` of a campaign file: what is kept of the text of its calls, for which role, and for how long."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, GetJsonSchemaHandler, model_validator
from pydantic_core import CoreSchema

from evolve.books import JournalMode, JournalModes
from evolve.core.hashing import JSONValue

# YAML reads a bare `off` as false.
Mode = Annotated[JournalMode, BeforeValidator(lambda value: "off" if value is False else value)]


class JournalSettings(BaseModel):
    """A mode for all roles, or `{default, roles, keep_days}`.

    full: requests and replies are kept; hash: their hashes alone; off: neither. After `keep_days` days `evolve gc`
    removes the texts; without it they stay.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    default: Mode = "full"
    roles: dict[str, Mode] = {}
    keep_days: int | None = Field(default=None, ge=1)

    @model_validator(mode="before")
    @classmethod
    def _from_mode(cls, value: Any) -> Any:
        return {"default": value} if isinstance(value, (str, bool)) else value

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        mapping = handler(schema)
        return {"anyOf": [{"enum": ["full", "hash", "off"], "type": "string"}, mapping]}

    @property
    def modes(self) -> JournalModes:
        """The modes as the books take them."""
        return JournalModes(self.default, self.roles)

    def of_text(self, roles: Iterable[str]) -> JournalMode:
        """The mode of texts that all these roles had a part in: traces, behaviour, edges."""
        return self.modes.strictest(roles)


def read_settings(document: JSONValue) -> JournalSettings:
    """The settings that a campaign's row remembers; the default ones of a row that remembers none."""
    return JournalSettings.model_validate(document or {})
