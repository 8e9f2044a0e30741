"""What a monitoring system reads from the terminal, read by Prometheus' own parser.

Needs a fresh shop: `scripts/with-shop python Tests/Browser/test_metrics.py`; TILL_SHOTS names a folder for pictures.
"""

import pathlib
import ssl
import sys
import urllib.error
import urllib.request

import pytest
from playwright.sync_api import expect
from prometheus_client.parser import text_string_to_metric_families

from shopfloor import small_targets
from steps import current_charge, open_charge, panel, set_up


@pytest.fixture(scope="module", autouse=True)
def shop_is_set_up(page, shop):
    set_up(page, shop)


def ask(shop, path: str, token: str | None = None):
    """Status, headers and text, as a program gets them."""
    request = urllib.request.Request(shop.url + path, headers={"Authorization": f"Bearer {token}"} if token else {})
    context = ssl._create_unverified_context()
    try:
        with urllib.request.urlopen(request, context=context, timeout=20) as answer:
            return answer.status, answer.headers, answer.read().decode()
    except urllib.error.HTTPError as refused:
        return refused.code, refused.headers, refused.read().decode()


@pytest.fixture(scope="module")
def token(page, shop_is_set_up) -> dict:
    return {}


def test_health_is_said_to_everybody_and_says_nothing_else(shop):
    status, headers, text = ask(shop, "/healthz")
    assert (status, text) == (200, '{"status":"ok"}') and headers["Content-Type"] == "application/json"


def test_the_owner_makes_a_token_and_sees_it_once(page, eyes, token):
    page.goto("/#/settings")
    page.get_by_role("link", name="Tokens").click()
    expect(page.get_by_text("There are no tokens.")).to_be_visible()
    page.get_by_role("button", name="Make a token").click()
    expect(page.locator("[name=name]")).to_have_attribute("aria-invalid", "true")
    page.locator("[name=name]").fill("Prometheus")
    for scope in ("charges", "state"):
        page.locator(f"[name={scope}]").uncheck()
    page.get_by_role("button", name="Make a token").click()
    expect(page.get_by_text("Choose at least one.")).to_be_visible()
    page.locator("[name=metrics]").check()
    page.get_by_role("button", name="Make a token").click()
    expect(page.locator(".token-text")).to_contain_text("till_metrics_")
    token["text"] = page.locator(".token-text").inner_text().strip()
    assert small_targets(page) == []
    eyes.look(page, "tokens")
    page.reload()
    expect(page.get_by_text("Not used yet.")).to_be_visible()
    assert token["text"] not in page.content()


def test_prometheus_own_parser_reads_every_metric(page, shop, token):
    assert ask(shop, "/metrics")[0] == 401
    open_charge(page, "12.50")
    shop.pay(current_charge(page)["link"])
    expect(panel(page, "succeeded")).to_contain_text("€12.50")
    status, headers, text = ask(shop, "/metrics", token["text"])
    assert status == 200 and headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    families = {family.name: family for family in text_string_to_metric_families(text)}
    names = [line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")]
    assert len(names) == len(set(names)) == len(families)
    for family in families.values():
        assert family.documentation and family.type in ("counter", "gauge", "histogram") and family.samples
        seen = [(sample.name, tuple(sorted(sample.labels.items()))) for sample in family.samples]
        assert len(seen) == len(set(seen)), family.name

    def value(name: str, **labels):
        return next(sample.value for family in families.values() for sample in family.samples if sample.name == name and sample.labels == labels)

    assert value("till_charges_opened_total") == 1 and value("till_charges_ended_total", outcome="succeeded") == 1
    assert value("till_light", part="gateway", state="ready") == 1 and value("till_trouble") == 0
    for stage in ("offered", "shown", "settled", "whole"):
        assert value("till_stage_seconds_count", stage=stage, rail="scan") == 1, stage
        buckets = [sample.value for sample in families["till_stage_seconds"].samples
                   if sample.name.endswith("_bucket") and sample.labels["stage"] == stage and sample.labels["rail"] == "scan"]
        assert buckets == sorted(buckets) and buckets[-1] == 1
    assert 0 < value("till_stage_seconds_sum", stage="shown", rail="scan") <= value("till_stage_seconds_sum", stage="whole", rail="scan")
    assert value("process_resident_memory_bytes") > 1_000_000


def test_a_revoked_token_reads_nothing(page, shop, token):
    page.goto("/#/tokens")
    page.reload()
    page.get_by_role("button", name="Revoke Prometheus").click()
    page.get_by_role("button", name="Revoke it").click()
    expect(page.get_by_text("There are no tokens.")).to_be_visible()
    assert ask(shop, "/metrics", token["text"])[0] == 401


if __name__ == "__main__":
    sys.exit(pytest.main([str(pathlib.Path(__file__)), "-q", "-s", "--tb=short", "-p", "no:cacheprovider", *sys.argv[1:]]))
