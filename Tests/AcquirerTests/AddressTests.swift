import Acquirer
import Testing

/// One acquirer is one, however somebody typed its address: else what is open there would be asked about nowhere.
struct AddressTests {
    @Test(arguments: [
        ("https://acquirer.test/", true), ("https://ACQUIRER.test", true), ("https://acquirer.test:443//", true),
        ("https://acquirer.test/api", false), ("https://acquirer.test:8443", false), ("https://other.test", false),
        ("acquirer.test", false),
    ])
    func anAcquirerIsComparedByWhereCallsGo(text: String, isSame: Bool) {
        #expect(AcquirerAddress.areSame("https://acquirer.test", text) == isSame)
        #expect(AcquirerAddress.areSame(text, text), "also where it is no address")
    }
}
