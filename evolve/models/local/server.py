"""The child process of a local worker: one llama.cpp server with one slot, which never outlives its parent.

It runs as a script. The plan comes as one JSON line on standard input, the address leaves as one JSON line on standard
output; end of input means that the parent is gone.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
from typing import Any

_PR_SET_PDEATHSIG = 1


def die_with(parent: int) -> None:
    """Asks the kernel (Linux) to end this process with its parent; ends it now when the parent is gone already."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(0)


def start_server(plan: dict[str, Any]) -> Any:
    """Loads the weights and listens on a free port of the loopback interface."""
    import xllamacpp  # after the death watch is set

    params = xllamacpp.CommonParams()
    params.model.path = plan["weights"]
    params.n_parallel = 1
    params.n_ctx = plan["context_tokens"]
    params.n_threads_http = 2
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = plan["threads"]
    params.cache_ram_mib = plan["cache_mib"]
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [plan["key"]]
    params.ui = params.endpoint_slots = False
    params.verbosity = -1
    return xllamacpp.Server(params)


def main() -> None:
    """Serves until standard input ends."""
    plan = json.loads(sys.stdin.readline())
    die_with(plan["parent"])
    server = start_server(plan)
    print(json.dumps({"address": server.listening_address}), flush=True)
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main()
