"""The quality–cost curve of a version as text and as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from evolve.core.errors import UserError
from evolve.core.hashing import short
from evolve.report.references import Reference, resolve_reference
from evolve.store import Home
from portfolios.curve import Curve, CurvePoint, draw_curve
from portfolios.edges import Edges
from portfolios.matchers import Stack, open_matcher

_WIDTH, _HEIGHT = 64, 16
_MARKS = {"single": "ABCDEFGHIJKL", "routed": "*", "random": "r", "oracle": "o"}


def version_curve(home: Home, reference: str) -> tuple[Reference, Curve, tuple[str, ...]]:
    """The curve over the version's own train edges, with notes. UserError for a version of one member."""
    found = resolve_reference(home, reference)
    if found.content is None:
        raise UserError(f"{found.label} is a tree, not a version", place=reference, fix="name a version: NAME@N")
    if len(found.content.members) < 2:
        raise UserError(f"{found.label} has one member: there is nothing to trade", place=reference)
    edges = Edges.from_bytes(home.artifacts.get(found.content.edges_sha))
    recipe, notes = (
        found.content.router,
        ["measured on the train cases the router was fitted on, each left out in turn"],
    )
    matcher = open_matcher(recipe.matcher, recipe.settings)
    if recipe.matcher == "best_single":
        matcher = Stack()
        notes.append("this version does not route (its guard said no): the curve shows what `stack` would do")
    if edges.costs is None:
        notes.append("no run has a known price, so there is no cost axis: state prices in budget.prices")
    elif not edges.costs.any():
        notes.append("all runs cost $0.00 (a model on this machine): every point stands at the same cost")
    curve = draw_curve(edges, matcher, found.content.policy)
    return found, _named(curve, found), tuple(notes)


def _named(curve: Curve, found: Reference) -> Curve:
    """Members by their labels."""
    names = {tree: f"{label or 'unnamed'} {short(tree)}" for tree, label in found.members.items()}
    points = tuple(replace(p, name=names.get(p.name, p.name)) for p in curve.points)
    return replace(curve, points=points, best_single=names.get(curve.best_single, curve.best_single))


def curve_document(found: Reference, curve: Curve, notes: Sequence[str]) -> dict[str, Any]:
    """The numbers."""
    return {
        "version": found.label,
        "queries": curve.queries,
        "best_single": curve.best_single,
        "gap_recovered": curve.recovered,
        "points": [asdict(point) for point in curve.points],
        "notes": list(notes),
    }


def curve_lines(found: Reference, curve: Curve, notes: Sequence[str]) -> list[str]:
    """A plot made of characters, then the table."""
    lines = [f"{found.label}: quality against cost on {curve.queries} queries", *_plot(curve), ""]
    lines += [_row(mark, point) for mark, point in _marked(curve)]
    if curve.recovered is not None:
        lines.append(
            f"share of the gap between cheapest and best single recovered, over budgets: {curve.recovered:.2f}"
        )
    return [*lines, *(f"note: {note}" for note in notes)]


def _marked(curve: Curve) -> list[tuple[str, CurvePoint]]:
    singles = list(zip(_MARKS["single"], curve.of_kind("single"), strict=False))
    rest = [(_MARKS[kind], point) for kind in ("routed", "random", "oracle") for point in curve.of_kind(kind)]
    return [*singles, *rest]


def _row(mark: str, point: CurvePoint) -> str:
    cost = "unknown" if point.cost is None else f"${point.cost:.6f}"
    gain = f"{100 * point.gain:+.1f} [{100 * point.gain_low:+.1f}, {100 * point.gain_high:+.1f}]"
    name = f"{point.kind} {point.name}" if point.kind in ("single", "routed") else point.kind
    return f"  {mark} {name:<40} {100 * point.score:5.1f} points  {cost:>11} a query  {gain} against the best single"


def _plot(curve: Curve) -> list[str]:
    """Score upwards, cost to the right; a later mark of the table hides an earlier one in the same place."""
    marked = [(mark, p.score, p.cost or 0.0) for mark, p in _marked(curve)]
    scores, costs = [s for _, s, _ in marked], [c for _, _, c in marked]
    grid = [[" "] * _WIDTH for _ in range(_HEIGHT)]
    for mark, score, cost in reversed(marked):
        row = _place(score, min(scores), max(scores), _HEIGHT)
        grid[_HEIGHT - 1 - row][_place(cost, min(costs), max(costs), _WIDTH)] = mark
    top, bottom = f"{100 * max(scores):5.1f} ", f"{100 * min(scores):5.1f} "
    labels = [top, *[" " * 6] * (_HEIGHT - 2), bottom]
    rows = [f"{label}│{''.join(line).rstrip()}" for label, line in zip(labels, grid, strict=True)]
    return [*rows, f"      └{'─' * _WIDTH}", f"       ${min(costs):.6f}{f'${max(costs):.6f}':>{_WIDTH - 9}} a query"]


def _place(value: float, low: float, high: float, size: int) -> int:
    return 0 if high <= low else min(size - 1, round((value - low) / (high - low) * (size - 1)))


def draw_png(found: Reference, curve: Curve, path: Path) -> None:
    """The same as a picture. UserError when matplotlib is not installed."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise UserError(
            "matplotlib is not installed", place="--png", fix="pip install 'evolve-portfolio[plots]'"
        ) from error
    figure = Figure(figsize=(8, 5), layout="constrained")
    axes = figure.subplots()
    for kind, style in (("single", "o"), ("routed", "*-"), ("random", "x"), ("oracle", "^")):
        points = sorted(curve.of_kind(kind), key=lambda p: p.cost or 0.0)
        axes.plot([p.cost or 0.0 for p in points], [100 * p.score for p in points], style, label=kind)
        for point in points if kind == "single" else ():
            axes.annotate(point.name, (point.cost or 0.0, 100 * point.score), fontsize=7)
    axes.set_xlabel("mean cost of a query, dollars")
    axes.set_ylabel("mean score, points of 100")
    axes.set_title(f"{found.label}: {curve.queries} queries, each left out of the fit")
    axes.legend()
    figure.savefig(path, format="png", dpi=120)
