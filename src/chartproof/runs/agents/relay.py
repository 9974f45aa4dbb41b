"""The first process of an agent's jail: it leads two ports to two sockets, and runs one program.

It is given to the jail as text and runs there alone, with the standard library only. Within there
is no network: what the program takes for servers on its own machine are these ports, and whatever
it sends them leaves by the sockets that were bound in.

Its argument is a file of JSON: `files` that are laid down first, path → text; `ports`, port → path
of a socket; `command`, `environment`, `directory`; `stdin`, a file; `processes`, how many
there may be.
"""

import contextlib
import json
import os
import resource
import socket
import subprocess
import sys
import threading
from typing import Any

PIECE = 1 << 16


def main() -> int:
    """Run the program to its end; its status. What it leaves running ends with this process."""
    with open(sys.argv[1], encoding="utf-8") as file:
        plan: dict[str, Any] = json.load(file)
    # counted within this jail only, for it is set within
    resource.setrlimit(resource.RLIMIT_NPROC, (plan["processes"], plan["processes"]))
    os.makedirs(plan["directory"], exist_ok=True)
    for path, text in plan["files"].items():
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    for port, place in plan["ports"].items():
        listening = socket.create_server(("127.0.0.1", int(port)), backlog=256)
        threading.Thread(target=relay, args=(listening, place), daemon=True).start()
    with open(plan["stdin"], "rb") as given:
        program = subprocess.Popen(
            plan["command"], env=plan["environment"], cwd=plan["directory"], stdin=given
        )
    while True:  # the first process is given every orphan, and has to take leave of it
        ended, status = os.wait()
        if ended == program.pid:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code


def relay(listening: socket.socket, place: str) -> None:
    """Lead each connection to the socket."""
    while True:
        near, _ = listening.accept()
        far = socket.socket(socket.AF_UNIX)
        try:
            far.connect(place)
        except OSError:
            near.close()
            far.close()
            continue
        left = [2]
        for source, target in ((near, far), (far, near)):
            threading.Thread(target=carry, args=(source, target, left), daemon=True).start()


def carry(source: socket.socket, target: socket.socket, left: list[int]) -> None:
    """Carry bytes one way until their source ends; the second of both ways closes the sockets."""
    with contextlib.suppress(OSError):
        while piece := source.recv(PIECE):
            target.sendall(piece)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)
    left[0] -= 1
    if left[0] == 0:
        source.close()
        target.close()


if __name__ == "__main__":
    # without waiting for the threads, which never end
    os._exit(main())
