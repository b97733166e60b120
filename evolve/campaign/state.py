"""The checkpointed state of the campaign graph: ids and small numbers, each field with one writer."""

from __future__ import annotations

from typing import Any, TypedDict


class CampaignState(TypedDict, total=False):
    """Writers: `seed`, `baseline` by the baseline stage; `rounds_done`, `accepted`, `stalled` by the round stage;
    `members` by curate; `challenger` by fit_router; `verdict` by gate; `approval` by approve; `version`, `conclusion`,
    `why` by conclude."""

    seed: str
    baseline: str
    rounds_done: int
    accepted: list[dict[str, Any]]
    stalled: str
    finalists: list[str]
    members: list[str]
    challenger: str
    verdict: dict[str, Any]
    approval: str
    version: int
    conclusion: str
    why: str
