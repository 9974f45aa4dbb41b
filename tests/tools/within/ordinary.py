"""Runs in the jail: what ordinary programs do, and the jail must not hinder."""

import asyncio
import concurrent.futures
import csv
import datetime
import decimal
import hashlib
import io
import json
import lzma
import mmap
import multiprocessing
import os
import pathlib
import pickle
import random
import re
import selectors
import shutil
import signal
import socket
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
import zlib
import zoneinfo

done = []


def double(x):
    return 2 * x


async def both():
    return await asyncio.gather(asyncio.sleep(0.01, 1), asyncio.to_thread(double, 2))


def plain():
    done.append(["threads", sum(concurrent.futures.ThreadPoolExecutor(4).map(double, range(5)))])
    with multiprocessing.Pool(2) as pool:
        done.append(["processes", pool.map(double, [1, 2])])
    with concurrent.futures.ProcessPoolExecutor(
        2, multiprocessing.get_context("spawn")
    ) as executor:
        done.append(["spawned", list(executor.map(abs, [-1, -2]))])
    done.append(["asyncio", asyncio.run(both())])
    said = subprocess.run(
        [sys.executable, "-c", "print(7)"], capture_output=True, text=True, check=True
    )
    done.append(["subprocess", said.stdout])
    with tempfile.TemporaryDirectory() as place:
        path = pathlib.Path(place) / "a.txt"
        path.write_text("text")
        shutil.copy2(path, path.with_name("b.txt"))
        path.with_name("b.txt").rename(path.with_name("c.txt"))
        done.append(["files", sorted(each.name for each in pathlib.Path(place).iterdir())])
        with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
            done.append(["mmap", mapped[:2].decode()])
        with sqlite3.connect(pathlib.Path(place) / "d.sqlite") as base:
            base.execute("create table t (x)")
            base.execute("insert into t values (5)")
            done.append(["sqlite", base.execute("select x from t").fetchone()[0]])
    left, right = socket.socketpair()
    with selectors.DefaultSelector() as selector:
        selector.register(right, selectors.EVENT_READ)
        left.send(b"x")
        done.append(["sockets", len(selector.select(1))])
    signal.signal(signal.SIGALRM, lambda *_: done.append(["signal", 1]))
    signal.setitimer(signal.ITIMER_REAL, 0.01)
    time.sleep(0.05)
    lock = threading.Event()
    threading.Timer(0.01, lock.set).start()
    done.append(["timer", lock.wait(1)])
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a", "b")
    done.append(["zip", len(held.getvalue()) > 20])
    done.append(["zlib", len(zlib.decompress(zlib.compress(b"x" * 9)))])
    done.append(["lzma", lzma.decompress(lzma.compress(b"y")).decode()])
    done.append(["digest", hashlib.sha256(b"x").hexdigest()[:8]])
    done.append(["pickle", pickle.loads(pickle.dumps({"a": 1}))])
    zone = zoneinfo.ZoneInfo("Europe/Vienna")
    done.append(["zone", datetime.datetime(2150, 1, 1, tzinfo=zone).isoformat()])
    done.append(["decimal", str(decimal.Decimal("1.2") - decimal.Decimal("0.9"))])
    done.append(["csv", next(csv.reader(["a,b"]))])
    done.append(["random", len(os.urandom(4)) + random.Random(1).randint(1, 1)])
    done.append(["statistics", statistics.median([3, 1, 2])])
    done.append(["regex", re.sub(r"\d+", "n", "a12")])


def scientific():
    import numpy as np
    import pandas as pd
    from scipy import interpolate, optimize, stats

    frame = pd.DataFrame(
        {"at": pd.to_datetime(["2150-03-01", "2150-03-02", "2150-03-04"]),
         "value": [1.0, np.nan, 1.6], "label": ["a", "b", "a"]}
    )  # fmt: skip
    done.append(["groups", frame.groupby("label")["value"].mean().to_dict()["a"]])
    done.append(["rolling", frame.set_index("at")["value"].rolling("3D").max().iloc[-1]])
    frame.to_csv("frame.csv", index=False)
    frame.to_pickle("frame.pickle")
    done.append(["read", len(pd.read_csv("frame.csv", parse_dates=["at"]).dropna())])
    done.append(["solve", np.linalg.solve([[2.0, 0.0], [0.0, 4.0]], [2.0, 4.0]).tolist()])
    done.append(["fft", round(float(np.abs(np.fft.fft([1.0, 0, 0, 0])).sum()), 6)])
    done.append(["minimum", round(float(optimize.minimize_scalar(lambda x: (x - 2) ** 2).x), 6)])
    done.append(["t", round(float(stats.ttest_ind([1, 2, 3], [2, 3, 4]).pvalue), 6)])
    done.append(["spline", round(float(interpolate.CubicSpline([0, 1, 2], [0, 1, 4])(1.5)), 6)])


if __name__ == "__main__":
    plain()
    scientific()
    print(json.dumps(dict(done)))
