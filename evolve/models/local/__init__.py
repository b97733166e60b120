"""Small language models on this machine: llama.cpp servers in child processes, one slot and one thread each."""

from evolve.models.local.model import LocalModel
from evolve.models.local.worker import Worker, WorkerPlan

__all__ = ["LocalModel", "Worker", "WorkerPlan"]
