"""What a usage costs, by hand, and that an unknown price is unknown."""

from pathlib import Path

import pytest

from chartproof.catalog.read import ROOT, read_yaml
from chartproof.errors import SpecError
from chartproof.models.prices import OWN, Prices, cost, prices, shipped
from chartproof.models.providers import address, providers, upstream
from chartproof.records.price import LongRate, Price, PriceList
from chartproof.records.system import Model
from chartproof.records.usage import Usage

PRICE = Price(input=3, cached=0.3, cache_write=3.75, output=15)


def test_a_cost_by_hand() -> None:
    # 500 plain × 3 + 300 read × 0.3 + 200 written × 3.75 + 50 out × 15, for a million
    used = Usage(tokens_in=1000, tokens_cached=300, tokens_cache_write=200, tokens_out=50)
    assert cost(PRICE, used) == 0.00309


def test_tokens_of_a_cache_cost_like_any_where_no_price_is_named() -> None:
    plain = Price(input=3, output=15)
    used = Usage(tokens_in=1000, tokens_cached=300, tokens_cache_write=200, tokens_out=0)
    assert cost(plain, used) == 0.003


def test_a_long_request_costs_its_own_price_as_a_whole() -> None:
    long = PRICE.model_copy(update={"above": LongRate(tokens=200, input=6, output=22.5)})
    assert cost(long, Usage(tokens_in=200, tokens_out=1)) == pytest.approx(0.000615)
    assert cost(long, Usage(tokens_in=201, tokens_out=1)) == pytest.approx(0.0012285)


@pytest.mark.parametrize("used", [Usage(), Usage(tokens_in=5), Usage(tokens_out=5)])
def test_what_was_not_counted_has_no_cost(used: Usage) -> None:
    assert cost(PRICE, used) is None


def test_a_model_that_is_not_known_has_no_cost() -> None:
    assert shipped().cost("openai/unheard-of", Usage(tokens_in=1, tokens_out=1)) is None


def test_a_dated_release_costs_what_its_model_costs_and_another_model_its_own() -> None:
    known = Prices({"x/m": PRICE, "x/m-mini": Price(input=1, output=1)})
    one = Usage(tokens_in=1_000_000, tokens_out=0)
    assert known.cost("x/m", one, served="m-2026-01-31") == 3
    assert known.cost("x/m-20260131", one) == 3
    assert known.cost("x/m", one, served="m-mini") == 1
    assert known.cost("x/m", one, served="other") is None
    assert known.cost("y/m", one) is None


def test_a_home_adds_prices_and_its_own_go_first(tmp_path: Path) -> None:
    (tmp_path / OWN).write_text(
        "schema: 1\nmodels:\n"
        "  vllm/mine: {input: 0, output: 0}\n"
        "  openai/gpt-5: {input: 9, output: 9}\n"
    )
    known = prices(tmp_path)
    one = Usage(tokens_in=1_000_000, tokens_out=0)
    assert known.cost("vllm/mine", one) == 0
    assert known.cost("openai/gpt-5", one) == 9
    assert known.cost("openai/gpt-5-mini", one) == shipped().cost("openai/gpt-5-mini", one)
    assert known.told == f"{shipped().told}, {OWN}"
    (tmp_path / OWN).write_text("schema: 1\nmodels: {x/y: {input: -1, output: 1}}\n")
    with pytest.raises(SpecError, match=r"prices.yaml.*models.x/y.input"):
        prices(tmp_path)


@pytest.mark.parametrize("path", sorted((ROOT / "prices").glob("*.yaml")), ids=lambda p: p.stem)
def test_every_list_says_its_month_and_source_and_names_known_providers(path: Path) -> None:
    found = read_yaml(path, PriceList)
    assert found.id == path.stem
    assert found.source
    assert {name.partition("/")[0] for name in found.models} <= providers().keys()
    for name, price in found.models.items():
        assert price.input <= price.output, name
        assert price.cached is None or price.cached <= price.input, name
        assert price.above is None or price.above.input >= price.input, name


def test_where_a_model_is_reached() -> None:
    assert address(Model(id="openai/gpt-5")) == "https://api.openai.com/v1"
    mine = Model(id="azure/gpt-5", base_url="https://mine.example.org/openai/v1/")
    assert address(mine) == "https://mine.example.org/openai/v1"
    with pytest.raises(SpecError, match="where it is served is not known"):
        address(Model(id="azure/gpt-5"))


def test_a_key_goes_only_to_the_provider_whose_it_is() -> None:
    keys = {"OPENAI_API_KEY": "sk-1", "MINE": "sk-2"}
    assert upstream(Model(id="openai/gpt-5"), keys).key == "sk-1"
    elsewhere = Model(id="openai/gpt-5", base_url="https://other.example.org/v1")
    assert upstream(elsewhere, keys).key is None
    named = elsewhere.model_copy(update={"key": "MINE"})
    assert upstream(named, keys).key == "sk-2"
    with pytest.raises(SpecError, match="OPENAI_API_KEY holds none"):
        upstream(Model(id="openai/gpt-5"), {})
    assert "sk-2" not in repr(upstream(named, keys))


def test_a_version_is_not_said_twice_in_an_address() -> None:
    at = upstream(Model(id="x/m", base_url="https://a.example.org/v1"), {})
    assert at.url("/v1/messages") == "https://a.example.org/v1/messages"
    assert at.url("/chat/completions") == "https://a.example.org/v1/chat/completions"
    bare = upstream(Model(id="x/m", base_url="https://a.example.org"), {})
    assert bare.url("/v1/messages") == "https://a.example.org/v1/messages"
