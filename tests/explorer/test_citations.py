from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chartproof.explorer.citations import PolicyPage, anchor, render

PAGE = {"labevents:1", "call-2", "discharge:9-DS-1", "discharge:9-DS-1-L12"}


def html(text: str) -> str:
    known = {"kdigo-aki-2012": PolicyPage("kdigo-aki-2012", 48), "house": PolicyPage("house-0a", 3)}
    return render(text, on_page=PAGE, policies=known, policy_root="../../policies")


class Seen(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


def test_a_row_that_was_shown_is_linked_to_its_place() -> None:
    assert '<a class="cite" href="#labevents:1">[labevents:1]</a>' in html(
        "It was 1.2 [labevents:1]."
    )


def test_lines_of_a_note_lead_to_the_first_of_them() -> None:
    assert 'href="#discharge:9-DS-1-L12"' in html("ESRD [discharge:9-DS-1 L12-L15].")


def test_a_row_that_was_never_shown_is_struck_out_and_leads_nowhere() -> None:
    shown = html("It was 9.9 [labevents:2].")
    assert "never retrieved" in shown
    assert "href" not in shown


def test_a_policy_leads_to_its_line_and_an_unknown_one_nowhere() -> None:
    assert 'href="../../policies/kdigo-aki-2012.html#L4"' in html("[policy: kdigo-aki-2012 L4-L7]")
    assert 'href="../../policies/house-0a.html"' in html("[policy: house]")
    assert "no such document" in html("[policy: kdigo-aki-2099 L4]")


@pytest.mark.parametrize("lines", ["L49", "L40-L49", "L0", "L9-L7"])
def test_lines_that_a_policy_does_not_have_lead_nowhere(lines: str) -> None:
    shown = html(f"[policy: kdigo-aki-2012 {lines}]")
    assert "it has 48 lines" in shown
    assert "href" not in shown


def test_what_is_no_citation_stays_text() -> None:
    assert "[sic]" in html("as written [sic]")


def test_a_row_and_a_line_have_places_of_their_own() -> None:
    assert anchor("discharge:9-DS-1", 12) == anchor("discharge:9-DS-1 L12")


@given(
    st.text()
    | st.sampled_from(
        [
            "<script>alert(1)</script>",
            "[x](javascript:alert(1))",
            '<img src=x onerror="alert(1)">',
            "[labevents:1<script>]",
            "\ue0000\ue001",
            "![x](https://example.org/x.png)",
            '[policy: "><script> L1]',
        ]
    )
)
def test_no_report_can_bring_a_script_or_a_handler(text: str) -> None:
    seen = Seen()
    seen.feed(html(text))
    for tag, attributes in seen.tags:
        assert tag not in {"script", "iframe", "object", "embed", "style", "link", "form"}
        assert not any(name.startswith("on") for name in attributes)
        assert not (attributes.get("href") or "").lower().startswith(("javascript:", "data:"))
        assert tag != "img"
        assert "src" not in attributes


@pytest.mark.parametrize(
    "text",
    [
        "![x](https://example.org/x.png)",
        "![x](//example.org/x.png)",
        "[x](https://example.org)",
        "[x](//example.org)",
        "<https://example.org>",
        "[x][a]\n\n[a]: https://example.org",
        "![x][a]\n\n[a]: //example.org",
        "https://example.org",
    ],
)
def test_images_and_links_of_a_report_stay_text(text: str) -> None:
    seen = Seen()
    seen.feed(html(text))
    assert {tag for tag, _ in seen.tags} == {"p"}
    assert "example.org" in html(text)
