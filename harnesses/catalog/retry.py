"""Checking an answer against the inferred schema and asking again with the validator's message."""

from __future__ import annotations

from evolve.core.hashing import JSONValue
from harnesses.catalog.constrained import infer_schema
from harnesses.catalog.occasion import Draft, Occasion, finish, generate_params, prompt_path, schema_bytes
from harnesses.proposal import Proposal
from harnesses.shapes import Kind, Shape
from workflows.spec import END, Branch, Node

ATTEMPTS = 3


def propose_retry(occasion: Occasion) -> Proposal | None:
    """`generate`, `verify`, and an edge back while the answer does not fit; fits object answers.

    Besides the schema, fields that train answers copy from the input must stand in it.
    """
    shape = occasion.shape
    if not shape.is_object:
        return None
    params, files = generate_params(occasion)
    schema, again = f"schemas/{shape.slug()}.json", prompt_path("retry", shape)
    parent_prompt = {**occasion.parent, **files}[str(params["prompt"])].decode("utf-8")
    files[again] = (parent_prompt.rstrip() + "\n\n{check.message}\n").encode()
    files[schema] = schema_bytes(infer_schema(shape, occasion.parent))
    nodes = {
        "answer": Node(
            operator="generate", params={**params, "prompt": again, "parse": "json"}, next=(Branch(to="check"),)
        ),
        "check": Node(
            operator="verify",
            params={"node": "answer", "schema": schema, **_copied(shape)},
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


def _copied(shape: Shape) -> dict[str, JSONValue]:
    keys: list[JSONValue] = [f.key for f in shape.fields if Kind.SPAN in f.kinds and Kind.LABEL not in f.kinds]
    return {"values_in_text": keys} if keys else {}
