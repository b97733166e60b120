"""Calibration offsets of a proposal, measured once and written into its tree instead of asked for on every case."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from evolve.books import Owner
from evolve.campaign.context import CampaignContext
from evolve.campaign.loops.plan import RoundPlan
from harnesses.diff import diff_trees
from harnesses.manifest import harness_tools, harness_workflow, read_manifest
from harnesses.proposal import Proposal
from workflows.kit import Kit
from workflows.offsets import measure_offsets
from workflows.spec import Workflow, dump_workflow

CALIBRATED = ("choose", "use_tools")
DIGITS = 4


async def bake_offsets(context: CampaignContext, plan: RoundPlan, proposal: Proposal) -> Proposal:
    """The proposal with measured offsets in each node that calibrates; one booked call a node.

    Raises what the model raises. The offsets belong to this campaign's agent model.
    """
    workflow = harness_workflow(proposal.files)
    nodes = [name for name, node in workflow.nodes.items() if node.operator in CALIBRATED and _unbaked(node.params)]
    if not nodes:
        return proposal
    kit = _kit(context, plan, proposal)
    for name in nodes:
        offsets = await measure_offsets(workflow, name, kit)
        workflow = _with_offsets(workflow, name, {label: round(value, DIGITS) for label, value in offsets.items()})
    files = {**proposal.files, read_manifest(proposal.files).workflow: dump_workflow(workflow).encode("utf-8")}
    parent = context.home.trees.get(plan.parent)
    return replace(proposal, files=files, patch=diff_trees(parent, files).as_patch())


def _unbaked(params: Mapping[str, object]) -> bool:
    return params.get("calibrate", True) is True and params.get("offsets") is None


def _kit(context: CampaignContext, plan: RoundPlan, proposal: Proposal) -> Kit:
    what = f"offsets of {proposal.source} for {proposal.shape}"
    models = {
        role: context.ask_as(Owner(context.id, plan.loop, plan.parent, what, plan.number, role))
        for role in context.config.serving_models
    }
    tools = {name: tool.tool_schema() for name, tool in harness_tools(proposal.files).items()}
    return Kit(models=models, files=proposal.files, embedder=context.embedder, tools=tools)


def _with_offsets(workflow: Workflow, name: str, offsets: dict[str, float]) -> Workflow:
    node = workflow.nodes[name]
    baked = node.model_copy(update={"params": {**node.params, "offsets": offsets}})
    return workflow.model_copy(update={"nodes": {**workflow.nodes, name: baked}})
