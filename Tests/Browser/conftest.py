"""The shop, one browser for all of it, and the rule that holds for every test."""

import pytest
from playwright.sync_api import expect, sync_playwright

from shopfloor import CHROMIUM, PHONE, WAIT_MILLISECONDS, Eyes, Shop, Watch

expect.set_options(timeout=WAIT_MILLISECONDS)


@pytest.fixture(scope="session")
def shop():
    return Shop.from_environment()


@pytest.fixture(scope="session")
def eyes():
    seen = Eyes()
    yield seen
    print(f"\nlooked at {seen.views} views, {seen.looks} times in all, each with axe-core")


@pytest.fixture(scope="session")
def watch(shop):
    return Watch(origin=shop.url)


@pytest.fixture(scope="session")
def context(shop, watch):
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        context = browser.new_context(
            ignore_https_errors=True, viewport=PHONE, locale="en-US", reduced_motion="reduce", base_url=shop.url
        )
        context.set_default_timeout(WAIT_MILLISECONDS)
        watch.over(context)
        yield context
        browser.close()


@pytest.fixture(scope="module")
def page(context):
    return context.new_page()


@pytest.fixture(autouse=True)
def nothing_forbidden_happened(watch):
    yield
    watch.check()
