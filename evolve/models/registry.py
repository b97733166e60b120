"""The providers by name: settings in, a model ready to use out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from types import MappingProxyType
from urllib.parse import urlsplit

from evolve.books import Slots
from evolve.core.errors import UserError
from evolve.models.adaptive import AdaptiveSlots, SlotSurroundings, Tell, tell_nobody
from evolve.models.endpoint import Endpoint
from evolve.models.limited import FixedSlots
from evolve.models.names import describe_nearest
from evolve.models.opened import OpenedModel
from evolve.models.retrying import RetryPolicy
from evolve.models.scripted import ScriptedModel, ScriptedReply
from evolve.models.settings import ModelSettings


@dataclass(frozen=True)
class Surroundings:
    """What providers may take from outside the settings: keys from the environment, scripts, a folder for mail.

    `tell` hears in a sentence when calls in flight are lowered and when a pause begins.
    """

    environment: Mapping[str, str]
    scripted: Mapping[str, ScriptedReply]
    mailbox: Path | None
    tell: Tell = tell_nobody


_Open = Callable[[ModelSettings, Surroundings], OpenedModel]
_SETTINGS_OF_ALL = frozenset({"model"})
_OPENAI_KEY = "OPENAI_API_KEY"
_ANTHROPIC_KEY = "ANTHROPIC_API_KEY"
USUAL_KEYS: Mapping[str, str] = MappingProxyType({"openai": _OPENAI_KEY, "anthropic": _ANTHROPIC_KEY})
"""Provider → the variable that holds its key unless `api_key_env` names another."""
_HOSTED = frozenset(
    {"base_url", "api_key_env", "timeout_seconds", "concurrency", "adaptive", "max_retries", "send_sampling"}
)


def known_providers() -> tuple[str, ...]:
    """The provider names, sorted."""
    return tuple(sorted(_PROVIDERS))


def open_model(
    settings: ModelSettings,
    *,
    environment: Mapping[str, str],
    scripted: Mapping[str, ScriptedReply] = MappingProxyType({}),
    mailbox: Path | None = None,
    tell: Tell = tell_nobody,
) -> OpenedModel:
    """A model with its limits and retries. Nothing is started or connected before the first reply.

    `environment` is read for the key of the provider in use, and for nothing else. Raises UserError, naming the
    nearest known name, for an unknown provider or model, and for a setting that the provider has no use for.
    """
    if settings.provider not in _PROVIDERS:
        raise UserError(
            f"there is no provider {settings.provider!r}" if settings.provider else "the provider is missing",
            place=f"model {settings.model!r}",
            fix=f"write provider:name; {describe_nearest(settings.provider, _PROVIDERS)}",
        )
    if not settings.name:
        raise UserError(
            "the name of the model is missing", place=f"model {settings.model!r}", fix="write provider:name"
        )
    opener, useful = _PROVIDERS[settings.provider]
    useless = sorted(settings.model_fields_set - useful - _SETTINGS_OF_ALL)
    if useless:
        raise UserError(
            f"the {settings.provider} provider has no use for {', '.join(useless)}",
            place=f"model {settings.model!r}",
            fix=f"remove it; this provider takes {', '.join(sorted(useful))}",
        )
    return opener(settings, Surroundings(environment, scripted, mailbox, tell))


def _open_local(settings: ModelSettings, _: Surroundings) -> OpenedModel:
    from evolve.models.local import LocalModel, WorkerPlan  # httpx is slow to import
    from evolve.models.local.weights import check_runtime, find_weights

    check_runtime()
    plan = WorkerPlan(settings.model, find_weights(settings.name), settings.context_tokens)
    model = LocalModel(plan, workers=settings.workers, timeout_seconds=settings.seconds)
    return OpenedModel(model, FixedSlots(settings.workers), _retry(settings))


def _open_openai(settings: ModelSettings, around: Surroundings) -> OpenedModel:
    from evolve.models.openai import OpenAIModel  # the SDK is slow to import
    from evolve.models.openai_endpoint import OFFICIAL_URL, OpenAIEndpoint

    place = _endpoint(settings, around, OFFICIAL_URL, "" if settings.base_url else _OPENAI_KEY)
    known = {field.name: getattr(place, field.name) for field in fields(place)}
    model = OpenAIModel(OpenAIEndpoint(**known, api=settings.api))
    return OpenedModel(model, _slots(settings, around), _retry(settings))


def _open_anthropic(settings: ModelSettings, around: Surroundings) -> OpenedModel:
    from evolve.models.anthropic import AnthropicModel  # the SDK is slow to import
    from evolve.models.anthropic_wire import OFFICIAL_URL

    endpoint = _endpoint(settings, around, OFFICIAL_URL, _ANTHROPIC_KEY)
    model = AnthropicModel(endpoint, cache=settings.cache_prompt)
    return OpenedModel(model, _slots(settings, around), _retry(settings))


def _endpoint(settings: ModelSettings, around: Surroundings, official: str, usual_key: str) -> Endpoint:
    """Where to ask, and with what key: from `api_key_env`, else from the provider's usual variable."""
    key_name = settings.api_key_env or usual_key
    if key_name and not around.environment.get(key_name):
        raise UserError(
            f"the environment variable {key_name} is not set",
            place=f"model {settings.model!r}",
            fix=f"export {key_name}=… with the provider's key, or name another variable in api_key_env",
        )
    return Endpoint(
        settings.name,
        base_url=_check_url(settings.base_url) if settings.base_url else official,
        key=around.environment.get(key_name, ""),
        key_name=key_name,
        timeout_seconds=settings.seconds,
        sampling=settings.send_sampling,
    )


def _open_scripted(settings: ModelSettings, around: Surroundings) -> OpenedModel:
    if settings.name not in around.scripted:
        raise UserError(
            f"there is no script {settings.name!r}",
            place=f"model {settings.model!r}",
            fix=describe_nearest(settings.name, around.scripted)
            or "no script was given: scripts are passed by the caller",
        )
    model = ScriptedModel(settings.name, around.scripted[settings.name], seed=settings.seed)
    return OpenedModel(model)


def _open_mailbox(settings: ModelSettings, around: Surroundings) -> OpenedModel:
    from evolve.models.mailbox import Box, MailboxLimits, MailboxModel, check_name

    check_name(settings.name)
    if around.mailbox is None:
        raise UserError(
            "there is no folder for mail here",
            place=f"model {settings.model!r}",
            fix="ask it in a campaign or through a version: their mail lies in the home",
        )
    limits = MailboxLimits(settings.seconds, settings.mailbox_requests)
    return OpenedModel(MailboxModel(Box(around.mailbox / settings.name), limits), FixedSlots(settings.concurrency))


def _retry(settings: ModelSettings) -> RetryPolicy:
    return RetryPolicy(attempts=settings.max_retries + 1)


def _slots(settings: ModelSettings, around: Surroundings) -> Slots:
    """For a provider whose capacity nobody knows: adaptive up to `concurrency`, or fixed at it."""
    if not settings.adaptive:
        return FixedSlots(settings.concurrency)
    return AdaptiveSlots(
        settings.concurrency,
        name=settings.model,
        longest_asked=_retry(settings).longest_asked,
        around=SlotSurroundings(tell=around.tell),
    )


def _check_url(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise UserError("this is not an http(s) address", place="base_url", fix="write it up to /v1")
    if parts.username or parts.password or parts.query:
        raise UserError(
            "an address must not carry secrets", place="base_url", fix="name the key's variable in api_key_env"
        )
    return url.rstrip("/")


_PROVIDERS: Mapping[str, tuple[_Open, frozenset[str]]] = MappingProxyType(
    {
        "local": (_open_local, frozenset({"workers", "context_tokens", "timeout_seconds", "max_retries"})),
        "openai": (_open_openai, _HOSTED | {"api"}),
        "anthropic": (_open_anthropic, _HOSTED | {"cache_prompt"}),
        "mailbox": (_open_mailbox, frozenset({"timeout_seconds", "concurrency", "mailbox_requests"})),
        "scripted": (_open_scripted, frozenset({"seed"})),
    }
)
