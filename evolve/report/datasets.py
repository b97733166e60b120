"""What a set of cases holds, in counts: never a text of heldout, train texts only when asked for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from evolve.core.cases import Case, Dataset, Split
from evolve.core.hashing import short
from evolve.data import LoadReport
from evolve.store import Home

SHOWN = 5


def dataset_document(dataset: Dataset, report: LoadReport, home: Home | None, alpha: float) -> dict[str, Any]:
    """Counts by split and tag, lengths, groups, what was left out, and what is left of the error budget."""
    sealed = [case.text_key for case in dataset[Split.HELDOUT]]
    spent = home.alpha.spent(sealed) if home is not None else {}
    left = max(0.0, alpha - max(spent.values(), default=0.0))
    return {
        "cases": len(report.cases),
        "fingerprint": dataset.content_hash,
        "splits": {split.value: _split(dataset[split]) for split in Split},
        "skipped": [{"line": bad.line, "reason": bad.reason} for bad in report.skipped],
        "notes": list(report.notes),
        "alpha": alpha,
        "alpha_left": left,
        "heldout_spent": sum(value > 0 for value in spent.values()),
    }


def split_sizes(dataset: Dataset) -> dict[str, int]:
    """How many cases each split holds."""
    return {split.value: len(dataset[split]) for split in Split}


def _split(cases: Sequence[Case]) -> dict[str, Any]:
    lengths = sorted(len(case.text) for case in cases)
    tags = Counter(f"{name}={value}" for case in cases for name, value in case.tags.items())
    return {
        "cases": len(cases),
        "units": len({case.unit for case in cases}),
        "groups": len({case.group for case in cases if case.group}),
        "repeated": len(cases) - len({case.text_key for case in cases}),
        "tags": dict(tags.most_common()),
        "characters": {"least": lengths[0], "median": lengths[len(lengths) // 2], "most": lengths[-1]}
        if lengths
        else {},
    }


def dataset_lines(document: Mapping[str, Any]) -> list[str]:
    """The document for a person."""
    lines = [f"{document['cases']} cases, fingerprint {short(document['fingerprint'])}"]
    for name, split in document["splits"].items():
        lengths = split["characters"]
        span = f", {lengths['least']} to {lengths['most']} characters (median {lengths['median']})" if lengths else ""
        lines.append(f"{name:8} {split['cases']:5} cases in {split['units']} independent groups{span}")
        if split["groups"] or split["repeated"]:
            lines.append(f"         {split['groups']} named groups, {split['repeated']} repeat a text of another case")
        if split["tags"]:
            shown = ", ".join(f"{tag} {count}" for tag, count in list(split["tags"].items())[:8])
            lines.append(f"         {shown}{' …' if len(split['tags']) > 8 else ''}")
    lines.append(
        f"error budget of heldout: {100 * document['alpha_left']:.2g} of {100 * document['alpha']:.2g} in 100 left; "
        f"{document['heldout_spent']} of its cases have spent some in this home"
    )
    return lines + left_out_lines(document)


def left_out_lines(document: Mapping[str, Any]) -> list[str]:
    """What `skip_bad` left out, and what was tolerated."""
    skipped = document["skipped"]
    lines = [f"left out: {len(skipped)} bad rows"] if skipped else []
    lines += [f"  line {bad['line']}: {bad['reason']}" for bad in skipped[:SHOWN]]
    lines += [f"  and {len(skipped) - SHOWN} more"] if len(skipped) > SHOWN else []
    return lines + [f"note: {note}" for note in document["notes"]]


def example_lines(cases: Sequence[Case]) -> list[str]:
    """The first few cases of a split that may be seen."""
    return [f"{case.id}: {case.text[:100]!r} → {str(case.expected)[:60]!r}" for case in cases[:SHOWN]]
