import Foundation
import WalletConnectPay

/// A gateway with one payment and one option, which any signature pays.
struct AnsweringGateway: HTTPTransport {
    /// JSON of what the option wants to know of the customer.
    var collectData = "null"

    func send(_ request: HTTPRequest) async throws(TransportError) -> HTTPResponse {
        let call = request.url.prefix { $0 != "?" }.split(separator: "/").last
        let body: String
        switch call {
        case "options":
            body = """
                {"info":{"status":"requires_action","amount":\(Self.price),"expiresAt":4102444800,
                 "merchant":{"name":"Corner Shop","iconUrl":null}},"collectData":\(collectData),
                 "options":[{"id":"opt-1","account":"eip155:8453:0xAb","amount":\(Self.amount),"etaS":5,
                 "actions":[{"type":"build","data":{"data":"00"}}],"collectData":\(collectData)}]}
                """
        case "fetch":
            body = #"""
                {"actions":[{"type":"walletRpc","data":{"chain_id":"eip155:8453","method":"eth_signTypedData_v4",
                 "params":["0xAb","{\"primaryType\":\"Transfer\"}"]}}]}
                """#
        default: body = #"{"status":"succeeded","isFinal":true,"info":{"txId":"0x46","optionAmount":\#(Self.amount)}}"#
        }
        return HTTPResponse(status: 200, body: Array(body.utf8))
    }

    static let url = "https://pay.walletconnect.com/collect/?pid=pay_1"
    static let form = #"{"url":"\#(url)","schema":"{\"required\":[\"fullName\",\"dob\",\"pobAddress\"]}"}"#
    static let fields = #"{"fields":[{"id":"dob","name":"Date of birth","required":true,"type":"date"}]}"#
    private static let amount = """
        {"unit":"caip19/eip155:8453/erc20:0x8335","value":"13500000",
         "display":{"assetSymbol":"USDC","assetName":"USD Coin","decimals":6,"networkName":"Base"}}
        """
    private static let price =
        #"{"unit":"iso4217/EUR","value":"1250","display":{"assetSymbol":"EUR","assetName":"Euro","decimals":2}}"#
}

/// Whatever holds a wallet's keys.
protocol Signer {
    func signTypedData(data: String, address: String) async throws -> String
}

struct AnySigner: Signer {
    func signTypedData(data: String, address: String) async throws -> String { "0x\(address.count)" }
}

enum PaymentProblem: Error, Equatable {
    case noOptions, unreadable, cancelled
    case failed(PaymentStatus)
}
