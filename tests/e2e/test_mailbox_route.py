"""A routed query whose agent is a mailbox: its version's settings are kept, its mail has its own folder."""

from __future__ import annotations

import json
import threading
import time
from datetime import UTC, datetime
from pathlib import Path

from evolve.campaign.route import route_once
from evolve.models.mailbox import Box
from evolve.store import NewVersion, open_home
from portfolios.portfolio import parse_content
from tests.e2e.conftest import Project
from tests.e2e.test_mailbox_campaign import run


def answer_first(root: Path, said: list[str]) -> None:
    end = time.monotonic() + 20
    while time.monotonic() < end:
        for path in root.glob("route-*/desk/requests/*.json"):
            box = Box(path.parent.parent)
            said.append(box.folder.parent.name)
            box.answer(path.stem, json.dumps({"text": '{"team": "billing"}'}).encode(), "ada", datetime.now(UTC))
            return
        time.sleep(0.02)


def test_a_version_with_a_mailbox_agent_is_answered_through_a_folder_of_the_query(project: Project) -> None:
    project.edit(loops={"harness": {"rounds": 0}})
    run(project)
    home = open_home(project.home)
    try:
        seed = home.versions.get("small", 1)
        content = parse_content(seed.content)
        mailed = content.model_copy(update={"models": {"agent": {"model": "mailbox:desk", "timeout_seconds": 20}}})
        new = NewVersion(
            "small", mailed.as_json(), {"kind": "test"}, 1, "by mail", key="mail", content_hash=mailed.content_hash()
        )
        home.versions.commit_and_move(new, expected=home.versions.pointer("small"))
        said: list[str] = []
        reader = threading.Thread(target=answer_first, args=(home.mailbox, said))
        reader.start()
        routed = route_once(home, "small", "Who sent this invoice?", {})
        reader.join()
        assert routed.answer.output == {"team": "billing"}
        assert [path.name for path in home.mailbox.iterdir()] == said
    finally:
        home.close()
