"""Waiting for a slot, for money or for a busy provider does not count against the harness's own time limit."""

from __future__ import annotations

import asyncio

import pytest

from evolve.core.waiting import RunClock, waiting


async def test_a_wait_longer_than_the_limit_is_not_a_time_out() -> None:
    async with asyncio.timeout(0.2) as limit:
        with RunClock(limit).running():
            with waiting():
                await asyncio.sleep(0.5)
            await asyncio.sleep(0.02)


async def test_time_before_and_after_a_wait_adds_up() -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.3) as limit:
            with RunClock(limit).running():
                await asyncio.sleep(0.2)
                with waiting():
                    await asyncio.sleep(0.3)
                await asyncio.sleep(0.2)


async def test_the_clock_stands_while_any_branch_waits() -> None:
    async def branch(seconds: float) -> None:
        with waiting():
            await asyncio.sleep(seconds)

    async with asyncio.timeout(0.2) as limit:
        with RunClock(limit).running():
            await asyncio.gather(branch(0.1), branch(0.4))


async def test_a_wait_outside_any_run_is_a_plain_wait() -> None:
    with waiting():
        await asyncio.sleep(0)
