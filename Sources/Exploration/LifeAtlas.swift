internal import Conformance

/// All state transitions that the simulated stores allow for the purchases of one user, by store.
///
/// The coverage report counts how many of these transitions occurred.
package struct LifeAtlas: Sendable {
    /// The events that can occur for a purchase, by store and by the state of the purchase.
    package let transitions: [String: [LineState: [String]]]

    private static let start: Duration = .seconds(-3000 * 86_400)

    /// Finds all transitions by exploring the simulated stores.
    ///
    /// - Parameter stores: The names of the stores to explore.
    package init(stores: [String]) {
        var transitions: [String: [LineState: [String]]] = [:]
        for store in stores { transitions[store] = Self.transitions(of: store) }
        self.transitions = transitions
    }

    /// A point in the exploration: the model after some operations, and the time.
    private struct Place {
        var model: LifeModel
        var time: Duration
        var id: Int
    }

    /// The properties of a `Place` that determine its possible continuations.
    private struct Key: Hashable {
        let state: LineState
        let products: [String]
    }

    private static func transitions(of store: String) -> [LineState: [String]] {
        let person = Life.Person("ada", .registered)
        var seen: Set<Key> = []
        var found: [LineState: Set<String>] = [:]
        var open = [Place(model: LifeModel([person]), time: start, id: 0)]
        while let place = open.popLast() {
            for act in acts(at: store, place) {
                var model = place.model
                let step = Life.Step(id: place.id, act: act, isQuietPoint: false)
                guard let told = try? model.perform(step) else { continue }
                for event in told where event.message.store == store {
                    found[event.before, default: []].insert(event.message.what)
                }
                let lines = model.lines(of: "ada", at: act.time)
                let key = Key(state: lines.first?.state ?? .none, products: lines.map(\.product))
                guard lines.count < 3, seen.insert(key).inserted else { continue }
                open.append(Place(model: model, time: act.time, id: place.id + 1))
            }
        }
        // An event that changes nothing is possible at any time.
        for state in found.keys { found[state]?.insert(LifeCoverage.Tracker.idle) }
        return found.mapValues { $0.sorted() }
    }

    /// Operations that lead to no new state of a purchase, or that need a second user.
    private static let idle: Set<Act.Kind> = [
        .transfer, .share, .unshare, .register, .signUp, .logIn, .tell,
    ]

    /// Returns all operations to try next, such as a renewal shortly before the end of a period.
    private static func acts(at store: String, _ place: Place) -> [Act] {
        let lines = place.model.lines(of: "ada", at: place.time)
        let products = lines.isEmpty ? LifeGenerator.products(at: store) : lines.map(\.product)
        var acts: [Act] = []
        for product in products {
            for kind in Act.Kind.allCases where !idle.contains(kind) {
                var act = Act(kind, "ada", at: place.time + .seconds(3600))
                act.product = product
                acts += variants(of: act, store)
            }
        }
        let ends = place.model.ends(of: "ada", after: place.time)
        for end in ends {
            for (kind, offset) in [(Act.Kind.renew, -60), (.wait, 60), (.billingIssue, -60)] {
                var act = Act(kind, "ada", at: max(place.time, end + .seconds(offset)))
                act.product = kind == .wait ? nil : products.first
                acts += variants(of: act, store)
            }
        }
        return acts
    }

    private static func variants(of act: Act, _ store: String) -> [Act] {
        var act = act
        if act.kind != .wait { act.store = seller(store) }
        func changed(_ change: (inout Act) -> Void) -> Act {
            var act = act
            change(&act)
            return act
        }
        switch act.kind {
        case .purchase:
            return ["NORMAL", "TRIAL", "INTRO", "PREPAID"].compactMap { period in
                let isPrepaid = period == "PREPAID"
                guard !isPrepaid || store == "PLAY_STORE" else { return nil }
                return changed { act in
                    act.store = store
                    act.period = period
                }
            }
        case .billingIssue: return [act, changed { $0.span = .seconds(7 * 86_400) }]
        case .changeProduct:
            return [false, true].map { isDeferred in
                changed { act in
                    act.newProduct = LifeGenerator.subscriptions(at: store)[1]
                    act.isDeferred = isDeferred
                }
            }
        case .cancel, .expire:
            return [act]
                + LifeGenerator.reasons(of: act.kind).map { reason in
                    changed { $0.reason = reason }
                }
        case .grant:
            return [
                changed { act in
                    act.product = nil
                    act.reason = "monthly"
                }
            ]
        case .revoke: return [changed { $0.product = nil }]
        case .renew, .uncancel, .pause, .resume, .extend, .refund, .transfer, .recover,
            .reverseRefund, .temporaryGrant, .share, .unshare, .tell, .register, .signUp, .logIn,
            .wait:
            return [act]
        }
    }

    /// Returns the value of `Act.store` for an operation.
    ///
    /// Only operations on Purchasely plans need the store; for other operations the result is nil.
    private static func seller(_ store: String) -> String? {
        store == Message.planStore ? store : nil
    }
}
