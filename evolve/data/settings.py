"""What a campaign file says under `data:`: which file, which columns, which split."""

from __future__ import annotations

import math
from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict, Field, model_validator

from evolve.core.cases import Split

LEAST_SHARE, MOST_SHARE = 0.05, 0.9
ALLOWED_SHARES = f"each share from {LEAST_SHARE} to {MOST_SHARE}, all three adding up to 1"


class Shares(BaseModel):
    """How large each split is, as fractions of all cases; a refusal names the allowed range."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    train: float = 0.4
    dev: float = 0.2
    heldout: float = 0.4

    @model_validator(mode="after")
    def _in_range(self) -> Shares:
        for split, share in self.by_split().items():
            if not LEAST_SHARE <= share <= MOST_SHARE:
                raise ValueError(f"{split.value}: {share:g} is outside the allowed range: {ALLOWED_SHARES}")
        total = math.fsum(self.by_split().values())
        if abs(total - 1.0) > 1e-6:
            raise ValueError(f"the shares add up to {total:g}; allowed: {ALLOWED_SHARES}")
        return self

    def by_split(self) -> Mapping[Split, float]:
        """The three shares in the order train, dev, heldout."""
        return {Split.TRAIN: self.train, Split.DEV: self.dev, Split.HELDOUT: self.heldout}


class SplitSettings(BaseModel):
    """Either `shares` (drawn by `seed`) or `column`, a column whose values are train, dev and heldout.

    `stratify_by` names a tag; its values are then spread over the splits in proportion.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    shares: Shares = Shares()
    column: str | None = None
    seed: int = 0
    stratify_by: str | None = None

    @model_validator(mode="after")
    def _one_way(self) -> SplitSettings:
        drawn = self.model_fields_set & {"shares", "seed", "stratify_by"}
        if self.column is not None and drawn:
            raise ValueError(f"`column` and `{min(drawn)}` exclude each other: the file draws the splits, or the seed")
        return self


class DataSettings(BaseModel):
    """A file of cases (`.jsonl`, `.json` list, `.csv`, `.tsv`, `.parquet`) and the columns that hold what a case needs.

    `id`: null takes the column `id` if the file has one, else ids are made from the content of each case.
    `expected`: null says that the scorer needs no expected value. `tags`: null takes the column `tags` if there is one;
    a tag column may hold one value, an object of tags, or a list of names. Cases with one value of `group_by` are one
    statistical unit and never cross splits. A line longer than `max_line_bytes` is bad; `skip_bad` leaves bad rows out
    and counts them.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    cases: str = Field(min_length=1)
    id: str | None = None
    input: str = "input"
    expected: str | None = "expected"
    tags: tuple[str, ...] | None = None
    group_by: str | None = None
    skip_bad: bool = False
    max_line_bytes: int = Field(default=1_000_000, ge=100)
    split: SplitSettings = SplitSettings()
