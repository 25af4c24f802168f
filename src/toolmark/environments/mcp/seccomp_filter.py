"""A filter of system calls: what namespaces do not confine is refused with EPERM.

Sockets of families other than files and the internet are not confined by a network namespace. Keys
of the kernel are not confined by a user namespace. Files without a name are not seen by what
measures memory. The other refused calls enlarge the attack surface and no tool needs them.
"""

from __future__ import annotations

import platform
import struct

_EPERM, _ENOSYS = 1, 38
_ALLOW = 0x7FFF0000
_ERRNO = 0x00050000
_KILL = 0x80000000
_LOAD, _EQUAL, _ABOVE, _BITS, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06  # filter operations
_CALL_NUMBER_OFFSET, _ARCH_OFFSET, _FIRST_ARGUMENT_OFFSET = 0, 4, 16  # offsets in its input
_X32 = 0x40000000
_SOCKET_FAMILIES = (1, 2, 10, 16)  # files, internet 4 and 6, and netlink, which lists addresses
# the kernel's audit number of the architecture, then the column of its call numbers
_MACHINES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}
_SOCKET = (41, 198)
_CLONE, _CLONE3 = (56, 220), (435, 435)
# new namespaces of mounts, control groups, names, System V, users, processes, networks
_NEW_NAMESPACE_FLAGS = (
    0x20000 | 0x02000000 | 0x04000000 | 0x08000000 | 0x10000000 | 0x20000000 | 0x40000000
)
_REFUSED_CALLS = {
    "acct": (163, 89), "add_key": (248, 217), "bpf": (321, 280), "delete_module": (176, 106),
    "fanotify_init": (300, 262), "finit_module": (313, 273), "fsconfig": (431, 431),
    "fsmount": (432, 432), "fsopen": (430, 430), "fspick": (433, 433), "init_module": (175, 105),
    "io_uring_enter": (426, 426), "io_uring_register": (427, 427), "io_uring_setup": (425, 425),
    "kcmp": (312, 272), "kexec_file_load": (320, 294), "kexec_load": (246, 104),
    "keyctl": (250, 219), "memfd_create": (319, 279), "memfd_secret": (447, 447),
    "mount": (165, 40), "mount_setattr": (442, 442),
    "move_mount": (429, 429), "msgget": (68, 186), "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265), "open_tree": (428, 428), "perf_event_open": (298, 241),
    "pidfd_getfd": (438, 438), "pivot_root": (155, 41),
    "process_vm_readv": (310, 270), "process_vm_writev": (311, 271),
    "ptrace": (101, 117), "quotactl": (179, 60), "reboot": (169, 142),
    "request_key": (249, 218), "semget": (64, 190), "setns": (308, 268), "shmget": (29, 194),
    "swapoff": (168, 225), "swapon": (167, 224), "syslog": (103, 116), "umount2": (166, 39),
    "unshare": (272, 97), "userfaultfd": (323, 282),
}  # fmt: skip


def filter_program(machine: str = "") -> bytes:
    """Return the filter for a machine, by default this one; empty where its calls are unknown."""
    if (machine or platform.machine()) not in _MACHINES:
        return b""
    arch, column = _MACHINES[machine or platform.machine()]
    numbers = sorted(pair[column] for pair in _REFUSED_CALLS.values())
    code = [
        (_LOAD, 0, 0, _ARCH_OFFSET),
        (_EQUAL, 1, 0, arch),
        (_RETURN, 0, 0, _KILL),
        (_LOAD, 0, 0, _CALL_NUMBER_OFFSET),
        (_ABOVE, 0, 1, _X32),
        (_RETURN, 0, 0, _ERRNO | _EPERM),
    ]
    for number in numbers:
        code += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, _ERRNO | _EPERM)]
    # the arguments of clone3 are in memory, which no filter sees; without clone3, clone is called
    code += [(_EQUAL, 0, 1, _CLONE3[column]), (_RETURN, 0, 0, _ERRNO | _ENOSYS)]
    code += [(_EQUAL, 0, 4, _CLONE[column]), (_LOAD, 0, 0, _FIRST_ARGUMENT_OFFSET)]
    code += [
        (_BITS, 0, 1, _NEW_NAMESPACE_FLAGS),
        (_RETURN, 0, 0, _ERRNO | _EPERM),
        (_RETURN, 0, 0, _ALLOW),
    ]
    code += [
        (_EQUAL, 1, 0, _SOCKET[column]),
        (_RETURN, 0, 0, _ALLOW),
        (_LOAD, 0, 0, _FIRST_ARGUMENT_OFFSET),
    ]
    for family in _SOCKET_FAMILIES:
        code += [(_EQUAL, 0, 1, family), (_RETURN, 0, 0, _ALLOW)]
    code.append((_RETURN, 0, 0, _ERRNO | _EPERM))
    return b"".join(struct.pack("=HBBI", *line) for line in code)
