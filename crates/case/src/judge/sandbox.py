"""What a candidate's process may not do, asked of the Linux kernel: Landlock for files, seccomp for the rest.

Everything is set by the process itself before the candidate's first line, and cannot be undone by it.
"""

import ctypes as _ctypes
import os as _os
import struct as _struct

_libc = _ctypes.CDLL(None, use_errno=True)
_PR_SET_PDEATHSIG, _PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS = 1, 22, 38
_LANDLOCK_CREATE, _LANDLOCK_ADD, _LANDLOCK_RESTRICT = 444, 445, 446
_READ = (1 << 0) | (1 << 2) | (1 << 3)  # execute, read a file, list a folder
_EPERM, _ENOSYS = 1, 38

# Numbers of system calls: x86_64, aarch64.
_CALLS = {
    "x86_64": (0xC000003E, {
        "clone": 56, "fork": 57, "vfork": 58, "execve": 59, "execveat": 322, "clone3": 435,
        "kill": 62, "tkill": 200, "tgkill": 234, "rt_sigqueueinfo": 129, "rt_tgsigqueueinfo": 297,
        "pidfd_send_signal": 424, "pidfd_open": 434, "pidfd_getfd": 438, "kcmp": 312,
        "socket": 41, "connect": 42, "bind": 49, "listen": 50, "ptrace": 101,
        "process_vm_readv": 310, "process_vm_writev": 311, "process_madvise": 440,
        "chmod": 90, "fchmod": 91, "chown": 92, "fchown": 93, "lchown": 94, "fchmodat": 268,
        "fchownat": 260, "fchmodat2": 452, "utime": 132, "utimes": 235, "futimesat": 261,
        "utimensat": 280, "setxattr": 188, "lsetxattr": 189, "fsetxattr": 190, "removexattr": 197,
        "lremovexattr": 198, "fremovexattr": 199, "mount": 165, "umount2": 166, "pivot_root": 155,
        "chroot": 161, "reboot": 169, "kexec_load": 246, "kexec_file_load": 320, "init_module": 175,
        "finit_module": 313, "delete_module": 176, "bpf": 321, "perf_event_open": 298, "keyctl": 250,
        "add_key": 248, "request_key": 249, "setns": 308, "unshare": 272, "swapon": 167, "swapoff": 168,
        "sethostname": 170, "setdomainname": 171, "settimeofday": 164, "clock_settime": 227,
        "adjtimex": 159, "clock_adjtime": 305, "iopl": 172, "ioperm": 173, "quotactl": 179, "acct": 163,
        "userfaultfd": 323, "open_by_handle_at": 304, "io_uring_setup": 425, "fsopen": 430,
        "fsmount": 432, "move_mount": 429, "open_tree": 428, "mount_setattr": 442, "syslog": 103,
        "vhangup": 153, "prlimit64": 302, "setrlimit": 160, "sched_setscheduler": 144, "setpriority": 141,
        "open": 2, "creat": 85, "openat": 257, "openat2": 437, "unlink": 87, "unlinkat": 263, "rename": 82,
        "renameat": 264, "renameat2": 316, "mkdir": 83, "mkdirat": 258, "rmdir": 84, "link": 86,
        "linkat": 265, "symlink": 88, "symlinkat": 266, "mknod": 133, "mknodat": 259, "truncate": 76,
    }),
    "aarch64": (0xC00000B7, {
        "clone": 220, "execve": 221, "execveat": 281, "clone3": 435,
        "kill": 129, "tkill": 130, "tgkill": 131, "rt_sigqueueinfo": 138, "rt_tgsigqueueinfo": 240,
        "pidfd_send_signal": 424, "pidfd_open": 434, "pidfd_getfd": 438, "kcmp": 272,
        "socket": 198, "connect": 203, "bind": 200, "listen": 201, "ptrace": 117,
        "process_vm_readv": 270, "process_vm_writev": 271, "process_madvise": 440,
        "fchmod": 52, "fchown": 55, "fchmodat": 53, "fchownat": 54, "fchmodat2": 452, "utimensat": 88,
        "setxattr": 5, "lsetxattr": 6, "fsetxattr": 7, "removexattr": 14, "lremovexattr": 15,
        "fremovexattr": 16, "mount": 40, "umount2": 39, "pivot_root": 41, "chroot": 51, "reboot": 142,
        "kexec_load": 104, "kexec_file_load": 294, "init_module": 105, "finit_module": 273,
        "delete_module": 106, "bpf": 280, "perf_event_open": 241, "keyctl": 219, "add_key": 217,
        "request_key": 218, "setns": 268, "unshare": 97, "swapon": 224, "swapoff": 225,
        "sethostname": 161, "setdomainname": 162, "settimeofday": 170, "clock_settime": 112,
        "adjtimex": 171, "clock_adjtime": 266, "quotactl": 60, "acct": 89, "userfaultfd": 282,
        "open_by_handle_at": 265, "io_uring_setup": 425, "fsopen": 430, "fsmount": 432,
        "move_mount": 429, "open_tree": 428, "mount_setattr": 442, "syslog": 116, "vhangup": 58,
        "prlimit64": 261, "setrlimit": 164, "sched_setscheduler": 119, "setpriority": 140,
        "openat": 56, "openat2": 437, "unlinkat": 35, "renameat": 38, "renameat2": 276, "mkdirat": 34,
        "linkat": 37, "symlinkat": 36, "mknodat": 33, "truncate": 45,
    }),
}
_PROCESSES = ("fork", "vfork", "execve", "execveat")
_SIGNALS = ("kill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "prlimit64")
_WRITES = ("creat", "unlink", "unlinkat", "rename", "renameat", "renameat2", "mkdir", "mkdirat", "rmdir", "link",
           "linkat", "symlink", "symlinkat", "mknod", "mknodat", "truncate")
_OPENS = {"open": 1, "openat": 2}
_SPECIAL = {"clone", "clone3", "openat2", "socket", "connect"}


def _landlock(readable, writable):
    """The version of Landlock that is in force now; 0 where the kernel has none."""
    version = _libc.syscall(_LANDLOCK_CREATE, None, _ctypes.c_size_t(0), 1)
    if version < 1:
        return 0
    rights = {1: 13, 2: 14, 3: 15, 4: 15}.get(version, 16)
    every = (1 << rights) - 1
    # Also: no network of TCP, no abstract sockets, no signals to processes outside.
    attributes = [every]
    if version >= 4:
        attributes.append(3)
    if version >= 6:
        attributes.append(3)
    packed = _struct.pack(f"{len(attributes)}Q", *attributes)
    ruleset = _libc.syscall(_LANDLOCK_CREATE, packed, _ctypes.c_size_t(len(packed)), 0)
    if ruleset < 0:
        return 0
    for paths, allowed in ((readable, _READ), (writable, every)):
        for path in paths:
            try:
                place = _os.open(path, _os.O_PATH | _os.O_CLOEXEC)
            except OSError:
                continue
            is_folder = _os.path.isdir(path)
            rule = _struct.pack("=Qi", allowed if is_folder else allowed & 0xC007, place)
            _libc.syscall(_LANDLOCK_ADD, ruleset, 1, rule, 0)
            _os.close(place)
    done = _libc.syscall(_LANDLOCK_RESTRICT, ruleset, 0)
    _os.close(ruleset)
    return version if done == 0 else 0


def _filter(processes, read_only, local_sockets):
    """A seccomp program: each refused call fails with EPERM, so that a candidate's own error names it."""
    machine = _os.uname().machine
    if machine not in _CALLS:
        return None
    architecture, calls = _CALLS[machine]
    code = []

    def put(operation, yes, no, value):
        code.append(_struct.pack("=HBBI", operation, yes, no, value & 0xFFFFFFFF))

    load, equal, allow, at_least, set_bits = 0x20, 0x15, 0x06, 0x35, 0x45
    allowed = 0x7FFF0000

    def refuse(error):
        return 0x00050000 | error

    put(load, 0, 0, 4)
    put(equal, 1, 0, architecture)
    put(allow, 0, 0, 0x80000000)
    put(load, 0, 0, 0)
    if machine == "x86_64":
        # The numbers of the x32 form would pass by everything below.
        put(at_least, 0, 1, 0x40000000)
        put(allow, 0, 0, refuse(_ENOSYS))
    special = set(_SIGNALS) | set(_OPENS) | set(_WRITES) | set(_PROCESSES) | _SPECIAL
    plain = [number for name, number in calls.items() if name not in special]
    if not processes:
        plain += [calls[name] for name in _PROCESSES if name in calls]
    if read_only:
        plain += [calls[name] for name in _WRITES if name in calls]
    for number in plain:
        put(equal, 0, 1, number)
        put(allow, 0, 0, refuse(_EPERM))
    # glibc falls back to `clone`, whose flags can be seen.
    put(equal, 0, 1, calls["clone3"])
    put(allow, 0, 0, refuse(_ENOSYS))
    put(equal, 0, 1, calls["openat2"])
    put(allow, 0, 0, refuse(_ENOSYS) if read_only else allowed)
    if not processes:
        put(equal, 0, 4, calls["clone"])
        put(load, 0, 0, 16)
        put(set_bits, 0, 1, 0x10000)  # CLONE_THREAD
        put(allow, 0, 0, allowed)
        put(allow, 0, 0, refuse(_EPERM))
    # Signals and limits for itself alone.
    me = _os.getpid()
    for name in _SIGNALS:
        if name in calls:
            put(equal, 0, 5, calls[name])
            put(load, 0, 0, 16)
            put(equal, 1, 0, me)
            put(equal, 0, 1, 0 if name == "prlimit64" else me)
            put(allow, 0, 0, allowed)
            put(allow, 0, 0, refuse(_EPERM))
    for name in ("socket", "connect"):
        if local_sockets and name == "socket":
            put(equal, 0, 4, calls[name])
            put(load, 0, 0, 16)
            put(equal, 0, 1, 1)  # AF_UNIX
            put(allow, 0, 0, allowed)
            put(allow, 0, 0, refuse(_EPERM))
        elif not local_sockets:
            put(equal, 0, 1, calls[name])
            put(allow, 0, 0, refuse(_EPERM))
    if read_only:
        for name, argument in _OPENS.items():
            if name in calls:
                put(equal, 0, 4, calls[name])
                put(load, 0, 0, 16 + 8 * argument)
                put(set_bits, 0, 1, _os.O_WRONLY | _os.O_RDWR | _os.O_CREAT | _os.O_TRUNC)
                put(allow, 0, 0, refuse(_EPERM))
                put(allow, 0, 0, allowed)
    put(allow, 0, 0, allowed)
    return b"".join(code)


class _Program(_ctypes.Structure):
    _fields_ = [("length", _ctypes.c_ushort), ("code", _ctypes.c_void_p)]


def _seccomp(code):
    if code is None:
        return False
    text = _ctypes.create_string_buffer(code)
    program = _Program(len(code) // 8, _ctypes.addressof(text))
    return _libc.prctl(_PR_SET_SECCOMP, 2, _ctypes.byref(program), 0, 0) == 0


def limit(memory, file_bytes):
    """Limits of the kernel on memory that is mapped, files and core dumps."""
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (file_bytes, file_bytes))
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
    if memory is not None:
        with open("/proc/self/statm") as file:
            mapped = int(file.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (mapped + memory, mapped + memory))


def enclose(readable, writable, processes, local_sockets):
    """Sets everything; returns what is in force, in words."""
    _libc.prctl(_PR_SET_PDEATHSIG, 9, 0, 0, 0)
    _libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    version = _landlock(readable, writable)
    filtered = _seccomp(_filter(processes, version == 0, local_sockets))
    files = f"landlock {version}" if version else "seccomp, read-only" if filtered else "none"
    rest = "seccomp" if filtered else "none"
    return {"files": files, "network": rest, "processes": "limited" if processes else rest, "memory": "rlimit"}


def no_more_processes():
    """After loading: what was allowed for compilers is not any more."""
    return _seccomp(_filter(False, False, True))
