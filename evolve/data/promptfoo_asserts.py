"""promptfoo assertions: which of them have a scorer here, and the expected value that they state."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from evolve.core.hashing import JSONValue

SCORERS: Mapping[str, str] = {
    "equals": "{kind: exact, strict: true}",
    "contains": "{kind: contains, whole_words: false}",
    "icontains": "{kind: contains, whole_words: false}",
    "contains-all": "{kind: contains, whole_words: false}",
    "icontains-all": "{kind: contains, whole_words: false}",
    "contains-any": "{kind: contains, need: any, whole_words: false}",
    "icontains-any": "{kind: contains, need: any, whole_words: false}",
    "llm-rubric": "{kind: judge, rubric: the answer meets what is expected}",
}
"""Assertion type → the scorer that grades it here. Case does not count in any `contains`."""

OTHERS = frozenset(
    {
        "answer-relevance", "bleu", "classifier", "contains-html", "contains-json", "contains-sql",
        "contains-xml", "context-faithfulness", "context-recall", "context-relevance", "conversation-relevance",
        "cost", "eval", "f-score", "factuality", "finish-reason", "fn", "g-eval", "gleu", "guardrails",
        "is-html", "is-json", "is-refusal", "is-sql", "is-valid-function-call", "is-valid-openai-function-call",
        "is-valid-openai-tools-call", "is-xml", "javascript", "latency", "levenshtein", "meteor",
        "model-graded-closedqa", "model-graded-factuality", "moderation", "perplexity", "perplexity-score",
        "pi", "python", "regex", "rouge-n", "ruby", "search-rubric", "similar", "starts-with", "tool-call-f1",
        "trajectory", "webhook", "word-count"
    }
)  # fmt: skip
"""Assertion types without a scorer here; in a table they are told from plain answers by these names."""

TEST_FIELDS = frozenset({"description", "vars", "assert", "options", "metadata", "provider", "providers"})
"""What a test may state without meaning something else here than there."""

ASSERT_FIELDS = frozenset({"type", "value", "metric", "provider"})
UNGRADED_CELLS = ("__description", "__metric")
"""Columns that name a test or its score and change neither."""

_CELL = re.compile(r"(not-)?([a-z0-9-]+)(\([\d.]+\))?(?::(.*))?", re.DOTALL)
_NAME = re.compile(r"\{\{\s*(\w+)\s*\}\}")


def assertion_of_cell(text: str) -> dict[str, Any]:
    """`icontains: x` is an assertion of that type; a text that begins with no known type is to be equalled."""
    found = _CELL.fullmatch(text.strip())
    if found is None:
        return {"type": "equals", "value": text}
    negated, kind, threshold, value = found.groups()
    kind = "llm-rubric" if kind == "grade" else kind
    if (kind not in SCORERS and kind not in OTHERS) or (value is None and kind in SCORERS):
        return {"type": "equals", "value": text}
    value = (value or "").strip()
    parts: JSONValue = [part.strip() for part in value.split(",")] if kind.endswith(("-all", "-any")) else value
    extra = {"threshold": threshold[1:-1]} if threshold else {}
    return {"type": (negated or "") + kind, "value": parts, **extra}


def expected_of(asserts: Any, variables: Mapping[str, Any]) -> tuple[str, JSONValue]:
    """(type, value) of the one assertion; several `contains` are one with all their values.

    ValueError for assertions that have no scorer here.
    """
    if not asserts:
        raise ValueError("the test has no assert")
    if not isinstance(asserts, list) or not all(isinstance(item, dict) for item in asserts):
        raise ValueError("`assert` is not a list of assertions")
    values = [_value(item, variables) for item in asserts]
    kinds = [str(item["type"]) for item in asserts]
    if len(asserts) == 1:
        return kinds[0], values[0]
    if set(kinds) <= {"contains", "icontains"}:
        return kinds[0], values
    raise ValueError(f"several assertions in one test: {', '.join(kinds)}")


def _value(item: Mapping[str, Any], variables: Mapping[str, Any]) -> JSONValue:
    kind = str(item.get("type"))
    if kind not in SCORERS:
        raise ValueError(f"the assertion {kind!r} has no scorer here; known: {', '.join(SCORERS)}")
    strange = next((name for name in item if name not in ASSERT_FIELDS and (name, item[name]) != ("weight", 1)), None)
    if strange is not None:
        raise ValueError(f"`{strange}` of the assertion {kind!r} has no counterpart here")
    value = item.get("value")
    if kind.endswith(("-all", "-any")) and isinstance(value, str):
        value = [part.strip() for part in value.split(",")]
    if value in (None, "", []):
        raise ValueError(f"the assertion {kind!r} states no value")
    return _filled(value, variables)


def _filled(value: Any, variables: Mapping[str, Any]) -> JSONValue:
    """The value with `{{name}}` filled in; ValueError for a file, or for a template that says more than a name."""
    if isinstance(value, dict):
        return {key: _filled(item, variables) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_filled(item, variables) for item in value]
    if not isinstance(value, str):
        return value
    if value.startswith("file://"):
        raise ValueError(f"the expected value is in a file, {value!r}: write it into the test")
    bare = _NAME.sub("", value)
    missing = next(
        (name for name in _NAME.findall(value) if not isinstance(variables.get(name), str | int | float)), None
    )
    if "{{" in bare or "{%" in bare or missing is not None:
        raise ValueError(f"the expected value {value[:60]!r} is a template that is not filled in here")
    return _NAME.sub(lambda found: str(variables[found[1]]), value)
