internal import Conformance
internal import FakeServers

/// What of this backend can be seen from outside, and how fast, learned by two plain purchases.
struct Calibration {
    static let blind = RunRecord.Sight(
        seesEffects: false,
        seesState: false,
        latency: .milliseconds(5)
    )
    /// So long each purchase is waited for.
    static let wait: Duration = .seconds(3)

    let executor: RunExecutor
    let nonce: String

    /// The namespaces of both purchases.
    var names: [String] { ["c1", "c2"].map { "\(nonce)-\($0)" } }

    func sight() async -> RunRecord.Sight {
        let wanted = RunRecord.Sight(
            seesEffects: !executor.profile.unsupported.contains(.push),
            seesState: !executor.profile.probes.isEmpty,
            latency: .zero
        )
        guard wanted.seesEffects || wanted.seesState else { return Self.blind }
        let sentinel = Sentinel(run: executor)
        // The first one pays for cold code; the second tells how long things take. What the first
        // has not shown may come late, so the second is waited for as long.
        guard let first = await sentinel.see(names[0], wait: Self.wait, wanted) else {
            var blind = Self.blind
            blind.plainAnswer = answer()
            return blind
        }
        var sight = await sentinel.see(names[1], wait: Self.wait, wanted) ?? first
        sight.readsSubscribers = sight.readsSubscribers || first.readsSubscribers
        if wanted.seesEffects, !sight.seesEffects, let late = lateness() {
            sight.seesEffects = true
            sight.latency = max(sight.latency, late)
        }
        return sight
    }

    /// What the backend said to the first purchase.
    private func answer() -> String? {
        let exchanges = executor.world.journal.read { $0.exchanges(in: names[0]) }
        return exchanges.first { $0.purpose == .sentinel }?.response?.excerpt
    }

    /// How long after its purchase a first effect came; nil while none has.
    func lateness() -> Duration? {
        for name in names {
            let exchanges = executor.world.journal.read { $0.exchanges(in: name) }
            guard let purchase = exchanges.first(where: { $0.purpose == .sentinel }),
                let effect = exchanges.first(where: { !$0.effects.isEmpty })
            else { continue }
            return .microseconds(effect.invoked - purchase.invoked)
        }
        return nil
    }
}

extension HTTPMessage.Response {
    /// The status, and how the body begins: the reason often stands there.
    var excerpt: String {
        let text = String(decoding: body.prefix(160), as: UTF8.self)
        return text.isEmpty ? "\(status)" : "\(status) \(text)"
    }
}
