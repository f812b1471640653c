internal import Contracts
package import Exploration
package import Providers
package import Values

/// A seller that exists only in tests: a ferry company with two passes.
///
/// A pass can be bought and returned, and ends without an event.
package struct FerrySeller: SellerModel {
    private struct Pass {
        let product: String
        let owner: String
        let environment: String
        let end: Duration
        var isReturned = false

        var state: PurchaseState { isReturned ? .refunded : .active }
    }

    package static let store = "FERRY"
    package static var titleName: String? { "the ferry" }
    package static var feature: Feature? { .ferry }
    package static var storeName: String? { store }
    package static var defaultStore: String { store }
    package static let standardProduct = "FERRY_WEEK"
    package static var simplestProduct: String? { standardProduct }
    private static let days = ["FERRY_WEEK": 7, "FERRY_YEAR": 365]
    package static let subscriptionProducts = ["FERRY_WEEK", "FERRY_YEAR"]
    package static var oneTimeProducts: [String] { [] }
    package static let kinds: Set<HistoryOperation.Kind> = [.purchase, .refund, .irrelevantEvent]
    package static let irrelevantEventTypes = [
        FerryEvent.Kind.scanned.rawValue, HistoryModel.unknownEventType,
    ]
    package static var testEventType: String? { nil }
    package static var irrelevantEventsAddInformation: Bool { false }
    package static var userIDLocations: [String] { [] }

    package static func stores(_ capabilities: Capabilities) -> [String] {
        capabilities.has(.subscription) ? [store] : []
    }

    package static func reasons(of _: HistoryOperation.Kind) -> [String] { [] }

    package static func clause(of operation: HistoryOperation, in _: CustomerHistory) -> String {
        operation.kind == .purchase ? "P-09" : "P-08"
    }

    package static func signatureWords(of _: HistoryOperation) -> [String] { ["ferry"] }

    private var passes: [Pass] = []

    package init() {}

    package var userIDs: (any SellerUserIDs)? { nil }

    package mutating func advance(to _: Duration, _: KnownUsers)
        throws(HistoryModel.ImpossibleOperation) -> [SellerEvent]
    { [] }

    package mutating func perform(_ operation: HistoryOperation, _: KnownUsers)
        throws(HistoryModel.ImpossibleOperation) -> [SellerEvent]
    {
        let index = passes.lastIndex {
            $0.owner == operation.user && $0.product == operation.product
        }
        let stateBefore = index.map { passes[$0].state } ?? .none
        let kind: FerryEvent.Kind
        let pass: Pass
        switch (operation.kind, index) {
        case (.purchase, nil):
            guard let product = operation.product, let days = Self.days[product] else {
                throw HistoryModel.ImpossibleOperation(reason: "the ferry has no such pass")
            }
            pass = Pass(
                product: product,
                owner: operation.user,
                environment: operation.effectiveEnvironment,
                end: operation.time + .seconds(days * 86_400)
            )
            passes.append(pass)
            kind = .sold
        case (.refund, let index?) where !passes[index].isReturned:
            passes[index].isReturned = true
            (pass, kind) = (passes[index], .returned)
        case (.irrelevantEvent, let index?): (pass, kind) = (passes[index], .scanned)
        default: throw HistoryModel.ImpossibleOperation(reason: "the ferry does not do this")
        }
        var ferryEvent = FerryEvent(
            type: kind == .scanned ? operation.type ?? kind.rawValue : kind.rawValue,
            user: pass.owner
        )
        ferryEvent.time = operation.time
        ferryEvent.pass = pass.product
        ferryEvent.environment = pass.environment
        ferryEvent.end = pass.end
        let event = FerryHistoryEvent(event: ferryEvent)
        return [
            SellerEvent(
                event,
                stateBefore: stateBefore,
                knownUsers: event.isSandbox ? [] : event.users
            )
        ]
    }

    package func chooseDetails(
        of _: inout HistoryOperation,
        _: HistoryModel.HeldPurchase?,
        _: Capabilities,
        _: inout SeededGenerator
    ) {}

    package func heldPurchases(of user: String, at _: Duration) -> [HistoryModel.HeldPurchase] {
        passes.filter { $0.owner == user }.map {
            HistoryModel.HeldPurchase(
                product: $0.product,
                store: Self.store,
                environment: $0.environment,
                state: $0.state
            )
        }
    }

    package func endTimes(of user: String) -> [Duration] {
        passes.filter { $0.owner == user }.map(\.end)
    }

    package var accessEndTimes: [Duration] { passes.map(\.end) }

    package func canDistinguishPurchases(of _: String, _: String) -> Bool { true }

    package func checkEnd() throws(HistoryModel.ImpossibleOperation) {}

    package func access(of user: String) -> Bool? {
        passes.contains {
            $0.owner == user && !$0.isReturned && $0.environment != "SANDBOX"
                && $0.end > HistoryModel.finalReadTime
        }
    }

    package func addDetails(of user: String, to state: inout ExpectedState) {
        let validPasses = passes.filter { $0.owner == user && !$0.isReturned }
        if state.access == true, validPasses.count == 1 {
            state.product = validPasses.first?.product
        }
    }
}

extension FerryState: HistorySeller {
    package static let sellerModel: any SellerModel.Type = FerrySeller.self
}
