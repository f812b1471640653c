import ContractFiles
import Contracts
import Exploration
import Ferry
import Judging
import Providers
import Testing
import Values

/// Runs each test with the table that contains the ferry company.
struct FerryTableTrait: SuiteTrait, TestTrait, TestScoping {
    let isRecursive = true

    func provideScope(
        for _: Test,
        testCase _: Test.Case?,
        performing function: @Sendable @concurrent () async throws -> Void
    ) async throws {
        try await ProviderTable.$all.withValue(.withFerry) { try await function() }
    }
}

extension Trait where Self == FerryTableTrait {
    static var ferry: FerryTableTrait { FerryTableTrait() }
}

extension ProviderTable {
    /// The table of the providers that Assay imitates.
    fileprivate static let withoutFerry = ProviderTable(
        ProviderTable.withFerry.entries.filter { $0.party != .ferry }
    )
}

/// A seller needs a folder and a line in the table; each part of `explore` asks the seller.
@Suite("A new seller needs one table entry", .ferry)
struct FerrySellerTests {
    private static let everything = Capabilities(
        features: Set(ProviderTable.$all.withValue(.withFerry) { Feature.allCases }),
        canReadState: true,
        backendChoosesIDs: false
    )

    private static let sellers = ProviderTable.$all.withValue(.withFerry) { SellerTable.all }

    private func histories(_ count: Int, _ capabilities: Capabilities = everything)
        -> [HistoryScript]
    {
        var options = HistoryGenerator.Options(capabilities: capabilities)
        options.sellers = Self.sellers
        var generator = HistoryGenerator(seed: 11, options: options)
        return (0..<count).map { _ in generator.next().script }
    }

    private func ferryOperations(_ history: CustomerHistory) -> [HistoryOperation] {
        history.steps.map(\.operation).filter { $0.store == FerrySeller.store }
    }

    private func history(_ operations: String) throws -> CustomerHistory {
        let head = "history 1\nperson ada registered\nperson bob registered\n"
        return try HistoryText.history(head + operations + "\n", Self.sellers)
    }

    private func script(_ operations: String) throws -> HistoryScript {
        try HistoryScript(history(operations), Self.everything)
    }

    /// The ferry events of a script, in order, with the facts from which access follows.
    private func bodies(_ script: HistoryScript) -> [JSONValue] {
        CasePlan(script.contract).subject.deliveries.compactMap { delivery in
            guard let event = delivery.event?.content as? FerryEvent else { return nil }
            return [
                "type": .string(event.type), "pass": .string(event.pass),
                "user": .string("{{user.\(event.user)}}"),
                "environment": .string(event.environment),
                "end": .integer(event.end?.components.seconds ?? 0),
            ]
        }
    }

    private func access(_ user: String, _ script: HistoryScript) -> Bool? {
        script.contract.expectation.states.first { $0.user == user }?.fields
            .first { $0.name == "access" }?.value.bool
    }

    // MARK: Generation

    @Test func `generated histories contain the operations of the seller`() {
        let operations = histories(400).flatMap { ferryOperations($0.history) }
        #expect(Set(operations.map(\.kind)) == FerrySeller.kinds)
        #expect(Set(operations.compactMap(\.product)) == Set(FerrySeller.subscriptionProducts))
        #expect(
            Set(operations.compactMap(\.type)) == Set(FerrySeller.irrelevantEventTypes)
        )
        #expect(operations.contains { $0.environment == "SANDBOX" })
    }

    @Test func `a backend without the feature of the seller gets none of its operations`() {
        var capabilities = Self.everything
        capabilities.features.remove(.ferry)
        for script in histories(200, capabilities) {
            #expect(ferryOperations(script.history).isEmpty)
        }
        #expect(
            !HistoryGenerator.stores(capabilities, Self.sellers).contains(FerrySeller.store)
        )
    }

    @Test(arguments: [ProviderTable.withoutFerry])
    func `without the provider's line, no history contains its operations`(
        table: ProviderTable
    ) {
        ProviderTable.$all.withValue(table) {
            #expect(Self.sellers != SellerTable.all)
            #expect(!HistoryGenerator.stores(Self.everything).contains(FerrySeller.store))
            var generator = HistoryGenerator(
                seed: 11,
                options: .init(capabilities: Self.everything)
            )
            for _ in 0..<100 {
                #expect(ferryOperations(generator.next().script.history).isEmpty)
            }
        }
    }

    // MARK: Predictions

    @Test func `the model predicts the access and the product`() throws {
        let purchase = "operation 0 -3d ada purchase product=FERRY_YEAR store=FERRY"
        let bought = try script(purchase)
        #expect(access("ada", bought) == true)
        let state = bought.contract.expectation.states.first { $0.user == "ada" }
        #expect(state?.fields.first { $0.name == "product" }?.value.string == "FERRY_YEAR")
        let returned = try script(
            purchase + "\noperation 1 -2d ada refund product=FERRY_YEAR store=FERRY"
        )
        #expect(access("ada", returned) == false)
        let ended = try script("operation 0 -30d ada purchase product=FERRY_WEEK store=FERRY")
        #expect(access("ada", ended) == false)
        let bothSellers = try script(
            purchase + "\noperation 1 -1d ada purchase product=premium_monthly store=APP_STORE"
        )
        let fields = bothSellers.contract.expectation.states.first { $0.user == "ada" }?.fields
        #expect(access("ada", bothSellers) == true)
        #expect(fields?.contains { $0.name == "product" } == false)
        #expect(throws: HistoryModel.ImpossibleOperation.self) {
            try script("operation 0 -3d ada cancel product=FERRY_YEAR store=FERRY")
        }
    }

    @Test func `the delivered events give the predicted access`() {
        var checkedUserCount = 0
        for script in histories(400) {
            let passesByUser = Dictionary(grouping: bodies(script)) { $0["user"]?.string ?? "" }
            let plan = CasePlan(script.contract).subject
            for state in script.contract.expectation.states {
                let isNamedElsewhere = plan.deliveries.contains { delivery in
                    if delivery.event?.content is FerryEvent { return false }
                    return delivery.users.contains(state.user)
                }
                guard !isNamedElsewhere, let access = access(state.user, script),
                    let events = passesByUser["{{user.\(state.user)}}"]
                else { continue }
                checkedUserCount += 1
                #expect(
                    givesAccess(events) == access,
                    "\(state.user) in \(HistoryText.text(script.history))"
                )
            }
        }
        #expect(checkedUserCount > 20)
    }

    /// Returns whether these events leave a user with a valid pass.
    private func givesAccess(_ events: [JSONValue]) -> Bool {
        let realEvents = events.filter { $0["environment"]?.string == "PRODUCTION" }
        let finalReadTime = HistoryModel.finalReadTime.components.seconds
        return FerrySeller.subscriptionProducts.contains { product in
            let types = realEvents.filter {
                $0["pass"]?.string == product && $0["end"]?.int64 ?? 0 > finalReadTime
            }.compactMap { $0["type"]?.string }
            return types.contains("PASS_SOLD") && !types.contains("PASS_RETURNED")
        }
    }

    @Test func `a trailing irrelevant event must change nothing`() throws {
        let script = try script(
            """
            baseline
            operation 0 -3d ada purchase product=FERRY_YEAR store=FERRY
            operation 1 -2d ada irrelevant-event product=FERRY_YEAR store=FERRY type=PASS_SCANNED
            """
        )
        #expect(script.contract.expectation.relation == .before)
        #expect(script.contract.expectation.comparedFields.isEmpty)
        #expect(script.contract.steps.count == 1)
    }

    // MARK: Files

    @Test func `a history round-trips through its file and its contract`() throws {
        var contractCount = 0
        for script in histories(300) where !ferryOperations(script.history).isEmpty {
            let text = HistoryText.text(script.history)
            #expect(try HistoryText.history(text, Self.sellers) == script.history)
            let contractText = ContractWriter.text(script.contract, id: script.contract.id)
            let contracts = try ContractParser.parse(
                contractText,
                path: "ferry.yaml",
                id: script.contract.id
            ).get()
            let contract = try #require(contracts.first, "\(contractText)")
            #expect(CasePlan(contract).subject == CasePlan(script.contract).subject)
            contractCount += 1
        }
        #expect(contractCount > 50)
    }

    // MARK: Shrinking

    @Test func `a failure of the seller shrinks to its operations`() throws {
        var history = try history(
            """
            operation 0 -90d bob purchase product=premium_monthly store=PLAY_STORE
            operation 1 -80d ada purchase product=FERRY_YEAR store=FERRY
            operation 2 -79d ada purchase product=PLUS_MONTHLY store=PURCHASELY
            operation 3 -78d ada irrelevant-event product=FERRY_YEAR store=FERRY type=PASS_SCANNED
            operation 4 -77d bob purchase product=FERRY_YEAR store=FERRY
            operation 5 -76d ada refund product=FERRY_YEAR store=FERRY
            operation 6 -75d bob refund product=premium_monthly
            fault 5.0 unknown-type
            """
        )
        func fails(_ history: CustomerHistory) -> Bool {
            guard let script = try? HistoryScript(history, Self.everything) else { return false }
            return bodies(script).contains { $0["type"]?.string == "PASS_RETURNED" }
        }
        #expect(fails(history))
        while let variant = history.shorterVariants.first(where: fails) { history = variant }
        while let variant = history.simplerVariants.first(where: fails) { history = variant }
        #expect(history.steps.map(\.operation.kind) == [.purchase, .refund])
        #expect(history.steps.allSatisfy { $0.operation.store == FerrySeller.store })
        #expect(history.steps.allSatisfy { $0.operation.product == FerrySeller.standardProduct })
        #expect(history.users.map(\.name).count == 1)
        #expect(history.placedFaults.isEmpty)
    }

    @Test func `a failure at the seller does not explain a failure at a store`() throws {
        let atFerry = try history("operation 0 -3d ada purchase product=FERRY_WEEK store=FERRY")
        let atStore = try history("operation 0 -3d ada purchase product=premium_monthly")
        let atFerryLater = try history(
            """
            operation 0 -9d ada purchase product=FERRY_YEAR store=FERRY
            operation 1 -3d ada refund product=FERRY_YEAR store=FERRY
            """
        )
        #expect(atFerryLater.contains(atFerry))
        #expect(!atFerry.contains(atStore))
        #expect(!atStore.contains(atFerry))
        let signature = FailureSignature(
            Finding(.wrongStateValue, expected: "access of ada is true", actual: "")
        )
        #expect(atFerry.failureID(signature) != atStore.failureID(signature))
    }

    // MARK: Reports

    @Test func `titles, clauses and coverage name the seller`() throws {
        let script = try script(
            """
            operation 0 -3d ada purchase product=FERRY_WEEK store=FERRY
            operation 1 -2d ada purchase product=FERRY_YEAR store=FERRY
            operation 2 -1d ada refund product=FERRY_YEAR store=FERRY
            """
        )
        #expect(
            script.history.title
                == "Ada buys at the ferry, buys (FERRY_YEAR) at the ferry, gets a refund (FERRY_YEAR) at the ferry"
        )
        #expect(script.contract.clause == "P-08")
        let features = script.features.map(\.text)
        #expect(features.contains("FERRY none PASS_SOLD"))
        #expect(features.contains("FERRY active PASS_RETURNED"))
        #expect(features.contains("pair PASS_SOLD PASS_RETURNED"))
    }

    @Test func `the reachable transitions include those of the seller`() {
        let stores = HistoryGenerator.stores(Self.everything, Self.sellers)
        #expect(stores.contains(FerrySeller.store))
        let reachable = ReachableTransitions(stores: [FerrySeller.store], Self.sellers)
        #expect(
            reachable.transitions[FerrySeller.store] == [
                .none: ["PASS_SOLD", "idle"], .active: ["PASS_RETURNED", "idle"],
            ]
        )
    }
}
