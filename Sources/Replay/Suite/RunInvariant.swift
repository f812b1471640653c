package import Contracts
internal import FakeServers
internal import Judging
internal import Values

/// The run invariants: requirements that hold for the whole run instead of one case.
///
/// Every run checks them, without a contract file.
package enum RunInvariant: String, CaseIterable, Sendable {
    case backendKeepsRunning = "run/keeps-running"
    case pushesReachKnownUsers = "run/reaches-known-people"
    case webhookTakesBursts = "run/takes-bursts"
    case backendProcessesEvents = "run/processes-events"
    case webhookIsProtected = "run/checks-senders"
    case unknownTypesAreAcknowledged = "run/acknowledges-unknown-types"
    case testEventsAreAcknowledged = "run/acknowledges-test-events"

    private var title: String {
        switch self {
        case .backendKeepsRunning: "The backend keeps running during the whole suite"
        case .pushesReachKnownUsers: "Every push goes to a user that an event has named"
        case .webhookTakesBursts:
            "The webhook takes events at the rate at which a provider sends them"
        case .backendProcessesEvents: "Every accepted purchase takes effect"
        case .webhookIsProtected: "The webhook refuses events that prove nothing about their sender"
        case .unknownTypesAreAcknowledged: "The webhook answers 200 to an event of an unknown type"
        case .testEventsAreAcknowledged: "The webhook answers 200 to a test event of the dashboard"
        }
    }

    private var clause: String {
        switch self {
        case .backendKeepsRunning: "S-33"
        case .pushesReachKnownUsers: "O-01"
        case .webhookTakesBursts: "S-07"
        case .backendProcessesEvents: "S-07"
        case .webhookIsProtected: "S-01"
        case .unknownTypesAreAcknowledged: "S-08"
        case .testEventsAreAcknowledged: "S-18"
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
            expectation: Expectation(responses: .statuses([200])),
            location: SourceLocation(path: rawValue, line: 1, column: 1)
        )
    }
}

extension RunExecutor {
    private static let listedItemCountMax = 4

    /// Returns the pushes that name no user of this run, as one failed case; empty if there are
    /// none.
    ///
    /// A push counts only if it cannot belong to a user of an earlier run. A backend that was
    /// already running, or that keeps its data between runs, may still know such users.
    ///
    /// - Parameter nonce: The string that is part of every user ID of this run, unless the IDs are
    ///   numbers.
    /// - Returns: The failed case, or an empty list.
    func strayEffectFailures(of nonce: String) -> [CaseResult] {
        let strayPushes = pushesOutsideRuns.filter { isBackendFault($0, nonce) }
        guard !strayPushes.isEmpty else { return [] }
        let recipientIDs = Set(strayPushes.flatMap(\.effects).flatMap(\.recipients)).sorted()
        let listedRecipients = recipientIDs.prefix(Self.listedItemCountMax).joined(separator: ", ")
        let finding = Finding(
            .wrongRecipient,
            expected: "every push names a user that an event has named",
            actual: "pushes to unknown users: \(strayPushes.count); recipients: "
                + (recipientIDs.isEmpty ? "none" : listedRecipients)
                + (recipientIDs.count > Self.listedItemCountMax ? ", …" : ""),
            evidence: strayPushes.prefix(Self.listedItemCountMax).map(\.sequence)
        )
        var result = CaseResult(
            contract: RunInvariant.pushesReachKnownUsers.contract,
            verdict: .failed,
            findings: [finding],
            timeline: strayPushes.prefix(Self.listedItemCountMax).map(\.shortened),
            base: base
        )
        // The case that caused the push is unknown, so no case is listed for a rerun.
        result.replayedCaseIDs = []
        return [result]
    }

    /// Returns the number of pushes that name no user of this run, and that may belong to users of
    /// an earlier run.
    package func unattributedEffectCount(of nonce: String) -> Int {
        pushesOutsideRuns.count { !isBackendFault($0, nonce) }
    }

    private var pushesOutsideRuns: [Exchange] {
        fakes.journal.read { $0.exchanges(in: "", by: .backend) }.filter { !$0.effects.isEmpty }
    }

    /// Returns whether only a fault of the backend can explain a push that names no user of this
    /// run.
    private func isBackendFault(_ exchange: Exchange, _ nonce: String) -> Bool {
        guard backend.process != nil else { return false }
        if profile.start?.usesRunDataFolder ?? true { return true }
        let recipients = exchange.effects.flatMap(\.recipients)
        return recipients.isEmpty || recipients.contains { $0.contains("-\(nonce)-") }
    }
}
