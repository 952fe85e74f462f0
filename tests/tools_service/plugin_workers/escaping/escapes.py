"""A tool that tries to get out of its process, in one way for each call."""

# ruff: noqa: ARG001, S108, PTH208, S605, S606, S607, BLE001, T201, PLC0415 - it tries everything

import ctypes
import importlib
import json
import mmap
import os
import resource
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from heddle_tools_service.sdk import ToolCall, ToolResult, tool

libc = ctypes.CDLL(None, use_errno=True)
GIGABYTE = 1 << 30


class Target:
    """What the escapes go for."""

    def __init__(self, service: int, folder: str, port: int) -> None:
        self.service = service
        self.secret_file = Path(folder) / "heddle.db"
        self.socket_file = str(Path(folder) / "service.sock")
        self.datagram_file = str(Path(folder) / "datagrams.sock")
        self.abstract_name = f"\0heddle-{folder}"
        self.port = port


def called(name: str, *arguments: object) -> str:
    result = getattr(libc, name)(*arguments)
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return f"{name} returned {result}"


def read(path: str) -> str:
    return Path(path).read_bytes().decode("latin-1")


def environment(target: Target) -> str:
    return os.environ["HEDDLE_TOOLS_MOODLE_TOKEN"]


def environment_of_service(target: Target) -> str:
    return read(f"/proc/{target.service}/environ")


def environment_of_parent(target: Target) -> str:
    return read(f"/proc/{os.getppid()}/environ")


def memory_of_service(target: Target) -> str:
    return read(f"/proc/{target.service}/maps")


def own_memory_file(target: Target) -> str:
    return read("/proc/self/status")


def passwords(target: Target) -> str:
    return read("/etc/passwd")


def database(target: Target) -> str:
    return read(str(target.secret_file))


def list_of_files(target: Target) -> str:
    return str(os.listdir(target.secret_file.parent))


def overwritten_database(target: Target) -> str:
    return str(target.secret_file.write_text("gone"))


def truncated_database(target: Target) -> str:
    os.truncate(target.secret_file, 0)
    return "truncated"


def deleted_database(target: Target) -> str:
    target.secret_file.unlink()
    return "deleted"


def renamed_database(target: Target) -> str:
    target.secret_file.rename(target.secret_file.with_suffix(".stolen"))
    return "renamed"


def linked_database(target: Target) -> str:
    os.link(target.secret_file, target.secret_file.with_suffix(".link"))
    return "linked"


def locked_out_of_database(target: Target) -> str:
    target.secret_file.chmod(0)
    return "mode changed"


def stolen_database(target: Target) -> str:
    os.chown(target.secret_file, 65534, 65534)
    return "owner changed"


def changed_times(target: Target) -> str:
    os.utime(target.secret_file, (0, 0))
    return "times changed"


def database_behind_a_link(target: Target) -> str:
    return read(str(Path(__file__).with_name("link.txt")))


def flags_of_own_file(target: Target) -> str:
    import fcntl

    with Path(__file__).open("rb") as file:
        flags = fcntl.ioctl(file, 0x80086601, bytes(8))
        no_dump = (int.from_bytes(flags, "little") | 0x40).to_bytes(8, "little")
        return str(fcntl.ioctl(file, 0x40086602, no_dump))


def emptied_by_opening(target: Target) -> str:
    return str(os.open(__file__, os.O_RDONLY | os.O_TRUNC))


def own_file(target: Target) -> str:
    return str(Path(__file__).write_text("# other code"))


def temporary_file(target: Target) -> str:
    return str(Path(f"/tmp/escape-{os.getpid()}").write_text("x"))


def shared_memory_file(target: Target) -> str:
    return str(Path(f"/dev/shm/escape-{os.getpid()}").write_text("x"))


def anonymous_file(target: Target) -> str:
    return str(os.memfd_create("escape"))


def system_v_memory(target: Target) -> str:
    return called("shmget", 0, 4096, 0o1600)


def loopback(target: Target) -> str:
    with socket.create_connection(("127.0.0.1", target.port), timeout=2) as connection:
        return str(connection.getpeername())


def datagram(target: Target) -> str:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as unconnected:
        return str(unconnected.sendto(b"x", ("127.0.0.1", target.port)))


def listening(target: Target) -> str:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return str(server.getsockname())


def unix_socket(target: Target) -> str:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(target.socket_file)
        return "connected"


def datagram_to_socket_file(target: Target) -> str:
    ours, _ = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    with ours:
        return str(ours.sendto(b"x", target.datagram_file))


def datagram_to_abstract_name(target: Target) -> str:
    ours, _ = socket.socketpair(socket.AF_UNIX, socket.SOCK_RAW)
    with ours:
        return str(ours.sendto(b"x", target.abstract_name))


def routing_socket(target: Target) -> str:
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW) as connection:
        return str(connection.getsockname())


def ring(target: Target) -> str:
    return called("syscall", 425, 4, ctypes.create_string_buffer(120))


def queue_of_requests(target: Target) -> str:
    return called("syscall", 206, 1, ctypes.byref(ctypes.c_ulong()))


def child(target: Target) -> str:
    process = os.fork()
    if not process:
        os._exit(0)
    os.waitpid(process, 0)
    return str(process)


def program(target: Target) -> str:
    return subprocess.run(
        [sys.executable, "-c", "print(1)"], capture_output=True, check=True
    ).stdout.decode()


def shell(target: Target) -> str:
    status = os.system("true")
    if status:
        raise PermissionError(status)
    return "ran"


def other_program(target: Target) -> str:
    os.execv("/bin/true", ["true"])
    return "never"


def program_in_memory(target: Target) -> str:
    descriptor = os.memfd_create("escape")
    os.write(descriptor, Path("/bin/true").read_bytes())
    return called("syscall", 322, descriptor, b"", None, None, 0x1000)


def signal_to_service(target: Target) -> str:
    os.kill(target.service, 0)
    return "may signal"


def signal_to_all(target: Target) -> str:
    os.kill(0, 0)
    return "may signal its group"


def signal_by_descriptor(target: Target) -> str:
    return str(os.pidfd_open(target.service))


def signal_by_ownership(target: Target) -> str:
    import fcntl

    ours, _ = socket.socketpair()
    with ours:
        return str(fcntl.fcntl(ours, fcntl.F_SETOWN, target.service))


def trace(target: Target) -> str:
    result = called("ptrace", 0x4206, target.service, 0, 0)
    libc.ptrace(17, target.service, 0, 0)
    return result


def memory_by_call(target: Target) -> str:
    return called("process_vm_readv", target.service, None, 0, None, 0, 0)


def limits_of_service(target: Target) -> str:
    return str(resource.prlimit(target.service, resource.RLIMIT_NOFILE))


def priority_of_service(target: Target) -> str:
    os.setpriority(os.PRIO_PROCESS, target.service, 19)
    return "slowed down"


def processors_of_service(target: Target) -> str:
    os.sched_setaffinity(target.service, {0})
    return "moved"


def user(target: Target) -> str:
    os.setresuid(12345, 12345, 12345)
    return str(os.getuid())


def namespaces(target: Target) -> str:
    return called("unshare", 0x10000000)


def mounted(target: Target) -> str:
    return called("mount", b"none", b"/tmp", b"tmpfs", 0, None)


def root_folder(target: Target) -> str:
    os.chroot("/tmp")
    return "changed"


def kernel_keys(target: Target) -> str:
    return called("syscall", 250, 0, -3, 1)


def new_kernel_key(target: Target) -> str:
    return called("syscall", 248, b"user", b"escape", b"x", 1, -3)


def clock(target: Target) -> str:
    import time

    time.clock_settime(time.CLOCK_REALTIME, time.time())
    return "set"


def watched_files(target: Target) -> str:
    return called("inotify_init1", 0)


def higher_limits(target: Target) -> str:
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    if hard == resource.RLIM_INFINITY:
        return "unlimited"
    resource.setrlimit(resource.RLIMIT_AS, (hard + GIGABYTE, hard + GIGABYTE))
    return "raised"


def memory(target: Target) -> str:
    try:
        return str(len(bytearray(4 * GIGABYTE)))
    except MemoryError:
        raise PermissionError("no memory") from None


def shared_memory(target: Target) -> str:
    with mmap.mmap(-1, 4 * GIGABYTE) as area:
        return str(len(area))


def threads(target: Target) -> str:
    enough = threading.Event()
    started = 0
    try:
        for _ in range(2_000):
            threading.Thread(target=enough.wait, daemon=True).start()
            started += 1
    except (RuntimeError, MemoryError):
        raise PermissionError(started) from None
    finally:
        enough.set()
    return str(started)


def threads_with_small_stacks(target: Target) -> str:
    threading.stack_size(32_768)
    try:
        return threads(target)
    finally:
        threading.stack_size(0)


def timers(target: Target) -> str:
    identifiers = (ctypes.c_int * 100_000)()
    for number in range(20_000):
        called("timer_create", 1, None, ctypes.byref(identifiers, 8 * number))
    return "20,000 timers"


def descriptors(target: Target) -> str:
    others = [each for each in range(3, 200) if is_open(each)]
    sockets = [each for each in others if os.fstat(each).st_mode & 0o170000 == 0o140000]
    files = [each for each in others if os.fstat(each).st_mode & 0o170000 == 0o100000]
    if len(sockets) > 3 or files:
        return f"{sockets} {files}"
    raise PermissionError("nothing but the channel and the event loop")


def is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True


def settings_of_service(target: Target) -> str:
    settings = importlib.import_module("heddle_tools_service.settings").ToolsSettings()
    if not settings.moodle_token.get_secret_value():
        raise PermissionError("the settings are empty")
    return str(settings.moodle_token.get_secret_value())


def token_of_administrator(target: Target) -> str:
    identity = importlib.import_module("heddle_runtime.identity.callers")
    secret = os.environ.get("HEDDLE_TOOLS_MOODLE_TOKEN") or read(str(target.secret_file))
    return str(identity.TokenSigner(secret))


def end_without_parent(target: Target) -> str:
    return called("prctl", 1, 0, 0, 0, 0)


ESCAPES: dict[str, Callable[[Target], str]] = {
    name: value
    for name, value in list(globals().items())
    if getattr(value, "__annotations__", {}).get("target") is Target
}


def attempt(name: str, target: Target) -> str:
    """Return what an escape got, or why it got nothing."""
    try:
        return "ESCAPED " + ESCAPES[name](target)[:200]
    except Exception as error:
        return f"denied: {error!r}"


@tool("escape", title="Escape")
async def escape(call: ToolCall[None]) -> ToolResult:
    """Tries to escape."""
    name, service, folder, port = json.loads(call.query)
    return ToolResult(attempt(name, Target(service, folder, port)))


if __name__ == "__main__":
    name, service, folder, port = json.loads(sys.argv[1])
    print(attempt(name, Target(service, folder, port)))
