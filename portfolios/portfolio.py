"""Portfolio content: which trees serve, and the recipe and policy of the router in front of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from evolve.core.errors import UserError
from evolve.core.hashing import JSONValue, content_hash, short
from portfolios.recipe import RouterPolicy, RouterRecipe


class PortfolioMember(BaseModel):
    """One tree with a label for people and, in words, what it adds to the others."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    tree: Annotated[str, Field(min_length=1)]
    label: str = ""
    role: str = ""


class PortfolioContent(BaseModel):
    """The content of a version. Every name in it must be a member.

    `edges` is the hash of the edge table that the router is fitted on, empty when it learns nothing. `models` (role →
    model settings) and `embedder` (identity) are what the members run on.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", validate_by_name=True, serialize_by_alias=True)

    format: Annotated[Literal[1], Field(alias="schema")] = 1
    members: Annotated[tuple[PortfolioMember, ...], Field(min_length=1)]
    router: RouterRecipe
    policy: RouterPolicy
    edges: str = ""
    models: dict[str, dict[str, JSONValue]] = {}
    embedder: str = ""

    @model_validator(mode="after")
    def _nothing_dangles(self) -> Self:
        trees = [member.tree for member in self.members]
        for tree in trees:
            if trees.count(tree) > 1:
                raise ValueError(f"member {tree} is listed twice")
        if self.policy.default_member not in trees:
            raise ValueError(f"the default member {self.policy.default_member} is not a member: name one that is")
        if not self.edges and (len(trees) > 1 or self.router.matcher != "best_single"):
            raise ValueError("several members or a matcher need an edge table")
        return self

    @property
    def trees(self) -> tuple[str, ...]:
        """The member trees, sorted."""
        return tuple(sorted(member.tree for member in self.members))

    @property
    def embedder_kind(self) -> str:
        """The first part of the embedder's identity, which is the name it opens by."""
        return self.embedder.partition(":")[0] or "quality"

    def content_hash(self) -> str:
        """Hash of member trees, recipe and policy: no labels, no clocks, no fitted numbers, whatever the order."""
        return content_hash(
            {
                "schema": self.format,
                "members": list(self.trees),
                "router": self.router.model_dump(mode="json"),
                "policy": self.policy.model_dump(mode="json"),
            }
        )

    def document(self) -> dict[str, JSONValue]:
        """Plain JSON data; `parse_content` reads it back."""
        return self.model_dump(mode="json")

    def describe(self) -> tuple[str, ...]:
        """Lines for people: members with what each adds, and how queries find them."""
        return (*(self._describe_member(member) for member in self.members), self._describe_routing())

    def _describe_member(self, member: PortfolioMember) -> str:
        mark = " (default)" if member.tree == self.policy.default_member and len(self.members) > 1 else ""
        role = f": {member.role}" if member.role else ""
        return f"{member.label or 'unnamed'} {short(member.tree)}{mark}{role}"

    def _describe_routing(self) -> str:
        if len(self.members) == 1:
            return "every query goes to the only member"
        if self.router.matcher == "best_single":
            return "every query goes to the default member"
        return (
            f"queries are routed by {self.router.matcher}; they go to the default when the expected advantage is within "
            f"{self.policy.margin:g} standard deviations, or when they are far from every known case"
        )


def parse_content(data: Mapping[str, JSONValue]) -> PortfolioContent:
    """From JSON data; UserError names what is wrong, a dangling member by its tree."""
    try:
        return PortfolioContent.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "portfolio"
        raise UserError(first["msg"], place=place, fix="correct the portfolio's content") from error


def single_content(
    tree: str, *, label: str = "", models: Mapping[str, dict[str, JSONValue]] | None = None, embedder: str = ""
) -> PortfolioContent:
    """A portfolio of one member: every query goes to it, nothing is learned."""
    return PortfolioContent(
        members=(PortfolioMember(tree=tree, label=label or short(tree)),),
        router=RouterRecipe(matcher="best_single"),
        policy=RouterPolicy(default_member=tree),
        models=dict(models or {}),
        embedder=embedder,
    )
