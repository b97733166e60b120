"""Catalog proposals: whole trees, aimed at the shapes that fail, reproducible, and covering every failing shape."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from evolve.core.errors import WorldError
from evolve.core.messages import Capability, ModelReply, ModelRequest
from evolve.core.protocols import Files
from harnesses.catalog.order import ENTRIES, CatalogSettings, catalog_proposals
from harnesses.check import check_harness
from harnesses.demonstrations import demonstration_ids
from harnesses.manifest import harness_tools, harness_workflow
from harnesses.patch import apply_patch
from harnesses.proposal import Proposal, normal_tree_hash
from harnesses.seeds import library_harness
from harnesses.shapes import Example
from workflows.compile import compile_workflow
from workflows.kit import Kit
from workflows.spec import Node

TEAMS = {
    "billing": [
        "I was charged twice",
        "My invoice shows the wrong sum",
        "Refund my last payment",
        "The receipt is missing",
    ],
    "shipping": [
        "My parcel never came",
        "Where is the delivery",
        "The courier lost my box",
        "Track my shipment please",
    ],
    "account": ["I cannot log in", "Reset my password", "Change my e-mail address", "Delete my profile"],
}
ROUTING = [
    Example(f"route-{team}-{number}", text, {"team": team})
    for team, texts in TEAMS.items()
    for number, text in enumerate(texts)
]
SUMS = [
    Example("sum-0", "A box holds 12 pens. How many pens are in 7 boxes?", {"answer": 84}),
    Example("sum-1", "Mia had 45 stickers and gave 18 away. How many are left?", {"answer": 27}),
    Example("sum-2", "A rope of 96 metres is cut into 8 equal pieces. How long is one?", {"answer": 12}),
    Example("sum-3", "There are 23 red and 31 blue cars. How many cars are there?", {"answer": 54}),
    Example("sum-4", "A ticket costs 9 euros. What do 13 tickets cost?", {"answer": 117}),
    Example("sum-5", "From 400 litres, 155 are used. What remains?", {"answer": 245}),
]
INVOICES = [
    Example(
        f"invoice-{number}",
        f"Invoice from {vendor}, issued {written}, total due {total} by bank transfer.",
        {"vendor": vendor, "date": iso, "total": value},
    )
    for number, (vendor, written, iso, total, value) in enumerate(
        [
            ("Nordwind GmbH", "3 May 2024", "2024-05-03", "$120.50", 120.5),
            ("Acme Supplies", "14 June 2024", "2024-06-14", "$75.00", 75.0),
            ("Blue Harbor", "2 July 2023", "2023-07-02", "$1,310.20", 1310.2),
            ("Kestrel Labs", "28 February 2024", "2024-02-28", "$42.99", 42.99),
            ("Olive & Sons", "9 October 2022", "2022-10-09", "$640.00", 640.0),
        ]
    )
]
CALLS = [
    Example(f"call-{number}", text, {"tool": tool, "args": args})
    for number, (text, tool, args) in enumerate(
        [
            ("Cancel order 4711 now", "cancel_order", {"order_id": 4711}),
            ("Please cancel my order 88", "cancel_order", {"order_id": 88}),
            ("Turn 30 EUR into dollars", "convert_amount", {"amount": 30, "currency": "EUR"}),
            ("How much is 15 GBP in dollars?", "convert_amount", {"amount": 15, "currency": "GBP"}),
        ]
    )
]
TOOLS_YAML = b"""schema: 1
tools:
  - name: cancel_order
    description: Cancels one order.
    parameters: [{name: order_id, type: integer}]
  - name: convert_amount
    description: Converts an amount of money to dollars.
    parameters: [{name: amount, type: number}, {name: currency, type: string}]
"""
EXAMPLES = [*ROUTING, *SUMS, *INVOICES, *CALLS]

ALL = frozenset(Capability)
EVERY_ID = frozenset(example.id for example in EXAMPLES)


def _parent() -> dict[str, bytes]:
    files = library_harness("json-answer") | {"tools.yaml": TOOLS_YAML}
    files["harness.yaml"] += b"tools: tools.yaml\n"
    return files


def _propose(failing: Iterable[str] = EVERY_ID, parent: Files | None = None, **changes: object) -> list[Proposal]:
    settings = CatalogSettings(**{"capabilities": ALL, "limit": 100, **changes})  # type: ignore[arg-type]
    return catalog_proposals(parent or _parent(), EXAMPLES, failing_ids=set(failing), settings=settings)


@pytest.fixture(scope="module")
def proposals() -> list[Proposal]:
    return _propose()


def _ids(examples: Iterable[Example]) -> frozenset[str]:
    return frozenset(example.id for example in examples)


def _node(proposal: Proposal, name: str = "answer") -> Node:
    return harness_workflow(proposal.files).nodes[name]


def _by_entry(proposals: Iterable[Proposal], shape: str) -> dict[str, Proposal]:
    return {p.source.removeprefix("catalog:"): p for p in proposals if p.shape == shape}


def test_every_entry_has_its_say_on_the_shapes_that_it_fits(proposals: list[Proposal]) -> None:
    general = {"demonstrations", "plain_demonstrations", "constrained", "retry"}
    assert set(_by_entry(proposals, "{team}")) >= general | {"labels", "nearest"}
    assert set(_by_entry(proposals, "{answer}")) >= general | {"calculator"}
    assert "spans" in _by_entry(proposals, "{date, total, vendor}")
    assert "tools" in _by_entry(proposals, "{args, tool}")
    assert {proposal.source.removeprefix("catalog:") for proposal in proposals} == set(ENTRIES)


def test_every_proposal_is_a_whole_tree_made_by_its_patch(proposals: list[Proposal]) -> None:
    parent = _parent()
    for proposal in proposals:
        assert check_harness(proposal.files) == [], proposal.source
        assert apply_patch(parent, proposal.patch) == proposal.files, "the manifest's own rules allow the patch"
        said = proposal.hypothesis
        assert all([said.cause, said.lever, said.predicted_effect, said.refuted_by])
        assert proposal.shape in said.target


class _Unreachable:
    """A model that is never there: what it receives has been composed from demonstrations and prompts."""

    identity = "test:unreachable"
    capabilities = ALL

    async def reply(self, request: ModelRequest) -> ModelReply:
        assert request.messages
        raise WorldError("asked")

    async def close(self) -> None:
        pass


class _ByLength:
    """Embeds a text by its length: enough for `nearest` to have an order."""

    identity = "test:length"

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        angles = np.array([len(text) / 100 for text in texts], dtype=np.float32)
        return np.stack([np.cos(angles), np.sin(angles)], axis=1)


async def test_every_proposal_runs_up_to_its_first_call(proposals: list[Proposal]) -> None:
    for proposal in proposals:
        example = next(e for e in EXAMPLES if e.id in proposal.hypothesis.target_case_ids or e.id == "call-0")
        kit = Kit(
            models={"agent": _Unreachable()},
            files=proposal.files,
            embedder=_ByLength(),
            tools={name: tool.tool_schema() for name, tool in harness_tools(proposal.files).items()},
        )
        run = compile_workflow(harness_workflow(proposal.files)).run(example.text, kit)
        if proposal.source == "catalog:nearest":
            assert set((await run).output) == {"team"}
        else:
            with pytest.raises(WorldError, match="asked"):
                await run


def test_no_two_proposals_are_equal_and_none_equals_the_parent(proposals: list[Proposal]) -> None:
    hashes = [proposal.normal_hash for proposal in proposals]
    assert len(set(hashes)) == len(hashes)
    assert normal_tree_hash(_parent()) not in hashes


def test_the_target_is_failing_cases_of_the_shape_that_are_no_demonstrations(proposals: list[Proposal]) -> None:
    for proposal in proposals:
        target = proposal.hypothesis.target_case_ids
        assert target <= EVERY_ID - demonstration_ids(proposal.files)
        assert all(f"{{{', '.join(sorted(e.expected))}}}" == proposal.shape for e in EXAMPLES if e.id in target)


def test_demonstrations_quote_only_train_examples_of_their_shape(proposals: list[Proposal]) -> None:
    for proposal in proposals:
        quoted = demonstration_ids(proposal.files)
        shape_ids = {e.id for e in EXAMPLES if f"{{{', '.join(sorted(e.expected))}}}" == proposal.shape}
        assert quoted <= shape_ids
        if proposal.source != "catalog:nearest":
            assert len(quoted) <= 6


def test_a_small_budget_covers_every_failing_shape_the_worst_first() -> None:
    shapes = [proposal.shape for proposal in _propose(limit=4)]
    assert shapes == ["{team}", "{answer}", "{date, total, vendor}", "{args, tool}"]


def test_shapes_that_do_not_fail_get_no_proposal() -> None:
    assert {proposal.shape for proposal in _propose(_ids(SUMS[:1]))} == {"{answer}"}
    assert _propose([]) == []


def test_the_same_seed_gives_the_same_trees() -> None:
    first, again, other = ([p.files for p in _propose(seed=seed, limit=6)] for seed in (3, 3, 4))
    assert first == again
    assert first != other


def test_what_was_tried_is_not_proposed_again(proposals: list[Proposal]) -> None:
    first = _propose(limit=4)
    tried = frozenset((proposal.source.removeprefix("catalog:"), proposal.shape) for proposal in first)
    again = _propose(limit=100, exclude=tried)
    assert not tried & {(proposal.source.removeprefix("catalog:"), proposal.shape) for proposal in again}
    assert len(again) == len(proposals) - len(tried)


def test_a_chat_only_model_is_never_asked_for_more() -> None:
    names = {proposal.source.removeprefix("catalog:") for proposal in _propose(capabilities=frozenset())}
    assert names == {"calculator", "nearest", "demonstrations", "self_consistency", "retry"}
    calculator = next(p for p in _propose(capabilities=frozenset()) if p.source == "catalog:calculator")
    assert "pin_operands" not in _node(calculator).params


def test_labels_and_demonstrations_are_balanced(proposals: list[Proposal]) -> None:
    routing = _by_entry(proposals, "{team}")
    assert _node(routing["labels"]).params["labels"] == ["account", "billing", "shipping"]
    rows = [json.loads(line) for line in routing["labels"].files["demonstrations/labels-team.jsonl"].splitlines()]
    assert sorted(row["output"]["team"] for row in rows) == ["account"] * 2 + ["billing"] * 2 + ["shipping"] * 2


def test_nearest_knows_every_example_that_it_was_given(proposals: list[Proposal]) -> None:
    quoted = demonstration_ids(_by_entry(proposals, "{team}")["nearest"].files)
    assert quoted == _ids(ROUTING)


def test_the_calculator_is_shown_expressions_that_are_right(proposals: list[Proposal]) -> None:
    calculator = _by_entry(proposals, "{answer}")["calculator"]
    rows = [json.loads(line) for line in calculator.files["demonstrations/calculator-answer.jsonl"].splitlines()]
    shown = {row["id"]: row["expression"] for row in rows}
    assert shown["sum-1"] == "45 - 18"
    assert shown["sum-2"] == "96 / 8"
    assert _node(calculator).params["steps"] == 1
    assert _node(calculator).params["decimals"] == 0


def test_each_extracted_field_gets_the_narrowest_kind_that_holds_it(proposals: list[Proposal]) -> None:
    spans = _by_entry(proposals, "{date, total, vendor}")["spans"]
    fields = _node(spans).params["fields"]
    assert isinstance(fields, dict)
    assert fields["date"] == {"kind": "date"}
    assert fields["total"] == {"kind": "amount"}
    assert fields["vendor"] == {"kind": "name"}


def test_schemas_are_inferred_from_the_answers_and_the_tools(proposals: list[Proposal]) -> None:
    team = json.loads(_by_entry(proposals, "{team}")["constrained"].files["schemas/team.json"])
    assert team["properties"] == {"team": {"type": "string", "enum": ["account", "billing", "shipping"]}}
    call = json.loads(_by_entry(proposals, "{args, tool}")["constrained"].files["schemas/args_tool.json"])
    assert [part["properties"]["tool"]["const"] for part in call["oneOf"]] == ["cancel_order", "convert_amount"]


def test_demonstrations_of_the_parent_that_fall_idle_are_dropped(proposals: list[Proposal]) -> None:
    parent = _by_entry(proposals, "{team}")["demonstrations"].files
    child = _by_entry(_propose(parent=parent), "{answer}")["calculator"]
    assert demonstration_ids(child.files) <= _ids(SUMS)


def test_a_closed_manifest_gets_no_proposal() -> None:
    parent = library_harness("json-answer")
    parent["harness.yaml"] = parent["harness.yaml"].replace(b"- workflow.yaml", b"- notes.md")
    assert _propose(parent=parent) == []


def test_the_prompt_and_role_of_the_parent_are_kept() -> None:
    parent = _parent()
    parent["harness.yaml"] = parent["harness.yaml"].replace(b"agent: required", b"solver: required")
    parent["workflow.yaml"] = parent["workflow.yaml"].replace(b"parse: json", b"parse: json\n      role: solver")
    parent["prompts/answer.md"] = b"You answer for a shop. {input}"
    proposals = _propose(parent=parent)
    assert {proposal.source.removeprefix("catalog:") for proposal in proposals} == set(ENTRIES)
    few_shot = _by_entry(proposals, "{team}")["demonstrations"]
    assert _node(few_shot).params["prompt"] == "prompts/answer.md"
    assert _node(few_shot).params["role"] == "solver"


@pytest.mark.parametrize("expected", [7, "seven", True, None, [1], {}])
def test_odd_answers_never_break_the_catalog(expected: object) -> None:
    examples = [Example(str(number), f"question {number}", expected) for number in range(8)]
    settings = CatalogSettings(capabilities=ALL, limit=100)
    for proposal in catalog_proposals(_parent(), examples, failing_ids={"0"}, settings=settings):
        assert check_harness(proposal.files) == []
