"""Where the sandbox answers what the published OpenAPI file does not say, and why.

The file lists five statuses for a wallet's route and has no word for the rest, although its own list of codes names
them. Production's clients (the wallets' SDK, the official POS apps) tell those codes apart by status, so the sandbox
answers as they expect. Nothing that is not in this list is let pass, and nothing may stay in it that the file allows.
"""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Deviation:
    method: str
    path: str
    status: int
    code: str
    reason: str


SETTLEMENT = "/v1/merchants/{merchantId}/settlements/crypto/{id}"
WALLET = "/v1/gateway/payment/{id}"
MERCHANT_UNKNOWN = "the code is in the file's list and goes with no route; 404 is what its name and its siblings say"

DEVIATIONS = [
    Deviation("POST", "/v1/payments", 404, "merchant_not_found", MERCHANT_UNKNOWN),
    Deviation("GET", "/v1/merchants/payments", 404, "merchant_not_found", MERCHANT_UNKNOWN),
    Deviation("POST", "/v1/payments", 409, "idempotency_conflict", "named for the key that this route takes; 409 as on its siblings"),
    Deviation("POST", f"{WALLET}/options", 422, "params_validation", "the wallets' SDK reads an account's refusal from 422"),
    Deviation("POST", f"{WALLET}/options", 451, "sanctioned_user", "the wallets' SDK read a compliance refusal from 451"),
    Deviation("POST", f"{WALLET}/fetch", 409, "quote_expired", "an option's expiresAt names the code; the SDK reads it from 409"),
    Deviation("POST", f"{WALLET}/fetch", 410, "payment_expired", "the SDK reads an expired payment from 410"),
    Deviation("POST", f"{WALLET}/confirm", 409, "quote_expired", "an option's expiresAt names the code; the SDK reads it from 409"),
    Deviation("POST", f"{WALLET}/confirm", 410, "payment_expired", "the SDK reads an expired payment from 410"),
    Deviation("POST", f"{WALLET}/confirm", 422, "params_validation", "the SDK reads a wrong signature from 422"),
    *(
        Deviation(method, SETTLEMENT, 401, code, "the file forgets what every other route says to a wrong key")
        for method in ("PUT", "DELETE")
        for code in ("missing_api_key", "invalid_api_key")
    ),
]

# Only where it was asked for with --rate-limit, and then everywhere.
RATE_LIMITED = Deviation("*", "*", 429, "rate_limited", "the file has the code and no status; 429 is RFC 6585's")


def deviation(method, path, status, code):
    """The entry that lets this answer pass; None where there is none."""
    for known in DEVIATIONS:
        if (known.method, known.path, known.status, known.code) == (method.upper(), path, status, code):
            return known
    return None
