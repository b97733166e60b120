"""What a request needs of a model, and the refusal of one that lacks it: before anything is sent, never in silence."""

from __future__ import annotations

from evolve.core.errors import UserError
from evolve.core.messages import Capability, Model, ModelRequest


def needs_of(request: ModelRequest) -> frozenset[Capability]:
    """The abilities beyond chat that a request asks for."""
    wanted = {
        Capability.PLAIN: request.style == "plain",
        Capability.JSON_SCHEMA: request.json_schema is not None,
        Capability.LABELS: bool(request.labels),
        Capability.TOOLS: bool(request.tools),
    }
    return frozenset(need for need, is_wanted in wanted.items() if is_wanted)


def refuse_unable(model: Model, request: ModelRequest, fix: str = "use another model for this role") -> None:
    """UserError when `model` lacks what `request` needs."""
    missing = sorted(needs_of(request) - model.capabilities)
    if missing:
        raise UserError(f"{model.identity} cannot serve {missing[0].value} requests", place="models", fix=fix)
