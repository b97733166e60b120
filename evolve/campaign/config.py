"""campaign.yaml, schema 1: everything a campaign is told, validated before anything is spent."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from evolve.books import PriceOverride
from evolve.campaign.journal import JournalSettings
from evolve.core.names import nearest
from evolve.core.yaml_document import read_document
from evolve.data import DataSettings
from evolve.evaluate.guards import GuardSettings
from evolve.evaluate.scorers import JUDGE_ROLE, ScorerSettings
from evolve.models import ModelSettings
from harnesses.catalog.order import ENTRIES
from workflows.diversify import EXPLORE, GREED

CAMPAIGN_ROLES = frozenset({"proposer", JUDGE_ROLE})
"""Model roles that improve or grade; members never see them."""

Share = Annotated[float, Field(gt=0, lt=1)]


class Section(BaseModel):
    """Base of all sections: unknown keys are errors, values never change."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class LoopSettings(Section):
    """One inner loop. `batch` is the most train cases a proposal is tried on; `accept_alpha` its false-accept level."""

    rounds: int = Field(default=1, ge=0, le=50)
    proposals: int = Field(default=8, ge=1, le=200)
    batch: int = Field(default=16, ge=3, le=1000)
    accept_alpha: float = Field(default=0.1, gt=0, le=0.5)
    proposers: tuple[Literal["catalog", "model"], ...] = ("catalog",)
    model_proposals: int = Field(default=1, ge=1, le=50)
    """how many of `proposals` the model proposer may make in a round"""
    entries: tuple[str, ...] | None = None
    """the catalog entries to draw from; all that belong to this loop when left out"""
    prompt_bytes: int = Field(default=24_000, ge=4_000)
    """the longest prompt a model proposer is sent; a small local model needs a small one"""
    reply_tokens: int = Field(default=2_000, ge=16)

    @field_validator("entries")
    @classmethod
    def _known_entries(cls, entries: tuple[str, ...] | None) -> tuple[str, ...] | None:
        for entry in entries or ():
            if entry not in ENTRIES:
                hint = nearest(entry, list(ENTRIES)) or ", ".join(ENTRIES)
                raise ValueError(f"there is no catalog entry {entry!r}; did you mean {hint}?")
        return entries

    @model_validator(mode="after")
    def _has_proposers(self) -> LoopSettings:
        if self.rounds and not self.proposers:
            raise ValueError("a loop with rounds needs at least one proposer: catalog or model")
        return self


class WorkflowLoopSettings(LoopSettings):
    """The loop that searches workflow graphs. From its second round on a parent is drawn by weight."""

    diversity: Literal["complementarity", "plain"] = "complementarity"
    """what makes a good parent: solving what the others do not, or solving much"""
    warm_up: int | None = Field(default=None, ge=1)
    """rounds that use plain weights; 7 of 30 of all rounds, at least 1, when left out"""
    explore: float = Field(default=EXPLORE, gt=0, le=1)
    """the share of the draw that is even over all candidates"""
    greed: float = Field(default=GREED, ge=0, le=5)
    """how sharply the rest of the draw favours high weights (points of 100)"""
    early_stop: float | None = Field(default=0.05, gt=0, lt=1)
    """stop when two rounds show that a further one lifts fewer than this share of the cases; null: never"""

    @property
    def warm_up_rounds(self) -> int:
        """How many rounds use plain weights."""
        return self.warm_up or max(1, round(self.rounds * 7 / 30))


class Loops(Section):
    """The inner offline loops; a loop that is left out does not run."""

    harness: LoopSettings | None = None
    workflow: WorkflowLoopSettings | None = None


class PortfolioSettings(Section):
    """How accepted candidates become a portfolio. `fit_cases` train cases carry the router's edges."""

    name: str = Field(default="main", pattern=r"^[a-z][a-z0-9_-]{0,63}$")
    max_members: int = Field(default=5, ge=1, le=12)
    coverage: float = Field(default=0.96, gt=0, le=1)
    """keep the smallest set that reaches this share of what all candidates together cover"""
    fit_cases: int = Field(default=100, ge=6)
    dev_cases: int | None = Field(default=None, ge=4)
    """at most this many dev cases are used; all of them when left out"""
    matchers: tuple[Literal["knn", "linear", "family", "shares", "factor", "graph", "stack"], ...] = ("stack",)
    """what may learn who answers which query; the best on dev is kept if the guard lets it through. None: no routing"""
    family: str | None = None
    """the tag that names a case's kind of task, to learn from; the shape of its answer when left out"""
    cost_weight: float = Field(default=0.0, ge=0, lt=1)
    """λ of (1 − λ)·score + λ·(1 − cost): how much a cheaper answer is worth; `evolve route --cost-weight` overrides"""
    guard_alpha: float = Field(default=0.1, gt=0, le=0.5)
    embedder: Literal["quality", "fast"] = "quality"


class GateSettings(Section):
    """The sealed test. `alpha` is the error budget of a heldout case over all campaigns together."""

    alpha: float = Field(default=0.05, gt=0, le=0.2)
    spend: Share | Literal[1] = 0.5
    """the share of what is left of `alpha` that this campaign spends"""
    min_gain: float = Field(default=0.02, ge=0, lt=1)
    """smallest useful gain, for futility and for the words of a verdict"""
    min_cases: int = Field(default=0, ge=0)
    """no decision for benefit before this many cases were looked at"""
    max_cases: int | None = Field(default=None, ge=4)
    cases_per_group: int | None = Field(default=None, ge=1)
    """how many cases of a group are run; they are one observation together"""
    batch_units: int = Field(default=8, ge=1)
    repetitions: int = Field(default=1, ge=1, le=50)
    compare_best_single: bool = True
    """after a promote verdict also run the best single member on the cases looked at, for the report"""
    guards: tuple[GuardSettings, ...] = ()


class BudgetSettings(Section):
    """Hard caps; at least one of calls and usd must be given."""

    calls: int | None = Field(default=None, ge=1)
    usd: Decimal | None = Field(default=None, ge=0)
    tokens: int | None = Field(default=None, ge=1)
    minutes: float | None = Field(default=None, gt=0)
    prices: dict[str, PriceOverride] = {}
    """dollars per million tokens of models without a listed price, by `provider:model` or by `model`"""

    @model_validator(mode="after")
    def _has_cap(self) -> BudgetSettings:
        if self.calls is None and self.usd is None:
            raise ValueError("give at least one hard cap: budget.calls or budget.usd")
        return self


class CampaignConfig(Section):
    """The whole file."""

    schema_: Literal[1] = Field(alias="schema")
    name: str = Field(pattern=r"^[a-z][a-z0-9_-]{0,63}$")
    goal: str = Field(min_length=1)
    harness: str
    """directory of the seed harness, relative to this file"""
    data: DataSettings
    scorer: ScorerSettings
    models: dict[str, ModelSettings]
    loops: Loops = Loops()
    portfolio: PortfolioSettings = PortfolioSettings()
    gate: GateSettings = GateSettings()
    budget: BudgetSettings
    approval: Literal["none", "required"] = "none"
    journal: JournalSettings = JournalSettings()
    seed: int = 0

    @property
    def serving_models(self) -> dict[str, ModelSettings]:
        """The roles that members run on: all but those that only campaigns need."""
        return {role: settings for role, settings in self.models.items() if role not in CAMPAIGN_ROLES}

    @field_validator("goal")
    @classmethod
    def _goal_says_something(cls, goal: str) -> str:
        if not goal.strip():
            raise ValueError("say in a sentence what better means")
        return goal

    @field_validator("models")
    @classmethod
    def _has_agent(cls, models: dict[str, ModelSettings]) -> dict[str, ModelSettings]:
        if "agent" not in models:
            raise ValueError("models.agent is required: the model the harness runs on")
        return models

    @model_validator(mode="after")
    def _model_proposer_has_model(self) -> CampaignConfig:
        for name in ("harness", "workflow"):
            loop: LoopSettings | None = getattr(self.loops, name)
            if loop and "model" in loop.proposers and "proposer" not in self.models:
                raise ValueError(f"loops.{name}.proposers has 'model': add models.proposer, or use catalog alone")
        return self

    @model_validator(mode="after")
    def _judge_has_model(self) -> CampaignConfig:
        if self.scorer.kind == "judge" and JUDGE_ROLE not in self.models:
            raise ValueError("the scorer is a judge: add models.judge, the model that grades")
        return self

    @model_validator(mode="after")
    def _journal_names_roles(self) -> CampaignConfig:
        for role in self.journal.roles:
            if role not in self.models:
                hint = nearest(role, self.models)
                meant = f"did you mean {hint}?" if hint else f"the roles are {', '.join(self.models)}"
                raise ValueError(f"journal.roles.{role}: models has no role {role!r}; {meant}")
        return self


def read_campaign(path: Path) -> CampaignConfig:
    """The validated file; UserError names file, line, key and the fix."""
    return read_document(path, CampaignConfig)
