import Screen

extension TapDesk {
    /// The tag's address for a sticker or another display, and its code's rows, dark modules as 1; nil where phones read none.
    public var shownTag: (uri: String, code: [String])? {
        get async {
            guard let uri = await station.tagURI else { return nil }
            return (uri, QRModules(uri)?.rows ?? [])
        }
    }
}
