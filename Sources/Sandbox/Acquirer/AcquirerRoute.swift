import TapProtocol

/// What the acquirer can be asked to do, by the name that faults and the call log use.
public enum AcquirerEndpoint: String, FaultPlace {
    case execute, announce, payment, payments, void, sync, keys, deny, certify
    case login, logout
    case delegatedLogin = "delegated-login"
    case delegatedToken = "delegated-token"
    case instruments, passes
    case preAuthorise = "pre-authorise"
    case preAuthorisations = "pre-authorisations"
    case preAuthorisationVoid = "pre-authorisation-void"

    public static var ownEffects: [String] { [FaultEffect.wrongPayment.name, FaultEffect.forged.name] }

    /// False for calls that leave nothing behind.
    var changesSomething: Bool {
        switch self {
        case .payment, .payments, .keys, .deny, .certify, .login, .delegatedToken, .instruments, .preAuthorisations:
            false
        case .execute, .announce, .void, .sync, .logout, .delegatedLogin, .passes, .preAuthorise,
            .preAuthorisationVoid:
            true
        }
    }

    /// Who must be logged in; nil where what is sent proves itself.
    var needs: Need? {
        switch self {
        case .void, .certify: .merchant
        case .instruments, .passes, .preAuthorise, .preAuthorisations, .preAuthorisationVoid: .customer
        case .payment, .payments, .logout: .anybody
        case .execute, .announce, .sync, .keys, .deny, .login, .delegatedLogin, .delegatedToken: nil
        }
    }

    enum Need: Sendable { case merchant, customer, anybody }
}

/// A fault of the acquirer.
public typealias AcquirerFault = PlacedFault<AcquirerEndpoint>

/// What a request's method and path mean.
struct AcquirerRoute: Sendable, Equatable {
    let endpoint: AcquirerEndpoint
    /// What the path names: a payment, a terminal, a pre-authorisation.
    var name = ""

    /// Nil for a path that the acquirer does not serve, or not with this method.
    init?(_ request: GatewayRequest) {
        let path = request.segments
        switch (request.method, path.count, path.first) {
        case ("POST", 1, "executions"): endpoint = .execute
        case ("POST", 1, "sync"): endpoint = .sync
        case ("GET", 1, "keys"): endpoint = .keys
        case ("GET", 1, "deny"): endpoint = .deny
        case ("GET", 1, "payments"): endpoint = .payments
        case ("GET", 2, "payments"): (endpoint, name) = (.payment, path[1])
        case ("PUT", 2, "payments"): (endpoint, name) = (.announce, path[1])
        case ("POST", 3, "payments") where path[2] == "void": (endpoint, name) = (.void, path[1])
        case ("POST", 3, "terminals") where path[2] == "cert": (endpoint, name) = (.certify, path[1])
        case ("POST", 1, "login"): endpoint = .login
        case ("POST", 2, "login") where path[1] == "delegated": endpoint = .delegatedLogin
        case ("POST", 2, "delegated") where path[1] == "tokens": endpoint = .delegatedToken
        case ("POST", 1, "logout"): endpoint = .logout
        case ("GET", 1, "instruments"): endpoint = .instruments
        case ("POST", 1, "passes"): endpoint = .passes
        case ("POST", 1, "pre-authorisations"): endpoint = .preAuthorise
        case ("GET", 1, "pre-authorisations"): endpoint = .preAuthorisations
        case ("POST", 3, "pre-authorisations") where path[2] == "void":
            (endpoint, name) = (.preAuthorisationVoid, path[1])
        default: return nil
        }
    }
}
