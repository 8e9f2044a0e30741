public import Payments
public import TapProtocol

/// The radio as the Tap rail needs it: it sees phones and connects to one at a time.
///
/// Every call ends soon after its task is cancelled: the rail's own deadlines end by that.
public protocol TapRadio: Sendable {
    /// Phones seen while the sequence is consumed; scanning stops when it ends or its task is cancelled. A radio that is off
    /// or gone throws, and says why.
    func sightings(of services: [ServiceUUID]) -> AsyncThrowingStream<TapSighting, any Error>

    /// Connects, resolves, and opens both pipes. Stops scanning itself meanwhile, and leaves nothing behind where it throws.
    /// - Parameter timers: What `connect`, `discover` and `hello` may take.
    func connect(
        _ phone: TapSighting.PhoneAddress,
        characteristics: TapCharacteristics,
        timers: TapTimers
    ) async throws(TapRadioError) -> any TapConnection

    /// How the radio itself is, now and whenever that changes.
    var health: AsyncStream<TapRadioHealth> { get }
}

/// One advertisement of one phone.
public struct TapSighting: Sendable, Hashable {
    /// The radio's name for a phone, good until the phone changes its address.
    public struct PhoneAddress: Sendable, Hashable, CustomStringConvertible {
        public let rawValue: String
        public init(_ rawValue: String) { self.rawValue = rawValue }
        public var description: String { rawValue }
    }

    public var address: PhoneAddress
    public var services: Set<ServiceUUID>
    /// dBm; nil where the radio does not know.
    public var rssi: Int?
    /// What the phone says that it sends with, dBm.
    public var txPower: Int?
    /// On the terminal clock's `elapsed`.
    public var at: Duration

    public init(
        address: PhoneAddress,
        services: Set<ServiceUUID>,
        rssi: Int?,
        txPower: Int? = nil,
        at: Duration
    ) {
        (self.address, self.services, self.rssi) = (address, services, rssi)
        (self.txPower, self.at) = (txPower, at)
    }
}

/// Which service and characteristics carry the profile.
public struct TapCharacteristics: Sendable, Hashable, Codable {
    /// The GATT service. Phones that read a tag advertise another one and offer this all the same.
    public var service: ServiceUUID
    public var write: ServiceUUID
    public var status: ServiceUUID
    public var read: ServiceUUID

    public init(
        service: ServiceUUID = .standard,
        write: ServiceUUID? = nil,
        status: ServiceUUID? = nil,
        read: ServiceUUID? = nil
    ) {
        self.service = service
        self.write = write ?? service.write
        self.status = status ?? service.status
        self.read = read ?? service.read
    }

    /// Those that do not follow from the service; nil where one does.
    var ownWrite: ServiceUUID? { write == service.write ? nil : write }
    var ownStatus: ServiceUUID? { status == service.status ? nil : status }
    var ownRead: ServiceUUID? { read == service.read ? nil : read }

    public init(from decoder: any Decoder) throws {
        var container = try decoder.unkeyedContainer()
        func next() throws -> ServiceUUID {
            guard let uuid = ServiceUUID(try container.decode(String.self)) else {
                throw DecodingError.dataCorruptedError(in: container, debugDescription: "not a UUID")
            }
            return uuid
        }
        self.init(service: try next(), write: try next(), status: try next(), read: try next())
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.unkeyedContainer()
        for uuid in [service, write, status, read] { try container.encode(uuid.description) }
    }
}

/// An open link to one phone.
public protocol TapConnection: Sendable {
    /// Bytes per fragment: 20 to 512.
    var maximumValueLength: Int { get }
    /// What READ holds.
    func readHello() async throws(TapRadioError) -> [UInt8]
    /// Writes one value. Returns when the radio has taken it.
    func send(_ fragment: [UInt8]) async throws(TapRadioError)
    /// Writes one value where the radio takes it without waiting; false where it is to be sent.
    func sendAtOnce(_ fragment: [UInt8]) throws(TapRadioError) -> Bool
    /// What the phone notifies, each value once, until the link is down.
    var fragments: AsyncThrowingStream<[UInt8], any Error> { get }
    /// Disconnects, and removes the phone from the radio's memory.
    func close() async
}

extension TapConnection {
    public func sendAtOnce(_ fragment: [UInt8]) throws(TapRadioError) -> Bool { false }
}

/// Why the radio did not do what it was asked. It never says anything about a payment.
public enum TapRadioError: Error, Sendable, Equatable {
    /// The radio is switched off, or there is none.
    case unavailable(String)
    /// The phone did not answer in time.
    case timedOut(String)
    /// The phone is gone, or does not offer the profile.
    case failed(String)
    case cancelled
}

/// How the radio is.
public enum TapRadioHealth: Sendable, Hashable {
    case ready
    /// It is there and switched off.
    case off(reason: String)
    /// There is none.
    case gone(reason: String)
}

/// What staff and customer see of Tap.
public struct TapStatus: Sendable, Hashable {
    /// What belongs on the screen because of the phones that one charge is shown on.
    public struct View: Sendable, Hashable {
        /// Four digits of the phone that pays, else of each that is asked; empty where none are to be compared.
        public var shortCodes: [String]
        /// The form that a phone's customer has to fill in before the gateway takes the payment.
        public var formURL: String?

        public init(shortCodes: [String] = [], formURL: String? = nil) {
            (self.shortCodes, self.formURL) = (shortCodes, formURL)
        }
    }

    public enum Light: Sendable, Hashable {
        /// Not set up, or switched off in the settings.
        case off
        /// The next charge can be paid by holding a phone here.
        case ready
        /// Charges go on without Tap; the reason says what is missing.
        case hindered(Reason)
    }

    public var light: Light
    /// Phones that show the request now.
    public var phones: Int
    /// What the screen owes phones, by charge.
    public var views: [ChargeID: View] = [:]
    /// The tag for the screen in `tagged` mode.
    public var tagURI: String?
    /// Payments that were taken offline and wait to be sent.
    public var waiting: Int
    /// What stands in the way of money that was taken offline, besides a missing network.
    public var notices: [Reason]

    public init(
        light: Light = .off,
        phones: Int = 0,
        tagURI: String? = nil,
        waiting: Int = 0,
        notices: [Reason] = []
    ) {
        (self.light, self.phones) = (light, phones)
        (self.tagURI, self.waiting, self.notices) = (tagURI, waiting, notices)
    }
}
