import pytest

from sandbox import PROGRAM, Gateway


@pytest.fixture(scope="session")
def gateway():
    assert PROGRAM.exists(), f"build first: there is no {PROGRAM}"
    running = Gateway("--settle-after", "0")
    yield running
    running.stop()


@pytest.fixture(scope="session")
def payments(gateway):
    return gateway.one_of_each()
