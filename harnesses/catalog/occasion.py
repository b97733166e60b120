"""What a catalog entry is given, and how it turns nodes and files into a whole proposal."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from evolve.core.hashing import JSONValue, canonical_json
from evolve.core.messages import Capability
from evolve.core.protocols import Files
from harnesses.check import check_harness
from harnesses.demonstrations import FOLDER, demonstration_ids, demonstration_paths
from harnesses.diff import diff_trees
from harnesses.manifest import harness_workflow, read_manifest
from harnesses.proposal import Hypothesis, Proposal
from harnesses.shapes import Example, Field, Kind, Shape
from workflows.asking.demonstrations import Demonstration, dump_demonstrations
from workflows.asking.prompts import placeholders
from workflows.spec import Node, Workflow, dump_workflow

LONG_TEXT = 600
"""Characters of an input above which it makes a poor demonstration for a model with a small context."""

ANSWER_TOKENS = 200


@dataclass(frozen=True)
class Occasion:
    """One shape that fails: the parent tree, the train examples of that shape, and the ids that went wrong."""

    parent: Files
    shape: Shape
    failing_ids: frozenset[str]
    capabilities: frozenset[Capability]
    rng: random.Random


Entry = Callable[[Occasion], Proposal | None]
"""A proposal for this occasion, or None when the operator does not fit it."""


@dataclass(frozen=True)
class Draft:
    """A new workflow with the files it needs, and what it is meant to do. Paths that fall idle are dropped."""

    entry: str
    nodes: Mapping[str, Node]
    start: str
    lever: str
    files: Mapping[str, bytes] = field(default_factory=dict)
    cause: str = "are wrong or cannot be read"
    max_visits: int = 1
    output: str | None = None


def finish(occasion: Occasion, draft: Draft) -> Proposal | None:
    """The proposal of a draft; None when the manifest, the static check or the parent itself rules it out."""
    manifest = read_manifest(occasion.parent)
    workflow = Workflow(start=draft.start, nodes=dict(draft.nodes), max_visits=draft.max_visits, output=draft.output)
    files = {**occasion.parent, **draft.files, manifest.workflow: dump_workflow(workflow).encode()}
    for path in demonstration_paths(files):
        if not _mentions(workflow, path):
            del files[path]
    patch = diff_trees(occasion.parent, files).as_patch()
    touched = (edit.path for edit in patch.edits)
    if not patch.edits or any(manifest.rules.refusal(path) for path in touched) or check_harness(files):
        return None
    return Proposal(files, patch, _hypothesis(occasion, draft, files), f"catalog:{draft.entry}", occasion.shape.name)


def _hypothesis(occasion: Occasion, draft: Draft, files: Files) -> Hypothesis:
    shape = occasion.shape
    target = (shape.case_ids & occasion.failing_ids) - demonstration_ids(files)
    cases = f"the {len(target)} failing train cases of this shape" if target else "the cases of this shape"
    return Hypothesis(
        cause=f"answers of shape {shape.name} {draft.cause}",
        lever=draft.lever,
        predicted_effect=f"more of {cases} are right",
        refuted_by=f"no more of {cases} are right than before",
        target=f"answers of shape {shape.name}",
        target_case_ids=target,
    )


def _mentions(workflow: Workflow, path: str) -> bool:
    return any(path in _texts(node.params) for node in workflow.nodes.values())


def _texts(value: JSONValue) -> Iterator[str]:
    """Every text in a value, however deep."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _texts(item)


def demonstration_path(entry: str, shape: Shape) -> str:
    """Where an entry keeps its demonstrations of a shape."""
    return f"{FOLDER}{entry}-{shape.slug()}.jsonl"


def prompt_path(entry: str, shape: Shape) -> str:
    """Where an entry keeps its prompt for a shape."""
    return f"prompts/{entry}-{shape.slug()}.md"


def label_field(shape: Shape) -> Field | None:
    """The field of a shape whose only field is label-like."""
    only = shape.fields[0] if len(shape.fields) == 1 else None
    return only if only is not None and Kind.LABEL in only.kinds else None


def pick_balanced(occasion: Occasion, examples: Sequence[Example], k: int) -> list[Example]:
    """At most `k` examples, short texts first, taking turns over distinct answers; in random order."""
    return _take_turns(occasion, examples, k, lambda example: canonical_json(example.expected))


def _take_turns(
    occasion: Occasion, examples: Sequence[Example], k: int, key: Callable[[Example], bytes]
) -> list[Example]:
    groups: dict[bytes, list[Example]] = {}
    usable = [e for e in examples if len(e.text) <= LONG_TEXT] or list(examples)
    for example in sorted(usable, key=lambda e: (len(e.text), e.id)):
        groups.setdefault(key(example), []).append(example)
    picked: list[Example] = []
    while len(picked) < k and any(groups.values()):
        for group in groups.values():
            if group and len(picked) < k:
                picked.append(group.pop(0))
    occasion.rng.shuffle(picked)
    return picked


def ask_role(parent: Files) -> dict[str, JSONValue]:
    """The `role` parameter for a node that asks a model; none where the usual `agent` will do."""
    roles = read_manifest(parent).roles
    return {} if "agent" in roles else {"role": next(iter(roles))}


def answer_rows(examples: Iterable[Example]) -> bytes:
    """Demonstrations that show the expected answer as it is."""
    return dump_demonstrations(tuple(Demonstration(id=e.id, input=e.text, output=e.expected) for e in examples))


def generate_params(occasion: Occasion) -> tuple[dict[str, JSONValue], dict[str, bytes]]:
    """Parameters of a `generate` node that asks as the parent asks, and the prompt file where the parent has none."""
    object_answer = occasion.shape.is_object
    params: dict[str, JSONValue] = {"parse": "json" if object_answer else "text", "max_tokens": ANSWER_TOKENS}
    for node in harness_workflow(occasion.parent).nodes.values():
        asked = node.params.get("sample", node.params)
        if isinstance(asked, dict) and node.operator in {"generate", "vote"} and asked.get("prompt") in occasion.parent:
            kept: dict[str, JSONValue] = {key: asked[key] for key in ("prompt", "system", "role") if key in asked}
            if not _names_nodes(occasion.parent, str(kept["prompt"])):
                return {**kept, **params}, {}
    path = prompt_path("answer", occasion.shape)
    ending = "Answer with JSON only." if object_answer else "Answer briefly."
    return {"prompt": path, **params, **ask_role(occasion.parent)}, {path: f"{{input}}\n\n{ending}\n".encode()}


def _names_nodes(parent: Files, prompt: str) -> bool:
    """True when the prompt quotes the output of another node, which a workflow of one node does not have."""
    named = placeholders(parent[prompt].decode("utf-8", "replace"))
    return not named.isdisjoint(harness_workflow(parent).nodes)


def pick_by_tool(occasion: Occasion, examples: Sequence[Example], k: int) -> list[Example]:
    """At most `k` examples, short texts first, taking turns over tools; in random order."""
    return _take_turns(occasion, examples, k, lambda example: canonical_json(example.expected["tool"]))


def schema_bytes(schema: Mapping[str, JSONValue]) -> bytes:
    """A schema file, readable."""
    return (json.dumps(schema, indent=2, ensure_ascii=False) + "\n").encode("utf-8")
