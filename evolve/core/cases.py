"""Cases and datasets: what is asked, what its scorer needs, and which split a case belongs to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property

from evolve.core.hashing import JSONValue, canonical_json, content_hash, normal_text, sha256_hex


class Split(StrEnum):
    """Each case is in exactly one."""

    TRAIN = "train"
    DEV = "dev"
    HELDOUT = "heldout"


def input_text(value: JSONValue) -> str:
    """The query text of an input: the text itself, the last user turn of messages, else canonical JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and value and all(isinstance(m, dict) and "role" in m for m in value):
        turns = [str(m.get("content", "")) for m in value if m["role"] == "user"]
        return turns[-1] if turns else ""
    return canonical_json(value).decode("utf-8", "surrogatepass")


@dataclass(frozen=True)
class Case:
    """One question with its answer. Only `input` crosses into a harness, a router or a live view of a proposer."""

    id: str
    input: JSONValue
    expected: JSONValue = None
    tags: Mapping[str, str] = field(default_factory=dict)
    group: str = ""

    @cached_property
    def text(self) -> str:
        """What a router sees."""
        return input_text(self.input)

    @cached_property
    def fingerprint(self) -> str:
        """Hash of input and expected value: what a stored result belongs to. Ids and tags do not matter."""
        return content_hash({"input": self.input, "expected": self.expected})

    @cached_property
    def text_key(self) -> str:
        """Hash of the normalised input: what duplicates, overlaps and the error budget are counted by."""
        return sha256_hex(normal_text(self.text).encode("utf-8", "surrogatepass"))

    @property
    def unit(self) -> str:
        """The statistical unit this case belongs to: its group, or itself."""
        return f"group:{self.group}" if self.group else f"case:{self.id}"


def by_unit(cases: Iterable[Case]) -> dict[str, list[Case]]:
    """The cases of each unit, units and cases in order of first appearance."""
    units: dict[str, list[Case]] = {}
    for case in cases:
        units.setdefault(case.unit, []).append(case)
    return units


@dataclass(frozen=True)
class Dataset:
    """Named cases in three splits, in file order within each."""

    name: str
    splits: Mapping[Split, tuple[Case, ...]]

    def __getitem__(self, split: Split) -> tuple[Case, ...]:
        return self.splits.get(split, ())

    @cached_property
    def content_hash(self) -> str:
        """Hash over the ids, fingerprints, groups and splits of all cases, in order."""
        rows = [[s.value, c.id, c.fingerprint, c.group] for s in Split for c in self[s]]
        return content_hash(rows)

    def all_cases(self) -> Iterable[Case]:
        """Every case, train first."""
        for split in Split:
            yield from self[split]
