"""Calibration offsets, measured once by whoever builds a harness and baked into its workflow."""

from __future__ import annotations

from evolve.core.errors import UserError
from workflows.asking.calls import Calls, Place
from workflows.asking.memo import Memo
from workflows.check import valid_params
from workflows.kit import Kit
from workflows.operators.choose import ChooseParams, measure_label_offsets
from workflows.operators.use_tools import UseToolsParams, measure_tool_offsets
from workflows.spec import Workflow


async def measure_offsets(workflow: Workflow, node: str, kit: Kit) -> dict[str, float]:
    """What to write as `offsets` of a `choose` or `use_tools` node: one model call with the input "N/A".

    Offsets belong to one model and one prompt: measure them again when either changes. UserError for other nodes.
    """
    params = valid_params(workflow).get(node)
    calls = Calls(kit, Memo(), Place(node, 0, 0))
    nodes = frozenset(workflow.nodes)
    if isinstance(params, ChooseParams):
        return await measure_label_offsets(params, nodes, calls)
    if isinstance(params, UseToolsParams):
        return await measure_tool_offsets(params, nodes, calls)
    raise UserError("only choose and use_tools have offsets", place=f"workflow.yaml: nodes.{node}")
