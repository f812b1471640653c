internal import Contracts
package import Redaction
package import Values

/// The result of a whole run, from which every report is generated.
package struct RunReport: Hashable, Sendable {
    package var version: String
    /// The digest of the selected contracts.
    package var suite: String
    package var seed: String
    package var target: String
    package var began: Instant
    package var seconds: Double
    package var jobs: Int
    package var cases: [CaseResult]
    /// Whether the run was stopped before every selected case had run.
    package var isInterrupted: Bool
    /// Notes for readers about the run as a whole, not about one case.
    package var notes: [String]
    /// Whether every contract of the suite was selected, so that the run can give the backend a
    /// grade.
    package var coversWholeSuite = false
    /// The shard of a run that was split, such as `2/3`; nil for an undivided run.
    package var shard: String?
    /// Whether the run's time limit ended before every case had run.
    package var hasTimedOut = false
    /// The reasons why no case was run, such as a backend that does not start; empty when cases
    /// were run.
    package var skipReasons: [String] = []
    /// The seconds that all instances of the backend together spent handling requests; nil when not
    /// measured.
    package var backendSeconds: Double?
    /// The number of backend instances (separate processes) that the run used.
    package var backendCount = 1
    /// The commit of the backend's source code, in 12 hexadecimal digits; nil when it is not known.
    package var commit: String?
    /// The secrets that the profile declares in addition to the built-in tables; no report may
    /// contain them.
    package var declared = SecretDeclaration()

    package init(
        version: String,
        suite: String,
        seed: String,
        target: String,
        began: Instant,
        seconds: Double,
        jobs: Int,
        cases: [CaseResult],
        isInterrupted: Bool,
        notes: [String] = []
    ) {
        self.version = version
        self.suite = suite
        self.seed = seed
        self.target = target
        self.began = began
        self.seconds = seconds
        self.jobs = jobs
        self.cases = cases
        self.isInterrupted = isInterrupted
        self.notes = notes
    }

    package var scorecard: Scorecard {
        Scorecard(cases, coversWholeSuite: coversWholeSuite && !isInterrupted)
    }

    package func count(_ outcome: CaseOutcome) -> Int {
        cases.count { $0.outcome == outcome }
    }

    /// The exit code of the `assay` process, as documented in section 6 of the architecture page.
    package var exitCode: Int32 {
        if isInterrupted { return 130 }
        if !skipReasons.isEmpty { return 6 }
        if cases.contains(where: \.outcome.isFailure) { return 1 }
        return hasTimedOut || cases.contains(where: \.outcome.isIncomplete) ? 5 : 0
    }
}

extension RunReport {
    /// The notes of the run, with remarks about cases that passed only after a long wait, about kills
    /// that came too late to interrupt a delivery, and about runs that were discarded because the
    /// machine was too busy.
    package var notesWithSummaries: [String] {
        [longWaitSummary].compactMap(\.self) + notes
            + [killSummary, busyRunSummary].compactMap(\.self)
    }

    /// A remark about cases whose effects came late, but before the end of the settle timeout.
    ///
    /// Another mechanism of the backend may have corrected what the event should have caused.
    private var longWaitSummary: String? {
        let slowCases = cases.filter(\.neededLongWait)
        guard let first = slowCases.first else { return nil }
        let subject = slowCases.count == 1 ? "1 case" : "\(slowCases.count) cases"
        return
            "\(subject) passed only after a long wait, such as \(first.contract.caseID); if this is "
            + "not by design, check how the backend handles the events of the case"
    }

    private var killSummary: String? {
        let killOutcomes = cases.compactMap(\.didKillInterruptDelivery)
        let interruptingKillCount = killOutcomes.count { $0 }
        guard interruptingKillCount < killOutcomes.count else { return nil }
        return
            "\(interruptingKillCount) of \(killOutcomes.count) kills of the backend interrupted a delivery; "
            + "the others came after the response"
    }

    private var busyRunSummary: String? {
        let caseCount = cases.count { $0.busyRunCount > 0 }
        guard caseCount > 0 else { return nil }
        let runCount = cases.reduce(0) { $0 + $1.busyRunCount }
        return "this machine was too busy for \(runCount) run\(runCount == 1 ? "" : "s") of "
            + "\(caseCount) case\(caseCount == 1 ? "" : "s"), which ran again"
    }

    /// Reports the golden contracts (distilled from recordings) that are older than their
    /// `max-age`.
    ///
    /// Without `isError`, a note lists these contracts. With `isError`, those that passed become
    /// inconclusive instead.
    package mutating func reportExpiredContracts(at now: Instant, isError: Bool) {
        let expiredIndices = cases.indices.filter { index in
            cases[index].contract.provenance?.isExpired(at: now) ?? false
        }
        guard !expiredIndices.isEmpty else { return }
        guard isError else {
            let names = expiredIndices.prefix(3).map { cases[$0].contract.caseID }.joined(
                separator: ", "
            )
            notes.append(
                "golden contracts older than their max-age: \(expiredIndices.count) (\(names)"
                    + (expiredIndices.count > 3 ? ", …)" : ")")
            )
            return
        }
        for index in expiredIndices where cases[index].verdict == .passed {
            let provenance = cases[index].contract.provenance
            let recordingDate =
                provenance.map { String($0.recorded.description.prefix(10)) } ?? ""
            let finding = Finding(
                .contractExpired,
                expected: "a recording no older than "
                    + (provenance?.ageMax.map(\.unsignedText) ?? ""),
                actual: "recorded \(recordingDate)",
                location: provenance?.location
            )
            cases[index].verdict = .inconclusive
            cases[index].findings = [finding]
            cases[index].note = finding.actual
        }
    }

    /// Joins the reports of a run that was split into shards, with the cases in the order of the
    /// suite; returns nil for an empty array.
    package static func joined(_ shardReports: [RunReport]) -> RunReport? {
        guard var joinedReport = shardReports.first else { return nil }
        // Contracts are ordered by their IDs, and all cases of one contract are in the same report.
        var resultsByContract: [String: [CaseResult]] = [:]
        for result in shardReports.flatMap(\.cases) {
            resultsByContract[result.contract.id, default: []].append(result)
        }
        joinedReport.cases = resultsByContract.sorted { $0.key < $1.key }.flatMap(\.value)
        joinedReport.seconds = shardReports.map(\.seconds).reduce(0, +)
        joinedReport.began = shardReports.map(\.began).min() ?? joinedReport.began
        joinedReport.isInterrupted = shardReports.contains(where: \.isInterrupted)
        joinedReport.hasTimedOut = shardReports.contains(where: \.hasTimedOut)
        joinedReport.shard = nil
        var seeds: [String] = []
        var notes: [String] = []
        for shardReport in shardReports {
            if !seeds.contains(shardReport.seed) { seeds.append(shardReport.seed) }
            for note in shardReport.notes where !notes.contains(note) { notes.append(note) }
            for skipReason in shardReport.skipReasons
            where !joinedReport.skipReasons.contains(skipReason) {
                joinedReport.skipReasons.append(skipReason)
            }
        }
        joinedReport.seed = seeds.joined(separator: ",")
        joinedReport.notes = notes
        return joinedReport
    }
}
