import Bluetooth
import Testing

struct UUIDTests {
    @Test func theOtherCharacteristicsFollowFromTheService() throws {
        let service = try #require(BluetoothUUID("7D2B0001-5c1e-4f0a-9b6d-3a8e41f7c2d9"))
        let profile = LinkProfile(service: service)
        #expect(service.description == "7d2b0001-5c1e-4f0a-9b6d-3a8e41f7c2d9")
        #expect(profile.write.description == "7d2b0002-5c1e-4f0a-9b6d-3a8e41f7c2d9")
        #expect(profile.notify.description == "7d2b0003-5c1e-4f0a-9b6d-3a8e41f7c2d9")
        #expect(profile.read.description == "7d2b0004-5c1e-4f0a-9b6d-3a8e41f7c2d9")
        let last = try #require(BluetoothUUID("ffffffff-5c1e-4f0a-9b6d-3a8e41f7c2d9"))
        #expect(last.offset(by: 1).description == "00000000-5c1e-4f0a-9b6d-3a8e41f7c2d9")
        #expect(service == BluetoothUUID(0x7D2B_0001_5C1E_4F0A, 0x9B6D_3A8E_41F7_C2D9))
    }

    @Test func shortFormsStandInTheBaseUUID() {
        #expect(BluetoothUUID("180f")?.description == "0000180f-0000-1000-8000-00805f9b34fb")
        #expect(BluetoothUUID("0000180F") == BluetoothUUID("180f"))
        #expect(BluetoothUUID(short: 0x180F) == BluetoothUUID("180f"))
    }

    @Test(arguments: [
        "", "7d2b", "7d2", "7d2b0001", "7d2b0001-5c1e-4f0a-9b6d-3a8e41f7c2d", "7d2b00015c1e4f0a9b6d3a8e41f7c2d9",
        "7d2b0001-5c1e-4f0a-9b6d-3a8e41f7c2dg", "-7d2b0001-5c1e-4f0a-9b6d-3a8e41f7c2d9", "zzzz",
    ])
    func onlyWellFormedUUIDsAreTaken(text: String) {
        let isShort = ["7d2b", "7d2b0001"].contains(text)
        #expect((BluetoothUUID(text) != nil) == isShort)
    }

    @Test(arguments: [
        "", "AA:BB:CC:DD:EE", "AA:BB:CC:DD:EE:GG", "+A:BB:CC:DD:EE:FF", "AABBCCDDEEFF", "AA:BB:CC:DD:EE:FF:00",
    ])
    func onlyWellFormedAddressesAreTaken(text: String) {
        #expect(BluetoothAddress(text) == nil)
        #expect(BluetoothAddress("aa:bb:cc:dd:ee:0f")?.description == "AA:BB:CC:DD:EE:0F")
    }
}
