"""Models behind one protocol: local ones, OpenAI-compatible endpoints, scripts, and the wrappers around them."""

from evolve.models.adaptive import AdaptiveSlots, SlotState, Tell, tell_nobody
from evolve.models.errors import PromptTooLong
from evolve.models.limited import FixedSlots
from evolve.models.opened import OpenedModel, PaidModel
from evolve.models.registry import known_providers, open_model
from evolve.models.retrying import RetryingModel, RetryPolicy
from evolve.models.scripted import ScriptedModel, ScriptedReply
from evolve.models.settings import ModelSettings

__all__ = [
    "AdaptiveSlots",
    "FixedSlots",
    "ModelSettings",
    "OpenedModel",
    "PaidModel",
    "PromptTooLong",
    "RetryPolicy",
    "RetryingModel",
    "ScriptedModel",
    "ScriptedReply",
    "SlotState",
    "Tell",
    "known_providers",
    "open_model",
    "tell_nobody",
]
