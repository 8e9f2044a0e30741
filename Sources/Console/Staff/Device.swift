import WebServer

/// What a browser says it is, in words of this list only: nothing of what it sends is kept or shown.
struct Device: Sendable, Equatable {
    /// Nil: none of those that are known.
    var browser: String?
    var system: String?
    /// How many idle minutes end a session there; nil: as everywhere.
    var lockMinutes: Int?

    init(browser: String? = nil, system: String? = nil, lockMinutes: Int? = nil) {
        (self.browser, self.system, self.lockMinutes) = (browser, system, lockMinutes)
    }

    /// - Parameter userAgent: The header as it came. More than its first 400 characters is not looked at.
    init(userAgent: String?, lockMinutes: Int? = nil) {
        let text = String((userAgent ?? "").prefix(400))
        browser = Self.browsers.first { known in text.contains(known.mark) }?.name
        system = Self.systems.first { known in text.contains(known.mark) }?.name
        self.lockMinutes = lockMinutes
    }

    /// The first that is found counts: most browsers also name those they descend from.
    private static let browsers: [(mark: String, name: String)] = [
        (mark: "SamsungBrowser/", name: "Samsung Internet"), ("EdgA/", "Edge"), ("EdgiOS/", "Edge"), ("Edg/", "Edge"),
        ("OPR/", "Opera"), ("FxiOS/", "Firefox"), ("Firefox/", "Firefox"), ("CriOS/", "Chrome"),
        ("HeadlessChrome/", "Chrome"), ("Chrome/", "Chrome"), ("Safari/", "Safari"),
    ]
    private static let systems: [(mark: String, name: String)] = [
        (mark: "Android", name: "Android"), ("iPhone", "iPhone"), ("iPad", "iPad"), ("CrOS", "ChromeOS"),
        ("Windows", "Windows"), ("Macintosh", "Mac"), ("Linux", "Linux"),
    ]
}

extension Session {
    /// One that ``Sessions`` has still to give its token and times.
    init(role: Role, name: String? = nil, person: String? = nil, on device: Device) {
        self.init(
            tokenHash: [],
            role: role,
            name: name,
            person: person,
            browser: device.browser,
            system: device.system,
            lockMinutes: device.lockMinutes,
            createdAt: 0,
            usedAt: 0
        )
    }

    var device: Device { Device(browser: browser, system: system, lockMinutes: lockMinutes) }
}
