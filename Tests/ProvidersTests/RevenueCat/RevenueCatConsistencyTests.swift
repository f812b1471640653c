import Contracts
import Providers
import Testing
import Values

/// The agreement of the fake's REST APIs with the events, in generated histories.
@Suite("RevenueCat REST agrees with the events")
struct RevenueCatConsistencyTests {
    private typealias Fake = ProviderClient<RevenueCatState>

    private static let customers = "/v2/projects/p/customers"
    private static let namespace = Namespace(name: "run", idForm: .string)
    private static let context = EventContext(
        namespace: namespace,
        base: Fake.start,
        entitlement: "pro"
    )

    private static func body(_ spec: EventSpec, _ index: Int) -> JSONValue {
        EventFactory(context).body(spec, name: "event-\(index)")
    }

    /// Returns a random event; the events of a history have increasing times.
    private static func randomEvent(
        _ index: Int,
        _ generator: inout SeededGenerator
    ) -> EventSpec {
        let types = EventSpec.types + ["FUTURE_EVENT"]
        let type = RevenueCatEventType(rawValue: types.randomElement(using: &generator) ?? "")
        let users = ["ada", "bob", "cleo"]
        let user = users.randomElement(using: &generator) ?? "ada"
        var spec = EventSpec(type: type, user: type.documented == .transfer ? nil : user)
        if type.documented == .transfer {
            spec.from = [user]
            spec.to = [users.first { $0 != user } ?? "bob"]
        }
        let product = CatalogProduct.all.randomElement(using: &generator)
        spec.product = product?.name ?? spec.product
        if type.documented == .nonRenewingPurchase {
            spec.product = Bool.random(using: &generator) ? "coins_100" : "premium_lifetime"
            spec.isLifetime = true
        }
        spec.store = EventSpec.stores.randomElement(using: &generator) ?? spec.store
        spec.environment = Bool.random(using: &generator) ? "SANDBOX" : "PRODUCTION"
        spec.userIDLocation =
            EventSpec.UserIDLocation.allCases.randomElement(using: &generator) ?? .appUserID
        spec.entitlements =
            Bool.random(using: &generator)
            ? EntitlementSelection.allCases.randomElement(using: &generator) : nil
        spec.time = .seconds(Int64(index) * 600)
        if type.documented == .billingIssue { spec.grace = spec.time + .days(10) }
        if type.documented == .productChange { spec.newProduct = "premium_yearly" }
        let reasons = type.facts?.reasons ?? []
        if !reasons.isEmpty { spec.reason = reasons.randomElement(using: &generator) }
        return spec
    }

    private static func subscriptions(
        _ fake: inout Fake,
        _ id: String,
        _ environment: String
    ) -> [JSONValue] {
        fake.say(
            "GET",
            "\(customers)/\(id.percentEncoded)/subscriptions?limit=1000&environment="
                + environment.lowercased()
        )["/items"]?.array ?? []
    }

    @Test(arguments: 0..<60)
    func `REST never contradicts the event that was just sent`(seed: UInt64) {
        var generator = SeededGenerator(seed: seed, text: "consistency")
        var fake = Fake(RevenueCatState(key: nil))
        for index in 0..<25 {
            let spec = Self.randomEvent(index, &generator)
            let body = Self.body(spec, index)
            fake.now = Fake.start + spec.time + .seconds(1)
            let event = body["event"]
            let id = event?["app_user_id"]?.string ?? ""
            let other = spec.environment == "SANDBOX" ? "PRODUCTION" : "SANDBOX"
            let untouched = Self.subscriptions(&fake, id, other)
            fake.state.apply(body)
            Self.expectKnownCustomers(body, &fake, "\(seed) \(index)")
            // The event of a merge shows the subscriptions of both customers.
            if event?["environment"]?.string == spec.environment, !untouched.isEmpty {
                let products = Self.subscriptions(&fake, id, other).map { $0["product_id"] }
                for subscription in untouched {
                    #expect(products.contains(subscription["product_id"]), "\(seed) \(index)")
                }
            }
            Self.expectResolvableIDs(&fake, spec.users, "\(seed) \(index)")
            if spec.type.documented == .billingIssue {
                let statuses = Self.subscriptions(&fake, id, spec.environment).filter {
                    $0["product_id"]?.string.map(
                        ProviderTable.all.productIDs(idInEvent: event?["product_id"]?.string ?? "")
                            .contains
                    ) ?? false
                }.map { $0["status"] }
                #expect(!statuses.contains("active"), "\(seed) \(index)")
            }
            if spec.reason == "CUSTOMER_SUPPORT", spec.type.documented == .cancellation {
                Self.expectNoAccess(body, &fake, "\(seed) \(index)")
            }
        }
    }

    /// Expects that both versions know every customer in the event under all IDs.
    private static func expectKnownCustomers(
        _ body: JSONValue,
        _ fake: inout Fake,
        _ comment: String
    ) {
        guard body["event"]?["type"] != "TEST" else { return }
        for id in RevenueCatState.userIDs(in: body) {
            let path = id.percentEncoded
            #expect(fake.say("GET", "\(customers)/\(path)").status == 200, "\(comment) \(id)")
            #expect(fake.say("GET", "/v1/subscribers/\(path)").status == 200, "\(comment) \(id)")
        }
        var subscribers: Set<JSONValue> = []
        for key in ["app_user_id", "original_app_user_id"] {
            guard let id = body["event"]?[key]?.string else { continue }
            let response = fake.say("GET", "/v1/subscribers/\(id.percentEncoded)")
            subscribers.insert(response["/subscriber"] ?? .null)
        }
        #expect(subscribers.count <= 1, "\(comment): all IDs belong to one customer")
    }

    private static func expectNoAccess(
        _ body: JSONValue,
        _ fake: inout Fake,
        _ comment: String
    ) {
        let event = body["event"]
        let id = event?["app_user_id"]?.string ?? ""
        let transaction = event?["original_transaction_id"]
        let refunded = subscriptions(&fake, id, event?["environment"]?.string ?? "").filter {
            $0["store_subscription_identifier"] == transaction
        }
        for subscription in refunded {
            #expect(subscription["gives_access"] == false, "\(comment)")
            #expect(subscription["status"] == "expired", "\(comment)")
        }
    }

    /// Expects that every ID in the responses about these users belongs to a resource.
    private static func expectResolvableIDs(
        _ fake: inout Fake,
        _ users: [String],
        _ comment: String
    ) {
        let project = "/v2/projects/p"
        for user in users {
            let path = "\(customers)/\(namespace.id(of: user).percentEncoded)"
            let customer = fake.say("GET", path)
            let active = customer["/active_entitlements/items"]?.array ?? []
            let bought = ["subscriptions", "purchases"].map { kind in
                (kind, fake.say("GET", "\(path)/\(kind)?limit=1000")["/items"]?.array ?? [])
            }
            var paths = active.compactMap { $0["entitlement_id"]?.string }
                .map { "\(project)/entitlements/\($0)" }
            for (kind, items) in bought {
                let ids = items.compactMap { $0["id"]?.string }
                #expect(Set(ids).count == items.count, "\(comment): equal IDs of two \(kind)")
                paths += ids.map { "\(project)/\(kind)/\($0)" }
                for item in items {
                    if let id = item["product_id"]?.string {
                        paths.append("\(project)/products/\(id)")
                    }
                    for entitlement in item["entitlements"]?["items"]?.array ?? [] {
                        #expect(entitlement["state"] == "active")
                        paths.append(
                            "\(project)/entitlements/\(entitlement["id"]?.string ?? "")"
                        )
                    }
                }
            }
            for path in paths { #expect(fake.say("GET", path).status == 200, "\(comment) \(path)") }
        }
    }

    @Test func `each entitlement of version 2 lists its products, and each is a product`() {
        var fake = Fake(RevenueCatState(key: nil))
        fake.state.apply(Self.spec(.initialPurchase, .zero) { $0.product = "bundle_monthly" })
        let project = "/v2/projects/p"
        let entitlements = fake.say("GET", project + "/entitlements")["/items"]?.array ?? []
        #expect(entitlements.count > 1)
        for entitlement in entitlements {
            let id = entitlement["id"]?.string ?? ""
            let path = "\(project)/entitlements/\(id)/products"
            let products = fake.say("GET", path)["/items"]?.array ?? []
            #expect(!products.isEmpty, "\(entitlement)")
            for product in products {
                let id = product["id"]?.string ?? ""
                #expect(fake.say("GET", "\(project)/products/\(id)").status == 200)
            }
        }
    }

    private static func spec(
        _ type: RevenueCatEventType.Documented,
        _ time: Duration,
        _ change: (inout EventSpec) -> Void = { _ in }
    ) -> JSONValue {
        var spec = EventSpec(type: .documented(type), user: "ada")
        spec.time = time
        change(&spec)
        return body(spec, Int(time.milliseconds))
    }

    @Test(arguments: ["EXPIRATION", "BILLING_ISSUE", "RENEWAL", "CANCELLATION"])
    func `a sandbox event leaves the production subscription as it is`(type: String) {
        var fake = Fake(RevenueCatState(key: nil))
        fake.state.apply(Self.spec(.initialPurchase, .zero) { $0.expires = .days(20) })
        let id = Self.namespace.id(of: "ada").percentEncoded
        let before = fake.say("GET", "/v1/subscribers/\(id)")
        fake.state.apply(
            Self.spec(.initialPurchase, .seconds(60)) {
                $0.type = RevenueCatEventType(rawValue: type)
                $0.environment = "SANDBOX"
                $0.expires = .seconds(50)
                if type == "CANCELLATION" { $0.reason = "CUSTOMER_SUPPORT" }
            }
        )
        let after = fake.say("GET", "/v1/subscribers/\(id)")
        for member in ["subscriptions", "entitlements"] {
            #expect(after["/subscriber/\(member)"] == before["/subscriber/\(member)"])
        }
        #expect(Self.subscriptions(&fake, Self.namespace.id(of: "ada"), "SANDBOX").count == 1)
    }

    @Test(arguments: ["SANDBOX", "PRODUCTION"])
    func `a transfer moves the purchases of its environment`(environment: String) {
        var fake = Fake(RevenueCatState(key: nil))
        for (index, kind) in ["SANDBOX", "PRODUCTION"].enumerated() {
            fake.state.apply(
                Self.spec(.initialPurchase, .seconds(Int64(index))) { $0.environment = kind }
            )
        }
        fake.state.apply(
            Self.spec(.transfer, .seconds(60)) {
                ($0.user, $0.from, $0.to) = (nil, ["ada"], ["bob"])
                $0.environment = environment
            }
        )
        let (ada, bob) = (Self.namespace.id(of: "ada"), Self.namespace.id(of: "bob"))
        for kind in ["SANDBOX", "PRODUCTION"] {
            let isMoved = kind == environment
            #expect(Self.subscriptions(&fake, ada, kind).count == (isMoved ? 0 : 1))
            #expect(Self.subscriptions(&fake, bob, kind).count == (isMoved ? 1 : 0))
        }
    }

    @Test(
        "a billing issue is visible in version 2",
        arguments: [nil, Duration.days(10), .days(-1)]
    )
    func billingIssue(grace: Duration?) {
        var fake = Fake(RevenueCatState(key: nil))
        fake.state.apply(Self.spec(.initialPurchase, .zero) { $0.expires = .days(20) })
        fake.state.apply(
            Self.spec(.billingIssue, .seconds(60)) {
                $0.expires = .days(20)
                $0.grace = grace
            }
        )
        fake.now = Fake.start + .seconds(61)
        let subscription = Self.subscriptions(&fake, Self.namespace.id(of: "ada"), "PRODUCTION")
            .first
        #expect(subscription?["gives_access"] == true)
        #expect(
            subscription?["status"]
                == (grace == .days(10) ? "in_grace_period" : "in_billing_retry")
        )
    }

    @Test func `a refund in grace ends access in both versions`() throws {
        var fake = Fake(RevenueCatState(key: nil))
        fake.state.apply(Self.spec(.initialPurchase, .zero) { $0.expires = .seconds(60) })
        fake.state.apply(Self.spec(.billingIssue, .seconds(70)) { $0.grace = .days(10) })
        fake.state.apply(Self.spec(.cancellation, .seconds(600)) { $0.reason = "CUSTOMER_SUPPORT" })
        fake.now = Fake.start + .seconds(601)
        let id = Self.namespace.id(of: "ada")
        let subscriber = fake.say("GET", "/v1/subscribers/\(id.percentEncoded)")
        for path in ["entitlements/pro", "subscriptions/premium_monthly"] {
            for date in ["expires_date", "grace_period_expires_date"] {
                let text = try #require(subscriber["/subscriber/\(path)/\(date)"]?.string)
                #expect(try #require(Instant(iso8601: text)) <= fake.now, "\(path) \(date)")
            }
        }
        let subscription = Self.subscriptions(&fake, id, "PRODUCTION").first
        #expect(subscription?["gives_access"] == false && subscription?["status"] == "expired")
        let customer = fake.say("GET", "\(Self.customers)/\(id.percentEncoded)")
        #expect(customer["/active_entitlements/items"] == [])
    }

    @Test func `a contract selects the entitlements of an event`() {
        func ids(_ product: String, _ selection: EntitlementSelection? = nil) -> JSONValue? {
            Self.spec(.initialPurchase, .zero) {
                $0.product = product
                $0.entitlements = selection
            }["event"]?["entitlement_ids"]
        }
        #expect(ids("premium_yearly") == ["pro"] && ids("coins_100") == .null)
        #expect(ids("bundle_monthly") == ["pro", "extras"])
        #expect(ids("plain_monthly") == .null && ids("extras_monthly") == ["extras"])
        #expect(ids("unknown_product") == ["pro"] && ids("unknown_product", .some(.none)) == .null)
        #expect(ids("premium_monthly", .both) == ["pro", "extras"])
    }

    @Test func `each store has its own product IDs`() throws {
        let bundle = try #require(CatalogProduct.named("bundle_monthly"))
        #expect(bundle.id(in: "APP_STORE") == "bundle_monthly")
        #expect(bundle.id(in: "PLAY_STORE") == "bundle_monthly:base-plan")
        #expect(bundle.id(in: "STRIPE").hasPrefix("prod_"))
        #expect(bundle.id(in: "RC_BILLING") != bundle.id(in: "STRIPE"))
        for store in EventSpec.stores {
            let id = bundle.id(in: store).split(separator: ":").first.map(String.init) ?? ""
            #expect(CatalogProduct.withID(id) == bundle)
        }
    }
}
