/// What the passing of time ends. "Expired" means from that second on.
extension SignEngine {
    mutating func tick() {
        expireProposals()
        expireOffers()
        expirePairings()
        expireRequests()
        expireSessions()
        for record in book.outbox.values where record.expiry <= now {
            log("\(record.topic): a message was not sent in its \(record.ttl) s and is dropped")
            book.removeOutbox(record.number)
        }
    }

    private mutating func expireProposals() {
        for proposal in book.proposals.values.sorted(by: { $0.expiry < $1.expiry }) where proposal.expiry <= now {
            book.removeProposal(proposal.name)
            expiredProposals = (expiredProposals + [proposal.name]).suffix(64)
            emit(.proposalExpired(proposal.value))
        }
        for request in book.authRequests.values where request.expiry <= now { book.removeAuthRequest(request.name) }
    }

    private mutating func expireOffers() {
        for offer in book.offers.values {
            switch offer.phase {
            case .open where offer.expiry <= now: end(offer, .expired)
            case .settling where (offer.settleBy ?? offer.expiry + Lifetime.settlement) <= now:
                end(offer, .unusable(reason: "the wallet approved and never settled"))
            case .over where offer.expiry + Lifetime.lateApproval <= now: remove(offer)
            default: break
            }
        }
        if !book.offers.values.contains(where: { $0.phase == .open }) { early = [] }
    }

    private mutating func expirePairings() {
        for pairing in book.pairings.values where pairing.expiry <= now && !pairing.isOver {
            emit(.pairingExpired(pairing.value))
            endPairing(pairing.topic)
        }
    }

    private mutating func expireRequests() {
        for var sent in book.sent.values where sent.expiry <= now {
            if !sent.expired, sent.method != .sessionSettle { emit(.unanswered(sent.id, sent.topic)) }
            if sent.method == .sessionRequest, sent.expiry + Lifetime.lateAnswer > now {
                guard !sent.expired else { continue }
                sent.expired = true
                book.put(sent)
            } else {
                book.removeSent(sent)
            }
        }
        for var record in book.received.values {
            if record.answer == nil, !record.isOver, let expiry = record.expiry, expiry <= now {
                record.isOver = true
                book.put(record)
                emit(.requestExpired(record.id, record.topic))
            }
            let end = (record.expiry ?? record.at + Lifetime.longestRequest) + Lifetime.lateAnswer
            if record.isOver, end <= now { book.removeReceived(record) }
        }
    }

    private mutating func expireSessions() {
        for session in book.sessions.values {
            if session.isOver {
                endSession(session.topic)  // Stays while a request is open.
            } else if session.expiry <= now {
                endSession(session.topic)
                emit(.sessionEnded(SessionEnd(topic: session.topic, cause: .expired)))
            }
        }
    }
}
