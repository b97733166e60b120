"""A share out of range is refused with the allowed range; no split is adjusted silently."""

from __future__ import annotations

import pytest

from evolve.core.errors import UserError
from evolve.core.yaml_document import parse_document
from evolve.data import DataSettings, SplitSettings


@pytest.mark.parametrize(
    "shares",
    [
        "{train: 0.005, dev: 0.005, heldout: 0.99}",
        "{train: 0.5, dev: 0.5, heldout: 0.0}",
        "{train: -0.2, dev: 0.6, heldout: 0.6}",
        "{train: 0.4, dev: 0.4, heldout: 0.4}",
        "{train: 0.3, dev: 0.3, heldout: 0.3}",
        "{heldout: 0.5}",
        "{train: .nan, dev: 0.5, heldout: 0.5}",
    ],
)
def test_shares_out_of_range_name_the_range_and_the_line(shares: str) -> None:
    text = f"cases: c.jsonl\nsplit:\n  shares: {shares}\n"
    with pytest.raises(UserError, match=r"from 0\.05 to 0\.9, all three adding up to 1") as caught:
        parse_document(text, DataSettings, "campaign.yaml")
    assert caught.value.exit_code == 2
    assert caught.value.place == "campaign.yaml:3"


@pytest.mark.parametrize("shares", [(0.05, 0.05, 0.9), (0.9, 0.05, 0.05), (1 / 3, 1 / 3, 1 / 3)])
def test_the_ends_of_the_range_are_allowed(shares: tuple[float, float, float]) -> None:
    given = dict(zip(("train", "dev", "heldout"), shares, strict=True))
    assert SplitSettings.model_validate({"shares": given}).shares.heldout == shares[2]


def test_a_column_and_drawn_shares_exclude_each_other() -> None:
    with pytest.raises(UserError, match="exclude each other"):
        parse_document("cases: c.jsonl\nsplit: {column: part, seed: 1}", DataSettings, "campaign.yaml")
