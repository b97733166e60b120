"""A harness on disk is read whole and strictly; its manifest says what is wrong and where."""

from __future__ import annotations

from pathlib import Path

import pytest

from evolve.core.errors import UserError
from harnesses.check import check_harness
from harnesses.directory import read_harness, write_harness
from harnesses.manifest import harness_tools, harness_workflow, read_manifest
from harnesses.seeds import library_harness, library_names

MANIFEST = b"schema: 1\nname: desk\n"


def test_every_seed_is_a_whole_harness() -> None:
    assert "json-answer" in library_names()
    for name in library_names():
        files = library_harness(name)
        assert check_harness(files) == []
        assert read_manifest(files).name == name
        assert harness_tools(files) == {}


def test_an_unknown_seed_names_the_nearest() -> None:
    with pytest.raises(UserError, match="json-answer"):
        library_harness("json-anser")


def test_a_tree_survives_disk_byte_for_byte(tmp_path: Path) -> None:
    files = dict(library_harness("json-answer")) | {
        "prompts/ü ber/日本.md": "\u2028e\u0301👩\u200d🔬\r\n".encode(),
        "x.bin": b"\0\xff",
    }
    target = tmp_path / "mein Büro"
    write_harness(files, target)
    assert read_harness(target) == files
    with pytest.raises(UserError, match="not an empty folder"):
        write_harness(files, target)


def test_only_history_and_bytecode_are_left_out(tmp_path: Path) -> None:
    for path in (".git/config", "prompts/__pycache__/x.pyc", ".hidden", "notes.txt"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("x")
    (tmp_path / "harness.yaml").write_bytes(MANIFEST)
    assert set(read_harness(tmp_path)) == {".hidden", "harness.yaml", "notes.txt"}


def test_symlinks_are_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "harness.yaml").write_bytes(MANIFEST)
    (tmp_path / "link.md").symlink_to("/etc/passwd")
    with pytest.raises(UserError, match=r"link\.md: symlinks"):
        read_harness(tmp_path)


def test_a_large_binary_is_refused_and_a_large_text_is_not(tmp_path: Path) -> None:
    (tmp_path / "harness.yaml").write_bytes(MANIFEST)
    (tmp_path / "long.md").write_text("x" * 1_500_000)
    assert len(read_harness(tmp_path)["long.md"]) == 1_500_000
    (tmp_path / "weights.bin").write_bytes(b"\0" * 1_000_001)
    with pytest.raises(UserError, match=r"weights\.bin: a binary file of 1,000,001 bytes"):
        read_harness(tmp_path)


def test_a_folder_without_manifest_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no harness\.yaml"):
        read_harness(tmp_path)
    with pytest.raises(UserError, match="no such folder"):
        read_harness(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("text", "place", "fix"),
    [
        ("schema: 1\nname: desk\nlimit: {}\n", "harness.yaml: limit", "limits"),
        ("schema: 1\nname: desk\nlimits: {max_call: 3}\n", "harness.yaml: limits.max_call", "max_calls"),
        ("schema: 1\n", "harness.yaml: name", "add `name`"),
        ("schema: 2\nname: desk\n", "harness.yaml: schema", ""),
        ("schema: 1\nname: desk\nlimits: {timeout_seconds: .nan}\n", "harness.yaml: limits.timeout_seconds", ""),
        ("schema: 1\nname: desk\nworkflow: ../w.yaml\n", "harness.yaml: workflow", ""),
        ("schema: 1\nname: desk\nname: other\n", "harness.yaml:3", ""),
        ("schema: 1\nname: [desk\n", "harness.yaml:", ""),
        ("- schema\n", "harness.yaml", ""),
        ("[" * 5000, "harness.yaml", ""),
    ],
)
def test_a_broken_manifest_names_file_key_and_fix(text: str, place: str, fix: str) -> None:
    with pytest.raises(UserError) as error:
        read_manifest({"harness.yaml": text.encode()})
    assert error.value.place.startswith(place)
    assert fix in error.value.fix


def test_the_manifest_itself_is_never_open_to_a_patch() -> None:
    rules = read_manifest({"harness.yaml": MANIFEST + b"writable: ['**']\n"}).rules
    assert "forbidden" in rules.refusal("harness.yaml")
    assert rules.refusal("anything/else.md") == ""


def test_default_permissions_open_what_steers_and_nothing_else() -> None:
    rules = read_manifest({"harness.yaml": MANIFEST}).rules
    opened = ["prompts/a/b.md", "demonstrations/x.jsonl", "schemas/x.json", "workflow.yaml"]
    assert [rules.refusal(path) for path in opened] == [""] * 4
    assert all(rules.refusal(path) for path in ("tools.yaml", "tools/x.py", "prompts.md", "a/workflow.yaml"))


_WITH_SCHEMA = {
    "workflow.yaml": b"schema: 1\nstart: a\nnodes:\n  a:\n    operator: generate\n"
    b"    params: {prompt: prompts/answer.md, parse: json, schema: schemas/a.json}\n"
}


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (
            {"workflow.yaml": b"schema: 1\nstart: nope\nnodes: {a: {operator: nearest}}\n"},
            "nope",
        ),
        ({"workflow.yaml": b"nodes: ["}, "workflow.yaml"),
        ({"workflow.yaml": b"nodes: " + b"[" * 60_000}, "nested too deeply"),
        ({"demonstrations/a.jsonl": b'{"id": "1", "input": "x"}\n{"input"'}, "demonstrations/a.jsonl"),
        ({"demonstrations/a.jsonl": b'{"input": "x"}\n'}, "id"),
        (_WITH_SCHEMA | {"schemas/a.json": b"{"}, "schemas/a.json"),
        (_WITH_SCHEMA, "schemas/a.json"),
        ({"prompts/answer.md": b"Answer."}, "prompts/answer.md"),
        ({"prompts/../x": b""}, "prompts/../x"),
    ],
)
def test_check_names_what_is_broken(change: dict[str, bytes], word: str) -> None:
    problems = check_harness({**library_harness("json-answer"), **change})
    assert any(word in f"{problem.node} {problem.message}" for problem in problems)


def test_check_finds_a_missing_prompt_an_unknown_role_and_missing_files() -> None:
    files = library_harness("json-answer")
    del files["prompts/answer.md"]
    assert any("prompts/answer.md" in problem.message for problem in check_harness(files))
    files = library_harness("json-answer")
    files["workflow.yaml"] = files["workflow.yaml"].replace(b"parse: json", b"parse: json\n      role: judge")
    assert any("judge" in problem.message for problem in check_harness(files))
    assert any("harness.yaml" in problem.message for problem in check_harness({}))


def test_the_workflow_is_the_one_that_the_manifest_names() -> None:
    files = library_harness("json-answer")
    files["flows/main.yaml"] = files.pop("workflow.yaml")
    files["harness.yaml"] = files["harness.yaml"].replace(b"workflow: workflow.yaml", b"workflow: flows/main.yaml")
    assert harness_workflow(files).start == "answer"
