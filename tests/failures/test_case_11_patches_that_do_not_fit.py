"""Case 11: a patch that does not fit is refused with a reason for every hunk, and never applied in part."""

from __future__ import annotations

import pytest

from harnesses.patch import DeleteFile, Edit, Patch, PatchRefused, ReplaceText, UnifiedDiff, WriteFile, apply_patch
from harnesses.seeds import library_harness

TREE = library_harness("json-answer")
PROMPT = "prompts/answer.md"
GOOD = WriteFile("prompts/extra.md", b"fine\n")
HEAD = f"--- a/{PROMPT}\n+++ b/{PROMPT}\n"


@pytest.mark.parametrize(
    ("edit", "reasons"),
    [
        (ReplaceText(PROMPT, "Answer  with JSON only.", "x"), ["only in white space"]),
        (ReplaceText(PROMPT, "n", "x"), ["ambiguous: 3 matches"]),
        (UnifiedDiff(PROMPT, HEAD + "@@ -3,1 +3,1 @@\n-Answer with  JSON only.\n+x\n"), ["in white space from line 3"]),
        (UnifiedDiff(PROMPT, HEAD + "@@ -1,3 +1,3 @@\n {input}\n"), ["ends early"]),
        (UnifiedDiff(PROMPT, HEAD), ["no hunks"]),
        (
            UnifiedDiff(PROMPT, HEAD + "@@ -1,1 +1,1 @@\n-{question}\n+{input}\n@@ -3,1 +3,1 @@\n-Say it.\n+x\n"),
            ["hunk 1: its context is not in the file", "hunk 2: its context is not in the file"],
        ),
        (ReplaceText("prompts/deleted.md", "a", "b"), ["no such file"]),
        (DeleteFile("prompts/deleted.md"), ["no such file"]),
        (WriteFile("../outside.md", b"x"), ["leaves the tree"]),
        (WriteFile("prompts/../../outside.md", b"x"), ["leaves the tree"]),
        (UnifiedDiff("prompts/l.md", "new file mode 120000\n@@ -0,0 +1 @@\n+/etc/passwd\n"), ["no such file"]),
        (UnifiedDiff(PROMPT, "new file mode 120000\n@@ -0,0 +1 @@\n+/etc/passwd\n"), ["symlinks are not accepted"]),
        (WriteFile("prompts/b.md", b"\x89PNG\0"), ["binary content"]),
    ],
)
def test_each_hunk_has_its_reason_and_nothing_is_applied(edit: Edit, reasons: list[str]) -> None:
    before = dict(TREE)
    with pytest.raises(PatchRefused) as refused:
        apply_patch(TREE, Patch((GOOD, edit)))
    found = refused.value.refusals
    assert len(found) == len(reasons)
    assert all(word in refusal.reason for refusal, word in zip(found, reasons, strict=True))
    assert all(refusal.edit == 2 for refusal in found)
    assert before == TREE


def test_a_patch_without_edits_is_refused() -> None:
    with pytest.raises(PatchRefused, match="no edits"):
        apply_patch(TREE, Patch(()))
