"""The API's published OpenAPI file. It is read beside the repository: it is not ours to hand on."""

import json
import pathlib

FILE = pathlib.Path(__file__).resolve().parents[3] / "shared/reference/walletconnect-pay-openapi-2026-02-19.preview.json"
METHODS = ("get", "post", "put", "patch", "delete")


def document():
    return json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else None


def operations(document):
    return [
        (method.upper(), path, operation)
        for path, item in document["paths"].items()
        for method, operation in item.items()
        if method in METHODS
    ]


def narrowed(document, accounts):
    """What is sent, narrowed to what can mean something, so that generated requests reach behind the first check.

    Only schemas of requests change; what the gateway may answer stays as published.
    """
    schemas = document["components"]["schemas"]
    schemas["AmountParameter"]["properties"]["unit"]["enum"] = ["iso4217/USD", "iso4217/EUR", "iso4217/GBP"]
    schemas["AmountParameter"]["properties"]["value"]["pattern"] = "^[1-9][0-9]{0,8}$"
    schemas["CreatePayment"]["properties"]["referenceId"]["pattern"] = "^[A-Za-z0-9 /:.,+-]{1,35}$"
    schemas["CheckoutConfig"]["properties"]["successUrl"]["pattern"] = "^https://[a-z]{1,20}\\.test/$"
    schemas["CheckoutConfig"]["properties"]["errorUrl"]["pattern"] = "^https://[a-z]{1,20}\\.test/$"
    schemas["GetPaymentOptionsRequest"]["properties"]["accounts"]["items"]["enum"] = accounts
    return document


def linked(document):
    """The same with links: how an answer leads to the next request, which the file describes in words only."""

    def link(operation, parameters, body=None):
        return {"operationRef": operation, "parameters": parameters, **({"requestBody": body} if body else {})}

    def reference(method, path):
        return f"#/paths/{path.replace('/', '~1')}/{method}"

    made = {"id": "$response.body#/paymentId"}
    wallet, merchant = "/v1/gateway/payment/{id}", "/v1/payments/{id}"
    links = {
        "details": link(reference("get", merchant), made),
        "status": link(reference("get", f"{merchant}/status"), made),
        "cancel": link(reference("post", f"{merchant}/cancel"), made),
        "info": link(reference("get", wallet), made),
        "options": link(reference("post", f"{wallet}/options"), made),
        "gatewayStatus": link(reference("get", f"{wallet}/status"), made),
        "gatewayCancel": link(reference("post", f"{wallet}/cancel"), made),
        "refund": link(reference("post", "/v1/refunds"), {}, {"paymentId": "$response.body#/paymentId"}),
    }
    document["paths"]["/v1/payments"]["post"]["responses"]["201"]["links"] = links
    same = {"id": "$request.path.id"}
    option = "$response.body#/options/0/id"
    document["paths"][f"{wallet}/options"]["post"]["responses"]["200"]["links"] = {
        "fetch": link(reference("post", f"{wallet}/fetch"), same, {"optionId": option, "data": ""}),
        "confirm": link(reference("post", f"{wallet}/confirm"), same, {"optionId": option, "results": []}),
    }
    document["paths"][f"{wallet}/fetch"]["post"]["responses"]["200"]["links"] = {
        "status": link(reference("get", f"{wallet}/status"), same)
    }
    return document
