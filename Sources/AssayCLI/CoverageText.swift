internal import Conformance
internal import Exploration
internal import Reports

/// What a campaign has played of what stores, people and networks can do, for people.
struct CoverageText {
    private let coverage: LifeCoverage
    private let means: Means
    private let profile: Profile
    private let selection: LifeSelection
    private let stores: [String]
    private let atlas: LifeAtlas

    init(
        _ coverage: LifeCoverage,
        _ means: Means,
        unmapped profile: Profile,
        selection: LifeSelection
    ) {
        self.coverage = coverage
        self.means = means
        self.profile = profile
        self.selection = selection
        stores = LifeGenerator.stores(means)
        atlas = LifeAtlas(stores: stores)
    }

    /// A few lines: how much of each store's life-cycle was played, and what could not be.
    var summary: String {
        var lines = ["coverage  " + parts.joined(separator: " · ")]
        if let never = never.first {
            lines.append(
                "never     \(never)"
                    + (self.never.count > 1
                        ? ", and \(self.never.count - 1) more; --coverage tells all" : "")
            )
        }
        lines += limits.map { "not asked \($0)" }
        return wrapped(lines)
    }

    /// Every transition of every store, with how often it was played.
    var whole: String {
        var lines = ["coverage  " + parts.joined(separator: " · ")]
        for store in stores {
            lines.append("")
            lines.append("\(store)  \(share(store))")
            for state in LineState.allCases {
                guard let events = atlas.transitions[store]?[state] else { continue }
                let told = events.map { event in
                    let count = coverage.count(.transition(store: store, state, event))
                    return "\(event) \(count == 0 ? "never" : String(count))"
                }
                lines.append("  \(state.rawValue)  " + told.joined(separator: " · "))
            }
        }
        lines += [""] + disturbed + [""] + limits.map { "not asked \($0)" }
        return wrapped(lines)
    }

    // MARK: Parts

    private func playedCount(_ store: String) -> (played: Int, all: Int) {
        let all = (atlas.transitions[store] ?? [:]).flatMap { state, events in
            events.map { LifeCoverage.Feature.transition(store: store, state, $0) }
        }
        return (all.count { coverage.count($0) > 0 }, all.count)
    }

    private func share(_ store: String) -> String {
        let (played, all) = playedCount(store)
        return "\(played) of \(all)"
    }

    private var parts: [String] {
        stores.map { store in
            let (played, all) = playedCount(store)
            return "\(store) \(played)/\(all)"
        } + ["disturbed \(coverage.disturbedCount)", "pairs \(coverage.pairCount)"]
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

    private var disturbed: [String] {
        Disturbance.kinds.map { kind in
            "\(kind)  "
                + coverage.disturbances(kind).map { "\($0.type) \($0.count)" }
                .joined(separator: " · ")
        }
    }

    /// What the profile leaves out, so that nobody takes it for proven.
    private var limits: [String] {
        let features: [Feature] = [
            .users, .subscription, .safetyNet, .aliases, .sandboxApart, .everyStore, .push,
            .restart,
            .subscriberReads, .register,
        ]
        let missing = features.filter { !means.features.contains($0) }
            .map { feature in
                profile.obstacle(to: feature) ?? "only a backend that Assay starts can be restarted"
            }
        let fields = ["access", "product", "expires", "will-renew", "billing-issue", "refunded"]
            .filter { profile.probe(reading: $0) == nil }
        let unmapped =
            fields.isEmpty
            ? [] : ["no probe maps " + fields.joined(separator: ", ")]
        return missing + unmapped
    }

    private func wrapped(_ lines: [String]) -> String {
        let width = Terminal.style().width
        return lines.flatMap { line in
            line.isEmpty
                ? [""]
                : line.wrapped(width - 10).enumerated().map { $0 == 0 ? $1 : "          " + $1 }
        }.joined(separator: "\n") + "\n"
    }
}
