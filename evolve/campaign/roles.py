"""Model roles: opened once, shared where their settings are equal, and bound to whoever a call is made for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from pathlib import Path

from evolve.books import Books, Owner
from evolve.core.scores import Asked
from evolve.core.traces import Spend
from evolve.evaluate.scorers import JUDGE_ROLE, Judge
from evolve.models import ModelSettings, OpenedModel, PaidModel, ScriptedReply, Tell, open_model, tell_nobody
from evolve.run.execute import BookedModels, RunKey


def open_models(
    settings: Mapping[str, ModelSettings],
    environment: Mapping[str, str],
    scripted: Mapping[str, ScriptedReply],
    stack: AsyncExitStack,
    tell: Tell = tell_nobody,
    mailbox: Path | None = None,
) -> dict[str, OpenedModel]:
    """A model for each role, closed with `stack`; roles with equal settings share one.

    `tell` and `mailbox`, the folder for mail, as in `open_model`.
    """
    opened: dict[str, OpenedModel] = {}
    for role, wanted in settings.items():
        twin = next((other for other in opened if settings[other] == wanted), None)
        if twin is not None:
            opened[role] = opened[twin]
            continue
        opened[role] = open_model(wanted, environment=environment, scripted=scripted, mailbox=mailbox, tell=tell)
        stack.push_async_callback(opened[role].close)
    return opened


def booked_models(books: Books, models: Mapping[str, OpenedModel], campaign: str) -> BookedModels:
    """Binds the models of one run to their owner in the books."""

    def bind(key: RunKey) -> tuple[Mapping[str, PaidModel], Callable[[], Spend]]:
        booked = {
            role: model.booked(books, Owner(campaign, key.loop, key.tree, key.case, key.repetition, role))
            for role, model in models.items()
        }

        def spent() -> Spend:
            total = Spend()
            for model in booked.values():
                total = total + model.spend
            return total

        return booked, spent

    return bind


def judge_of(books: Books, models: Mapping[str, OpenedModel], campaign: str) -> Judge | None:
    """The model of the role `judge`, its calls booked to the run that it grades."""
    opened = models.get(JUDGE_ROLE)
    if opened is None:
        return None

    def booked(asked: Asked) -> PaidModel:
        return opened.booked(books, Owner(campaign, asked.loop, asked.tree, asked.case, asked.repetition, JUDGE_ROLE))

    return Judge(opened.identity, booked)
