"""A payment terminal over bleak, for comparing: it does over the air what Till does, with the same phone.

    terminal.py --adapter hci0 --acquirer URL --login EMAIL:PASSWORD --journal FILE

It says `ready`, and then for each line `pay MINOR-UNITS` that it reads `paid`, or `failed: why`.
"""

import argparse
import asyncio
import sys

import bpp1
from bleak import BleakClient, BleakScanner

PATIENCE = 60


class Channel:
    """A session with one phone."""

    def __init__(self, client):
        self.client = client
        self.heard = asyncio.Queue()
        self.reassembler = bpp1.Reassembler()
        self.number = 0

    def arrived(self, _, fragment):
        self.heard.put_nowait(bytes(fragment))

    async def open(self, shop, payment):
        hello = await self.client.read_gatt_char(bpp1.READ)
        await self.client.start_notify(bpp1.STATUS, self.arrived, bluez={"use_start_notify": False})
        self.pipe = self.client.services.get_characteristic(bpp1.WRITE)
        # A phone played by BlueZ takes no more than 510 bytes.
        self.fragmenter = bpp1.Fragmenter(min(self.pipe.max_write_without_response_size, 510))
        answer, self.incoming, self.outgoing = bpp1.Handshake(bytes(hello)).answer(shop.static, payment.offer())
        await self.write(answer)

    async def write(self, message):
        for fragment in self.fragmenter.fragments(message):
            await self.client.write_gatt_char(self.pipe, fragment, response=False)

    async def send(self, kind, body):
        self.number += 1
        await self.write(self.outgoing.seal(bpp1.encoded([kind, self.number, body])))

    async def receive(self):
        while True:
            message = self.reassembler.add(await asyncio.wait_for(self.heard.get(), PATIENCE))
            if message is not None:
                return bpp1.cbor2.loads(self.incoming.open(message))

    async def until(self, wanted):
        """The next message of this kind; its number and its body."""
        while True:
            kind, number, body = await self.receive()
            if kind == wanted:
                return number, body


async def seen(adapter):
    """The first phone that advertises."""
    found = asyncio.get_running_loop().create_future()

    def heard(device, _):
        if not found.done():
            found.set_result(device)

    async with BleakScanner(heard, service_uuids=[bpp1.SERVICE], bluez={"adapter": adapter}):
        return await asyncio.wait_for(found, PATIENCE)


async def pay(shop, journal, adapter, amount):
    payment = bpp1.Payment(shop, amount)
    # Each record is on the disk before what follows from it leaves.
    journal.keep(payment, "requested", shop.signed_certificate, payment.request)
    client = BleakClient(await seen(adapter), bluez={"adapter": adapter})
    try:
        await client.connect()
        channel = Channel(client)
        await channel.open(shop, payment)
        number, body = await channel.until(bpp1.ACCEPT)
        payment.take(body[1], body[2])
        journal.keep(payment, "accepted", payment.accept, payment.passed)
        claim = payment.claim()
        journal.keep(payment, "claimed", claim)
        await channel.send(bpp1.CLAIM, {0: number, 1: payment.id, 2: claim})
        receipt = payment.executed()
        journal.keep(payment, "receipt", receipt)
        await channel.send(bpp1.RESULT, {1: payment.id, 2: bpp1.COMPLETED, 3: receipt})
        await channel.until(bpp1.ACK)
    finally:
        # BlueZ keeps every phone that was once connected.
        await client.disconnect()
        await client.unpair()


async def main():
    parser = argparse.ArgumentParser()
    for name in ("--adapter", "--acquirer", "--login", "--journal"):
        parser.add_argument(name, required=True)
    options = parser.parse_args()
    shop = bpp1.Shop(options.acquirer, *options.login.split(":", 1), "bleak-rig")
    journal = bpp1.Journal(options.journal)
    print("ready", flush=True)
    while line := await asyncio.to_thread(sys.stdin.readline):
        try:
            await pay(shop, journal, options.adapter, int(line.split()[1]))
            print("paid", flush=True)
        except Exception as error:
            print(f"failed: {type(error).__name__} {error}", flush=True)


asyncio.run(main())
