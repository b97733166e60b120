"""The program in the child process of a custom scorer: loads the user's file, then answers one line with one line.

Run by path, standard library only: `child.py FILE FUNCTION ENGINE_ROOT PARENT_PID`. The pipe of replies is moved away
from descriptor 1 first, so whatever the scorer prints goes to standard error.
"""

from __future__ import annotations

import ctypes
import difflib
import importlib.util
import json
import math
import numbers
import os
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

MOST_SHOWN = 200
MOST_REASON = 2_000
MOST_TRACEBACK = 8_000
PR_SET_PDEATHSIG = 1


def main(file: str, function: str, engine_root: str, parent: int) -> None:
    """Serves until the pipe of requests closes."""
    die_with_parent(parent)
    requests, replies = take_pipes()
    sys.path.insert(0, str(Path(file).parent))
    sys.path.append(engine_root)
    try:
        score = load(Path(file), function)
    except BaseException:
        send(replies, {"fault": "the scorer could not be loaded", "details": trace()})
        return
    send(replies, {"ready": True})
    for line in requests:
        send(replies, answer(score, json.loads(line)))


def die_with_parent(parent: int) -> None:
    """The kernel ends this process when the thread that started it ends, however it ends (Linux only)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)


def take_pipes() -> tuple[BinaryIO, BinaryIO]:
    """Private, non-inheritable copies of 0 and 1; then 0 reads nothing and 1 is standard error."""
    requests, replies = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(2, 1)
    return os.fdopen(requests, "rb"), os.fdopen(replies, "wb")


def load(path: Path, function: str) -> Callable[[Any, Any], Any]:
    """The function named `function` of the file; AttributeError names the nearest one."""
    spec = importlib.util.spec_from_file_location("custom_scorer", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    found = getattr(module, function, None)
    if not callable(found):
        near = difflib.get_close_matches(function, dir(module), n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise AttributeError(f"{path} defines no function {function!r}{hint}")
    return found  # type: ignore[no-any-return]


def answer(score: Callable[[Any, Any], Any], request: dict[str, Any]) -> dict[str, Any]:
    """One graded request. Whatever the function raises, SystemExit too, is a fault of this case only."""
    head = {"id": request["id"]}
    try:
        raw = score(request["output"], request["expected"])
        reason = ""
        if hasattr(raw, "value") and hasattr(raw, "reason"):
            raw, reason = raw.value, str(raw.reason)[:MOST_REASON]
            if raw is None:
                return head | {"ungraded": reason}
        return head | {"reason": reason} | plain(raw)
    except BaseException as error:
        summary = traceback.format_exception_only(error)[-1].strip()
        return head | {"fault": summary[:MOST_REASON], "details": trace()}


def plain(raw: Any) -> dict[str, Any]:
    """A real number as `value`; anything else, NaN and infinity too, only as it looks."""
    if not isinstance(raw, bool) and isinstance(raw, numbers.Real):
        try:
            number = float(raw)
        except OverflowError:
            return {"odd": "a number too large for a float"}
        if math.isfinite(number):
            return {"value": number}
    try:
        return {"odd": repr(raw)[:MOST_SHOWN]}
    except Exception:
        return {"odd": f"an object of class {type(raw).__name__}"}


def trace() -> str:
    """The end of the traceback being handled."""
    return traceback.format_exc()[-MOST_TRACEBACK:]


def send(replies: BinaryIO, reply: dict[str, Any]) -> None:
    """One line of ASCII JSON."""
    replies.write(json.dumps(reply).encode("ascii") + b"\n")
    replies.flush()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]))
