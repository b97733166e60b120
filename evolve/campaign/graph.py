"""The campaign as a LangGraph graph: the order of the stages and nothing else.

baseline → round ⟲ → screen → curate → fit_router → gate → approve → conclude
               └───────────┴────────────┴──────────────────────────────┘ (nothing to test)
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextvars import Context
from functools import partial
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import interrupt

from evolve.campaign.context import CampaignContext
from evolve.campaign.loops.rounds import planned_rounds, run_round
from evolve.campaign.stages.baseline import measure_baseline
from evolve.campaign.stages.conclude import approval_question, conclude
from evolve.campaign.stages.fit import curate_members, fit_challenger
from evolve.campaign.stages.gate import run_gate_stage
from evolve.campaign.stages.screen import screen_finalists
from evolve.campaign.state import CampaignState
from evolve.core.redact import redacted_error

Stage = Callable[[CampaignContext, CampaignState], Coroutine[Any, Any, dict[str, Any]]]


class StageStopped(Exception):
    """Carries a stage's error past the graph, which writes the text of errors into its checkpoint."""

    def __init__(self, stage: str, error: Exception) -> None:
        super().__init__(stage, type(error).__name__)
        self.error = error


def build_graph(context: CampaignContext, saver: BaseCheckpointSaver[Any]) -> CompiledStateGraph[Any, Any, Any, Any]:
    """The compiled graph of one campaign, checkpointed by `saver` after every stage."""
    graph = StateGraph(CampaignState)
    stages: dict[str, Stage] = {
        "baseline": measure_baseline,
        "round": run_round,
        "screen": screen_finalists,
        "curate": curate_members,
        "fit_router": fit_challenger,
        "gate": run_gate_stage,
        "conclude": conclude,
    }
    for name, stage in stages.items():
        graph.add_node(name, _bind(name, stage, context))  # type: ignore[call-overload]
    graph.add_node("approve", partial(_approve, context))
    graph.add_edge(START, "baseline")
    for source in ("baseline", "round"):
        graph.add_conditional_edges(source, lambda s: _after_round(context, s), ["round", "screen"])
    graph.add_conditional_edges(
        "screen", lambda s: "curate" if s.get("finalists") else "conclude", ["curate", "conclude"]
    )
    graph.add_conditional_edges(
        "curate", lambda s: "fit_router" if s.get("members") else "conclude", ["fit_router", "conclude"]
    )
    graph.add_conditional_edges(
        "fit_router", lambda s: "gate" if s.get("challenger") else "conclude", ["gate", "conclude"]
    )
    graph.add_edge("gate", "approve")
    graph.add_edge("approve", "conclude")
    graph.add_edge("conclude", END)
    return graph.compile(checkpointer=saver)


def _bind(
    name: str, stage: Stage, context: CampaignContext
) -> Callable[[CampaignState], Coroutine[Any, Any, dict[str, Any]]]:
    async def node(state: CampaignState) -> dict[str, Any]:
        context.observe("stage", name=name)
        # An empty context: graphs that run inside a stage must not inherit this graph's checkpointer.
        work: asyncio.Task[dict[str, Any]] = asyncio.create_task(stage(context, state), context=Context())
        try:
            return await work
        except Exception as error:
            raise StageStopped(name, redacted_error(error, context.home.redactor)) from None

    return node


def _after_round(context: CampaignContext, state: CampaignState) -> str:
    """Another round, unless all planned ones are done or the loops have stalled."""
    if state.get("stalled") or state.get("rounds_done", 0) >= len(planned_rounds(context.config)):
        return "screen"
    return "round"


async def _approve(context: CampaignContext, state: CampaignState) -> dict[str, Any]:
    """Waits for a person when `approval: required` and the gate says promote."""
    if context.config.approval == "none" or state["verdict"]["decision"] != "promote":
        return {"approval": "not needed"}
    answer = interrupt(approval_question(context, state))
    return {"approval": str(answer)}
