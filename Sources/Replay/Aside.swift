package import Conformance
internal import FakeServers

/// What every run is judged by beside its cases; no file holds it.
package enum Aside: String, CaseIterable, Sendable {
    case keepsRunning = "run/keeps-running"
    case reachesKnownPeople = "run/reaches-known-people"

    private var title: String {
        switch self {
        case .keepsRunning: "The backend keeps running as long as the suite does"
        case .reachesKnownPeople: "Every push goes to somebody whom an event has named"
        }
    }

    private var clause: String {
        switch self {
        case .keepsRunning: "S-33"
        case .reachesKnownPeople: "O-01"
        }
    }

    package var contract: Contract {
        Contract(
            id: rawValue,
            variant: "",
            title: title,
            clause: clause,
            level: .must,
            source: "clause catalogue, \(clause)",
            needs: [],
            given: [],
            steps: [],
            expectation: Expectation(answers: .statuses([200])),
            location: SourceLocation(path: rawValue, line: 1, column: 1)
        )
    }
}

extension RunExecutor {
    private static let shownMax = 4

    /// Pushes that name no user of this run, as one failed case; empty without such pushes.
    ///
    /// They are findings only where no other source of them exists: the store of a backend that was
    /// running already, or that keeps its data between runs, may hold users of earlier runs.
    ///
    /// - Parameter nonce: The part that every ID of this run contains, where IDs are strings.
    /// - Returns: The failed case, or none.
    func strayEffects(of nonce: String) -> [CaseResult] {
        let stray = effectsOfNoRun.filter { isCharged($0, nonce) }
        guard !stray.isEmpty else { return [] }
        let people = Set(stray.flatMap(\.effects).flatMap(\.recipients)).sorted()
        let shown = people.prefix(Self.shownMax).joined(separator: ", ")
        let finding = Finding(
            .wrongAddress,
            expected: "every push names somebody whom an event has named",
            actual: "\(stray.count) named nobody of this run: "
                + (people.isEmpty ? "no recipient at all" : shown)
                + (people.count > Self.shownMax ? ", …" : ""),
            evidence: stray.prefix(Self.shownMax).map(\.sequence)
        )
        var result = CaseResult(
            contract: Aside.reachesKnownPeople.contract,
            verdict: .failed,
            findings: [finding],
            timeline: stray.prefix(Self.shownMax).map(\.shortened),
            base: base
        )
        // Whichever case led to it, nobody knows.
        result.replays = []
        return [result]
    }

    /// The number of pushes that name no user of this run and that may belong to an earlier one.
    package func unattributedEffectCount(of nonce: String) -> Int {
        effectsOfNoRun.count { !isCharged($0, nonce) }
    }

    private var effectsOfNoRun: [Exchange] {
        world.journal.read { $0.exchanges(in: "", by: .backend) }.filter { !$0.effects.isEmpty }
    }

    /// Whether only the backend can be the reason for a push that names no user of this run.
    private func isCharged(_ exchange: Exchange, _ nonce: String) -> Bool {
        guard backend.process != nil else { return false }
        if profile.start?.hasOwnData ?? true { return true }
        let recipients = exchange.effects.flatMap(\.recipients)
        return recipients.isEmpty || recipients.contains { $0.contains("-\(nonce)-") }
    }
}
