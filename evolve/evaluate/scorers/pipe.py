"""A child process that answers one line with one line, and is killed with its whole group when it is late."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from evolve.core.environment import without_secrets
from evolve.evaluate.scorers.base import ScorerFault

CHUNK = 65_536
KEPT_STDERR = 4_000
SECONDS_TO_DIE = 3.0


class ChildPipe:
    """Started, asked and killed by one thread at a time; any thread may `signal`."""

    def __init__(self, command: Sequence[str], directory: Path, most_bytes: int) -> None:
        self._command = command
        self._directory = directory
        self._most_bytes = most_bytes
        self._process: subprocess.Popen[bytes] | None = None
        self._said = bytearray()

    @property
    def alive(self) -> bool:
        """Whether a child is running now."""
        return self._process is not None and self._process.poll() is None

    def start(self, seconds: float) -> bytes:
        """Starts a child and returns its first line. ScorerFault when there is none in time."""
        self.kill()
        self._said.clear()
        try:
            self._process = subprocess.Popen(
                self._command,
                cwd=self._directory,
                env=without_secrets(os.environ),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            raise ScorerFault(f"the scorer process could not be started: {error}") from error
        for stream in self._streams(self._process):
            os.set_blocking(stream.fileno(), False)
        return self.ask(b"", seconds)

    def ask(self, line: bytes, seconds: float) -> bytes:
        """Sends `line` and returns the next line of the child.

        ScorerFault, with the child and its group killed, when it is late, dead or says more than `most_bytes`.
        """
        process = self._process
        if process is None:
            raise ScorerFault("the scorer process was ended")
        try:
            return self._exchange(process, line, seconds)
        except ScorerFault:
            self.kill()
            raise
        except (OSError, ValueError) as error:
            self.kill()
            raise ScorerFault(f"the scorer process ended ({_how(process)})", details=self._tail()) from error

    def _exchange(self, process: subprocess.Popen[bytes], line: bytes, seconds: float) -> bytes:
        """Writes and reads at once, never blocking: neither a full pipe nor a silent child can outlast `seconds`."""
        deadline = time.monotonic() + seconds
        stdin, stdout, stderr = self._streams(process)
        unsent, reply = memoryview(line), bytearray()
        with selectors.DefaultSelector() as ready:
            ready.register(stdout, selectors.EVENT_READ)
            ready.register(stderr, selectors.EVENT_READ)
            if line:
                ready.register(stdin, selectors.EVENT_WRITE)
            while not reply.endswith(b"\n"):
                left = deadline - time.monotonic()
                if left <= 0:
                    raise ScorerFault(f"no score within {seconds:g} s; the scorer was killed", details=self._tail())
                for key, _ in ready.select(left):
                    if key.fileobj is stdin:
                        unsent = unsent[os.write(key.fd, unsent[:CHUNK]) :]
                        if not unsent:
                            ready.unregister(stdin)
                    elif key.fileobj is stderr:
                        self._hear(ready, stderr)
                    else:
                        self._take(process, stdout, reply)
        return bytes(reply)

    def _take(self, process: subprocess.Popen[bytes], stdout: IO[bytes], reply: bytearray) -> None:
        chunk = os.read(stdout.fileno(), CHUNK)
        if not chunk:
            self.signal()
            raise ScorerFault(f"the scorer process ended ({_how(process)})", details=self._tail())
        reply += chunk
        if len(reply) > self._most_bytes:
            raise ScorerFault(f"the scorer replied more than {self._most_bytes:,} bytes", details=self._tail())

    def _hear(self, ready: selectors.BaseSelector, stderr: IO[bytes]) -> None:
        chunk = os.read(stderr.fileno(), CHUNK)
        if not chunk:
            ready.unregister(stderr)
        self._said += chunk
        del self._said[:-KEPT_STDERR]

    def _tail(self) -> str:
        return self._said.decode("utf-8", "replace")

    @staticmethod
    def _streams(process: subprocess.Popen[bytes]) -> tuple[IO[bytes], IO[bytes], IO[bytes]]:
        if process.stdin is None or process.stdout is None or process.stderr is None:
            raise ValueError("the child has no pipes")
        return process.stdin, process.stdout, process.stderr

    def signal(self) -> None:
        """SIGKILL to the group of the child; who is asking it sees it end."""
        process = self._process
        if process is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)

    def kill(self) -> None:
        """Ends the group of the child and closes its pipes here, whoever else holds them. Safe to repeat."""
        self.signal()
        process, self._process = self._process, None
        if process is None:
            return
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(SECONDS_TO_DIE)
        for stream in self._streams(process):
            with contextlib.suppress(OSError):
                stream.close()


def _how(process: subprocess.Popen[bytes]) -> str:
    try:
        code = process.wait(SECONDS_TO_DIE)
    except subprocess.TimeoutExpired:
        return "it closed its pipe"
    return f"signal {-code}" if code < 0 else f"exit {code}"
