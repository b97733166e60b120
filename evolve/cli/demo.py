"""`evolve demo`: the whole path on the example desk, told in words, with the figures in summary.json."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from evolve.campaign.context import read_material
from evolve.campaign.plan import estimate
from evolve.campaign.publish import roll_back
from evolve.campaign.route import route_once
from evolve.campaign.run import CampaignOutcome, load_inputs, start_campaign
from evolve.cli.output import write
from evolve.cli.progress import Progress
from evolve.cli.scripted_desk import scripted_desk
from evolve.core.errors import UserError
from evolve.models import ScriptedReply
from evolve.report.diff import diff_lines, diff_references
from evolve.report.planned import plan_lines
from evolve.report.routed import routed_document, routed_lines
from evolve.report.story import campaign_story, story_lines
from evolve.store import Home, open_home

MARKER = ".evolve-demo"
SHOWN_DIFF = 60
PORTFOLIO = "desk"
QUERIES = (
    "Is this customer happy? 'Third order from them. Arrived early, packed like treasure, will be back.'",
    "We had 48 boxes in the store room and sold 19 of them today. How many boxes are left?",
    "hi, the card machine was charged twice for my subscription last month, who can get me my money back?",
)
"""Asked by nobody in the data: they show the router on new wordings."""


@dataclass(frozen=True)
class DemoPlace:
    """Where this demo keeps its files."""

    directory: Path
    scripted: bool

    @property
    def campaign_file(self) -> Path:
        """The campaign that is run."""
        return self.directory / "desk" / ("campaign.scripted.yaml" if self.scripted else "campaign.yaml")


def run_demo(directory: Path, *, scripted: bool, quiet: bool) -> None:
    """Runs everything and writes DIRECTORY/summary.json."""
    started = time.monotonic()
    place = prepare(directory, scripted)
    script = scripted_desk(place.directory / "desk" / "cases.jsonl") if scripted else {}
    say = _Teller(quiet)
    if scripted:
        say("SCRIPTED MODEL: the answers below are made by a script that knows the cases; only the engine is real.")
    with closing(open_home(place.directory / ".evolve", create=True)) as home:
        outcome, story = _campaign(place, home, script, say)
        if story["conclusion"] and story["conclusion"]["conclusion"] == "promoted":
            _after_promotion(home, script, say)
        summary = summarise(story, time.monotonic() - started)
        (place.directory / "summary.json").write_text(json.dumps(summary, indent=1) + "\n", encoding="utf-8")
        say.title("Where everything is")
        say(f"home {home.path} (database, trees as git objects); figures {place.directory / 'summary.json'}")
        say(f"more: EVOLVE_HOME={home.path} evolve why {outcome.campaign} | evolve portfolio log {PORTFOLIO}")
        say(f"took {summary['seconds']:.0f} s, set-up {summary['install_seconds']} s")
        if quiet:
            write(json.dumps(summary) + "\n")


def prepare(directory: Path, scripted: bool) -> DemoPlace:
    """A fresh folder with a copy of the example; only a folder made by an earlier demo is ever replaced."""
    example = Path(__file__).resolve().parents[2] / "examples" / "desk"
    if not (example / "campaign.yaml").is_file():
        raise UserError("the example desk is not here", place=str(example), fix="run the demo from a checkout")
    if directory.exists():
        if any(directory.iterdir()) and not (directory / MARKER).is_file():
            raise UserError("this folder was not made by a demo", place=str(directory), fix="--dir another folder")
        shutil.rmtree(directory)
    directory.mkdir(parents=True)
    (directory / MARKER).touch()
    shutil.copytree(example, directory / "desk")
    return DemoPlace(directory.resolve(), scripted)


class _Teller:
    """Says lines on stdout, or nothing."""

    def __init__(self, quiet: bool) -> None:
        self._quiet = quiet

    def __call__(self, *lines: str) -> None:
        if not self._quiet:
            write("".join(f"{line}\n" for line in lines))

    def title(self, text: str) -> None:
        """A heading."""
        self("", f"== {text}")


def _campaign(
    place: DemoPlace, home: Home, script: Mapping[str, ScriptedReply], say: _Teller
) -> tuple[CampaignOutcome, dict[str, Any]]:
    inputs = load_inputs(place.campaign_file, dict(os.environ), script)
    say.title("evolve check")
    say(*plan_lines(asdict(estimate(inputs, home, read_material(inputs, home)))))
    say.title("evolve run")
    with Progress(quiet=say._quiet, redactor=inputs.redactor) as progress:
        outcome = asyncio.run(start_campaign(inputs, home, progress.observe, path=place.campaign_file))
    story = campaign_story(home, outcome.campaign)
    say.title("What happened")
    say(*story_lines(story))
    return outcome, story


def _after_promotion(home: Home, script: Mapping[str, ScriptedReply], say: _Teller) -> None:
    """Three queries, the diff of the two versions, and the way back."""
    live = home.versions.pointer(PORTFOLIO)
    say.title("evolve route")
    for query in QUERIES:
        routed = route_once(home, PORTFOLIO, query, dict(os.environ), script)
        document = routed_document(routed.version, routed.label, routed.answer)
        say(f"> {query}", *routed_lines(document, why=True))
    say.title(f"evolve diff {PORTFOLIO}@1 {PORTFOLIO}@{live}")
    lines = diff_lines(diff_references(home, f"{PORTFOLIO}@1", f"{PORTFOLIO}@{live}"))
    say(*(line[:160] for line in lines[:SHOWN_DIFF]))
    if len(lines) > SHOWN_DIFF:
        command = f"EVOLVE_HOME={home.path} evolve diff {PORTFOLIO}@1 {PORTFOLIO}@{live}"
        say(f"… {len(lines) - SHOWN_DIFF} more lines: {command}")
    say.title(f"evolve rollback {PORTFOLIO} --to 1")
    row = roll_back(home, PORTFOLIO, 1, "the demo shows the way back")
    say(f"{PORTFOLIO}@{row.number} is live: the content of {PORTFOLIO}@1. {PORTFOLIO}@{live} stays, with its evidence.")


def summarise(story: Mapping[str, Any], seconds: float) -> dict[str, Any]:
    """The figures of the demo; scores are fractions."""
    verdict = story["verdict"] or {}
    spends = story["spend"].values()
    return {
        "verdict": verdict.get("decision", "none"),
        "conclusion": (story["conclusion"] or {}).get("conclusion"),
        "seed_heldout": verdict.get("baseline_mean"),
        "portfolio_heldout": verdict.get("challenger_mean"),
        "best_single_heldout": (verdict.get("extra") or {}).get("best_single_heldout"),
        "gain": verdict.get("gain"),
        "gain_low": verdict.get("gain_low"),
        "gain_high": verdict.get("gain_high"),
        "cases_looked_at": verdict.get("cases_looked_at", 0),
        "calls": sum(s["calls"] for s in spends),
        "usd": str(sum(float(s["usd"]) for s in spends)),
        "install_seconds": _install_seconds(),
        "seconds": round(seconds, 1),
    }


def _install_seconds() -> float | None:
    """What `make install` wrote beside the environment; None when it was installed in another way."""
    import sys

    path = Path(sys.prefix) / ".install_seconds"
    return float(path.read_text()) if path.is_file() else None
