"""The air around the appliance: a Bluetooth controller on its USB, and the customer's phone near it. Both are controllers of
Bumble, a Bluetooth stack that shares nothing with BlueZ.

The phone's payment program is the sandbox's own. It speaks to bluetoothd; here that is a small stand-in on a bus of its own, which
carries what the program registers into Bumble's GATT server.
"""

import asyncio
import contextlib
import pathlib
import shutil
import socket
import subprocess
import tempfile
import threading

from bumble.controller import Controller
from bumble.core import UUID, AdvertisingData
from bumble.device import Device
from bumble.gatt import Characteristic, CharacteristicValue, Service
from bumble.hci import Address
from bumble.host import Host
from bumble.link import LocalLink
from bumble.transport.common import AsyncPipeSink
from dbus_fast import Message, MessageType, Variant
from dbus_fast.aio import MessageBus

from dongle import Dongle

TERMINAL, PHONE = "00:AA:01:00:00:42", "C6:11:22:33:44:55"
ADAPTER = "/org/bluez/hci0"
GATT = "org.bluez.GattCharacteristic1"
BUS = """<busconfig><type>session</type><listen>unix:path={path}</listen><auth>EXTERNAL</auth>
<policy context="default"><allow send_destination="*"/><allow receive_sender="*"/><allow own="*"/></policy></busconfig>"""


class Near(LocalLink):
    """Controllers that hear each other. A link keeps the addresses it was made with: Linux changes its own between scans, and
    Bumble 0.0.236 would send from the newest."""

    def send_acl_data(self, sender_controller, destination_address, transport, data):
        connection = sender_controller.le_connections.get(destination_address)
        receiver = self.find_le_controller(destination_address)
        if connection and receiver:
            asyncio.get_running_loop().call_soon(receiver.on_link_acl_data, connection.self_address, transport, data)


class Air:
    """Runs in a thread of its own until it is closed."""

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="till-air."))
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()
        rules = self.folder / "bus.conf"
        rules.write_text(BUS.format(path=self.folder / "bus"))
        with open(self.folder / "bus.log", "wb") as log:
            self.daemon = subprocess.Popen(
                ["dbus-daemon", f"--config-file={rules}", "--nofork", "--nopidfile", "--print-address"],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, text=True,
            )  # fmt: skip
        self.address = self.daemon.stdout.readline().strip()
        try:
            asyncio.run_coroutine_threadsafe(self.begin(), self.loop).result(60)
        except BaseException:
            self.close()
            raise

    async def begin(self):
        link, dongle = Near(), Dongle()
        self.controller = Controller("terminal", host_source=dongle, host_sink=dongle, link=link, public_address=TERMINAL)
        self.socket = await dongle.serve(self.folder / "usb")
        self.stand_in = StandIn(link)
        await self.stand_in.serve(self.address)

    async def end(self):
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def plug(self):
        """QEMU's options for a machine with the controller on its USB."""
        return ["-chardev", f"socket,id=radio,path={self.folder}/usb", "-device", "usb-redir,chardev=radio,bus=usb.0"]

    def close(self):
        asyncio.run_coroutine_threadsafe(self.end(), self.loop).result(60)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()
        self.daemon.kill()
        self.daemon.wait()
        self.daemon.stdout.close()
        shutil.rmtree(self.folder)


class Gone(Exception):
    """The phone's program has ended, or does not answer as it should."""


class StandIn:
    """What the phone's program needs of bluetoothd: BlueZ 5.66, doc/gatt-api.txt, advertising-api.txt and agent-api.txt."""

    def __init__(self, link):
        self.link, self.device, self.bus, self.program = link, None, None, None
        #: The central's end of the program's notifications.
        self.news = None

    async def serve(self, address):
        self.bus = await MessageBus(bus_address=address, negotiate_unix_fd=True).connect()
        self.bus.add_message_handler(self.handle)
        await self.bus.request_name("org.bluez")

    def handle(self, message):
        if message.message_type != MessageType.METHOD_CALL or message.interface == "org.freedesktop.DBus.Peer":
            return None
        asyncio.ensure_future(self.answer(message))
        return True

    async def answer(self, message):
        try:
            match message.member:
                case "GetManagedObjects":
                    adapter = {"Address": Variant("s", PHONE), "Powered": Variant("b", True)}
                    objects = {
                        "/org/bluez": {"org.bluez.AgentManager1": {}},
                        ADAPTER: {
                            "org.bluez.Adapter1": adapter, "org.bluez.GattManager1": {}, "org.bluez.LEAdvertisingManager1": {},
                        },
                    }  # fmt: skip
                    reply = Message.new_method_return(message, "a{oa{sa{sv}}}", [objects])
                case "RegisterApplication":
                    await self.register(message.sender, message.body[0])
                    reply = Message.new_method_return(message)
                case "RegisterAdvertisement":
                    await self.advertise(message.body[0])
                    reply = Message.new_method_return(message)
                case "UnregisterAdvertisement":
                    if self.device and self.device.is_advertising:
                        await self.device.stop_advertising()
                        reply = Message.new_method_return(message)
                    else:
                        reply = Message.new_error(message, "org.bluez.Error.DoesNotExist", "nothing is advertised")
                case "RegisterAgent" | "RequestDefaultAgent":
                    reply = Message.new_method_return(message)
                case _:
                    reply = Message.new_error(message, "org.freedesktop.DBus.Error.UnknownMethod", f"{message.member}?")
        except Exception as error:
            reply = Message.new_error(message, "org.bluez.Error.Failed", f"{type(error).__name__}: {error}")
        await self.bus.send(reply)

    async def ask(self, path, interface, member, signature="", body=()):
        reply = await self.bus.call(
            Message(destination=self.program, path=path, interface=interface, member=member, signature=signature, body=list(body))
        )
        if reply.message_type == MessageType.ERROR:
            raise Gone(f"{member}: {reply.error_name} {reply.body}")
        return reply

    async def register(self, program, root):
        """A phone's program has come: a phone of its own is switched on."""
        self.program = program
        objects = (await self.ask(root, "org.freedesktop.DBus.ObjectManager", "GetManagedObjects")).body[0]
        controller = Controller("phone", link=self.link)
        self.device = Device(name="phone", address=Address(PHONE), host=Host(controller, AsyncPipeSink(controller)))
        for path, interfaces in objects.items():
            if primary := interfaces.get("org.bluez.GattService1"):
                parts = [
                    self.characteristic(place, held[GATT])
                    for place, held in objects.items()
                    if GATT in held and held[GATT]["Service"].value == path
                ]
                self.device.add_service(Service(UUID(primary["UUID"].value), parts))
        await self.device.power_on()

    def characteristic(self, path, described):
        flags, can = described["Flags"].value, Characteristic.Properties
        names = {"read": can.READ, "write": can.WRITE, "write-without-response": can.WRITE_WITHOUT_RESPONSE, "notify": can.NOTIFY}
        properties = can(0)
        for flag in flags:
            properties |= names[flag]
        permissions = Characteristic.READABLE if "read" in flags else Characteristic.WRITEABLE
        arrived = asyncio.Queue()

        async def read(connection):
            return bytes((await self.ask(path, GATT, "ReadValue", "a{sv}", [self.options(connection)])).body[0])

        def write(connection, value):
            arrived.put_nowait((connection, value))

        async def hand_on():
            # One after another: what came first is handed on first.
            while True:
                connection, value = await arrived.get()
                with contextlib.suppress(Gone):
                    await self.ask(path, GATT, "WriteValue", "aya{sv}", [value, self.options(connection)])

        if "write" in flags:
            asyncio.ensure_future(hand_on())
        made = Characteristic(UUID(described["UUID"].value), properties, permissions, CharacteristicValue(read=read, write=write))
        if "notify" in flags:
            made.on("subscription", lambda connection, wanted, _: asyncio.ensure_future(self.subscribe(made, path, connection, wanted)))
        return made

    @staticmethod
    def options(connection):
        address = str(connection.peer_address).split("/")[0].replace(":", "_")
        return {
            "device": Variant("o", f"{ADAPTER}/dev_{address}"), "mtu": Variant("q", connection.att_mtu), "offset": Variant("q", 0),
        }  # fmt: skip

    async def subscribe(self, characteristic, path, connection, wanted):
        self.unsubscribe()
        if not wanted:
            return
        connection.on("disconnection", lambda _: self.unsubscribe())
        reply = await self.ask(path, GATT, "AcquireNotify", "a{sv}", [self.options(connection)])
        self.news = socket.socket(fileno=reply.unix_fds[reply.body[0]])
        self.news.setblocking(False)
        asyncio.ensure_future(self.carry(self.news, characteristic, connection))

    async def carry(self, news, characteristic, connection):
        loop = asyncio.get_running_loop()
        try:
            while value := await loop.sock_recv(news, 512):
                await self.device.notify_subscriber(connection, characteristic, value)
        except OSError:
            pass  # The link has ended.

    def unsubscribe(self):
        if self.news:
            self.news.close()
        self.news = None

    async def advertise(self, path):
        properties = (await self.ask(path, "org.freedesktop.DBus.Properties", "GetAll", "s", ["org.bluez.LEAdvertisement1"])).body[0]
        services = [bytes(UUID(text)) for text in properties["ServiceUUIDs"].value]
        data = AdvertisingData(
            [(AdvertisingData.FLAGS, b"\x06"), (AdvertisingData.COMPLETE_LIST_OF_128_BIT_SERVICE_CLASS_UUIDS, b"".join(services))]
        )
        await self.device.start_advertising(
            auto_restart=True, advertising_data=bytes(data), scan_response_data=b"",
            advertising_interval_min=200, advertising_interval_max=200,
        )  # fmt: skip
