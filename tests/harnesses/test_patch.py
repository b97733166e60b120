"""Patches apply whole or not at all, say why not, and can be undone."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from harnesses.diff import diff_trees, show_safely
from harnesses.patch import (
    DeleteFile,
    Edit,
    Patch,
    PatchRefused,
    ReplaceText,
    UnifiedDiff,
    WriteFile,
    apply_patch,
    invert_patch,
)
from harnesses.paths import PathRules

OPEN = PathRules.unrestricted()
PROMPTS = PathRules(writable=("prompts/**",), forbidden=("prompts/fixed.md",))

LINES = st.lists(
    st.sampled_from(["a", "b", "", " a", "a ", "é\r", "x\u2028y", "@@ -1 +1 @@", "--- a", "\\ No", "-", "+"])
)
TEXT = st.one_of(LINES.map("\n".join), st.text(st.characters(exclude_categories=["Cs"]), max_size=30))
CONTENT = st.one_of(TEXT.map(lambda text: text.encode()), st.binary(max_size=8))
PATHS = st.sampled_from(["prompts/a.md", "prompts/b.md", "c", "c/d", "demonstrations/übung.jsonl", "e f/ g"])


def _is_tree(files: dict[str, bytes]) -> bool:
    return not any(other.startswith(path + "/") for path in files for other in files)


TREES = st.dictionaries(PATHS, CONTENT, max_size=5).filter(_is_tree)


def _reasons(files: dict[str, bytes], *edits: Edit, rules: PathRules = OPEN) -> list[str]:
    before = dict(files)
    with pytest.raises(PatchRefused) as refused:
        apply_patch(files, Patch(edits), rules=rules)
    assert files == before, "a refused patch changes nothing"
    return [refusal.reason for refusal in refused.value.refusals]


@given(a=TREES, b=TREES)
def test_diff_then_apply_gives_the_other_tree(a: dict[str, bytes], b: dict[str, bytes]) -> None:
    assume(a != b)
    patch = diff_trees(a, b).as_patch()
    assert apply_patch(a, patch, rules=OPEN) == b


@given(a=TREES, b=TREES)
def test_apply_then_invert_is_identity(a: dict[str, bytes], b: dict[str, bytes]) -> None:
    assume(a != b)
    patch = diff_trees(a, b).as_patch()
    inverse = invert_patch(a, patch)
    assert apply_patch(apply_patch(a, patch, rules=OPEN), inverse, rules=OPEN) == a


@given(tree=TREES)
def test_equal_trees_differ_in_nothing(tree: dict[str, bytes]) -> None:
    diff = diff_trees(tree, dict(tree))
    assert diff.is_empty
    assert diff.render() == ""
    assert _reasons(tree) == ["the patch holds no edits"]


@given(a=TREES, b=TREES)
def test_rendered_diff_can_be_shown_anywhere(a: dict[str, bytes], b: dict[str, bytes]) -> None:
    shown = diff_trees(a, b).render()
    shown.encode("utf-8")
    assert all(character >= " " or character in "\t\n" for character in shown)
    assert "\u2028" not in shown


def test_direction_overrides_are_shown_and_letters_stay() -> None:
    assert show_safely("user\u202e nimda 日本語 שלום 👩\u200d🔬") == "user\\u202e nimda 日本語 שלום 👩\u200d🔬"


def test_search_and_replace_changes_the_only_match() -> None:
    files = {"p": b"one\ntwo\nthree\n"}
    assert apply_patch(files, Patch((ReplaceText("p", "two", "2"),)), rules=OPEN) == {"p": b"one\n2\nthree\n"}


def test_later_edits_see_earlier_ones() -> None:
    patch = Patch((WriteFile("p", b"new"), ReplaceText("p", "new", "newer"), DeleteFile("q")))
    assert apply_patch({"q": b""}, patch, rules=OPEN) == {"p": b"newer"}


def test_search_text_that_does_not_match_once_says_why() -> None:
    files = {"p": b"Answer in one word.\nBe  brief.\nAnswer in one word.\n"}
    assert _reasons(files, ReplaceText("p", "Answer in one word.", "x")) == [
        "the search text is ambiguous: 2 matches (lines 1, 3); add context lines"
    ]
    assert _reasons(files, ReplaceText("p", "Be brief.", "x")) == [
        "the search text differs only in white space from line 2: 'Be  brief.'"
    ]
    assert _reasons(files, ReplaceText("p", "Be short.", "x")) == [
        "the search text is not in the file; the nearest line is 2: 'Be  brief.'"
    ]
    assert _reasons(files, ReplaceText("p", "", "x")) == ["the search text is empty"]
    assert _reasons({"p": b"aaa"}, ReplaceText("p", "aa", "x"))[0].startswith("the search text is ambiguous")


def test_every_broken_edit_gets_its_reason_and_good_ones_do_not_apply() -> None:
    reasons = _reasons({"p": b"x"}, WriteFile("ok", b"fine"), DeleteFile("gone"), ReplaceText("p", "y", "z"))
    assert len(reasons) == 2
    assert reasons[0] == "there is no such file"


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("../outside", "leaves the tree"),
        ("prompts/../../x", "leaves the tree"),
        ("/etc/passwd", "absolute"),
        ("C:/x", "absolute"),
        ("prompts//x.md", "canonical"),
        ("prompts/.git/hooks/x", ".git"),
        ("prompts/a\nb", "control character"),
        ("harness.yaml", "not writable"),
        ("prompts/fixed.md", "forbidden"),
    ],
)
def test_paths_outside_the_permissions_are_refused(path: str, reason: str) -> None:
    assert reason in _reasons({}, WriteFile(path, b"x"), rules=PROMPTS)[0]


def test_binary_content_is_refused_by_name() -> None:
    assert _reasons({}, WriteFile("prompts/x", b"\0"), rules=PROMPTS) == ["binary content is not accepted"]
    assert _reasons({}, WriteFile("prompts/x", b"\xff\xfe"), rules=PROMPTS) == ["binary content is not accepted"]


def test_a_file_cannot_also_be_a_folder() -> None:
    assert _reasons({"c": b""}, WriteFile("c/d", b"")) == ["c is a file, so it cannot hold c/d"]
    assert _reasons({"c/d": b""}, WriteFile("c", b"")) == ["c is a folder"]


FILE = "".join(f"line {number}\n" for number in range(1, 21)).encode()


def test_a_hunk_applies_where_its_context_is_even_if_the_line_number_is_off() -> None:
    diff = "@@ -1,3 +1,3 @@\n line 9\n-line 10\n+line ten\n line 11\n"
    changed = apply_patch({"p": FILE}, Patch((UnifiedDiff("p", diff),)), rules=OPEN)["p"]
    assert changed == FILE.replace(b"line 10\n", b"line ten\n")


def test_each_broken_hunk_gets_its_own_reason() -> None:
    diff = (
        "--- a/p\n+++ b/p\n@@ -1,2 +1,2 @@\n line 1\n-line 2\n+line two\n"
        "@@ -5,2 +5,2 @@\n line  5\n-line 6\n+line six\n@@ -9,2 +9,2 @@\n line 9\n-never there\n+x\n"
    )
    reasons = _reasons({"p": FILE}, UnifiedDiff("p", diff))
    assert len(reasons) == 2
    assert reasons[0].startswith("hunk 2: its context differs only in white space from line 5")
    assert reasons[1].startswith("hunk 3: its context is not in the file")


@pytest.mark.parametrize(
    ("diff", "reason"),
    [
        ("", "no hunks"),
        ("--- a/p\n+++ b/p\n", "no hunks"),
        ("@@ -1,3 +1,3 @@\n line 1\n-line 2\n", "ends early: 1 old and 2 new lines are missing"),
        ("@@ -1,1 +1,1 @@\n-line 1\n+x\n line 2\n", "more lines than its header says"),
        ("@@ nonsense @@\n-line 1\n", "not a hunk header"),
        ("@@ -1 +1 @@\n*line 1\n", "starts with '*'"),
        ("--- a/p\n+++ b/../q\n@@ -1 +1 @@\n-line 1\n+x\n", "names b/../q, not p"),
        ("--- a/p\n+++ /dev/null\n@@ -1 +0,0 @@\n-line 1\n", "delete edit"),
        ("rename from p\nrename to q\n", "renames are not supported"),
        ("new file mode 120000\n@@ -0,0 +1 @@\n+/etc/passwd\n", "symlinks are not accepted"),
        ("GIT binary patch\nliteral 3\n", "binary content is not accepted"),
    ],
)
def test_malformed_diffs_are_refused_by_name(diff: str, reason: str) -> None:
    assert reason in _reasons({"p": FILE}, UnifiedDiff("p", diff))[0]


def test_an_ambiguous_hunk_is_refused() -> None:
    diff = "@@ -7,1 +7,1 @@\n-same\n+other\n"
    assert "fits at 2 places (lines 1, 3)" in _reasons({"p": b"same\nx\nsame\n"}, UnifiedDiff("p", diff))[0]
