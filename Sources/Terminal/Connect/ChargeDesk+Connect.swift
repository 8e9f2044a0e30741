public import Payments

extension ChargeDesk {
    /// Takes what the station says of wallets.
    public func setConnect(_ status: ConnectStatus) {
        guard connect != status else { return }
        connect = status
        publish()
    }

    /// Turns the screen to the code for wallets that pair with the terminal, or back to the payment link's. Without effect
    /// where one code serves both, or where there is but one.
    /// - Throws: ``ChargeRefusal/notFound``, or ``ChargeRefusal/tooLate(_:)`` where there is no code to show any more.
    public func turnCode(of id: ChargeID, toPairing: Bool) throws(ChargeRefusal) -> ChargeSnapshot {
        let now = try snapshot(of: id)
        guard now.isPayable else { throw .tooLate(now.charge.state) }
        if toPairing { turned.insert(id) } else { turned.remove(id) }
        publish()
        return try snapshot(of: id)
    }
}

extension ConnectStation {
    /// Lets go of a wallet whose customer has a form to fill in, so that the next one can come. Without effect otherwise.
    public func endForm(of charge: ChargeID) async {
        for (key, sale) in sales where key.charge == charge { await sale.endForm() }
    }
}
