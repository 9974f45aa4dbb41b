"""The first process of a jail: it runs one program, ends all that is left, hands out its files.

It is given to the jail as text and runs there alone, with the standard library only. What it says
is not believed: the program could have said it in its place.

Its arguments: the descriptor that takes what it says, the seconds that the program has, how many
processes there may be, the folder whose files it hands out, how many files and how many bytes it
hands out at most, and the program. It says one line of JSON, then the
files' contents one after another.
"""

import contextlib
import json
import os
import resource
import signal
import stat
import subprocess
import sys

LONGEST_NAME = 200
"""Characters of a file's name, folders included."""
MOST = 10_000
"""Entries of the folder; of more than these none is kept."""
NAMED = 20
"""Files left behind that are named, each with the reason."""
KINDS = {
    stat.S_IFREG: "file",
    stat.S_IFLNK: "link",
    stat.S_IFIFO: "pipe",
    stat.S_IFSOCK: "socket",
}


def main() -> None:
    """Run the program, then say how it ended and what it left."""
    said, seconds, processes = int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
    folder, files, size = sys.argv[4], int(sys.argv[5]), int(sys.argv[6])
    # counted within this jail only, for it is set within
    resource.setrlimit(resource.RLIMIT_NPROC, (processes, processes))
    # the first process gets no signal that it does not handle, so that nothing within can end it
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    program = subprocess.Popen(sys.argv[7:], stdin=subprocess.DEVNULL)
    status = None
    try:
        status = program.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        status = None
    end_all()
    kept, left = ([], []) if status is None else found(folder, files, size)
    head = {
        "status": status,
        "files": [[name, len(content)] for name, content in kept],
        "left": left[:NAMED],
        "left_count": len(left),
    }
    send(said, json.dumps(head).encode() + b"\n")
    for _name, content in kept:
        send(said, content)


def end_all() -> None:
    """Kill every other process here, also those that began a session of their own."""
    while True:
        with contextlib.suppress(ProcessLookupError):
            os.kill(-1, signal.SIGKILL)
        try:
            os.wait()
        except ChildProcessError:
            return


def found(folder: str, files: int, size: int) -> tuple[list[tuple[str, bytes]], list[list[str]]]:
    """The files to hand out with their contents, and what stays behind with the reason."""
    kept: list[tuple[str, bytes]] = []
    left: list[list[str]] = []
    room = size
    lying = entries(folder)
    if len(lying) > MOST:
        return [], [["everything", f"is more than {MOST:,} entries"]]
    for path, kind, length in sorted(lying):
        name = os.path.relpath(path, folder)
        try:
            plain = name.encode().decode().isprintable() and len(name) <= LONGEST_NAME
        except UnicodeError:
            plain = False
        content = b""
        if kind != "file":
            reason = f"is a {kind}"
        elif not plain:
            reason = "has a name that cannot be kept"
        elif len(kept) == files:
            reason = f"is beyond {files} files"
        elif length > room:
            reason = f"is beyond {size:,} bytes"
        else:
            content, reason = read(path, length)
        if reason:
            left.append([(name if plain else ascii(name))[:LONGEST_NAME], reason])
            continue
        kept.append((name, content))
        room -= len(content)
    return kept, left


def entries(folder: str) -> list[tuple[str, str, int]]:
    """What lies below a folder, links not followed: path, kind, bytes; a few more than `MOST`."""
    lying: list[tuple[str, str, int]] = []
    waiting = [folder]
    while waiting and len(lying) + len(waiting) <= MOST:
        here = waiting.pop()
        try:
            with os.scandir(here) as each:
                for entry in each:
                    if len(lying) + len(waiting) > MOST:
                        break
                    about = entry.stat(follow_symlinks=False)
                    if stat.S_ISDIR(about.st_mode):
                        waiting.append(entry.path)
                    else:
                        kind = KINDS.get(stat.S_IFMT(about.st_mode), "special file")
                        lying.append((entry.path, kind, about.st_size))
        except OSError:
            lying.append((here, "folder that cannot be read", 0))
    return lying + [(each, "folder", 0) for each in waiting]


def read(path: str, length: int) -> tuple[bytes, str]:
    """The content of a file and no reason, or none and the reason."""
    try:
        os.chmod(path, 0o600)
        with open(path, "rb") as file:
            return file.read(length), ""
    except (OSError, MemoryError):
        return b"", "cannot be read"


def send(said: int, message: bytes) -> None:
    """Write all of it."""
    while message:
        message = message[os.write(said, message) :]


if __name__ == "__main__":
    main()
