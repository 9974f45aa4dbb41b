"""Provider order entry: what was ordered, changed and called off. An order is not yet an event."""

import random
from dataclasses import dataclass, field

from chartproof.hospital.encounters import provider
from chartproof.hospital.plan import DAY, HOUR, Admission, Patient
from chartproof.hospital.rows import Rows
from chartproof.hospital.vocabulary import values


@dataclass(eq=False, slots=True)
class Order:
    """One line of `poe`; numbered once all orders of the patient are known."""

    at: int
    hadm_id: int
    kind: str
    subtype: str | None = None
    transaction: str = "New"
    calls_off: "Order | None" = None
    called_off_by: "Order | None" = None
    details: tuple[tuple[str, str], ...] = ()
    sequence: int = 0
    poe_id: str = ""


@dataclass(slots=True)
class OrderBook:
    """All orders of one patient."""

    patient: Patient
    orders: list[Order] = field(default_factory=list[Order])

    def add(
        self,
        at: int,
        hadm_id: int,
        kind: str,
        subtype: str | None = None,
        *,
        details: tuple[tuple[str, str], ...] = (),
    ) -> Order:
        """Enter an order."""
        order = Order(at, hadm_id, kind, subtype, details=details)
        self.orders.append(order)
        return order

    def call_off(self, order: Order, at: int) -> None:
        """Enter the order that discontinues another."""
        stop = Order(at, order.hadm_id, order.kind, order.subtype, "D/C", calls_off=order)
        order.called_off_by = stop
        self.orders.append(stop)

    def number(self, rng: random.Random) -> None:
        """Give every order its number, with gaps as from orders of other days."""
        self.orders.sort(key=lambda order: order.at)
        sequence = rng.randint(2, 40)
        for order in self.orders:
            sequence += rng.choice((1, 1, 1, 2, 4))
            order.sequence, order.poe_id = sequence, f"{self.patient.subject_id}-{sequence}"

    def write(self, rows: Rows, rng: random.Random) -> None:
        """Write `poe` and `poe_detail`."""
        subject = self.patient.subject_id
        for order in self.orders:
            rows.add(
                "poe",
                poe_id=order.poe_id,
                poe_seq=order.sequence,
                subject_id=subject,
                hadm_id=order.hadm_id,
                ordertime=order.at,
                order_type=order.kind,
                order_subtype=order.subtype,
                transaction_type=order.transaction,
                discontinue_of_poe_id=order.calls_off.poe_id if order.calls_off else None,
                discontinued_by_poe_id=order.called_off_by.poe_id if order.called_off_by else None,
                order_provider_id=provider(rng),
                order_status="Inactive",
            )
            for name, value in order.details:
                rows.add("poe_detail", poe_id=order.poe_id, poe_seq=order.sequence,
                         subject_id=subject, field_name=name, field_value=value)  # fmt: skip


def routine(book: OrderBook, admission: Admission, rng: random.Random, density: float) -> None:
    """Enter the orders that every admission has, from admission to discharge."""
    hadm_id, start, end = admission.hadm_id, admission.start, admission.end
    book.add(start, hadm_id, "ADT orders", "Admit", details=(("Admit to", admission.ward),
             ("Admit category", "Inpatient")))  # fmt: skip
    if admission.icu:
        book.add(admission.icu.start - 20 * 60, hadm_id, "ADT orders", "Transfer",
                 details=(("Transfer to", "ICU"),))  # fmt: skip
    planning = (("Discharge Planning", "Finalized"), ("Discharge When", "Today"))
    book.add(end - rng.randint(30, 300) * 60, hadm_id, "ADT orders", "Discharge", details=planning)
    limited = any(c.icd10 == "Z66" for c in admission.complications)
    code = "DNR (do not attempt resuscitation)" if limited else "Resuscitate (Full code)"
    book.add(start + rng.randint(5, 90) * 60, hadm_id, "General Care", "Other",
             details=(("Code status", code),))  # fmt: skip
    days = max((end - start) / DAY, 0.5)
    for kind, how in values()["order_types"].items():
        for _ in range(int(rng.expovariate(1 / max(how["per_day"] * days * density, 0.05)))):
            subtype = rng.choice(how["subtypes"]) if how["subtypes"] else None
            order = book.add(start + int(rng.random() * (end - start - 60)), hadm_id, kind, subtype)
            if rng.random() < 0.12:
                later = order.at + rng.randint(1, 20) * HOUR
                if later < end:
                    book.call_off(order, later)
