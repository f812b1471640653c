import Contracts
import Exploration
import Values

/// A seller that exists only in tests: a ferry company with two passes.
///
/// A pass can be bought and returned, and ends without an event.
struct MadeUpSeller: SellerModel {
    private struct Pass {
        let product: String
        let owner: String
        let environment: String
        let end: Duration
        var isReturned = false

        var state: PurchaseState { isReturned ? .refunded : .active }
    }

    static let store = "FERRY"
    static var titleName: String? { "the ferry" }
    static var feature: Feature? { .subscription }
    static var storeName: String? { store }
    static var defaultStore: String { store }
    static let standardProduct = "FERRY_WEEK"
    static var simplestProduct: String? { standardProduct }
    private static let days = ["FERRY_WEEK": 7, "FERRY_YEAR": 365]
    static let subscriptionProducts = ["FERRY_WEEK", "FERRY_YEAR"]
    static var oneTimeProducts: [String] { [] }
    static let kinds: Set<HistoryOperation.Kind> = [.purchase, .refund, .irrelevantEvent]
    static let irrelevantEventTypes = [
        MadeUpHistoryEvent.Kind.scanned.rawValue, HistoryModel.unknownEventType,
    ]
    static var testEventType: String? { nil }
    static var irrelevantEventsAddInformation: Bool { false }
    static var userIDLocations: [String] { [] }

    static func stores(_: Capabilities) -> [String] { [store] }

    static func reasons(of _: HistoryOperation.Kind) -> [String] { [] }

    static func clause(of operation: HistoryOperation, in _: CustomerHistory) -> String {
        operation.kind == .purchase ? "P-09" : "P-08"
    }

    static func signatureWords(of _: HistoryOperation) -> [String] { ["ferry"] }

    private var passes: [Pass] = []

    init() {}

    var userIDs: (any SellerUserIDs)? { nil }

    mutating func advance(to _: Duration, _: KnownUsers)
        throws(HistoryModel.ImpossibleOperation) -> [SellerEvent]
    { [] }

    mutating func perform(_ operation: HistoryOperation, _: KnownUsers)
        throws(HistoryModel.ImpossibleOperation) -> [SellerEvent]
    {
        let index = passes.lastIndex {
            $0.owner == operation.user && $0.product == operation.product
        }
        let stateBefore = index.map { passes[$0].state } ?? .none
        let kind: MadeUpHistoryEvent.Kind
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
        let event = MadeUpHistoryEvent(
            type: kind == .scanned ? operation.type ?? kind.rawValue : kind.rawValue,
            time: operation.time,
            buyer: pass.owner,
            product: pass.product,
            environment: pass.environment,
            end: pass.end
        )
        return [
            SellerEvent(
                event,
                stateBefore: stateBefore,
                knownUsers: event.isSandbox ? [] : event.users
            )
        ]
    }

    func chooseDetails(
        of _: inout HistoryOperation,
        _: HistoryModel.HeldPurchase?,
        _: Capabilities,
        _: inout SeededGenerator
    ) {}

    func heldPurchases(of user: String, at _: Duration) -> [HistoryModel.HeldPurchase] {
        passes.filter { $0.owner == user }.map {
            HistoryModel.HeldPurchase(
                product: $0.product,
                store: Self.store,
                environment: $0.environment,
                state: $0.state
            )
        }
    }

    func endTimes(of user: String) -> [Duration] {
        passes.filter { $0.owner == user }.map(\.end)
    }

    var accessEndTimes: [Duration] { passes.map(\.end) }

    func canDistinguishPurchases(of _: String, _: String) -> Bool { true }

    func checkEnd() throws(HistoryModel.ImpossibleOperation) {}

    func access(of user: String) -> Bool? {
        passes.contains {
            $0.owner == user && !$0.isReturned && $0.environment != "SANDBOX"
                && $0.end > HistoryModel.finalReadTime
        }
    }

    func addDetails(of user: String, to state: inout ExpectedState) {
        let validPasses = passes.filter { $0.owner == user && !$0.isReturned }
        if state.access == true, validPasses.count == 1 {
            state.product = validPasses.first?.product
        }
    }
}

extension SellerTable {
    /// The line that a new seller needs.
    static let withMadeUpSeller = SellerTable.all.adding(MadeUpSeller.self)
}
