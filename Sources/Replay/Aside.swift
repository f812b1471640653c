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

    /// Effects that named nobody of this run, when the backend serves nobody else.
    ///
    /// Before a backend that was running already they may be somebody else's, and are only noted.
    ///
    /// - Parameter isForgotten: Whether an id may be of people who were there and are forgotten by now.
    /// - Returns: One case that failed, or none.
    func strayEffects(
        where isForgotten: (String) -> Bool = { _ in false }
    ) -> [CaseResult] {
        guard backend.process != nil else { return [] }
        let nobodys = world.journal.read { $0.exchanges(in: "", by: .backend) }
        let stray = nobodys.filter { exchange in
            let recipients = exchange.effects.flatMap(\.recipients)
            return !exchange.effects.isEmpty && !recipients.contains(where: isForgotten)
        }
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
}
