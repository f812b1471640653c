internal import Providers
internal import Redaction
internal import Values

/// The values from which the runs of a suite draw the parts that a contract leaves open.
///
/// The profile limits the values, and the seed chooses among them. Each contract gets one row of an
/// orthogonal array, so that 121 consecutive seeds contain every pair of values of two factors.
package struct ValuePool: Sendable {
    private let profile: Profile
    private let seed: UInt64

    package init(_ profile: Profile, seed: UInt64) {
        self.profile = profile
        self.seed = seed
    }

    // MARK: Values

    /// Countries whose currencies have two, none and three decimal places (ISO 4217).
    static let markets = [
        DrawnValues.standard.market,
        DrawnValues.Market(currency: "USD", country: "US", locale: "en_US", localPrice: 9.99),
        DrawnValues.Market(currency: "JPY", country: "JP", locale: "ja_JP", localPrice: 1500),
        DrawnValues.Market(currency: "KWD", country: "KW", locale: "ar_KW", localPrice: 3.065),
        DrawnValues.Market(currency: "BRL", country: "BR", locale: "pt_BR", localPrice: 54.9),
        DrawnValues.Market(currency: "IDR", country: "ID", locale: "id_ID", localPrice: 159_000),
        DrawnValues.Market(currency: "TRY", country: "TR", locale: "tr_TR", localPrice: 349.99),
    ]

    /// Names with letters that a backend may escape or encode wrongly.
    static let givenNames = [
        DrawnValues.standard.givenName, "Zoë", "O'Neill", "Łucja", "\"Countess\"", "美咲", "Ada\\n",
        "👩🏽‍🚀", "Ann; Bob", "%41da", "<b>Ada</b>",
    ]

    static let millisecondsBeforeBase: [Int64] = [
        1, 7, 37, 123, 250, 499, 500, 501, 750, 998, 999,
    ]

    // MARK: Drawing

    /// Returns the contract with drawn values for the parts that it leaves open.
    ///
    /// A contract about a phone and a recorded contract stay as they are. Contracts with the same
    /// baseline run draw the same values, so that they can share it.
    package func drawn(_ contract: Contract) -> Contract {
        guard contract.drawnValues == nil, contract.provenance == nil, contract.phoneSteps.isEmpty,
            let numbers = numbers(of: contract)
        else { return contract }
        let row = OrthogonalArrayRow(number: numbers.row)
        let events = (contract.given + contract.steps).flatMap(\.events)
        guard !events.isEmpty else { return contract }
        let choices = AnyProviderEvent.openChoices(of: events, within: limits(of: contract))
        var values = DrawnValues(
            product: row.value(among: choices.products, factor: 0),
            store: row.value(among: choices.stores, factor: 1),
            market: row.value(among: Self.markets, factor: 2) ?? DrawnValues.standard.market,
            givenName: row.value(among: Self.givenNames, factor: 3)
                ?? DrawnValues.standard.givenName,
            millisecondsBeforeBase: row.value(among: Self.millisecondsBeforeBase, factor: 4) ?? 0
        )
        // A reconciled backend takes its dates from REST v1, which has whole seconds (RevenueCat
        // fact sheet, section 4), so an exact comparison needs whole seconds too.
        if contract.reconciles { values.millisecondsBeforeBase = 0 }
        let similarIDs = similarIDChoices(of: contract)
        // The number of differences has no factor in common with the number of rows, so that each
        // row meets each difference.
        values.similarIDs =
            similarIDs.isEmpty
            ? nil : similarIDs[Int(numbers.similarIDs % UInt64(similarIDs.count))]
        var drawn = contract
        drawn.drawnValues = values
        drawn.given = contract.given.map { $0.drawing(values) }
        drawn.steps = contract.steps.map { $0.drawing(values) }
        return drawn
    }

    /// Returns pairs of users whose IDs a backend may confuse, one for each difference; empty if the
    /// IDs of the contract have to stay ordinary.
    ///
    /// A contract that chooses an ID, or whose users sign in or are deleted, is about IDs itself.
    private func similarIDChoices(of contract: Contract) -> [SimilarUserIDs] {
        let users = contract.users
        guard users.count > 1, profile.idForm == .string,
            profile.skipReason(to: .stringIDs) == nil,
            contract.expectation.deletedUserNames.isEmpty, contract.expectation.calls.isEmpty,
            !contract.allRequiredFeatures.contains(where: { $0.roles.contains(.idTokens) }),
            (contract.given + contract.steps).allSatisfy(\.keepsOrdinaryUserIDs)
        else { return [] }
        return SimilarUserIDs.Difference.allCases.map {
            SimilarUserIDs($0, first: users[0], second: users[1])
        }
    }

    /// Returns the numbers by which a contract selects its values; nil if the steps cannot be
    /// encoded.
    ///
    /// They depend on the steps of the baseline run and increase with the seed.
    private func numbers(of contract: Contract) -> (row: UInt64, similarIDs: UInt64)? {
        let steps =
            contract.expectation.relation.map { Baseline.steps(of: contract, $0) }
            ?? contract.given + contract.steps
        // Steps that cannot be encoded could not be saved with the run either.
        guard let json = try? JSONValue(encoding: steps) else { return nil }
        var generator = SeededGenerator(seed: 0, text: json.text)
        return (generator.next() &+ seed, generator.next() &+ seed)
    }

    private func limits(of contract: Contract) -> DrawLimits {
        let fields = contract.expectation.states.flatMap(\.fields).map(\.name)
        return DrawLimits(
            contractText: contract.textOfSteps,
            products: profile.products,
            acceptsEveryStore: profile.skipReason(to: .acceptsEveryStore) == nil,
            observesProduct: fields.contains { $0.hasSuffix("product") }
        )
    }
}

/// One row of an orthogonal array with 11 levels and up to 11 factors.
///
/// Two factors have different slopes modulo 11, so that the 121 rows contain every pair of their
/// levels exactly once.
struct OrthogonalArrayRow: Hashable, Sendable {
    /// The number of levels of each factor, a prime.
    static let levelCount = 11
    static let rowCount = levelCount * levelCount

    private let offset: Int
    private let slope: Int

    /// Creates the row with a number, which counts modulo the number of rows.
    init(number: UInt64) {
        let index = Int(number % UInt64(Self.rowCount))
        (offset, slope) = index.quotientAndRemainder(dividingBy: Self.levelCount)
    }

    /// Returns the level of a factor, from 0 to 10.
    func level(factor: Int) -> Int { (offset + factor * slope) % Self.levelCount }

    /// Returns the value of a factor; nil for an empty list.
    func value<Value>(among values: [Value], factor: Int) -> Value? {
        values.isEmpty ? nil : values[level(factor: factor) % values.count]
    }
}

extension Contract {
    /// Whether a step makes the backend compare its state with RevenueCat's.
    fileprivate var reconciles: Bool {
        (given + steps).contains { step in
            if case .call(let calls) = step {
                calls.contains { $0.route == .reconcile }
            } else {
                false
            }
        }
    }

    /// All strings in the steps and expectations of the contract.
    ///
    /// The events of a contract contain only the values that the contract names.
    fileprivate var textOfSteps: String {
        // A contract that cannot be encoded mentions nothing.
        [
            (try? JSONValue(encoding: given + steps))?.text,
            (try? JSONValue(encoding: expectation))?.text,
            (try? JSONValue(encoding: values))?.text,
        ].compactMap { $0 }.joined(separator: "\n")
    }
}

extension JSONValue {
    fileprivate var text: String { String(decoding: bytes, as: UTF8.self) }
}

extension Step {
    /// Whether the step neither chooses the ID of a user nor creates an account.
    fileprivate var keepsOrdinaryUserIDs: Bool {
        switch self {
        case .name, .createAccount, .account, .phone, .request, .killAtCall: false
        case .register, .deliver, .waitForEnd, .probe, .call, .provider, .restart, .rotateKeys:
            true
        }
    }

    /// The events that the step delivers, complete or truncated.
    fileprivate var events: [AnyProviderEvent] {
        guard case .deliver(let delivery) = self else { return [] }
        return switch delivery.subject {
        case .event(let event): [event]
        case .raw(.truncated(let event, _)): [event]
        case .body, .raw, .repeats, .storeEvent: []
        }
    }

    fileprivate func drawing(_ values: DrawnValues) -> Step {
        guard case .deliver(var delivery) = self else { return self }
        switch delivery.subject {
        case .event(let event): delivery.subject = .event(event.drawing(values))
        case .raw(.truncated(let event, let percent)):
            delivery.subject = .raw(.truncated(event.drawing(values), percent: percent))
        case .body, .raw, .repeats, .storeEvent: break
        }
        return .deliver(delivery)
    }
}
