internal import Conformance
internal import Exploration
internal import Replay
internal import Reports

/// The coverage of an `assay explore` campaign as text: the tested purchase transitions of each
/// store, the faults and the clauses.
struct CoverageText {
    private let coverage: LifeCoverage
    private let means: Means
    private let profile: Profile
    private let growth: [Campaign.Progress]
    /// The number of generated histories that tested each clause, by the name of the clause.
    private let clauses: [String: Int]
    private let stores: [String]
    private let atlas: LifeAtlas
    private let columns = TextColumns()

    init(
        _ outcome: Campaign.Outcome,
        _ means: Means,
        unmapped profile: Profile
    ) {
        coverage = outcome.coverage
        growth = outcome.growth
        clauses = outcome.clauses
        self.means = means
        self.profile = profile
        stores = LifeGenerator.stores(means)
        atlas = LifeAtlas(stores: stores)
    }

    /// A short summary: the number of tested purchase transitions of each store, and the features
    /// of the backend that could not be tested.
    var summary: String {
        var lines = line("coverage", shares)
        if let first = never.first {
            let more = never.count > 1 ? ", and \(never.count - 1) more; --coverage lists all" : ""
            lines += line("not covered", "\(first)\(more)")
        }
        return text(lines + limits.flatMap { line("not tested", $0) })
    }

    /// The complete coverage: every purchase transition of every store with its count, the faults,
    /// the clauses, and the coverage over time.
    var whole: String {
        var lines = line("coverage", shares)
        for store in stores {
            let (played, all) = playedCount(store)
            lines += ["", "\(store)  \(played) of \(all) transitions"]
            for state in LineState.allCases {
                lines += events(of: store, state)
            }
        }
        lines += ["", "faults, by event type"]
        for kind in Disturbance.Kind.allCases {
            let types = coverage.disturbances(kind).map { "\($0.type) \($0.count)" }
            lines += line(kind.rawValue, types.isEmpty ? "none" : types.joined(separator: " · "))
        }
        lines.append("")
        let asked = clauses.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
        lines += line("clauses", asked.isEmpty ? "none" : asked.joined(separator: " · "))
        lines += ["", "coverage over time"] + columns.grown(growth)
        return text(lines + [""] + limits.flatMap { line("not tested", $0) })
    }

    private func events(of store: String, _ state: LineState) -> [String] {
        let events = events(at: store, state)
        let counted = events.map {
            ($0, coverage.count(.transition(store: store, state, $0)))
        }
        let played = counted.filter { $0.1 > 0 }.map { "\($0.0) \($0.1)" }
        let never = counted.filter { $0.1 == 0 }.map(\.0)
        var lines: [String] = []
        if !played.isEmpty { lines += line(state.rawValue, played.joined(separator: " · ")) }
        if !never.isEmpty {
            lines += line(
                played.isEmpty ? state.rawValue : "",
                "not covered: " + never.joined(separator: " · ")
            )
        }
        return lines
    }

    // MARK: Parts

    private func line(_ word: String, _ said: String) -> [String] { columns.line(word, said) }

    private func text(_ lines: [String]) -> String { columns.text(lines) }

    /// Returns the events that are possible at a store for a purchase in this state.
    ///
    /// Includes events that other users caused in the campaign.
    private func events(at store: String, _ state: LineState) -> [String] {
        let known = atlas.transitions[store]?[state] ?? []
        return Set(known + coverage.told(at: store, state)).sorted()
    }

    private func playedCount(_ store: String) -> (played: Int, all: Int) {
        let all = LineState.allCases.flatMap { state in
            events(at: store, state).map {
                LifeCoverage.Feature.transition(store: store, state, $0)
            }
        }
        return (all.count { coverage.count($0) > 0 }, all.count)
    }

    private var shares: String {
        let stores = stores.map { store in
            let (played, all) = playedCount(store)
            return "\(store) \(played)/\(all)"
        }
        let others = ["faults \(coverage.disturbedCount)", "event pairs \(coverage.pairCount)"]
        return (stores + others).joined(separator: " · ")
    }

    private var never: [String] {
        stores.flatMap { store in
            LineState.allCases.flatMap { state in
                (atlas.transitions[store]?[state] ?? []).filter {
                    coverage.count(.transition(store: store, state, $0)) == 0
                }.map { "\($0) in the state \(state.rawValue) at \(store)" }
            }
        }
    }

    /// The reasons why features of the backend could not be tested, such as a missing probe in the
    /// profile.
    ///
    /// They are printed so that these features are not mistaken for tested ones.
    private var limits: [String] {
        let features: [Feature] = [
            .users, .subscription, .safetyNet, .aliases, .sandboxApart, .everyStore, .push,
            .restart, .subscriberReads, .register, .purchasely, .login,
        ]
        let missing = features.filter { !means.features.contains($0) }
            .map { feature in
                profile.obstacle(to: feature) ?? "only a backend that Assay starts can be restarted"
            }
        let fields = [
            "access", "product", "expires", "will-renew", "billing-issue", "refunded",
            "pending-product",
        ].filter { profile.probe(reading: $0) == nil }
        let unmapped =
            fields.isEmpty
            ? [] : ["no probe in the profile reads " + fields.joined(separator: ", ")]
        return missing + unmapped
    }
}
