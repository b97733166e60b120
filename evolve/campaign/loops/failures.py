"""What a proposer is shown of failures: train cases with what the parent answered, and dev as one number."""

from __future__ import annotations

from collections.abc import Mapping

from evolve.campaign.context import CampaignContext
from evolve.campaign.loops.plan import RoundPlan
from evolve.core.cases import Split
from evolve.core.hashing import JSONValue
from evolve.evaluate.suite import Evaluation
from harnesses.excerpts import FailureExcerpt

SHOWN = 12
"""Failures quoted in one request; the byte budget may cut further."""


def failure_excerpts(context: CampaignContext, plan: RoundPlan) -> list[FailureExcerpt]:
    """The first failing train cases of the parent, with the answers in its stored traces, secrets redacted."""
    failing = [case for case in context.material.train.fit if case.id in plan.failing][:SHOWN]
    evaluation = Evaluation(plan.parent, failing, Split.TRAIN, plan.loop)
    traces = context.suite.stored_traces(evaluation)
    clean = context.home.redactor
    return [
        FailureExcerpt(
            case_id=case.id,
            input=clean.text(case.text),
            output=_answer(traces.get(case.id, {})),
            expected=clean.value(case.expected),
            error=str(traces.get(case.id, {}).get("error", "")),
        )
        for case in failing
    ]


def _answer(trace: Mapping[str, JSONValue]) -> JSONValue:
    """The stored answer, whose secrets are out already; or why there is none to show."""
    return f"[not kept: {trace['kept']}]" if "kept" in trace else trace.get("output")


def dev_aggregate(context: CampaignContext) -> str:
    """The seed's mean on dev: all that a proposer learns of dev."""
    rows = context.home.ledger.rows(context.id, "baseline")
    mean = rows[-1].detail["dev"] if rows else None
    return "not measured" if mean is None else f"the seed scores {100 * float(mean):.0f} of 100 on dev"
