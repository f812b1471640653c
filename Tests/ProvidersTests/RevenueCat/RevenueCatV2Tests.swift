import Grammar
import Providers
import Redaction
import Testing
import Values

/// REST v2 of the fake RevenueCat: what its description demands and no example shows.
///
/// Shapes are judged by the description itself, in `test_descriptions.py`.
@Suite("RevenueCat REST v2")
struct RevenueCatV2Tests {
    private typealias Shop = ProviderClient<RevenueCatState>

    private static let customers = "/v2/projects/p/customers"

    private func talk() -> Shop {
        ProviderClient(RevenueCatState(key: Secret("sk")), authorization: "Bearer sk")
    }

    private func shop(_ store: String = "APP_STORE") throws -> Shop {
        var talk = talk()
        var action = StoreAction(.purchase, user: "ada")
        action.store = store
        try talk.state.carryOut(action, at: talk.now)
        return talk
    }

    private func subscription(_ talk: inout Shop) -> JSONValue? {
        talk.say("GET", Self.customers + "/ada/subscriptions")["/items/0"]
    }

    @Test func `all operations of the description are there, each once`() {
        let all = RevenueCatState.operations.filter { $0.interface == "REST v2" }
        #expect(all.count == 85)
        #expect(Set(all.map { $0.method + " " + $0.path }).count == 85)
        #expect(all.count { $0.supportStatus == .served } == 53)
    }

    @Test func `unsupported endpoints are refused as forbidden, and unknown ones as not found`() {
        var talk = talk()
        let refused = talk.say("GET", "/v2/projects/p/charts/revenue")
        #expect(refused.status == 403 && refused["/type"] == "authorization_error")
        let nowhere = talk.say("GET", "/v2/projects/p/tea")
        #expect(nowhere.status == 404 && nowhere["/type"] == "resource_missing")
        let method = talk.say("DELETE", "/v2/projects/p/customers/ada/aliases")
        #expect(method.status == 400 && method["/type"] == "invalid_request")
        let body = talk.say("POST", Self.customers, ["tea"])
        #expect(body.status == 400 && body["/type"] == "invalid_request")
    }

    @Test func `the end of a subscription is never null while it renews or is in grace`() throws {
        var talk = try shop("PLAY_STORE")
        let running = try #require(subscription(&talk))
        #expect(running["auto_renewal_status"] == "will_renew")
        #expect(running["ends_at"]?.int64 != nil)
        #expect(running["ends_at"] == running["current_period_ends_at"])
        var issue = StoreAction(.billingIssue, user: "ada")
        issue.grace = .seconds(16 * 86_400)
        try talk.state.carryOut(issue, at: talk.now)
        let late = try #require(subscription(&talk))
        #expect(late["ends_at"] == late["current_period_ends_at"])
        #expect((late["ends_at"]?.int64 ?? 0) >= (running["ends_at"]?.int64 ?? .max))
    }

    @Test func `a page ends at its limit and the next page starts after it`() {
        var talk = talk()
        for name in ["ada", "bob", "carol"] {
            #expect(talk.say("POST", Self.customers, ["id": .string(name)]).status == 201)
        }
        let first = talk.say("GET", Self.customers + "?limit=2")
        #expect(first["/items"]?.array?.count == 2)
        let next = first["/next_page"]?.string ?? ""
        #expect(next.hasPrefix("/v2/projects/p/customers?starting_after="))
        let second = talk.say("GET", next)
        #expect(second["/items"]?.array?.count == 1)
        #expect(second["/next_page"] == .null)
        for query in ["limit=0", "limit=1001", "limit=x", "starting_after=nobody"] {
            let wrong = talk.say("GET", Self.customers + "?" + query)
            #expect(wrong.status == 400 && wrong["/type"] == "parameter_error", "\(query)")
        }
        #expect(talk.say("GET", Self.customers + "?search=bob")["/items"]?.array?.count == 1)
    }

    @Test(
        "a call that changes something sends an event",
        arguments: [
            ("cancel", ["CANCELLATION"]), ("refund", ["CANCELLATION", "EXPIRATION"]),
        ]
    )
    func actions(verb: String, types: [String]) throws {
        var talk = try shop()
        _ = talk.state.takeEvents()
        let id = subscription(&talk)?["id"]?.string ?? ""
        let said = talk.say("POST", "/v2/projects/p/subscriptions/\(id)/actions/\(verb)", [:])
        #expect(said.status == 200)
        #expect(talk.state.takeEvents().compactMap { $0["type"]?.string } == types)
        #expect(said["/gives_access"] == .bool(verb == "cancel"))
        // Once more there is nothing to do.
        let again = talk.say("POST", "/v2/projects/p/subscriptions/\(id)/actions/\(verb)", [:])
        if verb == "refund" { #expect(again.status == 422) }
        #expect(talk.say("GET", "/v2/projects/p/subscriptions/none").status == 404)
    }

    @Test func `a transfer moves purchases and sends one event`() throws {
        var talk = try shop()
        talk.say("POST", Self.customers, ["id": "bob"])
        _ = talk.state.takeEvents()
        let path = Self.customers + "/ada/actions/transfer"
        #expect(talk.say("POST", path, ["target_customer_id": "nobody"]).status == 404)
        #expect(talk.say("POST", path, ["target_customer_id": "ada"]).status == 400)
        #expect(talk.say("POST", path, ["target_customer_id": "bob"]).status == 200)
        #expect(talk.state.takeEvents().compactMap { $0["type"]?.string } == ["TRANSFER"])
        let moved = talk.say("GET", Self.customers + "/bob/subscriptions")
        #expect(moved["/items/0/original_customer_id"] != nil)
        #expect(subscription(&talk) == nil)
    }

    @Test func `a grant is revoked, and both changes send events`() throws {
        var talk = talk()
        talk.say("POST", Self.customers, ["id": "ada"])
        let entitlements = talk.say("GET", "/v2/projects/p/entitlements")
        let id = entitlements["/items/0/id"] ?? .null
        let end = JSONValue.integer((Shop.start + .seconds(86_400)).milliseconds)
        let given = talk.say(
            "POST",
            Self.customers + "/ada/actions/grant_entitlement",
            ["entitlement_id": id, "expires_at": end]
        )
        #expect(given.status == 201)
        #expect(subscription(&talk)?["product_id"] == .null, "a grant belongs to no product")
        #expect(subscription(&talk)?["ends_at"] == end)
        let path = Self.customers + "/ada/actions/revoke_granted_entitlement"
        #expect(talk.say("POST", path, ["entitlement_id": id]).status == 200)
        let types = talk.state.takeEvents().compactMap { $0["type"]?.string }
        #expect(types == ["NON_RENEWING_PURCHASE", "CANCELLATION", "EXPIRATION"])
    }

    @Test func `attributes of a call that is refused are not kept`() {
        var talk = talk()
        talk.say("POST", Self.customers, ["id": "ada"])
        let path = Self.customers + "/ada/attributes"
        let wrong: JSONValue = [
            "attributes": [["name": "tea", "value": "green"], ["name": "a b", "value": "x"]]
        ]
        #expect(talk.say("POST", path, wrong).status == 400)
        #expect(talk.say("GET", path)["/items"] == [])
        let right: JSONValue = ["attributes": [["name": "tea", "value": "green"]]]
        #expect(talk.say("POST", path, right)["/items/0/value"] == "green")
        // v1 shows the same.
        let old = talk.say("GET", "/v1/subscribers/ada")
        #expect(old["/subscriber/subscriber_attributes/tea/value"] == "green")
        let gone: JSONValue = ["attributes": [["name": "tea", "value": .null]]]
        #expect(talk.say("POST", path, gone)["/items"] == [])
    }

    @Test
    func `a purchase grants virtual currency with an event, and a spend counts once without one`()
        throws
    {
        var talk = talk()
        var action = StoreAction(.purchase, user: "ada")
        action.product = "coins_100"
        try talk.state.carryOut(action, at: talk.now)
        let products = talk.say("GET", "/v2/projects/p/products")["/items"]?.array ?? []
        let coins = products.first { $0["store_identifier"] == "coins_100" }?["id"] ?? .null
        let currencies = "/v2/projects/p/virtual_currencies"
        let made = talk.say(
            "POST",
            currencies,
            [
                "code": "GLD", "name": "Gold",
                "product_grants": [["product_ids": [coins], "amount": 100]],
            ]
        )
        #expect(made.status == 201)
        _ = talk.state.takeEvents()
        talk.wait(.seconds(60))
        try talk.state.carryOut(action, at: talk.now)
        let events = talk.state.takeEvents()
        let types = events.compactMap { $0["type"]?.string }
        #expect(types == ["NON_RENEWING_PURCHASE", "VIRTUAL_CURRENCY_TRANSACTION"])
        #expect(events.last?["adjustments"]?.array?.first?["amount"]?.int64 == 100)
        let mine = Self.customers + "/ada/virtual_currencies"
        #expect(talk.say("GET", mine)["/items/0/balance"]?.int64 == 100)
        // A phone reads the same over v1.
        let v1 = talk.say("GET", "/v1/subscribers/ada/virtual_currencies")
        #expect(v1["/virtual_currencies/GLD/balance"]?.int64 == 100)
        // What a backend takes is told by no event, and a second copy takes nothing.
        let key = talk.fields + [HTTPMessage.Field("Idempotency-Key", "k")]
        for _ in 0..<2 {
            let spent = talk.say("POST", mine + "/transactions", ["adjustments": ["GLD": -40]], key)
            #expect(spent["/items/0/balance"]?.int64 == 60)
        }
        let other = talk.say("POST", mine + "/transactions", ["adjustments": ["GLD": -1]], key)
        #expect(other.status == 409 && other["/type"] == "idempotency_error")
        #expect(talk.state.takeEvents().isEmpty)
        // It comes back from a file as it was.
        let saved = try JSONValue(encoding: talk.state)
        talk.state = try saved.decoded(as: RevenueCatState.self)
        talk.state.take(key: Secret("sk"))
        #expect(talk.say("GET", mine)["/items/0/balance"]?.int64 == 60)
    }
}
