"""Denies system calls with seccomp: what a plugin needs no more once it runs.

A filter is a program of the kernel's packet filter (`man 2 seccomp`). It holds for the process, all
its threads, and for ever.
"""

import ctypes
import errno
import os
import platform
import struct
from collections.abc import Iterator, Mapping

from heddle_tools_service.workers.confinement.libc import libc

# Numbers from the kernel's headers: x86_64, aarch64. None: the architecture has no such call.
_DENIED: Mapping[str, tuple[int | None, int | None]] = {
    # The network. The event loop's own socket pair stays possible.
    "socket": (41, 198),
    "connect": (42, 203),
    "bind": (49, 200),
    "listen": (50, 201),
    "accept": (43, 202),
    "accept4": (288, 242),
    # Requests that the kernel carries out without a further call of the process.
    "io_setup": (206, 0),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    # Other programs and processes.
    "fork": (57, None),
    "vfork": (58, None),
    "execve": (59, 221),
    "execveat": (322, 281),
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "process_madvise": (440, 440),
    "process_mrelease": (448, 448),
    "kcmp": (312, 272),
    "pidfd_open": (434, 434),
    "pidfd_getfd": (438, 438),
    "pidfd_send_signal": (424, 424),
    "tkill": (200, 130),
    "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240),
    "setpriority": (141, 140),
    "ioprio_set": (251, 30),
    "sched_setscheduler": (144, 119),
    "sched_setparam": (142, 118),
    "sched_setattr": (314, 274),
    "sched_setaffinity": (203, 122),
    "migrate_pages": (256, 238),
    "move_pages": (279, 239),
    # Memory and queues that outlive the process or that its limits do not cover.
    "shmget": (29, 194),
    "shmat": (30, 196),
    "shmctl": (31, 195),
    "msgget": (68, 186),
    "msgsnd": (69, 189),
    "msgrcv": (70, 188),
    "msgctl": (71, 187),
    "semget": (64, 190),
    "semop": (65, 193),
    "semtimedop": (220, 192),
    "semctl": (66, 191),
    "mq_open": (240, 180),
    "mq_unlink": (241, 181),
    "timer_create": (222, 107),
    "memfd_create": (319, 279),
    "memfd_secret": (447, 447),
    # Files: Landlock does not cover these, or not on each kernel. A filter cannot read the flags of
    # `openat2`.
    "openat2": (437, 437),
    "creat": (85, None),
    "chmod": (90, None),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "fchmodat2": (452, 452),
    "chown": (92, None),
    "lchown": (94, None),
    "fchown": (93, 55),
    "fchownat": (260, 54),
    "utime": (132, None),
    "utimes": (235, None),
    "futimesat": (261, None),
    "utimensat": (280, 88),
    "setxattr": (188, 5),
    "lsetxattr": (189, 6),
    "fsetxattr": (190, 7),
    "setxattrat": (463, 463),
    "removexattr": (197, 14),
    "lremovexattr": (198, 15),
    "fremovexattr": (199, 16),
    "removexattrat": (466, 466),
    "truncate": (76, 45),
    "mknod": (133, None),
    "mknodat": (259, 33),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "inotify_init": (253, None),
    "inotify_init1": (294, 26),
    "fanotify_init": (300, 262),
    "sync": (162, 81),
    "syncfs": (306, 267),
    # The machine.
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "setns": (308, 268),
    "unshare": (272, 97),
    "open_tree": (428, 428),
    "move_mount": (429, 429),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "keyctl": (250, 219),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "reboot": (169, 142),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "clock_adjtime": (305, 266),
    "adjtimex": (159, 171),
    "acct": (163, 89),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "syslog": (103, 116),
    "personality": (135, 92),
    "iopl": (172, None),
    "ioperm": (173, None),
    "modify_ldt": (154, None),
    "capset": (126, 91),
    "setuid": (105, 146),
    "setgid": (106, 144),
    "setreuid": (113, 145),
    "setregid": (114, 143),
    "setresuid": (117, 147),
    "setresgid": (119, 149),
    "setgroups": (116, 159),
}
_CLONE, _CLONE3, _KILL, _TGKILL = (56, 220), (435, 435), (62, 129), (234, 131)
_PRCTL, _PRLIMIT, _FCNTL, _IOCTL = (157, 167), (302, 261), (72, 25), (16, 29)
_SOCKETPAIR, _OPEN, _OPENAT = (53, 199), (2, None), (257, 56)
_LAST = 466
"""The newest call that the table was compared with. Later ones do not exist for plugins."""
_CLONE_THREAD = 0x10000
_PR_SET_PDEATHSIG = 1
_SIGNAL_OWNERS = (8, 10, 15)
"""`F_SETOWN`, `F_SETSIG` and `F_SETOWN_EX`: they make the kernel send signals to others."""
_IOCTLS = (0x5401, 0x802C542A, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)
"""What Python and the event loop ask of a descriptor: whether it is a terminal, and of which size;
how much there is to read; not to block; to stay open, or not, in another program. Others change
files that can only be read, send signals, or write into terminals."""
_NOT_STREAM = 0b110
"""The bits that a type of socket other than `SOCK_STREAM` has. Datagrams can be sent from a pair to
any socket of the machine that has a name."""
_ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
_X32 = 0x40000000

_LOAD, _JUMP_EQUAL, _JUMP_GREATER_EQUAL, _JUMP_SET, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_OPENS_FOR_CHANGE = os.O_TRUNC | os.O_CREAT
_ALLOW, _KILL_PROCESS, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16  # offsets in `struct seccomp_data`
_PR_SET_SECCOMP, _MODE_FILTER, _GET_ACTION_AVAIL, _SECCOMP = 22, 2, 2, (317, 277)

Instruction = tuple[int, int, int, int]


def is_available() -> bool:
    """Return whether the kernel has filters, and this module knows the architecture's calls."""
    index = _ARCHITECTURES.get(platform.machine(), (None,))[0]
    if index is None:
        return False
    action = ctypes.c_uint32(_KILL_PROCESS)
    available = libc().syscall(_SECCOMP[index], _GET_ACTION_AVAIL, 0, ctypes.byref(action))
    return bool(available == 0)


def deny() -> None:
    """Deny the system calls to this process. It needs `no_new_privs` or is root.

    Raises:
        OSError: The kernel refuses the filter.
    """
    index, architecture = _ARCHITECTURES[platform.machine()]
    program = b"".join(struct.pack("=HBBI", *each) for each in _program(index, architecture))
    code = ctypes.create_string_buffer(program, len(program))

    class Program(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))

    loaded = Program(len(program) // 8, ctypes.addressof(code))
    if libc().prctl(_PR_SET_SECCOMP, _MODE_FILTER, ctypes.byref(loaded), 0, 0):
        number = ctypes.get_errno()
        raise OSError(number, f"seccomp: {os.strerror(number)}")


def _program(index: int, architecture: int) -> Iterator[Instruction]:
    own = os.getpid()
    yield _LOAD, 0, 0, _ARCHITECTURE
    yield _JUMP_EQUAL, 1, 0, architecture
    yield _RETURN, 0, 0, _KILL_PROCESS
    yield _LOAD, 0, 0, _NUMBER
    yield from _if(_JUMP_GREATER_EQUAL, _X32, errno.ENOSYS)
    yield from _if(_JUMP_GREATER_EQUAL, _LAST + 1, errno.ENOSYS)
    for numbers in _DENIED.values():
        if (number := numbers[index]) is not None:
            yield from _if(_JUMP_EQUAL, number, errno.EPERM)
    # glibc then uses `clone`, whose flags a filter can read.
    yield from _if(_JUMP_EQUAL, _CLONE3[index], errno.ENOSYS)
    threads = [_argument(0), (_JUMP_SET, 1, 0, _CLONE_THREAD), _error(errno.EPERM)]
    yield from _for(_CLONE[index], threads)
    to_itself = [_argument(0), (_JUMP_EQUAL, 1, 0, own), _error(errno.EPERM)]
    yield from _for(_KILL[index], to_itself)
    yield from _for(_TGKILL[index], to_itself)
    own_limits = [
        _argument(0),
        (_JUMP_EQUAL, 2, 0, 0),
        (_JUMP_EQUAL, 1, 0, own),
        _error(errno.EPERM),
    ]
    yield from _for(_PRLIMIT[index], own_limits)
    yield from _for(_PRCTL[index], [_argument(0), *_if(_JUMP_EQUAL, _PR_SET_PDEATHSIG)])
    owners = [each for command in _SIGNAL_OWNERS for each in _if(_JUMP_EQUAL, command)]
    yield from _for(_FCNTL[index], [_argument(1), *owners])
    # Each comparison that succeeds jumps over the others and the error.
    left = range(len(_IOCTLS), 0, -1)
    permitted = [
        (_JUMP_EQUAL, skipped, 0, request) for skipped, request in zip(left, _IOCTLS, strict=True)
    ]
    yield from _for(_IOCTL[index], [_argument(1), *permitted, _error(errno.EPERM)])
    streams = [_argument(1), *_if(_JUMP_SET, _NOT_STREAM)]
    yield from _for(_SOCKETPAIR[index], streams)
    for number, flags in ((_OPEN[index], 1), (_OPENAT[index], 2)):
        if number is not None:
            changes = _if(_JUMP_SET, _OPENS_FOR_CHANGE, errno.EACCES)
            yield from _for(number, [_argument(flags), *changes])
    yield _RETURN, 0, 0, _ALLOW


def _if(condition: int, value: int, error: int = errno.EPERM) -> Iterator[Instruction]:
    yield condition, 0, 1, value
    yield _error(error)


def _for(number: int, instructions: list[Instruction]) -> Iterator[Instruction]:
    """Yield instructions for one call. They end with the call being allowed."""
    yield _JUMP_EQUAL, 0, len(instructions) + 1, number
    yield from instructions
    yield _RETURN, 0, 0, _ALLOW


def _argument(position: int) -> Instruction:
    """Load the lower half of an argument, which is all that the kernel reads of an `int`."""
    return _LOAD, 0, 0, _ARGUMENTS + 8 * position


def _error(number: int) -> Instruction:
    return _RETURN, 0, 0, _ERRNO | number
