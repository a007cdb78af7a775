#!/usr/bin/env python3
"""The live view on a terminal of 80 by 24: time to the first frame, and CPU while it runs.

    python3 crates/telemetry/verify/live_view.py --warpsmith target/release/warpsmith \
        [--library target/release/libwarpsmith_fake_nvml.so]

With `--library` everything runs on that NVML (the fake one, say) and nvitop and gpustat, where they
are installed, are measured beside it; without, on this machine's own GPU. CPU is read from the
scheduler's nanosecond counters over ten seconds that begin after the first three.
"""

import argparse
import fcntl
import os
import pty
import select
import shutil
import signal
import struct
import tempfile
import termios
import time


def cpu_nanoseconds(pid):
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        try:
            with open(f"/proc/{pid}/task/{task}/schedstat") as file:
                total += int(file.read().split()[0])
        except OSError:
            pass
    return total


def measure(command, environment, mark, seconds=10.0):
    """Milliseconds until `mark` is on the terminal, share of a core, frames a second."""
    start = time.monotonic()
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvpe(command[0], command, environment)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    seen, first, begun, writes = b"", None, None, 0
    try:
        while True:
            now = time.monotonic() - start
            if begun is None and now > 3:
                begun, writes = (now, cpu_nanoseconds(pid)), 0
            if begun and now > begun[0] + seconds:
                break
            ready, _, _ = select.select([terminal], [], [], 0.05)
            if ready:
                try:
                    data = os.read(terminal, 1 << 16)
                except OSError:
                    break
                writes += 1
                if first is None:
                    seen += data
                    if mark in seen:
                        first = 1e3 * (time.monotonic() - start)
        if begun is None:
            return None
        share = (cpu_nanoseconds(pid) - begun[1]) / 1e9 / (time.monotonic() - start - begun[0])
        return first, 100 * share, writes / seconds
    finally:
        os.kill(pid, signal.SIGTERM)
        os.waitpid(pid, 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--warpsmith", required=True)
    parser.add_argument("--library", help="the NVML to use instead of the driver's own")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    environment = dict(os.environ, TERM="xterm-256color")
    with tempfile.TemporaryDirectory() as folder:
        if options.library:
            library = os.path.join(folder, "libnvidia-ml.so.1")
            shutil.copy(options.library, library)
            environment["WARPSMITH_NVML_LIBRARY"] = library
            environment["LD_LIBRARY_PATH"] = folder
        programs = [([os.path.abspath(options.warpsmith), "watch"], b"busy")]
        if options.library:
            programs += [(["nvitop", "-m", "full"], b"GPU"), (["gpustat", "-i", "1"], b"H200")]
        for command, mark in programs:
            name = " ".join([os.path.basename(command[0]), *command[1:]])
            if not shutil.which(command[0]):
                print(f"{name}: skipped, not installed")
                continue
            for _ in range(options.repeats):
                result = measure(command, environment, mark)
                if result is None or result[0] is None:
                    print(f"{name}: no frame was seen")
                    break
                first, share, rate = result
                print(f"{name}: first frame {first:.0f} ms, {share:.2f} % of a core, "
                      f"{rate:.1f} writes a second", flush=True)


if __name__ == "__main__":
    main()
