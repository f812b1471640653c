/// The outcome of a whole run, from which every report is made.
package struct RunReport: Hashable, Sendable {
    package var version: String
    /// Digest of the contracts that were selected.
    package var suite: String
    package var seed: String
    package var target: String
    package var began: Instant
    package var seconds: Double
    package var jobs: Int
    package var cases: [CaseResult]
    /// The run was stopped before every selected case had run.
    package var isInterrupted: Bool
    /// Facts about the run that no case owns, for people.
    package var notes: [String]
    /// Every contract of the suite was selected, so that the run says how good the backend is.
    package var isWhole = false
    /// `2/3` when this is a part of a run that was cut.
    package var shard: String?
    /// The time that was set for it was over before every case had run.
    package var isOutOfTime = false
    /// Why no case was played: reasons that would have ended all of them alike.
    package var obstacles: [String] = []
    /// So long the backends had requests to answer, added up; nil where nobody looked.
    package var backendSeconds: Double?
    /// How many backends there were.
    package var backendCount = 1
    /// What is secret beside the tables, and must reach no report.
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

    package var standing: Standing { Standing(cases, isWhole: isWhole && !isInterrupted) }

    package func count(_ verdict: Verdict) -> Int {
        cases.count { $0.verdict == verdict }
    }

    /// The documented exit code of the architecture, section 6.
    package var exitCode: Int32 {
        if isInterrupted { return 130 }
        if !obstacles.isEmpty { return 6 }
        if isOutOfTime, count(.failed) + count(.unexpectedPass) == 0 { return 5 }
        if count(.failed) + count(.unexpectedPass) > 0 { return 1 }
        if count(.inconclusive) > 0 { return 5 }
        if cases.contains(where: { $0.verdict == .notRun && !$0.isDeclaredUnsupported }) {
            return 5
        }
        return 0
    }
}

extension RunReport {
    /// The notes, and how many of the kills interrupted what they were to interrupt.
    package var remarks: [String] {
        let kills = cases.compactMap(\.killHits)
        let hits = kills.count { $0 }
        guard hits < kills.count else { return notes }
        return notes + [
            "\(hits) of \(kills.count) kills came while it worked, the rest after its answer"
        ]
    }

    /// Says which golden contracts are older than they may be: in a note, or as cases that prove
    /// nothing any more.
    package mutating func expire(at now: Instant, isError: Bool) {
        let old = cases.indices.filter { index in
            cases[index].contract.provenance?.isExpired(at: now) ?? false
        }
        guard !old.isEmpty else { return }
        guard isError else {
            let names = old.prefix(3).map { cases[$0].contract.caseID }.joined(separator: ", ")
            notes.append(
                "\(old.count) golden contracts are older than their max-age: \(names)"
                    + (old.count > 3 ? ", …" : "")
            )
            return
        }
        for index in old where cases[index].verdict == .passed {
            let provenance = cases[index].contract.provenance
            let recorded = provenance.map { String($0.recorded.description.prefix(10)) } ?? ""
            let finding = Finding(
                .expired,
                expected: "a recording no older than "
                    + (provenance?.ageMax.map(\.unsignedText) ?? ""),
                actual: "recorded \(recorded)",
                location: provenance?.location
            )
            cases[index].verdict = .inconclusive
            cases[index].findings = [finding]
            cases[index].note = finding.actual
        }
    }

    /// The parts of one run as that run, its cases in the order of the suite; nil for no parts.
    package static func joined(_ parts: [RunReport]) -> RunReport? {
        guard var whole = parts.first else { return nil }
        // Contracts are ordered by their ids, and all cases of one stand in one part.
        var byContract: [String: [CaseResult]] = [:]
        for result in parts.flatMap(\.cases) {
            byContract[result.contract.id, default: []].append(result)
        }
        whole.cases = byContract.sorted { $0.key < $1.key }.flatMap(\.value)
        whole.seconds = parts.map(\.seconds).reduce(0, +)
        whole.began = parts.map(\.began).min() ?? whole.began
        whole.isInterrupted = parts.contains(where: \.isInterrupted)
        whole.isOutOfTime = parts.contains(where: \.isOutOfTime)
        whole.shard = nil
        var seeds: [String] = []
        var notes: [String] = []
        for part in parts {
            if !seeds.contains(part.seed) { seeds.append(part.seed) }
            for note in part.notes where !notes.contains(note) { notes.append(note) }
            for obstacle in part.obstacles where !whole.obstacles.contains(obstacle) {
                whole.obstacles.append(obstacle)
            }
        }
        whole.seed = seeds.joined(separator: ",")
        whole.notes = notes
        return whole
    }
}
