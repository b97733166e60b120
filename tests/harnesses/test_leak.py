"""Sealed text stays out of trees; train text enters only as demonstrations with its id."""

from __future__ import annotations

import json

from evolve.core.cases import Case
from harnesses.leak import build_leak_index, grams_of, leak_check

TRAIN = [
    Case("t1", "My card was charged twice for the very same order last Tuesday evening", {"team": "billing"}),
    Case("t2", "The parcel never arrived although the tracking page says delivered since Monday", {"team": "shipping"}),
    Case("t3", "Hello dear support team I have a question about my account please", {"team": "account"}),
    Case("t4", "Hello dear support team I have a question about my invoice please", {"team": "billing"}),
]
SEALED = [
    Case("d1", "I would like to change the delivery address of my running order number 4711", {"team": "shipping"}),
    Case("h1", "Where is my refund?", {"team": "billing"}),
    Case(
        "h2",
        "Bitte ändern Sie die Lieferadresse meiner laufenden Bestellung auf Zürich",
        {"team": "card not working at all"},
    ),
    Case("h3", "私の注文の配送先住所を変更したいのですが", {"team": "shipping"}),
    Case("h4", "Hello dear support team I have a question about my voucher please", {"team": "billing"}),
]
INDEX = build_leak_index(TRAIN, SEALED, labels=["card not working at all", "billing"])


def _found(path: str, content: str, before: dict[str, bytes] | None = None) -> set[tuple[str, str]]:
    return {(leak.kind, leak.case_id) for leak in leak_check(before or {}, {path: content.encode()}, INDEX)}


def _row(case_id: str, text: str) -> str:
    return json.dumps({"id": case_id, "input": text, "output": {"team": "billing"}}) + "\n"


def test_sealed_text_is_found_whatever_its_dress() -> None:
    dressed = "Hint: «CHANGE the delivery\n   address, of my RUNNING order!» belongs to shipping."
    assert _found("prompts/a.md", dressed) == {("sealed", "d1")}


def test_escapes_do_not_hide_sealed_text() -> None:
    row = json.dumps({"id": "t9", "input": SEALED[2].input}, ensure_ascii=True)
    assert "\\u00e4" in row
    assert ("sealed", "h2") in _found("demonstrations/a.jsonl", row)
    assert ("sealed", "h2") in _found("workflow.yaml", 'nodes: {a: {params: {x: "' + str(SEALED[2].input) + '"}}}')


def test_a_short_sealed_text_counts_whole() -> None:
    assert _found("prompts/a.md", "If asked where is my refund, say billing.") == {("sealed", "h1")}
    assert _found("prompts/a.md", "If asked where is the refund, say billing.") == set()


def test_scripts_without_spaces_are_checked_too() -> None:
    assert _found("prompts/a.md", "例: 配送先住所を変更したい → shipping") == {("sealed", "h3")}


def test_label_names_and_what_train_says_too_are_no_leak() -> None:
    assert _found("prompts/a.md", "Labels: card not working at all, billing, shipping") == set()
    assert _found("prompts/a.md", "Some start with: hello dear support team I have a question about my") == set()


def test_train_text_needs_its_id_and_its_place() -> None:
    text = str(TRAIN[0].input)
    assert _found("demonstrations/a.jsonl", _row("t1", text)) == set()
    assert _found("demonstrations/a.jsonl", _row("t2", text)) == {("train_text", "t1")}
    assert _found("prompts/a.md", f"For example: {text}") == {("train_text", "t1")}


def test_moving_a_demonstration_into_a_prompt_is_found() -> None:
    before = {"demonstrations/a.jsonl": _row("t1", str(TRAIN[0].input)).encode()}
    assert _found("prompts/a.md", str(TRAIN[0].input), before) == {("train_text", "t1")}


def test_what_the_author_of_the_parent_wrote_is_no_leak() -> None:
    before = {"prompts/a.md": b"Where is my refund?"}
    assert _found("prompts/a.md", "Where is my refund? Say billing.", before) == set()


def test_texts_below_four_words_have_no_grams() -> None:
    assert list(grams_of("cancel my order")) == []
    assert list(grams_of("please cancel my order")) == [("please", "cancel", "my", "order")]
    assert len(list(grams_of("one two three four five six seven eight nine"))) == 2


def test_a_short_text_inside_a_longer_train_text_identifies_nobody() -> None:
    short, long = Case("a", "where is my virtual card"), Case("b", "please tell me where is my virtual card")
    row = _row("b", long.text).encode()
    assert leak_check({}, {"demonstrations/x.jsonl": row}, build_leak_index([short, long], [])) == ()
    assert leak_check({}, {"prompts/x.md": short.text.encode()}, build_leak_index([long], [short])) == ()
    assert leak_check({}, {"prompts/x.md": short.text.encode()}, build_leak_index([], [short])) != ()
