"""Portfolio content: which trees serve, and the recipe and policy of the router in front of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from evolve.core.errors import UserError
from evolve.core.hashing import JSONValue, content_hash, sha256_hex, short
from evolve.core.protocols import Embedder
from portfolios.choose import RouterChoice
from portfolios.edges import Edges
from portfolios.matchers import open_matcher
from portfolios.recipe import RouterPolicy, RouterRecipe
from portfolios.router import Router


class PortfolioMember(BaseModel):
    """One tree with a label for people and, in words, what it adds to the others."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    tree: Annotated[str, Field(min_length=1)]
    label: str = ""
    role: str = ""


class PortfolioContent(BaseModel):
    """The content of a version. Every name in it must be a member.

    `edges_sha` is the hash of the edge table that the router is fitted on; `models` (role → model settings) is what
    the members run on.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", validate_by_name=True, serialize_by_alias=True)

    format: Annotated[Literal[1], Field(alias="schema")] = 1
    members: Annotated[tuple[PortfolioMember, ...], Field(min_length=1)]
    router: RouterRecipe
    policy: RouterPolicy
    edges_sha: str
    models: dict[str, dict[str, JSONValue]] = {}

    @model_validator(mode="after")
    def _nothing_dangles(self) -> Self:
        trees = [member.tree for member in self.members]
        for tree in trees:
            if trees.count(tree) > 1:
                raise ValueError(f"member {tree} is listed twice")
        if self.policy.default_member not in trees:
            raise ValueError(f"the default member {self.policy.default_member} is not a member: name one that is")
        return self

    @property
    def trees(self) -> tuple[str, ...]:
        """The member trees, sorted."""
        return tuple(sorted(member.tree for member in self.members))

    def content_hash(self) -> str:
        """Hash of member trees, recipe, policy and model names: no labels, clocks or fitted numbers, in any order."""
        return content_hash(
            {
                "schema": self.format,
                "members": list(self.trees),
                "router": self.router.model_dump(mode="json"),
                "policy": self.policy.model_dump(mode="json"),
                "models": {role: settings.get("model") for role, settings in self.models.items()},
            }
        )

    def as_json(self) -> dict[str, JSONValue]:
        """Plain JSON data; `parse_content` reads it back."""
        return self.model_dump(mode="json")

    def describe(self) -> str:
        """Lines for people: members with what each adds, and how queries find them."""
        return "\n".join([*map(self._describe_member, self.members), self._describe_routing()])

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
            f"queries are routed by {self.router.matcher}; they go to the default when the expected advantage is "
            f"within {self.policy.margin:g} standard deviations, or when they are far from every known case"
        )


def parse_content(data: Mapping[str, JSONValue]) -> PortfolioContent:
    """From JSON data; UserError names what is wrong, a dangling member by its tree."""
    try:
        return PortfolioContent.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "portfolio"
        raise UserError(first["msg"], place=place, fix="correct the portfolio's content") from error


def build_content(
    choice: RouterChoice,
    members: Sequence[PortfolioMember],
    models: Mapping[str, dict[str, JSONValue]] | None = None,
) -> tuple[PortfolioContent, bytes]:
    """The content of a chosen router over exactly `members`, and the edge table (an artifact) that opens it again."""
    data = choice.router.edges.to_bytes()
    content = PortfolioContent(
        members=tuple(sorted(members, key=lambda member: member.tree)),
        router=choice.recipe,
        policy=choice.router.policy,
        edges_sha=sha256_hex(data),
        models=dict(models or {}),
    )
    _check_columns(content, choice.router.edges)
    return content, data


def open_router(content: PortfolioContent, edges_bytes: bytes, embedder: Embedder) -> Router:
    """Fits the router of a version again from its edge table.

    UserError when table or embedder are not those of the recipe, or when members and edges disagree.
    """
    edges = _open_edges(content, edges_bytes)
    recipe = content.router
    if embedder.identity != recipe.embedding:
        raise UserError(
            f"the router was fitted with embedder {recipe.embedding}, not {embedder.identity}",
            place="embedding",
            fix="open that embedder, or fit the router again",
        )
    router = Router.fit(edges, open_matcher(recipe.matcher, recipe.settings), content.policy)
    return replace(router, embedder=embedder, labels={m.tree: m.label for m in content.members})


def remove_member(
    content: PortfolioContent, edges_bytes: bytes, tree: str, *, default: str | None = None
) -> tuple[PortfolioContent, bytes]:
    """The content without `tree`, and its edge table. Removing the default needs a new `default`."""
    if tree not in content.trees:
        raise UserError(f"{tree} is not a member", fix=f"members: {', '.join(content.trees)}")
    rest = tuple(member for member in content.members if member.tree != tree)
    successor = default or content.policy.default_member
    if successor not in {member.tree for member in rest}:
        raise UserError(f"without {tree} the default member {successor} is missing", fix="name another default")
    edges = _open_edges(content, edges_bytes).of_members([member.tree for member in rest])
    data = edges.to_bytes()
    return content.model_copy(
        update={
            "members": rest,
            "router": content.router.model_copy(update={"edge_set_hash": edges.edge_set_hash}),
            "policy": content.policy.model_copy(update={"default_member": successor}),
            "edges_sha": sha256_hex(data),
        }
    ), data


def _open_edges(content: PortfolioContent, edges_bytes: bytes) -> Edges:
    """The edge table of a content, checked to be the one it names."""
    edges = Edges.from_bytes(edges_bytes)
    if sha256_hex(edges_bytes) != content.edges_sha or edges.edge_set_hash != content.router.edge_set_hash:
        raise UserError("this is not the edge table the portfolio was fitted on", fix="open the version's own")
    _check_columns(content, edges)
    return edges


def _check_columns(content: PortfolioContent, edges: Edges) -> None:
    for tree in sorted(set(edges.members) ^ set(content.trees)):
        what = "has edges but is no member" if tree in edges.members else "is a member without a column of edges"
        raise UserError(f"{tree} {what}", place="portfolio", fix="fit the router on exactly the members")
