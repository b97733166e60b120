"""Sessions: leases that end, dead ones that are settled, and a minute cap that counts over all of them."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
import time
from decimal import Decimal
from pathlib import Path

import pytest

from evolve.books import Books, Caps, PriceBook
from evolve.campaign.observe import silent
from evolve.campaign.run import load_inputs, resume_campaign, start_campaign
from evolve.campaign.session import open_session, settle_dead
from evolve.core.errors import BudgetExceeded, UserError
from evolve.core.messages import ModelRequest
from evolve.report.reconcile import reconcile
from evolve.store import Home, open_home
from tests.e2e.conftest import write_project

ROOT = Path(__file__).resolve().parents[2]

HANGING = """
import asyncio, sys
from pathlib import Path
from evolve.books import Books, Caps, Owner, PriceBook
from evolve.campaign.session import open_session
from evolve.core.messages import Message, ModelRequest
from evolve.store import open_home

class Hanging:
    identity, capabilities = "openai:gpt-4o-mini", frozenset()
    async def reply(self, request):
        print("asked", flush=True)
        await asyncio.sleep(3600)

async def main():
    home = open_home(Path(sys.argv[1]), create=True)
    home.campaigns.create("c", {}, {})
    async with open_session(home, "c"):
        books = Books(home, "c", Caps(calls=50), PriceBook())
        model = books.model(Hanging(), Owner("c", "l", "t", "case", 0, "agent"))
        await asyncio.gather(*(model.reply(ModelRequest((Message("user", f"q{n}"),), step=str(n))) for n in range(3)))

asyncio.run(main())
"""


def test_calls_of_a_killed_process_stay_charged_at_their_bounds_and_the_ledger_says_so(tmp_path: Path) -> None:
    place = tmp_path / "home"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    child = subprocess.Popen([sys.executable, "-c", HANGING, str(place)], env=environment, stdout=subprocess.PIPE)
    assert child.stdout is not None
    for _ in range(3):
        assert child.stdout.readline() == b"asked\n"
    child.send_signal(signal.SIGKILL)
    child.communicate()
    home = open_home(place)
    before = Books(home, "c", Caps(), PriceBook()).spend()
    assert before.calls == 3 and before.usd > Decimal(0)
    (lease,) = home.leases.unended("c")
    settle_dead(home, "c")
    settle_dead(home, "c")
    assert home.leases.unended("c") == []
    assert [lease.ended for lease in home.leases.of("c")] == ["died"]
    (row,) = home.ledger.rows("c", "died")
    assert row.detail["calls_in_flight"] == 3
    assert row.detail["holder"] == lease.holder == f"process {child.pid} on {os.uname().nodename}"
    assert Decimal(str(row.detail["charged_usd"])) == before.usd
    assert {call.state for call in home.journal.iter("c")} == {"abandoned"}
    assert Books(home, "c", Caps(), PriceBook()).spend() == before
    home.close()


def test_cancelling_settles_what_a_killed_process_left(tmp_path: Path) -> None:
    place = tmp_path / "home"
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "EVOLVE_HOME": str(place)}
    child = subprocess.Popen([sys.executable, "-c", HANGING, str(place)], env=environment, stdout=subprocess.PIPE)
    assert child.stdout is not None and child.stdout.readline() == b"asked\n"
    child.kill()
    child.communicate()
    command = [sys.executable, "-m", "evolve.cli", "cancel", "c"]
    assert subprocess.run(command, env=environment, capture_output=True, timeout=60).returncode == 0
    home = open_home(place)
    assert home.campaigns.get("c").status == "cancelled"
    assert {call.state for call in home.journal.iter("c")} == {"abandoned"}
    assert reconcile(home) == []
    home.close()


async def test_a_session_ends_its_lease_and_keeps_others_out(home: Home) -> None:
    home.campaigns.create("c", {}, {})
    async with open_session(home, "c") as session:
        with pytest.raises(UserError, match="running in process"):
            async with open_session(home, "c"):
                raise AssertionError("two sessions at once")
        await asyncio.sleep(0.05)
        session.ended = "finished"
    (lease,) = home.leases.of("c")
    assert lease.ended == "finished"
    assert home.leases.worked("c") >= 0.05
    async with open_session(home, "c") as session:
        assert session.worked >= 0.05


def test_minutes_count_over_all_sessions_and_a_raised_cap_goes_on(tmp_path: Path) -> None:
    project = write_project(tmp_path / "p", 120)
    project.edit(budget={"calls": 20_000, "minutes": 0.01})
    answers = project.scripts()["desk"]

    def slow(request: ModelRequest, rng: random.Random) -> str:
        time.sleep(0.01)
        return str(answers(request, rng))

    home = open_home(project.home, create=True)
    inputs = load_inputs(project.campaign, {}, {"desk": slow})
    with pytest.raises(BudgetExceeded, match="minutes"):
        asyncio.run(start_campaign(inputs, home, silent, path=project.campaign))
    (campaign,) = home.campaigns.list()
    assert campaign.status == "budget"
    calls = home.journal.spend_by(campaign.id, "role")["agent"].calls
    assert calls > 0
    with pytest.raises(BudgetExceeded, match="minutes"):
        asyncio.run(resume_campaign(campaign.id, inputs, home, silent))
    assert home.journal.spend_by(campaign.id, "role")["agent"].calls == calls
    project.edit(budget={"calls": 20_000, "minutes": 5})
    again = load_inputs(project.campaign, {}, project.scripts())
    assert asyncio.run(resume_campaign(campaign.id, again, home, silent)).status == "finished"
    home.close()
