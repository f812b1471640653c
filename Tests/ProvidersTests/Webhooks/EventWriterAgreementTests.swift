import Contracts
import Providers
import Testing
import Values

/// `verify` and `send` make an event from a line of a contract, `serve` from a purchase in the
/// store; given the same facts both tell the same thing.
@Suite("Both event writers agree")
struct EventWriterAgreementTests {
    /// One event of the store model, by what is done at which store.
    struct StoreEventExample: Sendable, CustomTestStringConvertible {
        let store: String
        let act: String
        let type: String
        let event: JSONObject

        var testDescription: String { "\(store) \(type) after \(act)" }
    }

    private static let now = Instant(milliseconds: 1_790_000_000_000)

    private typealias StoreActions = [(
        name: String, kinds: [StoreAction.Kind], change: @Sendable (inout StoreAction) -> Void
    )]

    private static let acts: StoreActions = [
        ("purchase", [.purchase], { _ in }),
        ("trial", [.purchase], { $0.period = "TRIAL" }),
        ("lifetime", [.purchase], { $0.product = "lifetime" }),
        ("coins", [.purchase], { $0.product = "coins_100" }),
        ("renew", [.purchase, .renew], { _ in }),
        ("trial converts", [.purchase, .renew], { $0.period = "TRIAL" }),
        ("cancel", [.purchase, .cancel], { _ in }),
        ("refund", [.purchase, .refund], { _ in }),
        ("uncancel", [.purchase, .cancel, .uncancel], { _ in }),
        ("billing issue", [.purchase, .billingIssue], { _ in }),
        ("grace", [.purchase, .billingIssue], { $0.grace = .seconds(86_400) }),
        ("pause", [.purchase, .pause], { _ in }),
        ("expire", [.purchase, .expire], { _ in }),
        ("change", [.purchase, .changeProduct], { $0.newProduct = "premium_yearly" }),
        (
            "change later", [.purchase, .changeProduct],
            {
                $0.newProduct = "premium_yearly"
                $0.isAtPeriodEnd = true
            }
        ),
        ("extend", [.purchase, .extend], { _ in }),
        ("refund reversed", [.purchase, .refund, .reverseRefund], { _ in }),
        ("grant and revoke", [.grant, .revoke], { _ in }),
        ("temporary grant", [.temporaryGrant], { _ in }),
        ("currency", [.purchase, .currency], { _ in }),
        ("price consent", [.purchase, .priceConsent], { _ in }),
        ("price approved", [.purchase, .priceConsent], { $0.isApproved = true }),
        ("invoice", [.invoice], { _ in }),
        ("test", [.test], { _ in }),
        ("enroll", [.enroll], { _ in }),
        ("paywall", [.paywall], { _ in }),
        ("paywall tap", [.paywall], { $0.type = "PAYWALL_COMPONENT_INTERACTED" }),
    ]

    /// Everything that the store model tells, at every store where it can happen.
    static let told: [StoreEventExample] =
        EventSpec.stores.flatMap { store in
            acts.flatMap { act -> [StoreEventExample] in
                var state = RevenueCatState(key: nil)
                var events: [JSONObject] = []
                for (index, kind) in act.kinds.enumerated() {
                    var action = StoreAction(kind, user: "ada")
                    action.store = store
                    act.change(&action)
                    // Not every store knows every act; what it refuses it does not tell.
                    try? state.carryOut(action, at: now + .seconds(Int64(60 * index)))
                    events = state.takeEvents()
                }
                return events.compactMap { event in
                    guard let type = event["type"]?.string,
                        event["store"]?.string.map({ $0 == store }) ?? (store == "APP_STORE")
                    else { return nil }
                    return StoreEventExample(store: store, act: act.name, type: type, event: event)
                }
            }
        } + moves

    /// Purchases that change their customer.
    private static let moves: [StoreEventExample] = [StoreAction.Kind.transfer, .redeem].flatMap {
        kind in
        ["APP_STORE", "PLAY_STORE", "STRIPE", "RC_BILLING"].flatMap {
            store -> [StoreEventExample] in
            var state = RevenueCatState(key: nil)
            var bought = StoreAction(.purchase, user: "ada")
            bought.store = store
            var moved = StoreAction(kind, user: "bob")
            moved.from = "ada"
            try? state.carryOut(bought, at: now)
            _ = state.takeEvents()
            try? state.carryOut(moved, at: now)
            return state.takeEvents().compactMap { event in
                guard let type = event["type"]?.string, let place = event["store"]?.string
                else { return nil }
                return StoreEventExample(store: place, act: kind.rawValue, type: type, event: event)
            }
        }
    }

    @Test("both event writers produce the same keys, nulls and kinds", arguments: told)
    func eventFormatsAgree(told: StoreEventExample) throws {
        let factory = EventFactory(
            EventContext(
                namespace: Namespace(name: "run", idForm: .string),
                base: Self.now
            )
        )
        let made = try #require(
            factory.body(EventSpec(stating: told.event), name: "told")["event"]?.object
        )
        #expect(Self.shape(made) == Self.shape(told.event))
    }

    /// What does not depend on the facts: which keys there are, which are null, what kind the
    /// others have, and which side of nothing an amount of money lies on.
    private static func shape(_ event: JSONObject) -> [String: String] {
        Dictionary(
            event.members.map { member in
                var text = "\(member.value.kind)"
                if member.key.hasPrefix("price"), case .number(let number) = member.value,
                    let value = number.double
                {
                    text += value < 0 ? " below 0" : value > 0 ? " above 0" : " of 0"
                }
                return (member.key, text)
            },
            uniquingKeysWith: { "\($0), twice: \($1)" }
        )
    }

    @Test func `every store and nearly every type is covered`() {
        #expect(Set(Self.told.map(\.store)) == Set(EventSpec.stores))
        let untold = Set(EventSpec.types).subtracting(Self.told.map(\.type))
        // The paywall's other events differ in their name alone; aliases are told no more.
        #expect(
            untold == [
                "SUBSCRIBER_ALIAS", "PAYWALL_CLOSE", "PAYWALL_CANCEL", "PAYWALL_EXIT_OFFER",
            ]
        )
    }
}
