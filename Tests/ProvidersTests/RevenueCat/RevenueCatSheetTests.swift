import Contracts
import Grammar
import Providers
import Redaction
import Testing
import Values

/// The statements of the RevenueCat fact sheet about REST that the fake serves, by section.
@Suite("RevenueCat fact sheet: REST")
struct RevenueCatSheetTests {
    private typealias Shop = ProviderClient<RevenueCatState>

    private func talk(
        key: String? = nil,
        authorization: String? = nil,
        _ change: (inout RevenueCatSettings) -> Void = { _ in }
    ) -> ProviderClient<RevenueCatState> {
        var settings = RevenueCatSettings()
        change(&settings)
        return ProviderClient(
            RevenueCatState(key: key.map(Secret.init), settings: settings),
            authorization: authorization
        )
    }

    /// A receipt as the SDK posts it.
    @discardableResult
    private func buy(
        _ talk: inout ProviderClient<RevenueCatState>,
        _ user: String = "ada",
        token: String = "token-1",
        platform: String? = "ios",
        _ members: JSONObject = [:]
    ) -> ProviderResponse {
        var body: JSONObject = [
            "app_user_id": .string(user), "fetch_token": .string(token),
            "product_id": "premium_monthly",
        ]
        for member in members.members {
            body[member.key] = member.value.isNull ? nil : member.value
        }
        let fields = platform.map { [HTTPMessage.Field("X-Platform", $0)] } ?? []
        return talk.say("POST", "/v1/receipts", .object(body), talk.fields + fields)
    }

    private func types(_ talk: inout ProviderClient<RevenueCatState>) -> [String] {
        talk.state.takeEvents().compactMap { $0["type"]?.string }
    }

    // MARK: 4.1 · Keys

    /// What each kind of key may do: status with a secret key and with a public one.
    private static let keyed: [(String, String, JSONValue?, secret: Int, publicKey: Int)] = [
        ("GET", "/v1/subscribers/ada", nil, 201, 201),
        ("POST", "/v1/subscribers/ada/attributes", ["attributes": [:]], 200, 200),
        ("POST", "/v1/subscribers/ada/attribution", ["data": [:], "network": 1], 200, 200),
        (
            "POST", "/v1/subscribers/ada/entitlements/premium/promotional",
            ["duration": "monthly"], 201, 401
        ),
        (
            "POST", "/v1/subscribers/ada/entitlements/premium/revoke_promotionals", [:], 200, 401
        ),
        (
            "POST", "/v1/subscribers/ada/restore_behavior", ["restore_behavior": "error"], 200,
            401
        ),
        ("GET", "/v1/subscribers/ada/offerings", nil, 403, 200),
        ("POST", "/v1/subscribers/ada/offerings/o1/override", [:], 201, 401),
        ("DELETE", "/v1/subscribers/ada", nil, 404, 401),
    ]

    @Test("4.1: which key opens what", arguments: keyed)
    func keys(method: String, target: String, body: JSONValue?, secret: Int, publicKey: Int) {
        for (key, status) in [("sk_1", secret), ("appl_1", publicKey)] {
            var talk = talk(key: "sk_1")
            let fields = [
                HTTPMessage.Field("Authorization", "Bearer " + key),
                HTTPMessage.Field("X-Platform", "ios"),
            ]
            #expect(talk.say(method, target, body, fields).status == status, "\(key)")
        }
    }

    @Test(
        "4.3: wrong keys are 401",
        arguments: [
            (nil, 7224), ("Basic sk_1", 7224), ("sk_1", 7224), ("Bearer sk_2", 7225),
            ("Bearer sk_1 ", 7225), ("Bearer", 7224),
        ] as [(String?, Int64)]
    )
    func wrongKeys(authorization: String?, code: Int64) {
        var talk = talk(key: "sk_1", authorization: authorization)
        let said = talk.say("GET", "/v1/subscribers/ada")
        #expect(said.status == 401)
        #expect(said["/code"] == .integer(code))
        #expect(said["/message"]?.string?.isEmpty == false)
    }

    // MARK: 4.1 · Reading

    @Test("4.1: a read creates the customer", arguments: [200, 201])
    func creates(status: Int) {
        var talk = talk { $0.createdByReadStatus = status }
        #expect(talk.say("GET", "/v1/subscribers/ada").status == status)
        #expect(talk.say("GET", "/v1/subscribers/ada").status == 200)
        #expect(types(&talk) == [])
    }

    @Test(
        "4.1: ids are decoded",
        arguments: ["$RCAnonymousID:0123456789abcdef0123456789abcdef", "a b", "ü", "a+b", "a%b"]
    )
    func encodedIDs(id: String) {
        var talk = talk()
        let said = talk.say("GET", "/v1/subscribers/\(id.percentEncoded)")
        #expect(said["/subscriber/original_app_user_id"]?.string == id)
    }

    private static let blocked = [
        "no_user", "null", "none", "nil", "(null)", "NaN", "unidentified", "undefined", "unknown",
        "anonymous", "guest", "-1", "0", "[]", "{}", "[object Object]", "\"\"", "a/b",
    ]

    @Test("5.1: ids that are blocked", arguments: blocked)
    func blockedIDs(id: String) {
        var talk = talk()
        let said = talk.say("GET", "/v1/subscribers/\(id.percentEncoded)")
        #expect(said.status == 400 && said["/code"] == 7256)
        #expect(talk.say("GET", "/v1/subscribers/x\(id.count)").status == 201)
    }

    @Test("4.1: only a device's read is a sighting")
    func lastSeen() {
        var talk = talk()
        talk.say("GET", "/v1/subscribers/ada")
        talk.wait(.seconds(60))
        let backend = talk.say("GET", "/v1/subscribers/ada")
        #expect(backend["/subscriber/last_seen"] == backend["/subscriber/first_seen"])
        let device = talk.say(
            "GET",
            "/v1/subscribers/ada",
            nil,
            [HTTPMessage.Field("X-Platform", "ios")]
        )
        #expect(device["/subscriber/last_seen"] != device["/subscriber/first_seen"])
    }

    @Test("4.2: the body of a customer, with and without a purchase")
    func customer() {
        var talk = talk()
        let empty = talk.say("GET", "/v1/subscribers/ada")
        for (pointer, value) in [
            ("/request_date_ms", JSONValue.integer(Shop.start.milliseconds)),
            ("/request_date", .string(Shop.start.description)),
            ("/subscriber/entitlements", [:]), ("/subscriber/subscriptions", [:]),
            ("/subscriber/non_subscriptions", [:]), ("/subscriber/other_purchases", [:]),
            ("/subscriber/management_url", .null),
            ("/subscriber/original_application_version", .null),
        ] {
            #expect(empty[pointer] == value, "\(pointer)")
        }
        buy(&talk)
        let bought = talk.say("GET", "/v1/subscribers/ada")
        let line = "/subscriber/subscriptions/premium_monthly"
        #expect(bought[line + "/store"] == "app_store", "lower case")
        #expect(bought[line + "/period_type"] == "normal", "lower case")
        #expect(bought[line + "/ownership_type"] == "PURCHASED", "upper case")
        #expect(bought[line + "/is_sandbox"] == false)
        for name in [
            "unsubscribe_detected_at", "billing_issues_detected_at", "refunded_at",
            "auto_resume_date", "grace_period_expires_date",
        ] {
            #expect(bought[line + "/" + name] == .null, "\(name)")
        }
        let entitlement = "/subscriber/entitlements/premium"
        #expect(bought[entitlement + "/product_identifier"] == "premium_monthly")
        let ends = (Shop.start + .seconds(30 * 86_400)).description
        #expect(bought[entitlement + "/expires_date"]?.string == ends)
        #expect(bought[line + "/expires_date"]?.string == ends)
    }

    @Test("4.2: an entitlement that ended is still shown, and attributes need a secret key")
    func visibility() {
        var talk = talk(key: "sk_1", authorization: "Bearer sk_1")
        talk.say(
            "POST",
            "/v1/subscribers/ada/attributes",
            ["attributes": ["color": ["value": "red"]]]
        )
        #expect(
            talk.say("GET", "/v1/subscribers/ada")["/subscriber/subscriber_attributes/color/value"]
                == "red"
        )
        let open = talk.say(
            "GET",
            "/v1/subscribers/ada",
            nil,
            [HTTPMessage.Field("Authorization", "Bearer appl_1")]
        )
        #expect(open["/subscriber/subscriber_attributes"] == nil)
        talk.say(
            "POST",
            "/v1/subscribers/ada/entitlements/premium/promotional",
            ["duration": "daily"]
        )
        talk.wait(.seconds(2 * 86_400))
        let ended = talk.say("GET", "/v1/subscribers/ada")
        #expect(ended["/subscriber/entitlements/premium/expires_date"] != nil)
    }

    // MARK: 4.1 · Writing

    @Test("4.1: identify returns 201 for a new id and 200 for a known one")
    func identify() {
        var talk = talk()
        let anonymous = "$RCAnonymousID:0123456789abcdef0123456789abcdef"
        talk.say("GET", "/v1/subscribers/\(anonymous.percentEncoded)")
        let body: JSONValue = ["app_user_id": .string(anonymous), "new_app_user_id": "ada"]
        #expect(talk.say("POST", "/v1/subscribers/identify", body).status == 201)
        #expect(talk.say("POST", "/v1/subscribers/identify", body).status == 200)
        let info = talk.say("GET", "/v1/subscribers/ada")
        #expect(info["/subscriber/original_app_user_id"]?.string == anonymous, "5.3, row 1")
        #expect(types(&talk) == [], "a merge sends nothing")
    }

    @Test("5.3: an identified user switches and is not merged")
    func switching() {
        var talk = talk()
        buy(&talk, "ada")
        let body: JSONValue = ["app_user_id": "ada", "new_app_user_id": "bob"]
        #expect(talk.say("POST", "/v1/subscribers/identify", body).status == 201)
        let bob = talk.say("GET", "/v1/subscribers/bob")
        #expect(bob["/subscriber/subscriptions"] == [:])
        #expect(bob["/subscriber/original_app_user_id"] == "bob")
    }

    @Test("4.1: attributes merge, the older write loses, nothing deletes")
    func attributes() {
        var talk = talk()
        func set(_ value: JSONValue, at time: Int64) {
            let body: JSONValue = [
                "attributes": ["k": ["value": value, "updated_at_ms": .integer(time)]]
            ]
            #expect(talk.say("POST", "/v1/subscribers/ada/attributes", body).status == 200)
        }
        func value() -> JSONValue? {
            talk.say("GET", "/v1/subscribers/ada")["/subscriber/subscriber_attributes/k/value"]
        }
        set("new", at: 200)
        set("old", at: 100)
        #expect(value() == "new")
        set("newer", at: 300)
        #expect(value() == "newer")
        set(.null, at: 400)
        #expect(value() == nil)
        set("again", at: 500)
        set("", at: 600)
        #expect(value() == nil)
    }

    private static let badAttributes: [(JSONValue, Int64)] = [
        ([:], 7264), (["attributes": "x"], 7264), (["attributes": ["k": "plain"]], 7264),
        (["attributes": ["k": ["value": 3]]], 7264),
        (["attributes": ["$email": ["value": "no mail"]]], 7263),
    ]

    @Test(
        "names of attributes",
        arguments: [
            ("color", true), ("Tea-Sort_1", true), ("$displayName", true),
            (String(repeating: "k", count: 50), true), (String(repeating: "k", count: 51), false),
            ("", false), ("$", false), ("tea sort", false), ("tea.sort", false), ("tea$", false),
            ("größe", false),
        ]
    )
    func attributeName(name: String, isOne: Bool) {
        var talk = talk()
        let body: JSONValue = ["attributes": [name: ["value": "x"]]]
        let said = talk.say("POST", "/v1/subscribers/ada/attributes", body)
        #expect(said.status == (isOne ? 200 : 400))
        guard !isOne else { return }
        #expect(said["/attribute_errors/0/key_name"]?.string == name)
        #expect(said["/attribute_errors/0/message"] == "Key name format is not valid.")
    }

    @Test("4.3: malformed attributes", arguments: badAttributes)
    func badAttribute(body: JSONValue, code: Int64) {
        var talk = talk()
        let said = talk.say("POST", "/v1/subscribers/ada/attributes", body)
        #expect(said.status == 400)
        #expect(said["/code"] == .integer(code))
        if code == 7263 { #expect(said["/attribute_errors/0/key_name"] == "$email") }
    }

    @Test(
        "4.1: durations of a grant",
        arguments: [
            ("daily", 1), ("three_day", 3), ("weekly", 7), ("two_week", 14), ("monthly", 31),
            ("two_month", 61),
            ("three_month", 92), ("six_month", 183), ("yearly", 365),
        ]
    )
    func durations(name: String, days: Int) {
        var talk = talk()
        let said = talk.say(
            "POST",
            "/v1/subscribers/ada/entitlements/premium/promotional",
            ["duration": .string(name)]
        )
        #expect(said.status == 201)
        let ends = (Shop.start + .seconds(days * 86_400)).description
        #expect(said["/subscriber/entitlements/premium/expires_date"]?.string == ends)
        let product = "rc_promo_premium_\(name)"
        #expect(said["/subscriber/subscriptions/\(product)/store"] == "promotional", "4.2")
        #expect(said["/subscriber/subscriptions/\(product)/period_type"] == "normal")
        #expect(types(&talk) == ["NON_RENEWING_PURCHASE"])
    }

    @Test("4.1: a grant needs an end that lies ahead")
    func grants() {
        let path = "/v1/subscribers/ada/entitlements/premium/promotional"
        var talk = talk()
        let past = JSONValue.integer(Shop.start.milliseconds)
        for body in [[:], ["duration": "forever"], ["end_time_ms": past]] as [JSONValue] {
            #expect(talk.say("POST", path, body).status == 400, "\(body.text)")
        }
        let ahead = Shop.start + .seconds(86_400)
        let said = talk.say("POST", path, ["end_time_ms": .integer(ahead.milliseconds)])
        #expect(said.status == 201)
        #expect(
            said["/subscriber/entitlements/premium/expires_date"]?.string == ahead.description
        )
        #expect(
            said["/subscriber/entitlements/premium/product_identifier"] == "rc_promo_premium_custom"
        )
        // The words count from there on, and access begins at once.
        let earlier = Shop.start - .seconds(3600)
        let from = JSONValue.integer(earlier.milliseconds)
        let day = talk.say("POST", path, ["duration": "weekly", "start_time_ms": from])
        let week = day["/subscriber/subscriptions/rc_promo_premium_weekly"]
        #expect(week?["expires_date"]?.string == (earlier + .seconds(7 * 86_400)).description)
        #expect(week?["purchase_date"]?.string == Shop.start.description)
    }

    @Test(
        "a receipt that names no product buys what is sold, where its store needs none",
        arguments: [
            ("ios", "app_store"), ("stripe", "stripe"), ("roku", "roku"), ("paddle", "paddle"),
            ("amazon", "amazon"), ("macos", "mac_app_store"),
        ]
    )
    func withoutProduct(platform: String, store: String) {
        var talk = talk()
        let body: JSONValue = ["app_user_id": "ada", "fetch_token": "sub_1"]
        let fields = talk.fields + [HTTPMessage.Field("X-Platform", platform)]
        let said = talk.say("POST", "/v1/receipts", body, fields)
        #expect(said.status == 200)
        #expect(said["/subscriber/subscriptions/premium_monthly/store"]?.string == store)
        #expect(types(&talk) == ["INITIAL_PURCHASE"])
        // The same receipt once more buys nothing more.
        #expect(talk.say("POST", "/v1/receipts", body, fields).status == 200)
        #expect(types(&talk) == [])
        // What nobody bought with restores nothing.
        let restore: JSONValue = ["app_user_id": "bob", "fetch_token": "x", "is_restore": true]
        let restored = talk.say("POST", "/v1/receipts", restore, fields)
        #expect(restored["/subscriber/subscriptions"] == [:])
    }

    @Test(
        "App Store: a subscription is extended by up to ninety days",
        arguments: [
            ("ios", ["extend_by_days": 30, "extend_reason_code": 1], 200),
            ("ios", ["extend_by_days": 91, "extend_reason_code": 1], 400),
            ("ios", ["extend_by_days": 0, "extend_reason_code": 1], 400),
            ("ios", ["extend_by_days": 30, "extend_reason_code": 4], 400),
            ("ios", ["extend_by_days": 30], 400),
            ("stripe", ["extend_by_days": 30, "extend_reason_code": 1], 400),
        ] as [(String, JSONValue, Int)]
    )
    func extends(platform: String, body: JSONValue, status: Int) {
        var talk = talk()
        let fields = talk.fields + [HTTPMessage.Field("X-Platform", platform)]
        let receipt: JSONValue = ["app_user_id": "ada", "fetch_token": "t"]
        let bought = talk.say("POST", "/v1/receipts", receipt, fields)
        let before = bought["/subscriber/subscriptions/premium_monthly"]
        let transaction = before?["store_transaction_id"]?.string ?? ""
        _ = types(&talk)
        let path = "/v1/subscribers/ada/subscriptions/\(transaction)/extend"
        let said = talk.say("POST", path, body)
        #expect(said.status == status)
        #expect(types(&talk) == (status == 200 ? ["SUBSCRIPTION_EXTENDED"] : []))
    }

    @Test(
        "offerings: the key of an app says which store is meant, and the current one is there",
        arguments: [
            ("Bearer appl_1", nil, 200), ("Bearer old", nil, 400), ("Bearer old", "ios", 200),
            ("Bearer appl_1", "tea", 400), ("Bearer sk_1", "ios", 403),
        ] as [(String, String?, Int)]
    )
    func offers(authorization: String, platform: String?, status: Int) {
        var talk = talk(authorization: authorization)
        let fields = talk.fields + (platform.map { [HTTPMessage.Field("X-Platform", $0)] } ?? [])
        let path = "/v1/subscribers/ada/offerings"
        #expect(talk.say("GET", path, nil, fields).status == status)
        guard status == 200 else { return }
        talk.say("POST", path + "/ofrng1/override", [:], [])
        let said = talk.say("GET", path, nil, fields)
        #expect(said["/current_offering_id"] == "ofrng1")
        #expect(said["/offerings/1/identifier"] == "ofrng1")
        #expect(said["/offerings/1/packages"] == said["/offerings/0/packages"])
    }

    @Test("4.1: a deleted customer is gone")
    func deletes() {
        var talk = talk()
        buy(&talk)
        let said = talk.say("DELETE", "/v1/subscribers/ada")
        #expect(said.json == ["app_user_id": "ada", "deleted": true])
        #expect(talk.say("DELETE", "/v1/subscribers/ada").status == 404)
        let again = talk.say("GET", "/v1/subscribers/ada")
        #expect(again["/subscriber/subscriptions"] == [:])
    }

    // MARK: 4.1, 4.3 · Receipts

    private static let receipts: [(JSONObject, platform: String?, Int, Int64?)] = [
        ([:], "ios", 200, nil), ([:], "iOS", 200, nil), ([:], nil, 400, 7000),
        ([:], "web", 400, 7000), (["app_user_id": ""], "ios", 400, 7220),
        (["app_user_id": "null"], "ios", 400, 7256), (["fetch_token": ""], "ios", 400, 7103),
        (["fetch_token": "invalid-1"], "ios", 400, 7103),
        (["product_id": .null], "android", 400, 7106), (["product_id": .null], "ios", 200, nil),
        (["price": .number(JSONNumber(9.99))], "ios", 400, 7226),
        (["currency": "EUR"], "ios", 400, 7226),
        (["price": .number(JSONNumber(9.99)), "currency": "EUR"], "ios", 200, nil),
    ]

    @Test("4.1, 4.3: what a receipt needs", arguments: receipts)
    func receipt(members: JSONObject, platform: String?, status: Int, code: Int64?) {
        var talk = talk()
        let said = buy(&talk, platform: platform, members)
        #expect(said.status == status)
        #expect(said["/code"] == code.map { .integer($0) })
        if status == 400 { #expect(types(&talk) == []) }
    }

    @Test("4.1: a receipt says what is to be consumed, and events can be left out")
    func consumption() {
        var talk = talk()
        let coins = buy(&talk, token: "t-2", ["product_id": "coins_100"])
        #expect(coins["/purchased_products/coins_100/should_consume"] == true)
        #expect(types(&talk) == ["NON_RENEWING_PURCHASE"])
        let silent = buy(&talk, token: "t-3", ["create_events": false])
        #expect(silent["/purchased_products/premium_monthly/should_consume"] == false)
        #expect(types(&talk) == [])
    }

    @Test("4.3: a secret key in an app")
    func secretInApp() {
        var talk = talk(key: "sk_1", authorization: "Bearer sk_1")
        let said = buy(&talk)
        #expect(said.status == 403 && said["/code"] == 7243)
    }

    // MARK: 5.4 · A receipt that belongs to somebody

    private static let anonymous = "$RCAnonymousID:0123456789abcdef0123456789abcdef"

    private static let restores:
        [(RevenueCatSettings.RestoreBehavior, owner: String, by: String, events: [String], Int)] = [
            (.transfer, "ada", "bob", ["TRANSFER"], 200),
            (.transfer, "ada", anonymous, ["TRANSFER"], 200),
            (.transfer, anonymous, "bob", [], 200), (.keep, "ada", "bob", [], 422),
            (.keep, anonymous, "bob", [], 200),
            (.transferIfNoActiveSubscriptions, "ada", "bob", [], 422),
            (.transferIfNoActiveSubscriptions, anonymous, "bob", [], 200),
            (.share, "ada", "bob", [], 200), (.share, anonymous, "bob", [], 200),
        ]

    @Test("5.4: whose a restored receipt becomes", arguments: restores)
    func restore(
        behavior: RevenueCatSettings.RestoreBehavior,
        owner: String,
        by: String,
        events: [String],
        status: Int
    ) {
        var talk = talk { $0.restoreBehavior = behavior }
        buy(&talk, owner)
        _ = types(&talk)
        talk.wait(.seconds(60))
        let said = buy(&talk, by, ["is_restore": true])
        #expect(said.status == status)
        #expect(types(&talk) == events)
        let has =
            talk.say("GET", "/v1/subscribers/\(by.percentEncoded)")[
                "/subscriber/entitlements/premium"
            ] != nil
        #expect(has == (status == 200))
        if status == 422 { #expect(said["/code"] == 7102) }
        if events == ["TRANSFER"] {
            let loser = talk.say("GET", "/v1/subscribers/\(owner.percentEncoded)")
            #expect(loser["/subscriber/entitlements"] == [:], "it loses access at once")
        }
    }

    @Test(
        "5.4: one-time purchases do not block a transfer, and a customer may have a separate rule"
    )
    func restoreRules() {
        var talk = talk { $0.restoreBehavior = .transferIfNoActiveSubscriptions }
        buy(&talk, "ada", token: "t", ["product_id": "lifetime"])
        _ = types(&talk)
        #expect(buy(&talk, "bob", token: "t", ["product_id": "lifetime"]).status == 200)
        #expect(types(&talk) == ["TRANSFER"], "one-time purchases do not block")
        var own = self.talk()
        own.say(
            "POST",
            "/v1/subscribers/bob/restore_behavior",
            ["restore_behavior": "error"]
        )
        buy(&own, "ada")
        #expect(buy(&own, "bob", ["is_restore": true]).status == 422)
        let share = own.say(
            "POST",
            "/v1/subscribers/ada/restore_behavior",
            ["restore_behavior": "share"]
        )
        #expect(share.status == 400)
    }

    // MARK: 4.3 · Limits

    @Test(
        "4.3: limits in the shape of their version",
        arguments: [RevenueCatSettings.RetryAfterUnit.milliseconds, .seconds]
    )
    func limits(unit: RevenueCatSettings.RetryAfterUnit) {
        var talk = talk {
            $0.callsPerMinuteMax = 2
            $0.retryAfterUnit = unit
        }
        let first = talk.say("GET", "/v1/subscribers/ada")
        #expect(first[field: "RevenueCat-Rate-Limit-Current-Limit"] == "2")
        talk.say("GET", "/v1/subscribers/ada")
        let refused = talk.say("GET", "/v1/subscribers/ada")
        #expect(refused.status == 429)
        #expect(refused["/backoff_ms"] == 1000)
        #expect(refused[field: "Retry-After"] == (unit == .seconds ? "1" : "1000"))
        let new = talk.say("GET", "/v2/projects/p/customers/ada")
        #expect(new.status == 429)
        #expect(new["/type"] == "rate_limit_error")
        #expect(new["/retryable"] == true)
        #expect(new["/doc_url"] == "https://errors.rev.cat/rate-limit-error")
        talk.wait(.seconds(60))
        #expect(talk.say("GET", "/v1/subscribers/ada").status == 200)
    }

    // MARK: 4.4 · v2

    @Test("4.4: a v2 read creates no customer and returns times in milliseconds")
    func v2() {
        var talk = talk(key: "sk_1", authorization: "Bearer sk_1")
        let base = "/v2/projects/proj1/customers/ada"
        let missing = talk.say("GET", base)
        #expect(missing.status == 404 && missing["/type"] == "resource_missing")
        talk.say(
            "POST",
            "/v1/subscribers/ada/entitlements/premium/promotional",
            ["duration": "daily"]
        )
        let found = talk.say("GET", base)
        #expect(found.status == 200)
        #expect(found["/object"] == "customer" && found["/id"] == "ada")
        #expect(found["/first_seen_at"] == .integer(Shop.start.milliseconds))
        let entitlement = found["/active_entitlements/items/0"]
        #expect(entitlement?["object"] == "customer.active_entitlement")
        #expect(entitlement?["entitlement_id"]?.string?.hasPrefix("entl") == true)
        #expect(
            entitlement?["expires_at"]
                == .integer((Shop.start + .seconds(86_400)).milliseconds)
        )
        talk.wait(.seconds(2 * 86_400))
        #expect(talk.say("GET", base)["/active_entitlements/items"] == [])
    }

    @Test("4.4: v2 wants the word Bearer and a secret key")
    func v2Keys() {
        for (value, status, type) in [
            (nil, 401, "authentication_error"), ("sk_1", 401, "authentication_error"),
            ("Bearer sk_2", 401, "authentication_error"),
            ("Bearer appl_1", 403, "authorization_error"),
        ] as [(String?, Int, String)] {
            var talk = talk(key: "sk_1", authorization: value)
            let said = talk.say("GET", "/v2/projects/p/customers/ada")
            #expect(said.status == status)
            #expect(said["/type"]?.string == type)
            #expect(said["/object"] == "error" && said["/retryable"] == false)
        }
    }

    @Test("4.4: subscriptions say their status")
    func v2Subscriptions() throws {
        var talk = talk()
        buy(&talk)
        let target = "/v2/projects/p/customers/ada/subscriptions"
        let active = talk.say("GET", target)
        #expect(active["/items/0/status"] == "active")
        #expect(active["/items/0/gives_access"] == true)
        try talk.state.carryOut(StoreAction(.cancel, user: "ada"), at: talk.now)
        talk.wait(.seconds(31 * 86_400))
        let ended = talk.say("GET", target)
        #expect(ended["/items/0/status"] == "expired")
        #expect(ended["/items/0/gives_access"] == false)
    }

    // MARK: 1.5 · Lag

    @Test("1.5: REST may lag behind the webhook")
    func lag() {
        var talk = talk { $0.restLagSeconds = 30 }
        talk.say("GET", "/v1/subscribers/ada")
        buy(&talk)
        #expect(types(&talk) == ["INITIAL_PURCHASE"])
        let entitlement = "/subscriber/entitlements/premium"
        #expect(talk.say("GET", "/v1/subscribers/ada")[entitlement] == nil)
        talk.wait(.seconds(29))
        #expect(talk.say("GET", "/v1/subscribers/ada")[entitlement] == nil)
        talk.wait(.seconds(1))
        #expect(talk.say("GET", "/v1/subscribers/ada")[entitlement] != nil)
    }

    @Test("any order of receipts leaves each with one owner", arguments: 0..<UInt64(40))
    func invariants(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var talk = talk()
        let users = ["ada", "bob", "carol", Self.anonymous]
        for _ in 0..<40 {
            let user = users.randomElement(using: &random) ?? "ada"
            switch Int.random(in: 0..<4, using: &random) {
            case 0, 1:
                buy(&talk, user, token: "t\(Int.random(in: 0..<3, using: &random))")
            case 2:
                let other = users.randomElement(using: &random) ?? "bob"
                talk.say(
                    "POST",
                    "/v1/subscribers/identify",
                    ["app_user_id": .string(user), "new_app_user_id": .string(other)]
                )
            default: talk.wait(.seconds(Int.random(in: 0...86_400, using: &random)))
            }
        }
        var owners: [String: String] = [:]
        for user in users {
            let info = talk.say("GET", "/v1/subscribers/\(user.percentEncoded)")
            #expect(info.status == 200)
            let original = info["/subscriber/original_app_user_id"]?.string ?? ""
            for member in info["/subscriber/subscriptions"]?.object?.members ?? [] {
                let id = member.value["store_transaction_id"]?.string ?? ""
                #expect(owners[id] ?? original == original, "seed \(seed): '\(id)' twice")
                owners[id] = original
            }
        }
    }
}
