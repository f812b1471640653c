import Contracts
import Providers
import TestSupport
import Testing
import Values

@Suite struct ValuePoolTests {
    private static let allSeeds = 0..<UInt64(121)

    private static func contract(_ events: [EventSpec]) -> Contract {
        let steps = events.enumerated().map { index, event in
            SmallContracts.event("event-\(index)", .event(AnyProviderEvent(event)))
        }
        var contract = SmallContracts.contract(steps)
        contract.expectation.relation = .once
        return contract
    }

    private static let openContract = contract([
        EventSpec(type: .documented(.initialPurchase), user: "ada"),
        EventSpec(type: .documented(.renewal), user: "ada"),
    ])

    private static func draws(_ contract: Contract, _ profile: Profile) -> [Contract] {
        allSeeds.map { ValuePool(profile, seed: $0).drawn(contract) }
    }

    private static func specs(_ contract: Contract) -> [EventSpec] {
        contract.steps.compactMap {
            guard case .deliver(let delivery) = $0, case .event(let event) = delivery.subject
            else { return nil }
            return event.content as? EventSpec
        }
    }

    /// The values of each factor of a draw, as strings.
    private static func factors(_ values: DrawnValues) -> [String] {
        [
            values.product ?? "", values.store ?? "", values.market.currency, values.givenName,
            "\(values.millisecondsBeforeBase)",
        ]
    }

    @Test func everyPairOfValuesOccursWithinTheSeeds() throws {
        let draws = try Self.draws(Self.openContract, Profile()).map { contract in
            Self.factors(try #require(contract.drawnValues))
        }
        for first in 0..<5 {
            for second in 0..<first {
                let pairs = Set(draws.map { [$0[first], $0[second]] })
                let count = Set(draws.map { $0[first] }).count * Set(draws.map { $0[second] }).count
                #expect(pairs.count == count)
                #expect(count > 1)
            }
        }
    }

    @Test func eventsOfOneContractShareTheDrawnProductAndStore() throws {
        let draws = Self.draws(Self.openContract, Profile())
        for contract in draws {
            let values = try #require(contract.drawnValues)
            for spec in Self.specs(contract) {
                #expect(spec.product == values.product)
                #expect(spec.store == values.store)
            }
        }
        #expect(Set(draws.flatMap(Self.specs).map(\.product)).count > 3)
        #expect(Set(draws.flatMap(Self.specs).map(\.store)).count > 3)
    }

    @Test func namedValuesStay() throws {
        var named = EventSpec(type: .documented(.renewal), user: "ada", product: "premium_yearly")
        named.store = "STRIPE"
        let purchase = EventSpec(type: .documented(.initialPurchase), user: "ada")
        for contract in Self.draws(Self.contract([purchase, named]), Profile()) {
            let specs = Self.specs(contract)
            #expect(specs[1].product == "premium_yearly")
            #expect(specs[1].store == "STRIPE")
            // The other event is about another purchase, and stays so.
            #expect(specs[0].product != "premium_yearly")
            #expect(specs[0].store != "STRIPE")
        }
    }

    @Test func contractThatMentionsTheDefaultKeepsIt() {
        let change = EventSpec(
            type: .documented(.productChange),
            user: "ada",
            product: EventSpec.defaultProduct
        )
        let purchase = EventSpec(type: .documented(.initialPurchase), user: "ada")
        for contract in Self.draws(Self.contract([purchase, change]), Profile()) {
            #expect(contract.drawnValues?.product == nil)
        }
    }

    @Test func profileLimitsProductsAndStores() {
        var profile = Profile()
        profile.products = ["premium_monthly": "a", "premium_yearly": "b"]
        profile.unsupportedFeatures = [.acceptsEveryStore]
        let specs = Self.draws(Self.openContract, profile).flatMap(Self.specs)
        #expect(Set(specs.map(\.product)) == ["premium_monthly", "premium_yearly"])
        #expect(Set(specs.map(\.store)) == ["APP_STORE"])
    }

    @Test func casesWithOneBaselineShareIt() {
        var repeated = Self.openContract
        repeated.id = "test/other"
        repeated.steps.append(.deliver(Delivery(name: "again", subject: .repeats("event-0"))))
        for seed in Self.allSeeds {
            let pool = ValuePool(Profile(), seed: seed)
            let plans = [Self.openContract, repeated].map { CasePlan(pool.drawn($0)) }
            #expect(plans[0].baseline == plans[1].baseline)
        }
    }

    @Test func datesHaveAFractionOfASecond() throws {
        let base = Instant(milliseconds: 1_700_000_000_000)
        for contract in Self.draws(Self.openContract, Profile()) {
            let plan = CasePlan(contract)
            let milliseconds = plan.subject.base(from: base).milliseconds % 1000
            #expect(milliseconds != 0)
            #expect(plan.baseline?.base(from: base) == plan.subject.base(from: base))
        }
    }

    // MARK: Similar user IDs

    private static let contractOfTwo = contract([
        EventSpec(type: .documented(.initialPurchase), user: "ada"),
        EventSpec(type: .documented(.initialPurchase), user: "bob"),
    ])

    @Test func twoUsersGetEveryDifferenceOfIDs() throws {
        var differences: Set<SimilarUserIDs.Difference> = []
        for contract in Self.draws(Self.contractOfTwo, Profile()) {
            guard let similarIDs = contract.drawnValues?.similarIDs else { continue }
            differences.insert(similarIDs.difference)
            let namespace = Namespace(name: "n1", idForm: .string, similarIDs: similarIDs)
            let ids = ["ada", "bob"].map(namespace.id)
            #expect(!ids[0].isExactly(ids[1]))
            #expect(ids.allSatisfy { $0.count <= 100 })
            // Another run uses other IDs.
            let other = Namespace(name: "n2", idForm: .string, similarIDs: similarIDs)
            #expect(Set(ids).isDisjoint(with: ["ada", "bob"].map(other.id)))
        }
        #expect(differences == Set(SimilarUserIDs.Difference.allCases))
    }

    @Test func contractsAboutIDsKeepOrdinaryIDs() {
        var naming = Self.contractOfTwo
        naming.given = [.name(user: "ada", id: "x")]
        var integers = Profile()
        integers.idForm = .integer
        var unsupported = Profile()
        unsupported.unsupportedFeatures = [.stringIDs]
        let draws =
            Self.draws(naming, Profile()) + Self.draws(Self.contractOfTwo, integers)
            + Self.draws(Self.contractOfTwo, unsupported) + Self.draws(Self.openContract, Profile())
        #expect(draws.allSatisfy { $0.drawnValues?.similarIDs == nil })
    }
}
