internal import Conformance
internal import Exploration
internal import Replay
internal import Reports

/// What a campaign has played of what stores, people and networks can do, for people.
struct CoverageText {
    private let coverage: LifeCoverage
    private let means: Means
    private let profile: Profile
    private let growth: [Campaign.Progress]
    /// How many lives asked for each clause.
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

    /// A few lines: how much of each store's life-cycle was played, and what could not be.
    var summary: String {
        var lines = line("coverage", shares)
        if let first = never.first {
            let more = never.count > 1 ? ", and \(never.count - 1) more; --coverage tells all" : ""
            lines += line("never", "\(first)\(more)")
        }
        return text(lines + limits.flatMap { line("not asked", $0) })
    }

    /// Every transition of every store, with how often it was played, and how much was covered when.
    var whole: String {
        var lines = line("coverage", shares)
        for store in stores {
            let (played, all) = playedCount(store)
            lines += ["", "\(store)  \(played) of \(all)"]
            for state in LineState.allCases {
                lines += events(of: store, state)
            }
        }
        lines += ["", "how events were disturbed"]
        for kind in Disturbance.Kind.allCases {
            let types = coverage.disturbances(kind).map { "\($0.type) \($0.count)" }
            lines += line(kind.rawValue, types.isEmpty ? "never" : types.joined(separator: " · "))
        }
        lines.append("")
        let asked = clauses.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
        lines += line("clauses", asked.isEmpty ? "none" : asked.joined(separator: " · "))
        lines += ["", "how much was covered when"] + columns.grown(growth)
        return text(lines + [""] + limits.flatMap { line("not asked", $0) })
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
                "never: " + never.joined(separator: " · ")
            )
        }
        return lines
    }

    // MARK: Parts

    private func line(_ word: String, _ said: String) -> [String] { columns.line(word, said) }

    private func text(_ lines: [String]) -> String { columns.text(lines) }

    /// What the store lets happen to one person's purchase, and what was played with others' help.
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
        let others = ["disturbed \(coverage.disturbedCount)", "pairs \(coverage.pairCount)"]
        return (stores + others).joined(separator: " · ")
    }

    private var never: [String] {
        stores.flatMap { store in
            LineState.allCases.flatMap { state in
                (atlas.transitions[store]?[state] ?? []).filter {
                    coverage.count(.transition(store: store, state, $0)) == 0
                }.map { "\($0) of what is \(state.rawValue) at \(store)" }
            }
        }
    }

    /// What the profile leaves out, so that nobody takes it for proven.
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
            ? [] : ["no probe maps " + fields.joined(separator: ", ")]
        return missing + unmapped
    }
}
