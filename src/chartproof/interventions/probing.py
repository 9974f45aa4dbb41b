"""Facts of a patient, read back from the text of a packet.

An edit is judged by them: the fact it is about has to be another one afterwards, and no other fact
may be.
"""

from chartproof.interventions.catalogue import Catalogue
from chartproof.interventions.passages import Packet, Part, Reader
from chartproof.interventions.patterns import Pattern
from chartproof.interventions.ready import ReadyProbe


class Facts:
    """The probes of a catalogue, asked of packets.

    Attributes:
        catalogue: Whose probes.
        reader: Remembers what was found in which text.
    """

    def __init__(self, catalogue: Catalogue, reader: Reader) -> None:
        """Ask the probes of a catalogue.

        Args:
            catalogue: Whose probes.
            reader: Of the packet and its changes.
        """
        self.catalogue = catalogue
        self.probes = catalogue.probes
        self.reader = reader
        self._values: dict[tuple[str, Packet], str | None] = {}
        self._told: dict[tuple[str, str, str], tuple[bool, ...]] = {}

    def value(self, packet: Packet, name: str) -> str | None:
        """The value of a probe in a packet; None where its text does not tell it."""
        key = (name, packet)
        if key not in self._values:
            self._values[key] = self._read(packet, self.probes[name])
        return self._values[key]

    def in_prose(self, text: str, name: str) -> str | None:
        """The value of a probe in a text that somebody wrote of a packet, without its entries.

        Raises:
            KeyError: The probe reads entries alone; `reads_prose` tells.
        """
        probe = self.probes[name]
        if probe.probe.scope:
            probe = self.catalogue.prose[name]
        return self._read(Packet.of(text), probe)

    def reads_prose(self, name: str) -> bool:
        """Whether a probe can be asked of a text without entries."""
        return not self.probes[name].probe.scope or name in self.catalogue.prose

    def all(self, packet: Packet) -> dict[str, str | None]:
        """The values of all probes."""
        return {name: self.value(packet, name) for name in self.probes}

    def _read(self, packet: Packet, probe: ReadyProbe) -> str | None:
        scope = probe.probe.scope
        newest: tuple[str, int] | None = None
        value: str | None = None
        found: set[int] = set()
        for number, part in enumerate(packet.parts):
            if not part.kind or (scope and part.kind not in scope):
                continue
            told = self._tells(probe, part)
            if not any(told):
                continue
            if probe.probe.rule == "any":
                found.add(told.index(True))
            elif newest is None or (part.date, number) > newest:
                newest = (part.date, number)
                value = probe.values[told.index(True)][0].value
        if found:
            return probe.values[min(found)][0].value
        return value

    def _tells(self, probe: ReadyProbe, part: Part) -> tuple[bool, ...]:
        """Whether a block tells each value."""
        key = (probe.name, part.kind, part.text)
        told = self._told.get(key)
        if told is None:
            text = part.text
            if probe.probe.line == "header":
                text = text.lstrip("\n").split("\n", 1)[0]
            if any(self.reader.spans(veto, text) for veto in probe.veto):
                told = tuple(False for _ in probe.values)
            else:
                told = tuple(
                    self._told_by(patterns, self.reader.masked(text, masks), probe.probe.guards)
                    for _, patterns, masks in probe.values
                )
            self._told[key] = told
        return told

    def _told_by(self, patterns: tuple[Pattern, ...], text: str, guards: tuple[str, ...]) -> bool:
        return any(self.reader.unheld(pattern, text, guards) for pattern in patterns)
