"""Which scorers there are: settings of any kind, and the scorer that they open."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from evolve.core.errors import UserError
from evolve.core.names import nearest
from evolve.core.protocols import Scorer
from evolve.evaluate.scorers.base import Options
from evolve.evaluate.scorers.choice import ChoiceOptions, ChoiceScorer
from evolve.evaluate.scorers.contains import ContainsOptions, ContainsScorer
from evolve.evaluate.scorers.custom import CustomOptions, CustomScorer
from evolve.evaluate.scorers.exact import ExactOptions, ExactScorer
from evolve.evaluate.scorers.json_fields import JsonFieldsOptions, JsonFieldsScorer
from evolve.evaluate.scorers.judge import JUDGE_ROLE, JudgeModel, JudgeOptions, JudgeScorer
from evolve.evaluate.scorers.numeric import NumericOptions, NumericScorer

KINDS: Mapping[str, type[Options]] = {
    "exact": ExactOptions,
    "numeric": NumericOptions,
    "json_fields": JsonFieldsOptions,
    "contains": ContainsOptions,
    "choice": ChoiceOptions,
    "custom": CustomOptions,
    "judge": JudgeOptions,
}

OPENERS: Mapping[type[Options], Callable[[Any, Path], Scorer]] = {
    ExactOptions: lambda options, _root: ExactScorer(options),
    NumericOptions: lambda options, _root: NumericScorer(options),
    JsonFieldsOptions: lambda options, _root: JsonFieldsScorer(options),
    ContainsOptions: lambda options, _root: ContainsScorer(options),
    ChoiceOptions: lambda options, _root: ChoiceScorer(options),
    CustomOptions: CustomScorer,
}


def _check_names(raw: object) -> object:
    """The nearest name for a kind or an option that is not there, before the union hides which was meant."""
    if not isinstance(raw, Mapping):
        return raw
    kind = str(raw.get("kind"))
    if kind not in KINDS:
        raise ValueError(f"there is no scorer {kind!r}: {_nearest(kind, list(KINDS))}")
    known = list(KINDS[kind].model_fields)
    for name in raw:
        if name not in known:
            raise ValueError(f"the scorer {kind!r} has no option {name!r}: {_nearest(str(name), known)}")
    return raw


def _nearest(name: str, known: Sequence[str]) -> str:
    near = nearest(name, known)
    return f"did you mean {near!r}?" if near else f"known are {', '.join(known)}"


ScorerSettings = Annotated[
    Annotated[
        ExactOptions
        | NumericOptions
        | JsonFieldsOptions
        | ContainsOptions
        | ChoiceOptions
        | CustomOptions
        | JudgeOptions,
        Field(discriminator="kind"),
    ],
    BeforeValidator(_check_names),
]
"""What a campaign file says under `scorer:`: the `kind`, and the options of that kind."""


@dataclass(frozen=True)
class Judge:
    """The model that grades, where one is configured."""

    identity: str
    model: JudgeModel


def open_scorer(settings: Options, root: Path, judge: Judge | None = None) -> Scorer:
    """The scorer for its settings; paths are relative to `root`, the folder of the campaign file. Raises UserError."""
    if isinstance(settings, JudgeOptions):
        if judge is None:
            raise UserError(
                "the scorer is a judge, and no model is named for it", place="models", fix=f"add models.{JUDGE_ROLE}"
            )
        return JudgeScorer(settings, judge.model, judge.identity)
    return OPENERS[type(settings)](settings, root)
