"""Everything the stages of one campaign work with, opened once and closed together."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from evolve.books import Books, Caps, JournalMode, Owner, PriceBook, RecordedModel
from evolve.campaign.config import CampaignConfig
from evolve.campaign.fitset import TrainSets, split_train
from evolve.campaign.observe import Observer
from evolve.campaign.roles import booked_models, judge_of, open_models
from evolve.core.cases import Case, Dataset, Split
from evolve.core.errors import UserError
from evolve.core.protocols import Embedder, Scorer
from evolve.core.redact import Redactor, shape_of
from evolve.core.scores import Result
from evolve.data import BadRow, load_cases, split_cases
from evolve.embed import open_embedder
from evolve.evaluate.heldout import SealedCases, seal
from evolve.evaluate.scorers import open_scorer
from evolve.evaluate.suite import Evaluation, Suite, SuiteSettings
from evolve.models import OpenedModel, PaidModel, ScriptedReply, Tell
from evolve.run.execute import Executor
from evolve.store import Home
from harnesses.directory import read_harness


@dataclass(frozen=True)
class Recording:
    """What stands in for the models of a campaign that is replayed: who they were, and how long each result took."""

    models: Mapping[str, RecordedModel]
    seconds: Mapping[str, float]


@dataclass(frozen=True)
class CampaignInputs:
    """What a person hands over: the file's content, where it stands, and the environment keys are read from."""

    config: CampaignConfig
    root: Path
    environment: Mapping[str, str]
    scripted: Mapping[str, ScriptedReply] = field(default_factory=dict)
    recording: Recording | None = None

    @cached_property
    def redactor(self) -> Redactor:
        """Takes out the environment's secrets and the keys that the models name."""
        return Redactor.of(
            self.environment, filter(None, (settings.api_key_env for settings in self.config.models.values()))
        )


@dataclass(frozen=True)
class Material:
    """The seed tree and the cases, read and checked; heldout is already sealed."""

    seed_tree: str
    dataset: Dataset
    sealed: SealedCases
    train: TrainSets
    dataset_hash: str
    skipped: tuple[BadRow, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def dev(self) -> tuple[Case, ...]:
        """The dev cases."""
        return self.dataset[Split.DEV]


@dataclass(frozen=True)
class CampaignContext:
    """Handed to every stage."""

    id: str
    inputs: CampaignInputs
    home: Home
    material: Material
    models: Mapping[str, OpenedModel]
    books: Books
    suite: Suite
    embedder: Embedder
    scorer: Scorer
    observe: Observer

    @property
    def config(self) -> CampaignConfig:
        """The campaign file."""
        return self.inputs.config

    @property
    def dev(self) -> tuple[Case, ...]:
        """The dev cases this campaign uses: `portfolio.dev_cases` of them, the first in sealed-like hash order."""
        wanted = self.config.portfolio.dev_cases
        ordered = sorted(self.material.dev, key=lambda c: c.text_key)
        return tuple(ordered if wanted is None else ordered[:wanted])

    @property
    def journal(self) -> JournalMode:
        """What may be kept of texts that the serving roles had a part in: the strictest of their modes."""
        return self.config.journal.of_text(self.config.serving_models)

    def kept_text(self, text: str) -> str:
        """What a router's table may keep of a case's text."""
        return self.home.redactor.text(text) if self.journal == "full" else shape_of(text)

    def ask_as(self, owner: Owner) -> PaidModel:
        """The model of the owner's role, with every call booked to that owner."""
        return self.models[owner.role].booked(self.books, owner)

    def record(self, kind: str, subject: str, detail: Mapping[str, Any], key: str) -> bool:
        """One ledger row; a replayed stage writes it once."""
        return self.home.ledger.append(self.id, kind, subject, dict(detail), key=key)


def read_material(inputs: CampaignInputs, home: Home) -> Material:
    """Reads the harness and the cases. Raises UserError for whatever is wrong in them; nothing is spent."""
    config, root = inputs.config, inputs.root
    seed_tree = home.trees.put(read_harness(root / config.harness))
    report = load_cases(root / config.data.cases, config.data)
    dataset = split_cases(report.cases, config.data.split, name=config.name, origins=report.origins)
    visible, sealed = seal(dataset, config.gate.cases_per_group)
    train = split_train(visible[Split.TRAIN], config.portfolio.fit_cases)
    if len(train.fit) < 3 or not train.pool:
        raise UserError(
            f"{len(visible[Split.TRAIN])} train cases are too few to measure on and to demonstrate from",
            place="data",
            fix="bring more cases, or a larger train share",
        )
    _require_batch(config, len(train.fit))
    return Material(seed_tree, visible, sealed, train, dataset.content_hash, report.skipped, report.notes)


def _require_batch(config: CampaignConfig, fit: int) -> None:
    for name in ("harness", "workflow"):
        loop = getattr(config.loops, name)
        if loop is not None and loop.batch > fit:
            raise UserError(
                f"loops.{name}.batch is {loop.batch}, but {fit} train cases can be measured",
                place="campaign.yaml",
                fix=f"a batch from 3 to {fit}",
            )


@asynccontextmanager
async def open_context(
    campaign: str,
    inputs: CampaignInputs,
    home: Home,
    material: Material,
    observe: Observer,
    time_left: float | None = None,
) -> AsyncIterator[CampaignContext]:
    """Opens models, scorer, embedder and books; ends them on the way out. No run starts after `time_left` seconds."""
    config = inputs.config
    deadline = None if time_left is None else time.monotonic() + time_left
    async with AsyncExitStack() as stack:
        home.learn_secrets(inputs.redactor)
        models = _models(inputs, stack, lambda text: observe("note", text=text), home.mailbox / campaign)
        embedder = open_embedder(config.portfolio.embedder)
        caps = Caps(calls=config.budget.calls, usd=config.budget.usd, tokens=config.budget.tokens)
        prices = PriceBook(config.budget.prices)
        books = Books(home, campaign, caps, prices, config.journal.modes, closed=inputs.recording is not None)
        stack.push_async_callback(books.close)
        scorer = open_scorer(config.scorer, inputs.root, judge_of(books, models, campaign))
        stack.push_async_callback(scorer.close)
        serving = {role: models[role] for role in config.serving_models}
        executor = Executor(home.trees, booked_models(books, serving, campaign), embedder)
        suite = Suite(executor, scorer, home.results, _suite_settings(campaign, inputs, models, observe, deadline))
        yield CampaignContext(campaign, inputs, home, material, models, books, suite, embedder, scorer, observe)


def _models(inputs: CampaignInputs, stack: AsyncExitStack, tell: Tell, mailbox: Path) -> Mapping[str, OpenedModel]:
    if inputs.recording is not None:
        return {role: OpenedModel(model) for role, model in inputs.recording.models.items()}
    return open_models(inputs.config.models, inputs.environment, inputs.scripted, stack, tell, mailbox)


def _suite_settings(
    campaign: str,
    inputs: CampaignInputs,
    models: Mapping[str, OpenedModel],
    observe: Observer,
    deadline: float | None,
) -> SuiteSettings:
    config = inputs.config

    def on_result(evaluation: Evaluation, result: Result) -> None:
        observe("run", loop=evaluation.loop, status=result.status.value, value=result.value)

    return SuiteSettings(
        campaign=campaign,
        models={role: models[role].identity for role in config.serving_models},
        concurrency=config.models["agent"].lanes,
        deadline=deadline,
        journal=config.journal.of_text(config.serving_models),
        on_result=on_result,
        seconds=inputs.recording.seconds if inputs.recording is not None else {},
    )
