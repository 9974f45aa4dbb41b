"""Eligible, changed, scored: what becomes of every case and entry, so that it adds up.

Source: Causal Sensitivity Score App. G (no-ops are dropped), with the drops printed.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from chartproof.interventions.applying import apply
from chartproof.interventions.catalogue import Catalogue
from chartproof.interventions.eligibility import Subject, eligibility
from chartproof.interventions.packet_audit import Auditor
from chartproof.records.intervention import AuditName
from chartproof.records.packet_account import Account, Accounted, PacketAudit
from chartproof.records.sensitivity import Edition

EDITIONS: tuple[Edition, ...] = ("v1", "v1cr", "v2")
"""Those that edit a text."""


def accounted(
    case: str,
    subject: Subject,
    catalogue: Catalogue,
    editions: Sequence[Edition] = EDITIONS,
) -> tuple[Accounted, ...]:
    """What becomes of one case under every entry that edits a text.

    Args:
        case: Its id.
        subject: Its packet.
        catalogue: Whose entries.
        editions: Which of their texts.
    """
    return tuple(_each(case, subject, catalogue, editions))


def _each(
    case: str,
    subject: Subject,
    catalogue: Catalogue,
    editions: Sequence[Edition],
) -> Iterator[Accounted]:
    auditor = Auditor(subject)
    for intervention in catalogue.with_text():
        as_published: PacketAudit | None = None
        for edition in editions:
            found = eligibility(intervention, edition, subject)
            noop, failed = False, tuple[AuditName, ...]()
            if found.eligible:
                # the announced repairs change to whom an entry applies, never its text
                audit = as_published if edition in {"v1", "v1cr"} else None
                if audit is None:
                    after = apply(intervention, edition, subject)
                    audit = auditor.audit(intervention, edition, after.packet, after.inserted)
                if edition in {"v1", "v1cr"}:
                    as_published = audit
                noop, failed = audit.noop, audit.failed
            yield Accounted(
                case=case,
                cancer=subject.cancer,
                entry=intervention.id,
                family=intervention.entry.family,
                edition=edition,
                reasons=found.reasons,
                noop=noop,
                failed=failed,
            )


def accounts(rows: Iterable[Accounted]) -> tuple[Account, ...]:
    """Count rows by edition and entry, then by edition and family, then by edition.

    In every line eligible = no-ops + scored, and the lines of a family add up to its own.
    """
    counted: dict[tuple[Edition, str, str], Counter[str]] = {}
    for row in rows:
        keys: tuple[tuple[Edition, str, str], ...] = (
            (row.edition, row.family, row.entry),
            (row.edition, row.family, ""),
            (row.edition, "", ""),
        )
        for key in keys:
            count = counted.setdefault(key, Counter())
            count["asked"] += 1
            count[row.outcome] += 1
            if row.outcome == "scored":
                count["clean"] += not row.failed
                for name in row.failed:
                    count[f"failed {name}"] += 1
    return tuple(
        Account(
            edition=edition,
            family=family,
            entry=entry,
            asked=count["asked"],
            eligible=count["noop"] + count["scored"],
            noop=count["noop"],
            scored=count["scored"],
            clean=count["clean"],
            failed={
                name.removeprefix("failed "): n
                for name, n in sorted(count.items())
                if name.startswith("failed ")
            },
        )
        for (edition, family, entry), count in sorted(
            counted.items(), key=lambda pair: (pair[0][0], pair[0][1] or "~", pair[0][2] or "~")
        )
    )
