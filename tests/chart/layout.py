"""Invented patients in the official layout of MIMIC-IV."""

import gzip
from pathlib import Path

from chartproof.chart.schema import tables


class Layout:
    """A folder with `hosp/` and `icu/`, every file with its header at least."""

    def __init__(self, root: Path, *, ending: str = ".csv") -> None:
        self.root = root
        self.ending = ending

    def small(self) -> "Layout":
        """One patient with one admission and a laboratory value; the other tables are empty."""
        self.rest("hosp")
        self.rest("icu")
        self.put(
            "hosp",
            "patients",
            self.header("patients") + "9000001,F,61,2150,2011 - 2013,\n",
        )
        self.admissions((8000001, "2150-01-01 02:00:00", "2150-01-04 10:00:00"))
        self.labs("1,9000001,8000001,5,50912,,2150-01-01 06:00:00,,1.2,1.2,mg/dL,,,,,\n")
        return self

    def put(self, module: str, table: str, text: str) -> None:
        """Write a file."""
        file = self.root / module / f"{table}{self.ending}"
        file.parent.mkdir(parents=True, exist_ok=True)
        if self.ending == ".csv.gz":
            file.write_bytes(gzip.compress(text.encode(), mtime=0))
        else:
            file.write_text(text, encoding="utf-8")

    def rest(self, module: str) -> None:
        """Write a header for each table of a module that has no file yet."""
        for name, spec in tables().items():
            file = self.root / module / f"{name}{self.ending}"
            if spec.module == module and not file.exists():
                self.put(module, name, self.header(name))

    def header(self, table: str) -> str:
        return ",".join(tables()[table].columns) + "\n"

    def text(self, table: str) -> str:
        return self.header(table)

    def labs(self, rows: str) -> None:
        self.put("hosp", "labevents", self.header("labevents") + rows)

    def admissions(self, *rows: tuple[int, str, str]) -> None:
        cells = "".join(
            f"9000001,{hadm_id},{since},{until}" + "," * 12 + "0\n"
            for hadm_id, since, until in rows
        )
        self.put("hosp", "admissions", self.header("admissions") + cells)
