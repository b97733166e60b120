"""Reading a model's proposal: refused with a kind and a reason, or a checked Proposal."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from evolve.core.errors import EvolveError
from evolve.core.hashing import JSONValue
from evolve.core.protocols import Files
from harnesses.check import check_harness
from harnesses.leak import LeakIndex, leak_check
from harnesses.patch import Edit, Patch, PatchRefused, ReplaceText, WriteFile, apply_patch
from harnesses.proposal import Hypothesis, Proposal, is_duplicate, normal_tree_hash

MAX_REPLY = 200_000
"""Characters of a reply that are read; a longer one is refused."""
MAX_BRACES = 2_000
"""How many opening braces outside objects are tried: reading stays fast whatever the model wrote."""
MAX_EDITS = 20

RefusalKind = Literal["format", "patch", "check", "duplicate", "leak"]
_FORM = ConfigDict(extra="forbid", frozen=True)
_Sentence = Annotated[str, Field(min_length=1, max_length=2_000)]


class ProposalRefused(EvolveError):
    """This reply is no candidate. `reason` can be shown to the proposer: it quotes no sealed text."""

    def __init__(self, kind: RefusalKind, reason: str) -> None:
        self.kind = kind
        self.reason = reason
        super().__init__(f"{kind}: {reason}")


class _Write(BaseModel):
    model_config = _FORM

    path: str
    content: str


class _Replace(BaseModel):
    model_config = _FORM

    path: str
    search: str
    replace: str


class _Reply(BaseModel):
    model_config = _FORM

    cause: _Sentence
    lever: _Sentence
    predicted_effect: _Sentence
    refuted_by: _Sentence
    edits: Annotated[list[_Write | _Replace], Field(min_length=1, max_length=MAX_EDITS)]


def read_model_proposal(
    text: str, files: Files, *, seen: Collection[str] = (), leaks: LeakIndex | None = None
) -> Proposal:
    """The proposal in a reply about the harness `files`.

    `seen` holds normal tree hashes of everything proposed before (the parent counts by itself). Raises
    ProposalRefused with the first kind that applies: format, patch, duplicate, check, leak.
    """
    reply = _last_valid(text)
    patch = Patch(tuple(_edit(edit) for edit in reply.edits))
    try:
        tree = apply_patch(files, patch)
    except PatchRefused as error:
        raise ProposalRefused("patch", str(error)) from error
    if is_duplicate(tree, {normal_tree_hash(files), *seen}):
        raise ProposalRefused("duplicate", "equal to its parent or to an earlier proposal, but for white space")
    if problems := check_harness(tree):
        raise ProposalRefused("check", "\n".join(str(problem) for problem in problems))
    if leaks is not None and (found := leak_check(files, tree, leaks)):
        cases = len({leak.case_id for leak in found})
        paths = ", ".join(sorted({leak.path for leak in found}))
        raise ProposalRefused("leak", f"text of {cases} cases stands in {paths}")
    hypothesis = Hypothesis(reply.cause, reply.lever, reply.predicted_effect, reply.refuted_by)
    return Proposal(tree, patch, hypothesis, "model")


def _edit(edit: _Write | _Replace) -> Edit:
    if isinstance(edit, _Write):
        return WriteFile(edit.path, edit.content.encode("utf-8", "surrogatepass"))
    return ReplaceText(edit.path, edit.search, edit.replace)


def _last_valid(text: str) -> _Reply:
    """The last JSON object of the reply that has the asked form; drafts before it and thinking do not count."""
    if len(text) > MAX_REPLY:
        raise ProposalRefused("format", f"longer than {MAX_REPLY:,} characters")
    said = re.sub(r"<think>.*?</think>", "", text, flags=re.DOTALL)
    if not said.strip():
        raise ProposalRefused("format", "the reply is empty")
    objects = list(_objects(said))
    prose = "".join(part for part, _ in objects)
    if "<think>" in prose:
        raise ProposalRefused("format", "the thinking was never closed: the reply was cut")
    if prose.count("```") % 2:
        raise ProposalRefused("format", "a fence was never closed: the reply was cut")
    reason = "the reply holds no JSON object"
    for _, value in reversed(objects):
        if value is not None:
            try:
                return _Reply.model_validate(value)
            except ValidationError as error:
                first = error.errors(include_url=False, include_input=False)[0]
                reason = f"{'.'.join(str(part) for part in first['loc'])}: {first['msg']}"
    raise ProposalRefused("format", reason)


def _objects(text: str) -> Iterator[tuple[str, JSONValue]]:
    """The outermost JSON objects in order, each with the prose before it; the prose after the last comes with None."""
    decoder = json.JSONDecoder()
    start = at = 0
    for _ in range(MAX_BRACES):
        at = text.find("{", at)
        if at < 0:
            break
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            at += 1
            continue
        yield text[start:at], value
        start = at = end
    yield text[start:], None
