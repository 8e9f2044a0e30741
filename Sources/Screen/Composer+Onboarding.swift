/// The pages of a phone that connects the terminal to a Wi-Fi network.
extension Composer {
    func onboarding(_ onboarding: Scene.Onboarding, _ page: Page) -> [Drawing.Element] {
        let palette = page.palette
        var items: [Stack.Item] = [
            .text(text.onboardingTitles(onboarding.kind), Style(9, atLeast: 4.6, palette.text, .bold, lines: 4))
        ]
        if let network = onboarding.network.map({ DisplayText.clean($0, limit: 32) }), !network.isEmpty {
            // Isolated: whoever runs the network chose its name.
            let name = "\u{2068}\(network)\u{2069}"
            items += [.gap(2), .text(name, Style(8, atLeast: 4, palette.text, lines: 2))]
        }
        items += [
            .gap(3), .text(text.onboardingDetails(onboarding.kind), Style(6, atLeast: 3.6, palette.text, lines: 4)),
        ]
        let keys = onboarding.hasKeys ? text.onboardingKeys(onboarding.kind) : ""
        if !keys.isEmpty { items += [.gap(4), .text(keys, Style(5, atLeast: 3.4, palette.text, .bold, lines: 3))] }
        return centred(items, page)
    }

    static func palette(of kind: Scene.Onboarding.Kind) -> Palette {
        switch kind {
        case .asking: .unknown
        case .allowed, .joined: .calm
        case .joining: .processing
        case .notJoined: .cancelled
        }
    }
}
