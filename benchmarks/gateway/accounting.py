"""What the operating system says that processes have used."""

import os
from collections.abc import Iterator, Sequence

import psutil

MEBIBYTE = 1024 * 1024


def cpu_seconds(pids: Sequence[int]) -> float:
    """Return the user and system time of processes and all their children, ended ones included.

    From `/proc/PID/stat`, in steps of 10 ms: measure spans that are long against that.
    """
    total = 0.0
    for process in _family(pids):
        used = process.cpu_times()
        total += used.user + used.system + used.children_user + used.children_system
    return total


def memory(pids: Sequence[int]) -> float:
    """Return the proportional set size in MiB: shared pages count once over all processes."""
    return sum(process.memory_full_info().pss for process in _family(pids)) / MEBIBYTE


def machine_seconds() -> float:
    """Return the time that all cores have been busy, with what a hypervisor took from them."""
    used = psutil.cpu_times()
    return float(used.user + used.nice + used.system + used.irq + used.softirq + used.steal)


def our_seconds() -> float:
    """Return the time that this process and everything it started has used."""
    return cpu_seconds([os.getpid()])


def _family(pids: Sequence[int]) -> Iterator[psutil.Process]:
    for pid in pids:
        process = psutil.Process(pid)
        yield process
        yield from process.children(recursive=True)
