internal import Contracts
internal import Exploration
internal import Providers
internal import Replay

/// The coverage of an `assay explore` campaign as text: the tested purchase transitions of each
/// store, the faults and the clauses.
struct CoverageText {
    private let coverage: HistoryCoverage
    private let capabilities: Capabilities
    private let profile: Profile
    private let progressSnapshots: [Campaign.Progress]
    /// The number of generated histories that tested each clause, by the name of the clause.
    private let clauses: [String: Int]
    private let stores: [String]
    private let reachableTransitions: ReachableTransitions
    private let columns = TextColumns()

    init(
        _ outcome: Campaign.Outcome,
        _ capabilities: Capabilities,
        unmapped profile: Profile
    ) {
        coverage = outcome.coverage
        progressSnapshots = outcome.progressSnapshots
        clauses = outcome.clauses
        self.capabilities = capabilities
        self.profile = profile
        stores = HistoryGenerator.stores(capabilities)
        reachableTransitions = ReachableTransitions(stores: stores)
    }

    /// A short summary: the number of tested purchase transitions of each store, and the features
    /// of the backend that could not be tested.
    var summary: String {
        var lines = line("coverage", coverageShares)
        if let first = uncoveredTransitions.first {
            let moreText =
                uncoveredTransitions.count > 1
                ? ", and \(uncoveredTransitions.count - 1) more; --coverage lists all" : ""
            lines += line("not covered", "\(first)\(moreText)")
        }
        return text(lines + untestedReasons.flatMap { line("not tested", $0) })
    }

    /// The complete coverage: every purchase transition of every store with its count, the faults,
    /// the clauses, and the coverage over time.
    var fullText: String {
        var lines = line("coverage", coverageShares)
        for store in stores {
            let (covered, all) = transitionCounts(store)
            lines += ["", "\(store)  \(covered) of \(all) transitions"]
            for state in PurchaseState.allCases {
                lines += events(of: store, state)
            }
        }
        lines += ["", "faults, by event type"]
        for kind in HistoryFault.Kind.allCases {
            let faultTypeCounts = coverage.faults(kind).map { "\($0.type) \($0.count)" }
            lines += line(
                kind.rawValue,
                faultTypeCounts.isEmpty ? "none" : faultTypeCounts.joined(separator: " · ")
            )
        }
        lines.append("")
        let clauseCounts = clauses.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
        lines += line(
            "clauses",
            clauseCounts.isEmpty ? "none" : clauseCounts.joined(separator: " · ")
        )
        lines += ["", "coverage over time"] + columns.growthLines(progressSnapshots)
        return text(lines + [""] + untestedReasons.flatMap { line("not tested", $0) })
    }

    private func events(of store: String, _ state: PurchaseState) -> [String] {
        let events = events(at: store, state)
        let eventsWithCounts = events.map {
            ($0, coverage.count(.transition(store: store, state, $0)))
        }
        let covered = eventsWithCounts.filter { $0.1 > 0 }.map { "\($0.0) \($0.1)" }
        let uncoveredTransitions = eventsWithCounts.filter { $0.1 == 0 }.map(\.0)
        var lines: [String] = []
        if !covered.isEmpty { lines += line(state.rawValue, covered.joined(separator: " · ")) }
        if !uncoveredTransitions.isEmpty {
            lines += line(
                covered.isEmpty ? state.rawValue : "",
                "not covered: " + uncoveredTransitions.joined(separator: " · ")
            )
        }
        return lines
    }

    // MARK: Parts

    private func line(_ label: String, _ content: String) -> [String] {
        columns.line(label, content)
    }

    private func text(_ lines: [String]) -> String { columns.text(lines) }

    /// Returns the events that are possible at a store for a purchase in this state.
    ///
    /// Includes events that other users caused in the campaign.
    private func events(at store: String, _ state: PurchaseState) -> [String] {
        let reachableEvents = reachableTransitions.transitions[store]?[state] ?? []
        return Set(reachableEvents + coverage.events(at: store, state)).sorted()
    }

    private func transitionCounts(_ store: String) -> (covered: Int, all: Int) {
        let all = PurchaseState.allCases.flatMap { state in
            events(at: store, state).map {
                HistoryCoverage.Feature.transition(store: store, state, $0)
            }
        }
        return (all.count { coverage.count($0) > 0 }, all.count)
    }

    private var coverageShares: String {
        let stores = stores.map { store in
            let (covered, all) = transitionCounts(store)
            return "\(store) \(covered)/\(all)"
        }
        let otherShares = [
            "faults \(coverage.faultedEventCount)",
            "event pairs \(coverage.consecutiveEventPairCount)",
        ]
        return (stores + otherShares).joined(separator: " · ")
    }

    private var uncoveredTransitions: [String] {
        stores.flatMap { store in
            PurchaseState.allCases.flatMap { state in
                (reachableTransitions.transitions[store]?[state] ?? []).filter {
                    coverage.count(.transition(store: store, state, $0)) == 0
                }.map { "\($0) in the state \(state.rawValue) at \(store)" }
            }
        }
    }

    /// The reasons why features of the backend could not be tested, such as a missing probe in the
    /// profile.
    ///
    /// They are printed so that these features are not mistaken for tested ones.
    private var untestedReasons: [String] {
        let features: [Feature] = [
            .users, .subscription, .createsUnknownUsers, .aliases, .separatesSandbox,
            .acceptsEveryStore, .push,
            .restart, .readsSubscriberOnEvent, .register, .purchasely, .login,
        ]
        let missingFeatures = features.filter { !capabilities.features.contains($0) }
            .map { feature in
                profile.skipReason(to: feature)
                    ?? "only a backend that Assay starts can be restarted"
            }
        let unreadFields = [
            "access", "product", "expires", "will-renew", "billing-issue", "refunded",
            "pending-product",
        ].filter { profile.probe(reading: $0) == nil }
        let unmapped =
            unreadFields.isEmpty
            ? [] : ["no probe in the profile reads " + unreadFields.joined(separator: ", ")]
        return missingFeatures + unmapped
    }
}
