"""What a change of a packet did, what it left behind, and what it broke.

A tuple whose text did not change is no tuple; one whose fact did not change asks for nothing; one
that leaves the old fact standing asks an answer to believe two things at once; one that no section
shows within its cap cannot be seen by an agent. Each is named, none is silently scored.

Source: Causal Sensitivity Score, App. G (no-ops), App. J (propagation, incoherence).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from chartproof.interventions.catalogue import Intervention
from chartproof.interventions.eligibility import Subject
from chartproof.interventions.passages import Hit, Packet
from chartproof.interventions.ready import ReadyAudits
from chartproof.oncology.sections import changed_in, section_texts
from chartproof.records.intervention import AuditName, Incoherence
from chartproof.records.packet_account import Contradiction, PacketAudit, Residue
from chartproof.records.sensitivity import Edition

_PROBES = {"surgery": "SURG"}
"""Fields of the state that a probe of another name reads."""


@dataclass
class Auditor:
    """Audits the changes of one packet; what is known of the original is asked once.

    Attributes:
        subject: The original.
    """

    subject: Subject
    _sections: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def sections(self) -> dict[str, str]:
        """The original's sections, below their cap."""
        if not self._sections:
            self._sections = section_texts(self.subject.packet.text)
        return self._sections

    def audit(
        self,
        intervention: Intervention,
        edition: Edition,
        after: Packet,
        inserted: Sequence[str] = (),
    ) -> PacketAudit:
        """Compare the packet with a changed one.

        Args:
            intervention: What was changed.
            edition: By which text.
            after: The changed packet.
            inserted: Dates of passages that were put in.
        """
        before, facts = self.subject.packet, self.subject.facts
        plan = intervention.audits
        noop = before.text == after.text
        shown = self.sections if noop else section_texts(after.text)
        state, reached = self._state(plan, before, after)
        own = {_PROBES.get(name, name) for name in intervention.entry.state_effect}
        collateral = {
            name: (facts.value(before, name), facts.value(after, name))
            for name in facts.probes
            if name not in own and facts.value(before, name) != facts.value(after, name)
        }
        residual = tuple(self._residual(plan, after, shown)) if plan else ()
        missing = tuple(
            pattern.source
            for pattern in (plan.required if plan else ())
            if not facts.reader.occurs(after, pattern)
        )
        incoherent = tuple(self._incoherent(plan, after, inserted)) if plan else ()
        visible = changed_in(self.sections, shown)
        failed: dict[AuditName, bool] = {
            "noop": noop,
            "semantic_noop": not noop and not reached,
            "residual": bool(residual),
            "missing": bool(missing),
            "incoherent": any(each.severity == "error" for each in incoherent),
            "collateral": bool(collateral),
            "invisible": not noop and not visible,
        }
        return PacketAudit(
            entry=intervention.id,
            edition=edition,
            noop=noop,
            semantic_noop=failed["semantic_noop"],
            state=state,
            residual=residual,
            missing=missing,
            incoherent=incoherent,
            collateral=collateral,
            visible_sections=visible,
            failed=tuple(name for name, is_so in failed.items() if is_so),
        )

    def _state(
        self, plan: ReadyAudits | None, before: Packet, after: Packet
    ) -> tuple[tuple[str | None, str | None], bool]:
        """The target before and after, and whether it is what it had to become."""
        facts = self.subject.facts
        if plan is None:
            return (None, None), True
        if plan.probe is not None:
            values = facts.value(before, plan.probe), facts.value(after, plan.probe)
            return values, values[0] != values[1] and values[1] == plan.must_become
        if plan.new_fact is None:
            return (None, None), True
        reader = facts.reader
        told = reader.occurs(before, plan.new_fact), reader.occurs(after, plan.new_fact)
        values = tuple("told" if each else None for each in told)
        return (values[0], values[1]), told[1] and not told[0]

    def _residual(
        self, plan: ReadyAudits, after: Packet, shown: dict[str, str]
    ) -> Iterator[Residue]:
        seen: set[tuple[int, str]] = set()
        for pattern in plan.residual:
            for hit in self.subject.facts.reader.hits(after, pattern, plan.residual_guards):
                text = hit.text
                if plan.ignore is not None and plan.ignore.matches(text):
                    continue
                line = after.line_of(hit.number, hit.span[0])
                if (line, text) not in seen:
                    seen.add((line, text))
                    yield Residue(line=line, text=text, visible=_is_shown(hit, shown))

    def _incoherent(
        self, plan: ReadyAudits, after: Packet, inserted: Sequence[str]
    ) -> Iterator[Contradiction]:
        before, facts = self.subject.packet, self.subject.facts
        for said, any_of, none_of in plan.incoherence:
            bad = False
            if said.probe_is:
                bad = all(facts.value(before, k) == v for k, v in said.probe_is.items())
            elif any_of:
                bad = facts.reader.occurs_any(after, any_of) and not (
                    facts.reader.occurs_any(after, none_of)
                )
            elif said.check is not None:
                bad = not self._in_order(said, after, inserted)
            if bad:
                yield Contradiction(id=said.id, severity=said.severity, note=said.note)

    def _in_order(self, said: Incoherence, after: Packet, inserted: Sequence[str]) -> bool:
        """Whether what was inserted fits the dates around it."""
        if said.check == "inserted_dates_within_chart":
            dated = [part.date for part in after.blocks if part.is_dated]
            first = min((p.date for p in self.subject.packet.blocks if p.is_dated), default="")
            return dated == sorted(dated) and all(first <= day for day in inserted)
        if not inserted:
            return True
        facts = self.subject.facts
        _, patterns, _ = facts.probes["M"].values[-1]
        late = Packet(tuple(p for p in after.parts if p.is_dated and p.date >= inserted[0]))
        return not facts.reader.occurs_any(late, patterns)


def _is_shown(hit: Hit, shown: dict[str, str]) -> bool:
    """Whether the first line of a match is in a section, below its cap."""
    text, (start, _) = hit.part.text, hit.span
    first = text.rfind("\n", 0, start) + 1
    last = text.find("\n", start)
    line = text[first : last if last >= 0 else len(text)].strip()
    return any(line in section for section in shown.values())
