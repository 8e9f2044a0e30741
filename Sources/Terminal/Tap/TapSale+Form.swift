import TapProtocol

/// What the gateway wants to know of a customer before it takes the payment: the form stands on this terminal's screen, for a
/// phone without network cannot open it. Source: BPP/1, extension W, collectData.
struct CollectingForm: Sendable, Equatable {
    let url: String
    let optionID: String
    /// Tells it from an earlier one of the same phone.
    let number: Int
}

extension TapSale {
    /// Between questions whether the customer has filled in the form.
    private static let formPause = Duration.seconds(2)

    /// The form that belongs on the screen: of the phone that chose first.
    var formURL: String? {
        guard machine.state == .open, pending == nil, walletWinner == nil else { return nil }
        return visits.values.compactMap(\.form).min { $0.number < $1.number }?.url
    }

    func showForm(of option: WalletOption, for link: LinkID) async {
        guard let url = option.collectDataURL else { return }
        let number = (visits.values.compactMap { $0.form?.number }.max() ?? 0) + 1
        let form = CollectingForm(url: url, optionID: option.id, number: number)
        visits[link]?.form = form
        jobs.continuation.yield(.wallet(link, .form(form)))
        await tools.host.changed()
    }

    /// Asks the gateway until it knows what it wants to know, and names the options anew: the phone then goes on by itself.
    ///
    /// Ends with the phone's link, with the payment, and with everything else that takes the phone its turn.
    func awaitForm(_ form: CollectingForm, for link: LinkID) async {
        while isAwaited(form, link) {
            do { try await clock.sleep(Self.formPause) } catch { return }  // The terminal stops.
            guard isAwaited(form, link), let gateway = tools.wallet, let accounts = visits[link]?.accounts else {
                break
            }
            guard let shown = await paymentLink else { break }
            switch await gateway.options(link: shown, accounts: accounts, for: phone(link)) {
            case .answer(let found):
                let isAsked = found.options.contains { $0.id == form.optionID && $0.collectDataURL != nil }
                if isAsked { continue }
                await turn.enter()
                if isAwaited(form, link) {
                    visits[link]?.form = nil
                    let options = TapBody.options(
                        name.payment,
                        found.options,
                        expiresAtSeconds: found.expiresAtSeconds
                    )
                    await say([options], to: link)
                }
                turn.leave()
            case .refused(let code):
                if isAwaited(form, link) { await refuse(link, .declined, code) }
            case .unreachable: continue  // Asked again; the customer may be at the form.
            }
        }
        if visits[link]?.form == form { visits[link]?.form = nil }
        await tools.host.changed()
    }

    /// As many options as the phone takes in one message, the gateway's first ones: forms have long addresses.
    func fitting(_ bodies: [TapBody], _ link: LinkID) async -> [TapBody] {
        let limit = await (links[link]?.messageBytes ?? Framing.minimumMessageBytes) - 16  // What encryption adds.
        return bodies.map { body in
            guard case .options(let payment, var options, let expires) = body else { return body }
            func size() -> Int {
                TapMessage(
                    number: 65_535,
                    answers: 65_535,
                    body: .options(payment, options, expiresAtSeconds: expires)
                ).encoded.count
            }
            while !options.isEmpty, size() > limit { options.removeLast() }
            return .options(payment, options, expiresAtSeconds: expires)
        }
    }

    private func isAwaited(_ form: CollectingForm, _ link: LinkID) -> Bool {
        visits[link]?.form == form && machine.state == .open && walletWinner == nil && !Task.isCancelled
    }
}
