"""Whether the models of a campaign can do what a tree asks of them; told before anything is spent."""

from __future__ import annotations

from evolve.campaign.context import CampaignContext
from evolve.core.errors import UserError
from evolve.core.protocols import Files
from harnesses.manifest import harness_workflow
from workflows.check import Problem, check_capabilities


def capability_problems(context: CampaignContext, files: Files) -> list[Problem]:
    """Nodes of a whole harness whose model lacks what their operator needs."""
    models = {role: context.models[role].capabilities for role in context.config.serving_models}
    return check_capabilities(harness_workflow(files), models)


def require_capable_seed(context: CampaignContext) -> None:
    """UserError when the seed could not run on this campaign's models."""
    problems = capability_problems(context, context.home.trees.get(context.material.seed_tree))
    if problems:
        raise UserError(
            "; ".join(str(problem) for problem in problems),
            place=f"harness {context.config.harness}",
            fix="use a model that can, or another operator in the seed's workflow",
        )
