import Testing

@testable import WebServer

struct ServerSentEventTests {
    private func text(_ event: ServerSentEvent) -> String { String(decoding: event.bytes, as: UTF8.self) }

    @Test func everyLineOfTheDataTravelsInItsOwnField() {
        #expect(text(ServerSentEvent(data: "a\nb\r\nc\rd\n")) == "data: a\ndata: b\ndata: c\ndata: d\ndata: \n\n")
        #expect(text(ServerSentEvent(data: "")) == "data: \n\n")
    }

    @Test func fieldsCannotBeSmuggledIn() {
        let event = ServerSentEvent(event: "a\ndata: x", data: "d", id: "1\r\nevent: y\0", retry: .seconds(3))
        #expect(text(event) == "event: adata: x\nid: 1event: y\nretry: 3000\ndata: d\n\n")
        #expect(text(.comment("ping\ndata: x")) == ":pingdata: x\n\n")
    }
}

struct WebResponseTests {
    @Test func aRefusalIsJSONWhateverItsTextHolds() {
        let response = WebResponse.refusal(400, code: "c", message: "\"quoted\\\"\n\u{2028}é", action: "a\u{1}")
        guard case .bytes(let body) = response.body else {
            Issue.record("no bytes")
            return
        }
        let expected = #"{"code":"c","message":"\"quoted\\\"\u000a\u2028é","action":"a\u0001"}"#
        #expect(String(decoding: body, as: UTF8.self) == expected)
        #expect(response.headers["content-type"] == "application/json")
    }

    @Test func headerNamesCarryNoCase() {
        var headers: WebHeaders = ["Set-Cookie": "a", "X": "1"]
        headers.add("set-cookie", "b")
        #expect(headers.values("SET-COOKIE") == ["a", "b"])
        headers["x"] = "2"
        #expect(headers.values("X") == ["2"])
        headers["X"] = nil
        #expect(headers["x"] == nil)
    }

    @Test func cookiesAreReadByName() throws {
        let headers: WebHeaders = ["Cookie": "__Host-till=abc; a=\"q\" ;b=1=2; a=second; junk; =x", "cookie": "c=3"]
        let request = try #require(WebRequest(target: "/", headers: headers))
        #expect(request.cookies == ["__Host-till": "abc", "a": "q", "b": "1=2", "c": "3"])
        #expect(request.header("COOKIE")?.hasPrefix("__Host") == true)
        #expect(WebRequest(target: "/a/../b") == nil)
    }
}
