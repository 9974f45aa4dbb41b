"""`chartproof shell`: whether systems may run Python here, and within which bounds."""

from chartproof.cli import screen

NAMES = {
    "memory": "memory of all processes",
    "pids": "number of processes",
    "cpu": "processor time",
}


def shell() -> None:
    """Say whether the tool `python` can be had on this machine; if not, what it needs.

    It needs bubblewrap, libseccomp and the extra `shell` of this package. The first time, a copy of
    Python is made for the jail, which takes some seconds and 300 MB.
    """
    from chartproof.api.charts import shell as opened
    from chartproof.tools.jail import bounds, check

    made = opened()
    screen.table(
        "The shell works here",
        ["", ""],
        [
            ["jail", check()],
            ["holds", made.told().removeprefix("on: ")],
            ["time", f"{made.seconds:g} s"],
            *([NAMES[name], f"bounded by {how}"] for name, how in bounds(made.limits).items()),
        ],
    )
