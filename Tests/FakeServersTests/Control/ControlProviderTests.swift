import FakeServers
import Providers
import TestBackend
import Testing
import Values

@Suite("Control API: what providers offer")
struct ControlProviderTests {
    private static let hook: JSONValue = ["url": "http://127.0.0.1:1/hook"]

    // MARK: Webhooks

    @Test func `a webhook is shown without its secrets, changed as a whole, and removed`() async {
        let fixture = ControlFixture()
        let made = await fixture.call(
            "PUT",
            "/webhooks/main",
            [
                "url": "http://127.0.0.1:1/hook", "authorization": "Bearer planted-9313",
                "signing-secret": "whsec_planted-9314", "environment": "SANDBOX",
                "app": "app1", "types": ["RENEWAL"], "paywall-events": false,
                "temporary-grants": false,
            ]
        )
        #expect(!made.body.text.contains("planted"))
        #expect(
            made["webhooks"] == [
                [
                    "id": "main", "url": "http://127.0.0.1:1/hook", "authorized": true,
                    "signed": true, "environment": "SANDBOX", "app": "app1",
                    "types": ["RENEWAL"], "paywall-events": false, "temporary-grants": false,
                ]
            ]
        )
        let again = await fixture.call("PUT", "/webhooks/main", Self.hook)
        #expect(
            again["webhooks"] == [
                [
                    "id": "main", "url": "http://127.0.0.1:1/hook", "authorized": false,
                    "signed": false, "types": [], "paywall-events": true,
                    "temporary-grants": true,
                ]
            ]
        )
        _ = await fixture.call("PUT", "/webhooks/second", Self.hook)
        let rest = await fixture.call("DELETE", "/webhooks/main")
        #expect(rest["webhooks"]?.array?.map { $0["id"] } == ["second"])
        let gone = await fixture.call("DELETE", "/webhooks/main")
        #expect(gone.status == 404)
        #expect(gone.error == "there is no webhook 'main'")
    }

    @Test(
        "an event goes to this machine or to a host that was allowed",
        arguments: [
            ("http://127.0.0.1:8080/x", true), ("http://localhost/x", true),
            ("http://friend.example/x", true), ("http://evil.example/x", false),
            ("https://127.0.0.1.evil.example/", false), ("ftp://127.0.0.1/", false),
            ("127.0.0.1:8080", false), ("", false),
        ]
    )
    func checksAddresses(url: String, isTaken: Bool) async {
        let fixture = ControlFixture(allowedHosts: ["friend.example"])
        for path in ["/webhooks/main", "/purchasely/webhook"] {
            let answer = await fixture.call("PUT", path, ["url": .string(url)])
            #expect(answer.status == (isTaken ? 200 : 400), "\(path): \(answer.error)")
            guard !isTaken else { continue }
            #expect(answer.error == "'url' is '\(url)', which is not an http URL on this machine")
            #expect(answer.hint.contains("--allow-host"))
        }
    }

    @Test func `a webhook needs an address and a name, and knows two environments`() async {
        let fixture = ControlFixture()
        for path in ["/webhooks/main", "/purchasely/webhook"] {
            #expect(await fixture.call("PUT", path, [:]).error == "'url' is missing")
        }
        let long = String(repeating: "x", count: 201)
        let named = await fixture.call("PUT", "/webhooks/\(long)", Self.hook)
        #expect(named.error == "a webhook ID must have 1 to 200 characters")
        let body: JSONValue = ["url": "http://127.0.0.1:1/", "environment": "SANDBX"]
        let other = await fixture.call("PUT", "/webhooks/main", body)
        #expect(other.error == "'environment' is 'SANDBX', which is not one of PRODUCTION, SANDBOX")
        #expect(other.hint == "did you mean 'SANDBOX'?")
        #expect(await fixture.call("GET", "/webhooks")["webhooks"] == [])
    }

    @Test func `Purchasely receives its target and signs with its secret`() async {
        let fixture = ControlFixture()
        let plain = await fixture.call("PUT", "/purchasely/webhook", Self.hook)
        #expect(plain.body == ["url": "http://127.0.0.1:1/hook", "signed": false])
        let signed = await fixture.call(
            "PUT",
            "/purchasely/webhook",
            ["url": "http://127.0.0.1:1/hook", "signing-secret": "planted-9315"]
        )
        #expect(signed["signed"] == true)
        let empty = await fixture.call(
            "PUT",
            "/purchasely/webhook",
            ["url": "http://127.0.0.1:1/hook", "signing-secret": ""]
        )
        #expect(empty["signed"] == false, "an empty secret is none")
    }

    // MARK: The store

    @Test func `every action of the store is listed and can be asked for`() async {
        let fixture = ControlFixture()
        let listed = await fixture.call("GET", "/store")["actions"]?.object?.keys ?? []
        #expect(Set(listed) == Set(StoreAction.Kind.allCases.map(\.rawValue)))
        for kind in StoreAction.Kind.allCases {
            let answer = await fixture.call(
                "POST",
                "/store/\(kind.rawValue)",
                ["user": "ada", "from": "bob"]
            )
            // It may be refused, because nothing was bought; it is never unknown.
            #expect([200, 409].contains(answer.status), "\(kind): \(answer.status)")
            #expect(answer.status == 200 || !answer.error.isEmpty, "\(kind)")
        }
    }

    @Test func `an action returns its events, its customer and its deliveries`() async {
        let fixture = ControlFixture([202])
        _ = await fixture.call("PUT", "/webhooks/main", Self.hook)
        let bought = await fixture.call("POST", "/store/purchase", ["user": "ada", "settle": true])
        #expect(bought["events"]?.array?.map { $0["type"] } == ["INITIAL_PURCHASE"])
        #expect(bought["customer"]?["subscriber"]?["original_app_user_id"] == "ada")
        let delivery = bought["deliveries"]?.array?.first
        #expect(bought["deliveries"]?.array?.count == 1)
        #expect(delivery?["state"] == "waiting", "202 is no success")
        #expect(delivery?["attempts"]?.array?.map { $0["status"] } == [202])
        #expect(delivery?["provider"] == "revenuecat")
        #expect(delivery?["webhook"] == "main")
        let cancelled = await fixture.call("POST", "/store/cancel", ["user": "ada"])
        let types = cancelled["deliveries"]?.array?.map { $0["type"] }
        #expect(types == ["CANCELLATION"], "an answer shows what it set off, and nothing older")
        #expect(cancelled["deliveries"]?.array?.first?["attempts"] == [])
    }

    @Test(
        "an action that cannot be carried out says why and changes nothing",
        arguments: [
            ("purchas", [:], 404, "the store has no action 'purchas'"),
            ("cancel", ["user": "nobody"], 409, ""),
            ("purchase", ["store": "EBAY"], 400, "'store' is 'EBAY', which is not one of"),
            ("purchase", ["store": ""], 400, "'store' takes a string"),
            ("purchase", ["environment": "TEST"], 400, "'environment' is 'TEST'"),
            ("purchase", ["period": "TRAIL"], 400, "'period' is 'TRAIL'"),
            ("billing-issue", ["grace": "3"], 400, "'grace' is '3', which is not a duration"),
            ("extend", ["by": "soon"], 400, "'by' is 'soon', which is not a duration"),
            ("change-product", ["when": "later"], 400, "'when' is 'later', which is neither"),
        ] as [(String, JSONValue, Int, String)]
    )
    func refusesActions(action: String, body: JSONValue, status: Int, error: String) async {
        let fixture = ControlFixture()
        let before = fixture.saved
        let answer = await fixture.call("POST", "/store/\(action)", body)
        #expect(answer.status == status)
        #expect(answer.error.hasPrefix(error), "\(answer.error)")
        #expect(!answer.error.isEmpty)
        #expect(fixture.saved == before)
    }

    @Test func `a misspelt action is reported with the correct name`() async {
        let answer = await ControlFixture().call("POST", "/store/purchas", [:])
        #expect(answer.hint.hasPrefix("did you mean 'purchase'? the valid actions are purchase"))
    }

    @Test func `a customer is shown as REST shows him, or is not there`() async {
        let fixture = ControlFixture()
        #expect(await fixture.call("GET", "/store/customers/ada").status == 404)
        _ = await fixture.call("POST", "/store/purchase", ["user": "ada"])
        let shown = await fixture.call("GET", "/store/customers/ada")
        let subscription = shown["subscriber"]?["subscriptions"]?["premium_monthly"]
        #expect(subscription?["store"] == "app_store")
        let missing = await fixture.call("GET", "/store/customers/bob")
        #expect(missing.error == "there is no customer 'bob'")
        #expect(
            await fixture.call("GET", "/store/customers/bob").status == 404,
            "looking makes none"
        )
    }

    @Test func `a product is guessed from its name, described, and checked`() async throws {
        let fixture = ControlFixture()
        let weekly = await fixture.call("PUT", "/store/products/pro_weekly", [:])
        #expect(weekly["products"]?["pro_weekly"]?["days"] == 7)
        let changed = await fixture.call(
            "PUT",
            "/store/products/pro_weekly",
            ["days": 3, "entitlements": ["pro", "plus"], "currency": "EUR"]
        )
        #expect(changed["products"]?["pro_weekly"]?["days"] == 3)
        #expect(changed["products"]?["pro_weekly"]?["entitlements"] == ["pro", "plus"])
        let forever = await fixture.call(
            "PUT",
            "/store/products/pro_weekly",
            try JSONValue(parsing: #"{"days": null}"#)
        )
        #expect(forever["products"]?["pro_weekly"]?["days"] == nil)
        #expect(forever["products"]?["pro_weekly"]?["currency"] == "EUR", "the rest stays")
        let refused: [(JSONValue, String)] = [
            (["days": 0], "'days' takes a number from 1 to 36500"),
            (["days": -1], "'days' takes a number from 1 to 36500"),
            (["days": 36_501], "'days' takes a number from 1 to 36500"),
            (["days": .integer(.max)], "'days' takes a number from 1 to 36500"),
            (["exchangeRate": 0], "'exchangeRate' must be greater than zero"),
        ]
        for (body, error) in refused {
            let answer = await fixture.call("PUT", "/store/products/pro_weekly", body)
            #expect(answer.error == error)
        }
        let price = try JSONValue(parsing: #"{"price": null}"#)
        #expect(await fixture.call("PUT", "/store/products/pro_weekly", price).status == 400)
        let long = String(repeating: "p", count: 201)
        #expect(
            await fixture.call("PUT", "/store/products/\(long)", [:]).error
                == "a product ID must have 1 to 200 characters"
        )
        #expect(await fixture.call("GET", "/store/products")["products"] == forever["products"])
    }

    // MARK: Events

    @Test func `a raw event is sent with missing fields filled in`() async throws {
        let fixture = ControlFixture()
        _ = await fixture.call("PUT", "/webhooks/main", Self.hook)
        let sent = await fixture.call(
            "POST",
            "/events",
            [
                "event": ["type": "FUTURE_TYPE", "app_user_id": "ada", "odd": [1, 2]],
                "settle": true,
            ]
        )
        #expect(sent["event"]?["odd"] == [1, 2])
        #expect(sent["event"]?["id"]?.string?.isEmpty == false)
        #expect(
            sent["event"]?["event_timestamp_ms"]
                == .integer(ControlFixture.start.milliseconds)
        )
        #expect(fixture.receiver.eventNames == ["FUTURE_TYPE"])
        #expect(
            try JSONValue(parsing: fixture.receiver.arrivals[0].request.body)["event"]
                == sent["event"]
        )
        let own = await fixture.call(
            "POST",
            "/events",
            ["event": ["type": "TEST", "id": "own-id", "event_timestamp_ms": 5]]
        )
        #expect(own["event"]?["id"] == "own-id")
        #expect(own["event"]?["event_timestamp_ms"] == 5)
    }

    @Test func `an event is applied to what the fake knows`() async {
        let fixture = ControlFixture()
        _ = await fixture.call("PUT", "/webhooks/main", Self.hook)
        let bought = await fixture.call("POST", "/store/purchase", ["user": "ada"])
        var event = bought["events"]?.array?.first?.object ?? JSONObject()
        event["app_user_id"] = "eve"
        event["original_app_user_id"] = "eve"
        event["aliases"] = ["eve"]
        event["id"] = nil
        _ = await fixture.call("POST", "/events", ["event": .object(event)])
        #expect(await fixture.call("GET", "/store/customers/eve").status == 200)
    }

    @Test func `an event without a webhook or without a type is refused and changes nothing`()
        async
    {
        let fixture = ControlFixture()
        let before = fixture.saved
        let event: JSONValue = ["event": ["type": "TEST", "app_user_id": "ada"]]
        let nowhere = await fixture.call("POST", "/events", event)
        #expect(nowhere.status == 409)
        #expect(nowhere.error == "no webhook is configured")
        #expect(nowhere.hint.hasPrefix("send PUT /assay/v1/webhooks/main with"))
        #expect(fixture.saved == before, "what was refused must not have happened")
        for body in [[:], ["event": [:]], ["event": ["type": 5]]] as [JSONValue] {
            let answer = await fixture.call("POST", "/events", body)
            #expect(answer.error == "'event' must be an object with a 'type'")
        }
    }

    // MARK: Deliveries

    @Test func `deliveries are listed by state, flushed and sent again`() async {
        let fixture = ControlFixture([500])
        _ = await fixture.call("PUT", "/webhooks/main", Self.hook)
        let bought = await fixture.call("POST", "/store/purchase", ["user": "ada"])
        #expect(await fixture.call("POST", "/deliveries/flush")["attempts"] == 1)
        #expect(await fixture.call("POST", "/deliveries/flush")["attempts"] == 0)
        func states(_ query: String) async -> [JSONValue?] {
            let list = await fixture.call("GET", "/deliveries" + query)["deliveries"]?.array ?? []
            return list.map { $0["state"] }
        }
        #expect(await states("") == ["waiting"])
        #expect(await states("?state=waiting") == ["waiting"])
        #expect(await states("?state=delivered") == [])
        let wrong = await fixture.call("GET", "/deliveries?state=done")
        #expect(wrong.error == "'state' must be waiting, underway, delivered or failed")
        let id = bought["events"]?.array?.first?["id"]?.string ?? ""
        let again = await fixture.call("POST", "/deliveries/\(id)/resend", [:])
        #expect(again["deliveries"]?.array?.map { $0["state"] } == ["delivered"])
        #expect(await states("?state=delivered") == ["delivered"])
        #expect(Set(fixture.receiver.arrivals.map(\.request.body)).count == 1)
        let other = await fixture.call(
            "POST",
            "/deliveries/\(id)/resend",
            ["configuration": "elsewhere"]
        )
        #expect(other.status == 404)
        let unknown = await fixture.call("POST", "/deliveries/x/resend", [:])
        #expect(unknown.error == "there is no delivery of an event 'x'")
        #expect(unknown.hint == "GET /assay/v1/deliveries lists all deliveries")
    }

    @Test func `a webhook that is gone ends in a failure that says so`() async {
        let fixture = ControlFixture()
        _ = await fixture.call("PUT", "/webhooks/main", Self.hook)
        _ = await fixture.call("POST", "/store/test", ["user": "ada"])
        _ = await fixture.call("DELETE", "/webhooks/main")
        _ = await fixture.call("POST", "/deliveries/flush")
        let list = await fixture.call("GET", "/deliveries")["deliveries"]?.array
        let failure = list?.first?["attempts"]?.array?.first?["failure"]
        #expect(failure == "the webhook 'main' no longer exists")
        #expect(fixture.receiver.eventNames == [])
    }

    // MARK: Purchasely

    @Test
    func `every Purchasely action is accepted, and an unknown action gets the list of valid ones`()
        async
    {
        for action in PurchaselyAction.allCases {
            let fixture = ControlFixture()
            _ = await fixture.call("POST", "/purchasely/purchase", ["user": "ada"])
            let answer = await fixture.call(
                "POST",
                "/purchasely/\(action.rawValue)",
                ["user": "ada", "from": "bob", "plan": "PLUS_YEARLY"]
            )
            #expect([200, 409].contains(answer.status), "\(action): \(answer.error)")
        }
        let unknown = await ControlFixture().call("POST", "/purchasely/buy", [:])
        #expect(unknown.status == 404)
        #expect(unknown.error == "Purchasely has no action 'buy'")
        #expect(unknown.hint.hasPrefix("the valid actions are purchase, renew"))
    }

    @Test(
        "an invalid value in a Purchasely purchase is an error that names it",
        arguments: [
            (["type": "SUBSCRIPTION"], "'type' is 'SUBSCRIPTION', which is not one of RENEWING"),
            (["offer": "TRIAL"], "'offer' is 'TRIAL', which is not one of NONE, FREE_TRIAL"),
            (["store": "APP_STORE"], "'store' is 'APP_STORE', which is not one of APPLE_APP_STORE"),
            (["environment": "TEST"], "'environment' is 'TEST'"),
            (["way": "sideways"], "'way' is 'sideways', which is not one of upgrade"),
        ] as [(JSONValue, String)]
    )
    func refusesPurchaselyWords(body: JSONValue, error: String) async {
        let fixture = ControlFixture()
        let answer = await fixture.call("POST", "/purchasely/purchase", body)
        #expect(answer.status == 400)
        #expect(answer.error.hasPrefix(error), "\(answer.error)")
    }

    @Test func `a purchase at Purchasely is sent and shown`() async {
        let fixture = ControlFixture()
        _ = await fixture.call("PUT", "/purchasely/webhook", Self.hook)
        let bought = await fixture.call(
            "POST",
            "/purchasely/purchase",
            ["user": "ada", "offer": "FREE_TRIAL", "settle": true]
        )
        let names = bought["events"]?.array?.map { $0["event_name"] }
        #expect(names == ["ACTIVATE", "SUBSCRIPTION_STARTED", "TRIAL_STARTED"])
        #expect(
            fixture.receiver.eventNames == ["ACTIVATE", "SUBSCRIPTION_STARTED", "TRIAL_STARTED"]
        )
        #expect(bought["deliveries"]?.array?.allSatisfy { $0["state"] == "delivered" } == true)
        let missing = await fixture.call("POST", "/purchasely/renew", ["user": "eve"])
        #expect(missing.status == 409)
        #expect(missing.error == "eve has no subscription; the action purchase creates one")
    }

    // MARK: Devices and keys

    @Test func `a device is selected in the query or body, and each has its own installUuid`() async
    {
        let fixture = ControlFixture()
        let main = await fixture.call("GET", "/device")
        #expect(main["device"] == "main")
        let second = await fixture.call("GET", "/device?device=second")
        #expect(second["device"] == "second")
        #expect(second["installUuid"] != main["installUuid"])
        let renewed = await fixture.call("POST", "/device/reinstall", ["device": "second"])
        #expect(renewed["device"] == "second")
        #expect(renewed["installUuid"] != second["installUuid"])
        #expect(await fixture.call("GET", "/device")["installUuid"] == main["installUuid"])
        let queried = await fixture.call("POST", "/device/reinstall?device=second", [:])
        #expect(queried["device"] == "second")
    }

    @Test func `an action of a device may have two words`() async {
        let fixture = ControlFixture()
        let vault = await fixture.call("POST", "/device/vault", ["items": ["token": "v1"]])
        #expect(vault["vaultLocal"]?["token"]?["value"] == "v1")
        _ = await fixture.call("POST", "/device/cloud/push", [:])
        #expect(await fixture.call("GET", "/device")["vaultCloud"]?["token"]?["value"] == "v1")
        let none = await fixture.call("POST", "/device/paywall/complete", [:])
        #expect(none.status == 409)
        #expect(none.error == "no paywall is open on the device")
        let unknown = await fixture.call("POST", "/device/fly/away", [:])
        #expect(unknown.status == 404)
        #expect(unknown.error == "a device has no action 'fly/away'")
        #expect(await fixture.call("POST", "/device/a/b/c", [:]).status == 404)
        let wrong = await fixture.call("POST", "/device/biometrics", ["outcome": "maybe"])
        #expect(wrong.error == "'outcome' must be success, failure or unavailable")
        let twice = await fixture.call("POST", "/device/second-device", ["name": "main"])
        #expect(twice.status == 400)
    }

    @Test func `a purchase on a device reaches the store and its webhook`() async {
        let fixture = ControlFixture()
        _ = await fixture.call("PUT", "/webhooks/main", Self.hook)
        let command: JSONValue = [
            "command": "revenuecat://purchase?external_id=ada&product=premium_monthly"
        ]
        fixture.ask(.despia, "POST", "/bridge", command)
        let done = await fixture.call(
            "POST",
            "/device/paywall/complete",
            ["environment": "PRODUCTION", "settle": true]
        )
        #expect(done.status == 200, "\(done.error)")
        #expect(fixture.receiver.eventNames == ["INITIAL_PURCHASE"])
        #expect(done["deliveries"]?.array?.count == 1)
    }

    @Test func `key rotation publishes new keys and keeps the previous key`() async {
        let fixture = ControlFixture()
        let first = await fixture.call("POST", "/firebase/rotate-keys")
        let second = await fixture.call("POST", "/firebase/rotate-keys")
        let (old, new) = (first["keys"]?.array ?? [], second["keys"]?.array ?? [])
        #expect(!new.isEmpty)
        #expect(old != new)
        #expect(Set(old).intersection(new).count >= 1, "the one before stays published")
    }
}
