"""Splits: nothing equal on both sides, deterministic, stable, in proportion."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evolve.core.cases import Case, Split
from evolve.core.errors import UserError
from evolve.data import DataSettings, SplitSettings, load_cases, split_cases


def cases(count: int, start: int = 0) -> list[Case]:
    return [Case(str(n), f"question {n}", n, {"kind": f"k{n % 3}"}) for n in range(start, start + count)]


def where(dataset) -> dict[str, Split]:
    return {case.id: split for split in Split for case in dataset[split]}


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.integers(0, 30), st.sampled_from(["", "g1", "g2", "g3"])), min_size=10, max_size=60),
    st.integers(0, 5),
)
def test_equal_texts_and_groups_never_cross(rows: list[tuple[int, str]], seed: int) -> None:
    found = [
        Case(str(i), f" Text {text}" if i % 2 else f"text  {text}", None, {}, g) for i, (text, g) in enumerate(rows)
    ]
    try:
        dataset = split_cases(found, SplitSettings(seed=seed))
    except UserError as error:
        assert "would hold 0" in str(error)
        return
    for attribute in ("text_key", "group"):
        seen: dict[str, Split] = {}
        for case in found:
            if key := getattr(case, attribute):
                assert seen.setdefault(key, where(dataset)[case.id]) is where(dataset)[case.id]
    assert sorted(c.id for c in dataset.all_cases()) == sorted(c.id for c in found)


def test_texts_and_groups_join_transitively() -> None:
    chain = [Case("1", "a", group="g"), Case("2", "b", group="g"), Case("3", "B"), Case("4", "b", group="h")]
    split = where(split_cases([*chain, *cases(30, start=10)], SplitSettings()))
    assert len({split[str(case.id)] for case in chain}) == 1


def test_shares_are_kept_and_every_split_is_in_file_order() -> None:
    dataset = split_cases(cases(100), SplitSettings())
    assert [len(dataset[split]) for split in Split] == [40, 20, 40]
    for split in Split:
        numbers = [int(case.id) for case in dataset[split]]
        assert numbers == sorted(numbers)


@given(st.randoms(use_true_random=False))
def test_neither_order_nor_ids_matter(rng: random.Random) -> None:
    found = cases(40)
    split = where(split_cases(found, SplitSettings(seed=3)))
    shuffled = [Case(f"new-{c.id}", c.input, c.expected, c.tags) for c in found]
    rng.shuffle(shuffled)
    again = where(split_cases(shuffled, SplitSettings(seed=3)))
    assert {key.removeprefix("new-"): value for key, value in again.items()} == split


def test_another_seed_gives_another_split() -> None:
    first, second = (where(split_cases(cases(60), SplitSettings(seed=seed))) for seed in (0, 1))
    assert first != second


def test_added_cases_move_few_others() -> None:
    before = where(split_cases(cases(200), SplitSettings()))
    after = where(split_cases([*cases(200), *cases(10, start=200)], SplitSettings()))
    moved = [key for key in before if before[key] is not after[key]]
    assert len(moved) <= 12


def test_stratified_splits_hold_every_kind_in_proportion() -> None:
    dataset = split_cases(cases(90), SplitSettings(stratify_by="kind"))
    for split, count in zip(Split, (12, 6, 12), strict=True):
        for kind in ("k0", "k1", "k2"):
            assert abs(sum(c.tags["kind"] == kind for c in dataset[split]) - count) <= 1


def test_rare_kinds_do_not_all_land_in_one_split() -> None:
    rare = [Case(str(n), f"q {n}", None, {"kind": f"only-{n}"}) for n in range(200)]
    dataset = split_cases(rare, SplitSettings(stratify_by="kind"))
    assert all(abs(len(dataset[split]) - want) <= 25 for split, want in zip(Split, (80, 40, 80), strict=True))


def test_an_unknown_tag_names_the_nearest() -> None:
    with pytest.raises(UserError, match="did you mean 'kind'"):
        split_cases(cases(20), SplitSettings(stratify_by="knid"))


def test_one_id_twice_is_refused() -> None:
    with pytest.raises(UserError, match="two cases have the id '3'"):
        split_cases([*cases(20), Case("3", "another")], SplitSettings())


COLUMN = "id,input,expected,part\na,x,1,train\nb,y,1,dev\nc,z,1,heldout\n"


def split_file(tmp_path: Path, text: str, **more: object):
    path = tmp_path / "c.csv"
    path.write_text(text, encoding="utf-8")
    data = DataSettings.model_validate({"cases": "c.csv", "split": {"column": "part"}, **more})
    report = load_cases(path, data)
    return split_cases(report.cases, data.split, report.origins, name="desk")


def test_a_column_may_say_the_split(tmp_path: Path) -> None:
    dataset = split_file(tmp_path, COLUMN)
    assert where(dataset) == {"a": Split.TRAIN, "b": Split.DEV, "c": Split.HELDOUT}
    assert dataset.name == "desk"


def test_a_text_in_two_splits_is_refused_with_both_lines(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"c\.csv:2 \(train\) and .*c\.csv:5 \(heldout\) have the same text"):
        split_file(tmp_path, COLUMN + "d,X ,1,heldout\n")


def test_a_group_in_two_splits_is_refused(tmp_path: Path) -> None:
    text = COLUMN.replace("part\n", "part,user\n").replace("train\n", "train,u\n").replace("dev\n", "dev,u\n")
    with pytest.raises(UserError, match="are of one group, 'u'"):
        split_file(tmp_path, text.replace("heldout\n", "heldout,v\n"), group_by="user")


def test_a_misspelt_split_names_the_line_and_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"c\.csv:5: case 'd'.*\n.*did you mean 'heldout'"):
        split_file(tmp_path, COLUMN + "d,w,1,helout\n")


def test_a_column_without_one_split_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="dev would hold 0 of 2"):
        split_file(tmp_path, COLUMN.replace("b,y,1,dev\n", ""))
