"""A local model with no provider key in the environment runs; only a provider in use is asked for its key."""

import pytest

from evolve.core.errors import UserError
from evolve.core.messages import Message, ModelRequest
from evolve.models import ModelSettings, open_model

KEYS = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_ORG_ID", "ANTHROPIC_API_KEY", "HF_TOKEN")


class Watched(dict[str, str]):
    """An environment that remembers what it was asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    def get(self, key: str, default: object = None) -> None:  # type: ignore[override]
        self.asked.append(key)


async def test_a_local_model_runs_without_any_key(monkeypatch: pytest.MonkeyPatch) -> None:
    for key in KEYS:
        monkeypatch.delenv(key, raising=False)
    environment = Watched()
    model = open_model(ModelSettings(model="local:smollm2-135m", workers=1), environment=environment)
    try:
        reply = await model.reply(ModelRequest((Message("user", "Say hi."),), max_tokens=3))
    finally:
        await model.close()
    assert reply.usage.completion_tokens == 3
    assert environment.asked == []


def test_a_provider_in_use_is_asked_for_its_key_by_name() -> None:
    with pytest.raises(UserError, match="OPENAI_API_KEY is not set"):
        open_model(ModelSettings(model="openai:gpt-4o-mini"), environment={"ANTHROPIC_API_KEY": "x"})
    with pytest.raises(UserError, match="MY_KEY is not set"):
        open_model(
            ModelSettings(model="openai:m", base_url="http://127.0.0.1:9/v1", api_key_env="MY_KEY"), environment={}
        )


def test_the_process_environment_is_not_read_behind_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-from-the-process")
    with pytest.raises(UserError, match="OPENAI_API_KEY is not set"):
        open_model(ModelSettings(model="openai:gpt-4o-mini"), environment={})
