"""A chunk of patients with all their rows, and the examinations that wait for a report."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from chartproof.hospital import (
    emergency,
    encounters,
    imaging,
    intensive,
    laboratory,
    medicines,
    orders,
)
from chartproof.hospital.ids import Ids
from chartproof.hospital.plan import Patient, plan
from chartproof.hospital.rows import Rows
from chartproof.records.recipe import Exam, Needs


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some patients, their rows, and per patient the examinations to report on."""

    patients: list[Patient]
    rows: Rows
    exams: list[list[Exam]]


def chunk(seed: int, number: int, needs: Sequence[Needs | None], ids: Ids, density: float) -> Chunk:
    """Plan and write the patients of one chunk.

    Args:
        seed: Of the hospital.
        number: Of the chunk; with the seed it decides every draw.
        needs: One entry a patient: what a recipe asks of it, None for a background patient.
        ids: Counters of the hospital, moved on.
        density: 1 charts as an ICU nurse does, 0.25 a quarter as often.
    """
    rows = Rows()
    patients: list[Patient] = []
    exams: list[list[Exam]] = []
    draws: list[laboratory.Draw] = []
    for n, wanted in enumerate(needs):
        rng = random.Random(f"{seed}:{number}:{n}")
        patient = plan(rng, ids, wanted)
        patients.append(patient)
        encounters.write(rows, patient, ids, rng)
        emergency.write(rows, patient, rng)
        book = orders.OrderBook(patient)
        for admission in patient.admissions:
            orders.routine(book, admission, rng, density)
        ordered = medicines.order(book, patient, ids, rng, density)
        exams.append(imaging.examine(rows, book, patient, ids, rng))
        book.number(rng)
        book.write(rows, rng)
        medicines.write(rows, patient, ordered, rng)
        laboratory.cultures(rows, patient, ids, rng)
        draws += laboratory.draws(patient, n, rng, density)
    generator = np.random.default_rng([seed, number])
    laboratory.write(rows, draws, ids, generator)
    intensive.write(rows, patients, ids, generator, density)
    return Chunk(patients, rows, exams)
