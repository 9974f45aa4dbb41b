"""Data go where whoever answers for them has said, and nowhere else."""

from pathlib import Path

import pytest

from chartproof.errors import SpecError
from chartproof.models.egress import FILE, Guard, endpoint, guard


def test_data_of_real_patients_go_nowhere_unless_somebody_says_so(tmp_path: Path) -> None:
    strict = guard(tmp_path, "credentialed")
    for url in ("https://api.openai.com/v1", "http://127.0.0.1:8000/v1", "http://localhost/v1"):
        with pytest.raises(SpecError, match="allows no endpoint: nothing was sent") as no:
            strict.check(url)
        assert str(tmp_path / FILE) in no.value.remedy


@pytest.mark.parametrize("tier", ["synthetic", "open"])
def test_other_data_may_go_anywhere_unless_somebody_limits_it(tmp_path: Path, tier: str) -> None:
    assert guard(tmp_path, tier).check("https://api.openai.com/v1").host == "api.openai.com"
    (tmp_path / FILE).write_text("schema: 1\nallowed_endpoints: [http://127.0.0.1:8000]\n")
    limited = guard(tmp_path, tier)
    assert limited.check("http://127.0.0.1:8000/v1").origin == "http://127.0.0.1:8000"
    with pytest.raises(SpecError, match="https://api"):
        limited.check("https://api.openai.com/v1")


ALLOWED = Guard("credentialed", ("https://mine.example.org/openai/v1", "http://[::1]:8000"))


@pytest.mark.parametrize(
    "url",
    [
        "https://mine.example.org/openai/v1",
        "https://MINE.example.org:443/openai/v1/",
        "https://mine.example.org/openai/v1/deployments/x",
        "http://[::1]:8000/v1",
    ],
)
def test_what_is_allowed_is_host_port_scheme_and_all_below_a_path(url: str) -> None:
    assert ALLOWED.check(url)


@pytest.mark.parametrize(
    "url",
    [
        "http://mine.example.org/openai/v1",
        "https://mine.example.org:8443/openai/v1",
        "https://mine.example.org/openai/v10",
        "https://mine.example.org",
        "https://mine.example.org.evil.example/openai/v1",
        "https://evil.example/mine.example.org/openai/v1",
        "https://mine.example.org@evil.example/openai/v1",
        "https://mine.example.org/openai/v1/../../other",
        "https://mine.example.org/openai/v1/%2e%2e/other",
        "https://mine.example.org\\@evil.example/openai/v1",
        "https://mine.example.org/openai/v1?url=https://evil.example",
        "ftp://mine.example.org/openai/v1",
        "file:///etc/passwd",
        "mine.example.org",
        "",
    ],
)
def test_what_only_looks_like_it_is_refused(url: str) -> None:
    with pytest.raises(SpecError):
        ALLOWED.check(url)


def test_an_endpoint_is_written_without_what_goes_without_saying() -> None:
    assert str(endpoint("https://A.example.org:443/v1/")) == "https://a.example.org/v1"
    assert str(endpoint("http://[::1]:8000")) == "http://[::1]:8000"


def test_a_tier_file_that_does_not_fit_is_refused_by_key(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text("schema: 1\nallowed_endpoints: [api.openai.com]\n")
    with pytest.raises(SpecError, match=r"tier.yaml, line 2: `allowed_endpoints`"):
        guard(tmp_path, "credentialed")
    (tmp_path / FILE).write_text("schema: 1\nallowed: []\n")
    with pytest.raises(SpecError, match="allowed_endpoints"):
        guard(tmp_path, "credentialed")
