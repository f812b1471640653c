import Contracts
import Providers
import Testing
import Values

/// One published Purchasely event and how the fake makes its like.
struct PublishedPurchaselyEvent: Sendable, CustomTestStringConvertible {
    let name: String
    /// Members that the sample has and we do not write, with the reason.
    var theirs: Set<String> = []
    let make: @Sendable (inout PurchaselyState, Instant) throws -> Void

    var testDescription: String { name }

    /// Where in the app it was bought: there is no app here (section 5, "context").
    private static let context: Set<String> = ["placement", "presentation"]
    private static let anonymous = "6837C35A-949B-4489-B212-62F66ACA6CC2"

    private static func buy(
        _ body: JSONObject = ["user": "ada"]
    ) -> @Sendable (inout PurchaselyState, Instant) throws -> Void {
        { try $0.carryOut(.purchase, body, at: $1) }
    }

    private static func after(
        _ actions: PurchaselyAction...,
        by body: JSONObject = ["user": "ada"],
        with more: JSONObject = [:]
    ) -> @Sendable (inout PurchaselyState, Instant) throws -> Void {
        { state, now in
            try state.carryOut(.purchase, body, at: now)
            for (index, action) in actions.enumerated() {
                var request: JSONObject = ["user": "ada"]
                for member in more.members { request[member.key] = member.value }
                try state.carryOut(action, request, at: now + .seconds(Int64(index + 1) * 60))
            }
        }
    }

    private static let moved: @Sendable (inout PurchaselyState, Instant) throws -> Void = after(
        .logIn,
        by: ["anonymous": .string(anonymous)],
        with: ["from": .string(anonymous)]
    )

    static let all: [PublishedPurchaselyEvent] = [
        .init(
            name: "activate_anonymous_first_purchase",
            theirs: context,
            make: buy(["anonymous": .string(anonymous)])
        ),
        .init(
            name: "activate_one_time_purchase_anonymous",
            theirs: ["content_id"],
            make: buy(["anonymous": .string(anonymous), "type": "NON_CONSUMABLE"])
        ),
        .init(
            name: "activate_renewal_google",
            make: after(.renew, by: ["user": "ada", "store": "GOOGLE_PLAY_STORE"])
        ),
        .init(
            name: "activate_stripe_web2app",
            // Where on the web somebody came from.
            theirs: ["attribution"],
            make: buy(["user": "ada", "store": "STRIPE"])
        ),
        .init(name: "deactivate_unpaid", make: after(.enterBillingRetry)),
        .init(name: "grace_period_started", make: after(.startGrace)),
        .init(name: "renewal_disabled", make: after(.disableRenewal)),
        .init(name: "subscription_refunded_revoked", make: after(.refund)),
        .init(name: "subscription_renewed", make: after(.renew)),
        .init(
            name: "subscription_started_anonymous",
            theirs: context,
            make: buy(["anonymous": .string(anonymous)])
        ),
        .init(
            name: "subscription_upgraded",
            make: after(.changePlan, with: ["plan": "PLUS_YEARLY"])
        ),
        .init(name: "transaction_processed_refund", make: after(.refund)),
        .init(name: "transfer_1_deactivate_anonymous", make: moved),
        .init(name: "transfer_2_activate_connected", make: moved),
        .init(name: "transfer_3_subscription_transferred", make: moved),
        .init(name: "transfer_4_subscription_received", make: moved),
    ]
}

extension PurchaselySpec {
    /// The line of a contract that states the facts of an event, told or published.
    init(stating event: JSONObject, at base: Instant) {
        self.init(name: event["event_name"]?.string ?? "", user: "ada")
        func offset(_ key: String) -> Duration? {
            event[key]?.int64.map { Instant(milliseconds: $0) - base }
        }
        isAnonymous = event["anonymous_user_id"] != nil
        plan = event["plan"]?.string ?? plan
        previousPlan = event["previous_plan"]?.string
        purchaseType = event["purchase_type"]?.string ?? purchaseType
        store = event["store"]?.string ?? store
        environment = event["environment"]?.string ?? environment
        status = event["subscription_status"]?.string
        // Nothing begins with an event that knows what there was before.
        if event["previous_offer_type"] != nil { purchased = .seconds(-86_400) }
        let isMove = event.keys.contains { $0.hasPrefix("transferred_") }
        if isMove { other = "bob" }
    }
}

@Suite("One Purchasely event, one writer")
struct PurchaselyEventTests {
    private static let now = Instant(milliseconds: 1_790_000_000_000)

    private static func made(_ event: JSONObject) throws -> JSONObject {
        let factory = PurchaselyEventFactory(
            EventContext(namespace: Namespace(name: "run", idForm: .string), base: now)
        )
        let spec = PurchaselySpec(stating: event, at: now)
        return try #require(factory.body(spec, name: "told").object)
    }

    @Test func `the profile maps the IDs of plans`() {
        var spec = PurchaselySpec(name: "ACTIVATE", user: "ada")
        (spec.plan, spec.previousPlan) = ("PLUS_YEARLY", "PLUS_MONTHLY")
        func event(_ products: [String: String]) -> PurchaselyEvent {
            let context = EventContext(
                namespace: Namespace(name: "run", idForm: .string),
                base: Self.now,
                products: products
            )
            return PurchaselyEventFactory(context).event(spec, name: "change")
        }
        let mapped = event(["PLUS_YEARLY": "club.year", "PLUS_MONTHLY": "club.month"])
        #expect(mapped.plan == "club.year")
        #expect(mapped.storeProduct == "club.year")
        #expect(mapped.previousPlan == "club.month")
        #expect(event([:]).plan == "PLUS_YEARLY")
    }

    /// Keys and kinds; a transfer's other side may have been anonymous or not.
    private static func shape(_ event: JSONObject) -> [String: String] {
        Dictionary(
            event.members.map { member in
                let key = member.key.replacing("from_anonymous_user_id", with: "from_user_id")
                return (key, "\(member.value.kind)")
            },
            uniquingKeysWith: { "\($0), twice: \($1)" }
        )
    }

    /// Every event of every flow at every store.
    private static let told: [JSONObject] = PurchaselySpec.stores.flatMap { store in
        var state = PurchaselyState()
        let first: JSONObject = ["user": "ada", "store": .string(store)]
        try? state.carryOut(.purchase, first, at: now)
        for (index, action) in PurchaselyAction.allCases.enumerated() {
            var body: JSONObject = ["user": "ada"]
            if action == .changePlan { body["plan"] = "PLUS_YEARLY" }
            if action == .transfer || action == .logIn {
                body = ["from": action == .logIn ? "ada" : "bob", "user": "ada"]
                if action == .logIn { body["user"] = "bob" }
            }
            // Not every store pauses; what is refused is not told.
            try? state.carryOut(action, body, at: now + .seconds(Int64(index + 1)))
        }
        return state.takeEvents().map(\.body)
    }

    @Test("both Purchasely event writers produce the same keys and kinds", arguments: told)
    func eventFormatsAgree(event: JSONObject) throws {
        #expect(Self.shape(try Self.made(event)) == Self.shape(event))
    }

    @Test func `every flow is covered`() {
        let names = Set(Self.told.compactMap { $0["event_name"]?.string })
        #expect(names.isSuperset(of: ["ACTIVATE", "DEACTIVATE", "TRANSACTION_PROCESSED"]))
        #expect(names.count >= 15, "\(names.sorted())")
        #expect(Set(Self.told.compactMap { $0["store"]?.string }) == Set(PurchaselySpec.stores))
    }

    @Test(
        "bodies are the published ones' like",
        .enabled(if: PublishedSamples.areSamplesPresent, "samples are elsewhere"),
        arguments: PublishedPurchaselyEvent.all
    )
    func equalsSample(sample: PublishedPurchaselyEvent) throws {
        let published = try #require(
            try PublishedSamples.json("purchasely/\(sample.name).json").object
        )
        var state = PurchaselyState()
        try sample.make(&state, Self.now)
        let name = published["event_name"]
        let told = try #require(
            state.takeEvents().map(\.body).last { body in
                body["event_name"] == name
                    && (body["user_id"] == nil) == (published["user_id"] == nil)
            }
        )
        var wanted = Self.shape(published)
        for key in sample.theirs { #expect(wanted.removeValue(forKey: key) != nil, "\(key)") }
        #expect(Self.shape(told) == wanted)
        #expect(Self.shape(try Self.made(published)) == wanted)
    }

    @Test(.enabled(if: PublishedSamples.areSamplesPresent, "samples are elsewhere"))
    func `the published body of version 2 is what the switch sends`() throws {
        let path = "purchasely/legacy_api_version_2_purchase_validated.json"
        let published = try #require(try PublishedSamples.json(path).object)
        var state = PurchaselyState(seed: 1)
        state.settings.sendsVersion2 = true
        let body: JSONObject = ["user": "ada", "store": "GOOGLE_PLAY_STORE"]
        let now = Instant(milliseconds: 1_790_000_000_000)
        try state.carryOut(.purchase, body, at: now)
        try state.carryOut(.expire, ["user": "ada"], at: now + .seconds(60))
        let told = state.takeEvents()
        // What version 2 had no name for is not sent.
        #expect(told.map(\.name) == ["PURCHASE_VALIDATED", "SUBSCRIPTION_EXPIRED"])
        #expect(Self.shape(told[0].body) == Self.shape(published))
    }

    @Test(.enabled(if: PublishedSamples.areSamplesPresent, "samples are elsewhere"))
    func `every published event is compared`() throws {
        let known = Set(PublishedPurchaselyEvent.all.map { $0.name + ".json" })
        let others: Set = [
            // Version 2, and what is no body.
            "legacy_api_version_2_purchase_validated.json", "request_headers.json",
            "signature_vectors.json",
        ]
        #expect(Set(try PublishedSamples.names("purchasely")).subtracting(known) == others)
    }
}
