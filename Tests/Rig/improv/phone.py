"""A phone that sets a terminal up by Improv, with Home Assistant's client. Says what happened, one line each.

    phone.py ADAPTER look SECONDS                whether a terminal is heard that wants to be set up
    phone.py ADAPTER join NAME PASSPHRASE [wait] sends a network; with `wait` once somebody at the terminal allows it
"""

import asyncio
import os
import sys

from bleak import BleakScanner
from improv_ble_client import ImprovBLEClient, State, device_filter
from improv_ble_client.errors import ProvisioningFailed

ADAPTER = sys.argv[1]
PATIENCE = int(os.environ.get("RIG_PATIENCE", "1"))


def say(*words):
    print(*words, flush=True)


async def find(seconds):
    """The terminal and what it advertises, or nothing."""
    found = asyncio.get_running_loop().create_future()

    def heard(device, advertisement):
        if not found.done() and device_filter(advertisement):
            found.set_result((device, advertisement))

    async with BleakScanner(heard, bluez={"adapter": ADAPTER}):
        try:
            return await asyncio.wait_for(found, seconds)
        except asyncio.TimeoutError:
            return None


async def look(seconds):
    found = await find(float(seconds))
    if found is None:
        say("nothing")
        return 1
    data = list(found[1].service_data.values())[0]
    say("heard", data.hex(), sorted(found[1].service_uuids))
    return 0


async def join(name, passphrase, wait=""):
    found = await find(20 * PATIENCE)
    if found is None:
        say("nothing")
        return 1
    client = ImprovBLEClient(*found)
    may = asyncio.Event()

    def state(new):
        say("state", new.name.lower())
        if new == State.AUTHORIZED:
            may.set()

    unsubscribe = await client.subscribe_state_updates(state)
    if await client.need_authorization():
        say("authorization is required")
    if client.can_identify:
        await client.identify()
    if wait:
        await asyncio.wait_for(may.wait(), 50 * PATIENCE)
    unsubscribe()
    try:
        page = await client.provision(name, passphrase, lambda new: say("state", new.name.lower()))
    except ProvisioningFailed as failure:
        say("failed", failure.error.name.lower())
        # It hangs up by itself.
        await asyncio.gather(*client._background_tasks)
        return 2
    say("page", page)
    return 0


command, *words = sys.argv[2:]
sys.exit(asyncio.run({"look": look, "join": join}[command](*words)))
