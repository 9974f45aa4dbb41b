"""What providers ordered."""

from pydantic import Field

from chartproof.chart.chart import Chart
from chartproof.records.trace import Answer
from chartproof.tools.listing import Asked, Conditions, listed
from chartproof.tools.tool import OfAdmission, Tool, Windowed, Word


class Orders(OfAdmission, Windowed):
    """Which orders, given when."""

    order_type: Word | None = Field(
        default=None, description="Exactly, in any case: Radiology, Lab, Medications, Consults …"
    )
    order_subtype: Word | None = Field(
        default=None, description="Exactly, in any case: CT Scan, Code status, Hemodialysis …"
    )


def orders(chart: Chart, request: Orders) -> Answer:
    """List provider orders by the time they were given, with the details of each below it.

    ordertime is when it was ordered. An order is not a performance: it may have been cancelled
    (discontinued_by_poe_id names the D/C order that did it, discontinue_of_poe_id what a D/C order
    cancels) or never carried out. Nothing links an order to a report; compare times. When an exam
    was performed and reported stands in `imaging`, what the ICU saw of it in `procedures`. Rows
    with source poe_detail hold a field of the order above them.
    """
    where = Conditions()
    where.equal("hadm_id", request.hadm_id)
    where.within("ordertime", request.since, request.until)
    for name in ("order_type", "order_subtype"):
        value = getattr(request, name)
        if value is not None:
            where.add(f"lower({name}) = ${name}", **{name: value.strip().lower()})
    narrowest = request.order_subtype or request.order_type
    return listed(
        chart,
        _ORDERS.format(where=where),
        Asked(
            ("poe", "poe_detail"),
            encounters=None if request.hadm_id is None else (request.hadm_id,),
            since=request.since,
            until=request.until,
            items=(narrowest,) if narrowest else None,
            page=request.page,
        ),
        order="ordertime, poe_seq, source, field_name",
        columns=(
            *("source", "poe_id", "hadm_id", "ordertime", "order_type", "order_subtype"),
            *("transaction_type", "order_status", "discontinue_of_poe_id"),
            *("discontinued_by_poe_id", "field_name", "field_value"),
        ),
        bound=where.bound,
    )


_ORDERS = """
with chosen as (select * from poe where {where})
select row_ref as ref, 'poe' as source, poe_id, hadm_id, ordertime, order_type, order_subtype,
    transaction_type, order_status, discontinue_of_poe_id, discontinued_by_poe_id,
    null::varchar as field_name, null::varchar as field_value, poe_seq
from chosen
union all by name
select d.row_ref as ref, 'poe_detail' as source, d.poe_id, c.hadm_id, c.ordertime, c.order_type,
    c.order_subtype, d.field_name, d.field_value, d.poe_seq
from poe_detail as d join chosen as c using (poe_id)
"""

TOOLS = (Tool("orders", Orders, orders),)
