"""Choosing a tool as a label, then pinning its arguments to what the input says."""

from __future__ import annotations

from evolve.core.messages import Capability
from harnesses.catalog.occasion import (
    Draft,
    Occasion,
    answer_rows,
    ask_role,
    demonstration_path,
    finish,
    pick_by_tool,
    prompt_path,
)
from harnesses.manifest import harness_tools
from harnesses.proposal import Proposal
from tool_forge.contract import check_call
from workflows.spec import Node

SHOTS = 6


def propose_tools(occasion: Occasion) -> Proposal | None:
    """`use_tools` for answers that are calls of the harness's own tools."""
    shape, tools = occasion.shape, harness_tools(occasion.parent)
    if not {Capability.LABELS, Capability.JSON_SCHEMA} <= occasion.capabilities:
        return None
    valid = [example for example in shape.examples if tools and not check_call(example.expected, tools)]
    if not shape.is_call or not valid:
        return None
    demonstrations, prompt = demonstration_path("tools", shape), prompt_path("tools", shape)
    node = Node(
        operator="use_tools",
        params={
            "prompt": prompt,
            "demonstrations": demonstrations,
            "pin_arguments": True,
            "calibrate": True,
            "tools": list(tools),
            **ask_role(occasion.parent),
        },
    )
    draft = Draft(
        entry="tools",
        nodes={"answer": node},
        start="answer",
        lever="the tool is chosen first, then each argument is pinned to the input",
        cause="call the wrong tool or invent arguments",
        files={demonstrations: answer_rows(pick_by_tool(occasion, valid, SHOTS)), prompt: b"{input}\n"},
    )
    return finish(occasion, draft)
