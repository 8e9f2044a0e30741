import Console
import Machine
import Payments
import Terminal
import WebServer

extension MachineView {
    /// This machine, and the program as it was built.
    /// - Parameter state: Where the journal lies.
    static func system(state: String, gateway: DatedTransport, clock: TerminalClock) -> MachineView {
        var libraries = ["libmicrohttpd": WebServer.engineVersion]
        let packages = PackageVersions.of(["bluez", "avahi-daemon"])
        if let version = packages["bluez"] { libraries["BlueZ"] = version }
        if let version = packages["avahi-daemon"] { libraries["Avahi"] = version }
        return MachineView(
            facts: { MachineFacts.gather(folder: state) },
            clock: {
                MachineView.Clock(
                    isSet: MachineClock.isSet(
                        now: clock.wallTime(),
                        notBefore: MachineClock.builtAt() ?? .init(millisecondsSince1970: 0)
                    ),
                    isSynchronised: MachineClock.isSynchronised()
                )
            },
            gatewayOffset: { gateway.offset },
            version: Version.text,
            libraries: libraries
        )
    }
}
