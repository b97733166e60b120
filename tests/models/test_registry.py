from pathlib import Path

import pytest
from pydantic import ValidationError

from evolve.core.errors import UserError
from evolve.core.messages import Capability
from evolve.models import ModelSettings, known_providers, open_model


def refuse(environment: dict[str, str] | None = None, **settings: object) -> UserError:
    with pytest.raises(UserError) as caught:
        open_model(ModelSettings(**settings), environment=environment or {})  # type: ignore[arg-type]
    return caught.value


def test_known_providers() -> None:
    assert known_providers() == ("anthropic", "local", "mailbox", "openai", "scripted")


@pytest.mark.parametrize("model", ["local:", "openai:", "smollm2-135m", ":x"])
def test_half_a_name_is_refused(model: str) -> None:
    assert "provider:name" in str(refuse(model=model))


def test_a_setting_that_would_be_ignored_is_refused() -> None:
    assert "base_url" in str(refuse(model="local:smollm2-135m", base_url="http://x/v1"))
    assert "workers" in str(refuse({"OPENAI_API_KEY": "k"}, model="openai:gpt-4o-mini", workers=3))
    assert "max_retries" in str(refuse(model="scripted:x", max_retries=1))


@pytest.mark.parametrize("url", ["localhost:1/v1", "ftp://x/v1", "http://user:pass@x/v1", "http://x/v1?key=1"])
def test_an_address_that_is_none_or_holds_secrets_is_refused(url: str) -> None:
    fault = refuse(model="openai:m", base_url=url)
    assert fault.place == "base_url"
    assert "pass@" not in str(fault)


def test_a_named_endpoint_needs_no_key_and_is_in_the_identity() -> None:
    model = open_model(ModelSettings(model="openai:m", base_url="http://127.0.0.1:9/v1/"), environment={})
    assert model.identity == "openai:m@http://127.0.0.1:9/v1"


def test_the_form_and_the_sampling_of_an_openai_model_are_settings_of_its_own() -> None:
    settings = ModelSettings(model="openai:m", base_url="http://x/v1", api="responses", send_sampling=False)
    model = open_model(settings, environment={})
    assert model.identity == "openai:m@http://x/v1#responses#unsampled"
    assert Capability.LABELS not in model.capabilities
    for name, value in {"api": "responses", "send_sampling": False}.items():
        assert name in str(refuse(model="local:smollm2-135m", **{name: value}))
    with pytest.raises(ValidationError):
        ModelSettings.model_validate({"model": "openai:m", "api": "completions"})


def test_settings_are_closed_and_bounded() -> None:
    for wrong in ({"modle": "x"}, {"workers": 0}, {"timeout_seconds": 0}, {"concurrency": 0}, {"max_retries": -1}):
        with pytest.raises(ValidationError):
            ModelSettings.model_validate({"model": "local:smollm2-135m"} | wrong)


def test_a_file_that_is_no_model_is_refused(tmp_path: Path) -> None:
    text = tmp_path / "notes.gguf"
    text.write_text("hello")
    assert "GGUF" in str(refuse(model=f"local:{text}"))
    assert "no such file" in str(refuse(model=f"local:{tmp_path / 'absent.gguf'}"))
