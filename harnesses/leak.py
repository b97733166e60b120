"""Text of sealed cases must not enter a tree, and train text only as demonstrations that carry their case id."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from evolve.core.cases import Case
from evolve.core.errors import UserError
from evolve.core.hashing import JSONValue, normal_text
from evolve.core.protocols import Files
from harnesses.paths import is_binary
from harnesses.reading import read_yaml

GRAM = 8
"""Words in a gram."""
SHORTEST = 4
"""Texts of fewer words are not checked: they carry no identity. From here up to GRAM the whole text is one gram."""
DEMONSTRATIONS = "demonstrations/"

Gram = tuple[str, ...]
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")


@dataclass(frozen=True, slots=True)
class Leak:
    """`gram` of case `case_id` stands in `path`. A sealed gram is for the ledger only, never for a proposer."""

    kind: Literal["sealed", "train_text"]
    case_id: str
    path: str
    gram: str


@dataclass(frozen=True)
class LeakIndex:
    """Grams that identify cases. Built once for a campaign."""

    sealed: Mapping[Gram, frozenset[str]]
    train: Mapping[Gram, str]


def build_leak_index(train: Iterable[Case], sealed: Iterable[Case], *, labels: Collection[str] = ()) -> LeakIndex:
    """Index of what must not be copied: inputs and expected values of `sealed` (dev and heldout) and of `train`.

    Exempt are label names, sealed grams that train holds too (they tell nothing new), and train grams that several
    train cases share (a template, not a case).
    """
    exempt = {gram for label in labels for gram in grams_of(label)}
    train_texts, sealed_texts = _case_texts(train), _case_texts(sealed)
    train_owners, sealed_owners = _owners(train_texts), _owners(sealed_texts)
    holders = {gram: set(ids) for gram, ids in train_owners.items()}
    short = {gram for owners in (train_owners, sealed_owners) for gram in owners if len(gram) < GRAM}
    for case_id, text in train_texts:
        for gram in _all_grams(text) & short:  # a short text may stand inside a longer one of another case
            holders.setdefault(gram, set()).add(case_id)
    return LeakIndex(
        sealed={g: frozenset(ids) for g, ids in sealed_owners.items() if g not in holders and g not in exempt},
        train={g: next(iter(ids)) for g, ids in train_owners.items() if len(holders[g]) == 1 and g not in exempt},
    )


def leak_check(before: Files, after: Files, index: LeakIndex) -> tuple[Leak, ...]:
    """One leak per offending (kind, case, path) in what `after` adds to `before`; empty when clean.

    What `before` says outside its demonstrations is no leak: its author wrote it.
    """
    own = {path: content for path, content in before.items() if not path.startswith(DEMONSTRATIONS)}
    known = {gram for path, content in own.items() for text in _texts(path, content) for gram in _all_grams(text)}
    leaks: dict[tuple[str, str, str], Leak] = {}
    for path, content in after.items():
        if before.get(path) == content:
            continue
        for text, allowed in _added_texts(path, content):
            for gram in _all_grams(text):
                if gram not in known:
                    for leak in _leaks_of(gram, path, index, allowed):
                        leaks.setdefault((leak.kind, leak.case_id, path), leak)
    return tuple(leaks.values())


def grams_of(text: str) -> Iterator[Gram]:
    """The word 8-grams of a text's normal form; a text of 4 to 7 words is one gram; a shorter one has none."""
    words = split_words(text)
    if SHORTEST <= len(words) < GRAM:
        yield tuple(words)
    for at in range(len(words) - GRAM + 1):
        yield tuple(words[at : at + GRAM])


def split_words(text: str) -> list[str]:
    """Words of the normal form without punctuation; scripts without spaces count each character as a word."""
    return _WORD.findall(normal_text(text))


def _case_texts(cases: Iterable[Case]) -> list[tuple[str, str]]:
    return [(c.id, text) for c in cases for text in {c.text, *_leaves(c.input), *_leaves(c.expected)}]


def _owners(texts: Iterable[tuple[str, str]]) -> dict[Gram, set[str]]:
    owners: defaultdict[Gram, set[str]] = defaultdict(set)
    for case_id, text in texts:
        for gram in grams_of(text):
            owners[gram].add(case_id)
    return dict(owners)


def _all_grams(text: str) -> set[Gram]:
    """Every run of SHORTEST to GRAM words: short protected texts may stand inside longer ones."""
    words = split_words(text)
    return {tuple(words[at : at + size]) for size in range(SHORTEST, GRAM + 1) for at in range(len(words) - size + 1)}


def _leaks_of(gram: Gram, path: str, index: LeakIndex, allowed: str) -> Iterator[Leak]:
    for case_id in sorted(index.sealed.get(gram, ())):
        yield Leak("sealed", case_id, path, " ".join(gram))
    owner = index.train.get(gram)
    if owner is not None and owner != allowed:
        yield Leak("train_text", owner, path, " ".join(gram))


def _added_texts(path: str, content: bytes) -> Iterator[tuple[str, str]]:
    """Texts of a file with the train case id that each may quote ("" for none)."""
    if path.startswith(DEMONSTRATIONS) and path.endswith(".jsonl"):
        for line in content.decode("utf-8", "replace").split("\n"):
            row = _parse(line, path)
            allowed = str(row.get("id", "")) if isinstance(row, dict) else ""
            for text in [line, *_leaves(row)]:
                yield text, allowed
    else:
        for text in _texts(path, content):
            yield text, ""


def _texts(path: str, content: bytes) -> Sequence[str]:
    """The raw text, and every string in it when it parses: escapes such as `\\u00e9` would hide words."""
    if is_binary(content):
        return []
    text = content.decode("utf-8")
    if path.endswith(".jsonl"):
        return [text, *(leaf for line in text.split("\n") for leaf in _leaves(_parse(line, path)))]
    return [text, *_leaves(_parse(text, path))]


def _parse(text: str, path: str) -> JSONValue:
    try:
        return read_yaml(text, path) if path.endswith((".yaml", ".yml")) else json.loads(text)
    except (UserError, ValueError, RecursionError):
        return None


def _leaves(value: JSONValue) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _leaves(key)
            yield from _leaves(item)
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(item)
