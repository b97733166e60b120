"""`generate`: one reply of a model, as text or as a JSON object."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

from pydantic import Field, model_validator

from evolve.core.errors import HarnessFault
from evolve.core.hashing import JSONValue
from evolve.core.messages import Capability, ModelReply
from workflows.asking.calls import Calls
from workflows.asking.prompts import compose_prompt
from workflows.kit import View
from workflows.operators.contract import Operator, Produced
from workflows.params import AskParams, FileUse
from workflows.reading.replies import read_object, read_text
from workflows.reading.schemas import Schema


class GenerateParams(AskParams):
    """`schema` is a JSON schema file: the reply must fit it, and is constrained by it unless `constrain` is false."""

    schema_path: str | None = Field(default=None, alias="schema")
    constrain: bool = True
    parse: Literal["json", "text"] = "text"
    max_tokens: Annotated[int, Field(ge=1, le=8_192)] = 256
    temperature: Annotated[float, Field(ge=0.0, le=2.0)] = 0.0

    @model_validator(mode="after")
    def _check_schema(self) -> GenerateParams:
        if self.schema_path is not None and self.parse != "json":
            raise ValueError("schema needs parse: json")
        return self

    def files(self) -> tuple[FileUse, ...]:
        """Those of every asking operator, and the schema."""
        schema = (FileUse("schema", self.schema_path, "schema"),) if self.schema_path is not None else ()
        return (*super().files(), *schema)

    def needs(self) -> frozenset[Capability]:
        """JSON schemas where the reply is constrained."""
        constrained = self.schema_path is not None and self.constrain
        return super().needs() | ({Capability.JSON_SCHEMA} if constrained else set())


class Generate(Operator[GenerateParams]):
    """Asks once. An unparsable, empty or unfinished reply is a fault that says what was wrong."""

    name = "generate"
    params = GenerateParams

    async def run(self, params: GenerateParams, view: View, calls: Calls) -> Produced:
        """The reply's text, or the last JSON object in it that fits the schema."""
        return Produced(await generate(params, view, calls))


async def generate(params: GenerateParams, view: View, calls: Calls) -> JSONValue:
    """One call and its parsed reply."""
    schema = calls.derive(params.schema_path, Schema.parse) if params.schema_path is not None else None
    constrained = schema.raw if schema is not None and params.constrain else None
    prompt = compose_prompt(params, view, calls, lambda row: row.answer)
    request = replace(
        prompt.request(params.style, free_text=constrained is None),
        max_tokens=params.max_tokens,
        temperature=params.temperature,
        json_schema=constrained,
    )
    return _parse(params, await calls.ask(params.role, request), schema)


def _parse(params: GenerateParams, reply: ModelReply, schema: Schema | None) -> JSONValue:
    try:
        if params.parse == "text":
            return read_text(reply.text)
        return read_object(reply.text, schema.complain if schema is not None else None)
    except HarnessFault as fault:
        if reply.finish_reason != "length":
            raise
        raise HarnessFault(f"{fault} (the reply was cut at max_tokens = {params.max_tokens})") from fault
