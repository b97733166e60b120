"""Checking an answer against the inferred schema and asking again with the validator's message."""

from __future__ import annotations

from harnesses.catalog.constrained import infer_schema
from harnesses.catalog.occasion import Draft, Occasion, finish, generate_params, prompt_path, schema_bytes
from harnesses.proposal import Proposal
from workflows.spec import END, Branch, Node

ATTEMPTS = 3


def propose_retry(occasion: Occasion) -> Proposal | None:
    """`generate`, `verify`, and an edge back while the answer does not fit; fits object answers."""
    shape = occasion.shape
    if not shape.is_object:
        return None
    params, files = generate_params(occasion)
    schema, again = f"schemas/{shape.slug()}.json", prompt_path("retry", shape)
    parent_prompt = {**occasion.parent, **files}[str(params["prompt"])].decode("utf-8")
    files[again] = (parent_prompt.rstrip() + "\n\n{check}\n").encode()
    files[schema] = schema_bytes(infer_schema(shape, occasion.parent))
    nodes = {
        "answer": Node(
            operator="generate", params={**params, "prompt": again, "parse": "text"}, next=(Branch(to="check"),)
        ),
        "check": Node(
            operator="verify",
            params={"node": "answer", "schema": schema},
            next=(Branch(when="failed", to="answer"), Branch(to=END)),
        ),
    }
    draft = Draft(
        entry="retry",
        nodes=nodes,
        start="answer",
        lever="an answer that breaks the schema is asked again with the validator's message",
        cause="break the form that is expected",
        files=files,
        max_visits=ATTEMPTS,
        output="answer",
    )
    return finish(occasion, draft)
