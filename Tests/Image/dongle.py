"""A Bluetooth controller on a machine's USB, as QEMU's usb-redir takes it: no driver, firmware or program of the guest knows that
there is no radio behind it.

The packets are those of "USB Network Redirection protocol", version 0.7, and of the Bluetooth Core Specification 5.3, volume 4,
part B (USB transport) and part A (the byte in front that tells packets apart).
"""

import asyncio
import itertools
import struct

HELLO, DEVICE_CONNECT, RESET, INTERFACES, ENDPOINTS = 0, 1, 3, 4, 5
SET_CONFIGURATION, GET_CONFIGURATION, CONFIGURATION, SET_ALTERNATE, GET_ALTERNATE, ALTERNATE = 6, 7, 8, 9, 10, 11
START_INTERRUPT, STOP_INTERRUPT, INTERRUPT_STATUS, CANCEL = 15, 16, 17, 21
CONTROL, BULK, INTERRUPT = 100, 101, 103
DONE, CANCELLED, STALLED = 0, 1, 4
#: What this side can, and QEMU's xHCI asks for: a device's version, the size of packets with the endpoints, numbers of 64 bits for
#: packets and lengths of 32.
CAPABILITIES = 1 << 1 | 1 << 4 | 1 << 5 | 1 << 6
#: The number of a packet is a short one in the first packet of each side only.
FIRST_HEAD, HEAD = struct.Struct("<III"), struct.Struct("<IIQ")
#: Endpoint, status, length, stream, and the length's upper half.
BULK_HEAD = struct.Struct("<BBHIH")
FULL_SPEED, PACKET, LONGEST = 1, 64, 1 << 20
EVENTS, TO_HOST, FROM_HOST = 0x81, 0x82, 0x02
COMMAND_PACKET, ACL_PACKET, EVENT_PACKET = 1, 2, 4

# Wireless controller, radio frequency, Bluetooth; a number of pid.codes that is kept for tests.
CLASS = (0xE0, 1, 1)
VENDOR, PRODUCT, VERSION = 0x1209, 0x0001, 0x0100
DEVICE_DESCRIPTOR = struct.pack("<BBHBBBBHHHBBBB", 18, 1, 0x0200, *CLASS, 64, VENDOR, PRODUCT, VERSION, 0, 0, 0, 1)
#: Address, kind (interrupt or bulk) and interval of each.
PIPES = ((EVENTS, 3, 1), (TO_HOST, 2, 0), (FROM_HOST, 2, 0))
CONFIGURATION_DESCRIPTOR = (
    struct.pack("<BBHBBBBB", 9, 2, 9 + 9 + 7 * len(PIPES), 1, 1, 0, 0x80, 50)
    + struct.pack("<BBBBBBBBB", 9, 4, 0, 0, len(PIPES), *CLASS, 0)
    + b"".join(struct.pack("<BBBBHB", 7, 5, address, kind, PACKET, interval) for address, kind, interval in PIPES)
)


class Dongle:
    """What stands between a controller, which speaks HCI, and a machine that has it on its USB."""

    def __init__(self):
        self.controller, self.writer = None, None
        self.numbers = itertools.count()
        #: Where the machine waits for data, and data for which it does not wait yet.
        self.reads, self.data = [], []
        self.wants_events = False

    # ---- the controller's side

    def set_packet_sink(self, controller):
        self.controller = controller

    def on_packet(self, packet):
        """Takes what the controller says."""
        if packet[0] == EVENT_PACKET:
            # Longer than one packet of the pipe: in parts, which the driver puts together by the length in the first one.
            for start in range(1, len(packet), PACKET) if self.wants_events else ():
                part = packet[start : start + PACKET]
                self.send(INTERRUPT, next(self.numbers), struct.pack("<BBH", EVENTS, DONE, len(part)) + part)
        elif packet[0] == ACL_PACKET:
            self.data.append(packet[1:])
            self.deliver()

    def deliver(self):
        while self.reads and self.data:
            part = self.data.pop(0)
            self.send(BULK, self.reads.pop(0), BULK_HEAD.pack(TO_HOST, DONE, len(part), 0, 0) + part)

    # ---- the machine's side

    async def serve(self, path):
        return await asyncio.start_unix_server(self.plugged_in, path)

    async def plugged_in(self, reader, writer):
        self.writer, self.reads, self.data, self.wants_events = writer, [], [], False
        hello = b"till tests".ljust(64, b"\0") + struct.pack("<I", CAPABILITIES)
        writer.write(FIRST_HEAD.pack(HELLO, len(hello), 0) + hello)
        head = FIRST_HEAD
        try:
            while True:
                kind, length, number = head.unpack(await reader.readexactly(head.size))
                head = HEAD
                if length > LONGEST:
                    raise ValueError(f"{length} bytes in a packet of kind {kind}")
                self.take(kind, number, await reader.readexactly(length))
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # The machine is off.
        finally:
            self.writer = None
            writer.close()

    def send(self, kind, number, content):
        if self.writer:
            self.writer.write(HEAD.pack(kind, len(content), number) + content)

    def take(self, kind, number, content):
        match kind:
            case _ if kind == HELLO:
                self.introduce()
            case _ if kind == CONTROL:
                self.control(number, content)
            case _ if kind == BULK:
                if content[0] == FROM_HOST:
                    self.controller.on_packet(bytes([ACL_PACKET]) + content[BULK_HEAD.size :])
                    self.send(BULK, number, content[:1] + bytes([DONE]) + content[2 : BULK_HEAD.size])
                else:
                    self.reads.append(number)
                    self.deliver()
            case _ if kind == START_INTERRUPT or kind == STOP_INTERRUPT:
                self.wants_events = kind == START_INTERRUPT
                self.send(INTERRUPT_STATUS, number, bytes([DONE, content[0]]))
            case _ if kind == SET_CONFIGURATION or kind == GET_CONFIGURATION:
                self.send(CONFIGURATION, number, bytes([DONE, 1]))
            case _ if kind == SET_ALTERNATE or kind == GET_ALTERNATE:
                self.send(ALTERNATE, number, bytes([DONE, content[0], 0]))
            case _ if kind == RESET:
                self.reads, self.data, self.wants_events = [], [], False
            case _ if kind == CANCEL and number in self.reads:
                self.reads.remove(number)
                self.send(BULK, number, BULK_HEAD.pack(TO_HOST, CANCELLED, 0, 0, 0))

    def introduce(self):
        def places(*values, count=32, form="B", none=0):
            return struct.pack(f"<{count}{form}", *values, *[none] * (count - len(values)))

        self.send(INTERFACES, 0, struct.pack("<I", 1) + places(0) + b"".join(places(value) for value in CLASS))
        kinds, intervals, sizes = [255] * 32, [0] * 32, [0] * 32
        for place in (0, 16):
            kinds[place], sizes[place] = 0, PACKET
        for address, kind, interval in PIPES:
            place = (address & 0x80) >> 3 | address & 0x0F
            kinds[place], intervals[place], sizes[place] = kind, interval, PACKET
        self.send(ENDPOINTS, 0, places(*kinds) + places(*intervals) + places() + places(*sizes, form="H"))
        self.send(DEVICE_CONNECT, 0, struct.pack("<BBBBHHH", FULL_SPEED, *CLASS, VENDOR, PRODUCT, VERSION))

    def control(self, number, content):
        endpoint, request, kind, _, value, index, length = struct.unpack("<BBBBHHH", content[:10])
        answer, status = b"", DONE
        if kind == 0x20 and request == 0:
            self.controller.on_packet(bytes([COMMAND_PACKET]) + content[10:])
            answered = length
        else:
            if (kind, request) == (0x80, 6):  # GET_DESCRIPTOR
                answer = {1: DEVICE_DESCRIPTOR, 2: CONFIGURATION_DESCRIPTOR}.get(value >> 8, b"")[:length]
            elif (kind, request) == (0x80, 0):  # GET_STATUS
                answer = b"\0\0"
            if kind & 0x80 and not answer:
                status = STALLED
            answered = len(answer) if kind & 0x80 else length
        self.send(CONTROL, number, struct.pack("<BBBBHHH", endpoint, request, kind, status, value, index, answered) + answer)
