import Contracts
import Providers
import Redaction
import Testing
import Values

@testable import FakeServers

/// The journal of the control API describes events and calls by their deciding values.
@Suite("Descriptions in the journal")
struct JournalDescriptionTests {
    private func about(
        _ from: Exchange.Party,
        _ to: Exchange.Party,
        _ line: (method: String, target: String),
        _ body: JSONValue,
        secrets: SecretDeclaration = SecretDeclaration()
    ) -> String? {
        let exchange = Exchange(
            from: from,
            to: to,
            namespace: "",
            purpose: .call,
            at: Instant(milliseconds: 0),
            request: HTTPMessage.Request(line.method, line.target, body: body.bytes)
        )
        let lines = JournalLine.RedactionByProvider(secrets, .all)
        return lines.value(exchange)["about"]?.string
    }

    @Test func `an event is described by its user, product, store and dates`() {
        let event: JSONValue = [
            "event": [
                "type": "RENEWAL", "app_user_id": "ada", "product_id": "pro_monthly",
                "store": "APP_STORE", "expiration_at_ms": 86_400_000,
            ]
        ]
        #expect(
            about(.revenueCat, .backend, ("POST", "/hook"), event)
                == "user ada, pro_monthly, APP_STORE, until 1970-01-02 00:00"
        )
    }

    @Test func `a message is described by its recipients and its text`() {
        let message: JSONValue = [
            "include_aliases": ["external_id": ["ada"]], "contents": ["en": "hello"],
        ]
        let text = about(.backend, .oneSignal, ("POST", "/notifications"), message)
        #expect(text == "to ada: \"hello\"")
    }

    @Test func `an unknown request has no description, and a secret stays hidden`() {
        #expect(about(.backend, .oneSignal, ("GET", "/apps"), .null) == nil)
        #expect(about(.backend, .backend, ("GET", "/"), .null) == nil)
        var secrets = SecretDeclaration()
        secrets.values["token"] = Secret("hidden-4711-value")
        let message: JSONValue = [
            "include_aliases": ["external_id": ["ada"]], "contents": ["en": "hidden-4711-value"],
        ]
        let line = ("POST", "/notifications")
        let text = about(.backend, .oneSignal, line, message, secrets: secrets) ?? ""
        #expect(text.hasPrefix("to ada: ") && !text.contains("4711"), "\(text)")
    }
}
