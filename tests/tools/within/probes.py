"""Runs in the jail: tries what must not work, and prints what came of each attempt as JSON."""

import ctypes
import json
import os
import signal
import socket
import subprocess
import sys

PORT, SECRET, SYSCALLS, SLEEPER = json.loads(open("/data/given.json").read())
libc = ctypes.CDLL(None, use_errno=True)
found = {}


def attempt(name, function):
    try:
        found[name] = ["open", function()]
    except BaseException as error:
        found[name] = ["closed", type(error).__name__ + ": " + str(error)]


def written(path):
    with open(path, "w") as file:
        file.write("x")
    return path


def called(number):
    ctypes.set_errno(0)
    result = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(-1)] * 6)
    return [result, ctypes.get_errno()]


def linked(target):
    os.symlink(target, "/out/link")
    try:
        return open("/out/link").read()
    finally:
        os.remove("/out/link")


attempt("a server of the machine", lambda: socket.create_connection(("127.0.0.1", PORT), 2))
attempt("a name", lambda: socket.getaddrinfo("example.org", 443))
for family in ("AF_INET", "AF_INET6", "AF_NETLINK", "AF_PACKET", "AF_VSOCK", "AF_ALG"):
    attempt(family, lambda f=family: str(socket.socket(getattr(socket, f))))
attempt("AF_UNIX", lambda: bool(socket.socketpair()))
attempt("a socket of the machine", lambda: socket.socket(socket.AF_UNIX).connect("/run/x"))

attempt("a secret of the machine", lambda: open(SECRET).read())
attempt("the folder of the secret", lambda: os.listdir(os.path.dirname(SECRET)))
for path in ("/etc/passwd", "/etc/shadow", "/etc/hostname", "/proc/self/mountinfo", "/bin/sh"):
    attempt(path, lambda p=path: open(p).read())
for path in (
    "/proc",
    "/sys",
    "/root",
    "/home",
    "/usr",
    "/etc",
    "/var",
    "/run",
    "/work",
):
    attempt(path, lambda p=path: os.listdir(p))
attempt("a link out", lambda: linked(SECRET))
found["/"] = sorted(os.listdir("/"))
found["/dev"] = sorted(os.listdir("/dev"))
found["/opt"] = sorted(os.listdir("/opt"))
found["/opt/python/bin"] = sorted(os.listdir("/opt/python/bin"))
found["environment"] = dict(os.environ)
found["paths"] = [*sys.path, sys.prefix, sys.base_prefix, sys.executable, os.__file__, __file__]

for path in ("/x", "/opt/python/x", "/opt/site/x", "/lib/x", "/code.py", "/warden.py",
             "/data/given.json", "/data/x", "/dev/x"):  # fmt: skip
    attempt("write " + path, lambda p=path: written(p))
attempt("remove", lambda: os.remove("/code.py"))
for path in ("/tmp/x", "/out/x", "/dev/shm/x"):
    attempt("write " + path, lambda p=path: written(p))

attempt("a program", lambda: subprocess.run(["unshare", "-r", "id"], check=False))
attempt("a command line", lambda: os.system("id"))
attempt("become root", lambda: os.setuid(0))
attempt("change root", lambda: os.chroot("/tmp"))
found["user"] = [os.getuid(), os.geteuid(), os.getgid(), os.getegid(), os.getgroups()]
header, data = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
found["capabilities"] = [libc.capget(header, data), list(data)]
found["bounding set"] = [libc.prctl(23, each, 0, 0, 0) for each in range(41)]
found["no new privileges"] = libc.prctl(39, 0, 0, 0, 0)
found["filtered"] = libc.prctl(21, 0, 0, 0, 0)
found["name"] = os.uname().nodename
found["processes"] = [os.getpid(), os.getppid()]
for each in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGALRM):
    os.kill(1, each)
found["system calls"] = {name: called(number) for name, number in SYSCALLS.items()}
child = os.fork()
if child == 0:
    os.setsid()
    if os.fork() == 0:
        import time

        libc.prctl(15, SLEEPER.encode(), 0, 0, 0)
        time.sleep(600)
    os._exit(0)
os.waitpid(child, 0)
print(json.dumps(found))
