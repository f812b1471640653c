package import Contracts
package import Values

/// A complete record of a run, so that the run can be judged again without the backend.
///
/// Each line of the file is a JSON value. The first line is the head; every other line contains one
/// case with the evidence for its verdict. Lines are written as cases finish. When the run is over,
/// the whole file is written again with the cases in order. Secrets are replaced by marks before
/// anything is written: see `SavedRun.lines`.
package struct SavedRun: Sendable {
    /// The first line of a saved run, with the facts that all its cases share.
    package struct Head: Codable, Sendable {
        package var assay: Int
        package var kind: String
        package var version: String
        package var suite: String
        package var seed: String
        package var target: String
        package var began: Instant
        package var seconds: Double
        package var jobs: Int
        package var coversWholeSuite: Bool
        package var isInterrupted: Bool
        package var shard: String?
        package var notes: [String]
        package var profile: Profile
        /// The number of case lines after the head; nil in files of older versions, which did not
        /// store it.
        package var caseCount: Int?
        /// Whether the run was still going on when the head was written.
        package var isRunning: Bool?
        /// The IDs of all cases of an unfinished run; nil for a finished run, and when the cases
        /// are generated during the run.
        package var planned: [String]?

        package init(_ report: RunReport, profile: Profile) {
            assay = 3
            kind = "run"
            version = report.version
            suite = report.suite
            seed = report.seed
            target = report.target
            began = report.began
            seconds = report.seconds
            jobs = report.jobs
            coversWholeSuite = report.coversWholeSuite
            isInterrupted = report.isInterrupted
            shard = report.shard
            notes = report.notes
            self.profile = profile
            caseCount = report.cases.count
        }
    }

    /// The line of one case in a saved run, with the evidence for its verdict or, without evidence,
    /// with its findings.
    package struct Entry: Codable, Sendable {
        package var contract: Contract
        package var verdict: Verdict
        package var seconds: Double
        package var note: String?
        package var isDeclaredUnsupported: Bool
        package var overlap: Int?
        package var runCount: Int?
        /// Whether the case passed only after a long wait; nil means no.
        package var neededLongWait: Bool?
        package var plan: CasePlan?
        package var subject: RunRecord?
        package var baselines: [RunRecord]?
        package var observability: RunRecord.Observability?
        /// The findings of the case when the entry contains no evidence; otherwise nil.
        package var findings: [Finding]?
        /// The exchanges of the case when the entry contains no evidence and the case did not pass;
        /// otherwise nil, as in files of older versions.
        package var timeline: [Exchange]?
        /// The time that the offsets of `timeline` start from; nil without a timeline.
        package var base: Instant?
        /// The output of the backend during the case; nil if the backend wrote none, and in files of
        /// older versions.
        package var backendOutput: String?

        package init(_ result: CaseResult) {
            contract = result.contract
            verdict = result.verdict
            seconds = result.seconds
            note = result.note
            isDeclaredUnsupported = result.isDeclaredUnsupported
            overlap = result.overlap
            runCount = result.runCount
            neededLongWait = result.neededLongWait ? true : nil
            plan = result.evidence?.plan
            subject = result.evidence?.subject
            baselines = result.evidence?.baselines
            observability = result.evidence?.observability
            findings = result.evidence == nil ? result.findings : nil
            if result.evidence == nil, !result.timeline.isEmpty {
                (timeline, base) = (result.timeline, result.base)
            }
            backendOutput = result.backendOutput
        }

        /// Judges the evidence of the case; returns nil when the entry contains none.
        package func judgment(_ profile: Profile) -> CaseJudgment? {
            guard let plan, let subject, let observability else { return nil }
            return CaseJudgment(
                CaseEvidence(
                    plan: plan,
                    subject: subject,
                    baselines: baselines ?? [],
                    profile: profile,
                    observability: observability
                )
            )
        }
    }

    /// An error for a file that is not a saved run.
    package struct ReadError: Error, Hashable, Sendable, CustomStringConvertible {
        package let line: Int
        package let problem: String

        package var description: String { "line \(line): \(problem)" }
    }

    package let head: Head
    package let entries: [Entry]
    /// A message that says where the file ends early and which cases are missing; nil when the file
    /// is complete.
    package let truncationMessage: String?

    // MARK: Reading

    /// Parses the lines of a saved run.
    ///
    /// The last line may be truncated; the run is then reported as interrupted.
    ///
    /// - Parameters:
    ///   - text: The contents of the file, written by this or an older version of Assay.
    ///   - recognizingCall: Returns an exchange with its `call` filled in: the provider operation that
    ///     its request asks for.
    /// - Throws: `ReadError` with the number of the line; a truncated head is always an error.
    package init(
        parsing text: String,
        recognizingCall: (Exchange) -> Exchange = { $0 }
    ) throws(ReadError) {
        var lines = text.exactLines.enumerated().map { index, text in
            FileLine(number: index + 1, text: text)
        }.filter { !$0.text.isEmpty }
        guard let first = lines.first, first.text.contains("\"kind\":\"run\"") else {
            throw ReadError(
                line: 1,
                problem: "this file was not written by '--save' of 'assay verify', 'assay app' or "
                    + "'assay explore'"
            )
        }
        head = try first.decoded(as: Head.self)
        guard head.assay == 3 else {
            throw ReadError(
                line: 1,
                problem: "this file was written by an incompatible version of Assay"
            )
        }
        var truncatedLine: FileLine?
        if let last = lines.last, lines.count > 1,
            last.isTruncated(lacksFinalNewline: text.utf8.last != 10)
        {
            truncatedLine = lines.removeLast()
        }
        var entries: [Entry] = []
        for line in lines.dropFirst() {
            entries.append(try line.decoded(as: Entry.self).recognizingCall(by: recognizingCall))
        }
        if head.isRunning == true { entries = Self.last(of: entries, in: head.planned ?? []) }
        self.entries = entries
        let expectedCaseCount = head.caseCount ?? 0
        let truncationDescription: String? =
            if let truncatedLine {
                "the file is cut off in line \(truncatedLine.number)"
            } else if head.isRunning == true {
                "the run did not finish"
            } else if entries.count < expectedCaseCount {
                "the file is cut off after line \(entries.count + 1)"
            } else {
                nil
            }
        let count = head.caseCount.map { "\(entries.count) of \($0)" }
        let missingCaseList = Self.missingCaseList(entries, of: head.planned ?? [])
        truncationMessage = truncationDescription.map {
            $0 + "; cases in the file: \(count ?? "\(entries.count)")" + missingCaseList
        }
    }

    /// Returns the last entry of each case in planned order; a case that was run again has two
    /// entries.
    private static func last(of entries: [Entry], in planned: [String]) -> [Entry] {
        var plannedIndices: [String: Int] = [:]
        for (index, id) in planned.enumerated() { plannedIndices[id] = index }
        var last: [String: Entry] = [:]
        for entry in entries { last[entry.contract.caseID] = entry }
        return last.values.sorted {
            let (first, second) = ($0.contract.caseID, $1.contract.caseID)
            let plannedPositions = (
                plannedIndices[first] ?? planned.count, plannedIndices[second] ?? planned.count
            )
            return plannedPositions.0 == plannedPositions.1
                ? first < second : plannedPositions.0 < plannedPositions.1
        }
    }

    /// Returns a phrase with the planned cases that have no line in the file; empty when none is
    /// missing.
    ///
    /// The phrase contains the IDs of the first `listedMissingCaseMax` missing cases, and the
    /// number of the others.
    private static func missingCaseList(_ entries: [Entry], of planned: [String]) -> String {
        let foundCaseIDs = Set(entries.map(\.contract.caseID))
        let missingCaseList = planned.filter { !foundCaseIDs.contains($0) }
        guard !missingCaseList.isEmpty else { return "" }
        let unlistedCaseCount = missingCaseList.count - listedMissingCaseMax
        return "; missing: " + missingCaseList.prefix(listedMissingCaseMax).joined(separator: ", ")
            + (unlistedCaseCount > 0 ? " and \(unlistedCaseCount) more" : "")
    }

    private static let listedMissingCaseMax = 8

    /// One line of a saved run's file, and its number, counted from 1.
    private struct FileLine {
        let number: Int
        let text: String

        private func parsed() throws(JSONError) -> JSONValue {
            try JSONValue(parsing: Array(text.utf8), options: SavedRun.options)
        }

        func decoded<Value: Decodable>(as type: Value.Type) throws(ReadError) -> Value {
            do {
                return try parsed().decoded(as: type)
            } catch {
                throw ReadError(line: number, problem: "\(error)")
            }
        }

        /// Whether the line is cut off at its end; a line with any other error was modified after
        /// it was written.
        func isTruncated(lacksFinalNewline: Bool) -> Bool {
            do throws(JSONError) {
                _ = try parsed()
                return false
            } catch {
                return lacksFinalNewline || error.problem == .unexpectedEnd
            }
        }
    }

    // MARK: Judging

    /// Judges the saved run again by the current rules and returns its report.
    package func judged(knownFailures: KnownFailures) -> RunReport {
        var report = RunReport(
            version: head.version,
            suite: head.suite,
            seed: head.seed,
            target: head.target,
            began: head.began,
            seconds: head.seconds,
            jobs: head.jobs,
            cases: entries.map { $0.judged(head.profile, knownFailures) },
            isInterrupted: head.isInterrupted || truncationMessage != nil,
            notes: head.notes + (truncationMessage.map { [$0] } ?? [])
        )
        report.coversWholeSuite = head.coversWholeSuite
        report.shard = head.shard
        return report
    }
}

extension SavedRun.Entry {
    /// Returns a copy of the entry in which each exchange has its `call`, the provider operation
    /// that its request asks for.
    fileprivate func recognizingCall(by recognizingCall: (Exchange) -> Exchange) -> SavedRun.Entry {
        func recognizingCalls(_ record: RunRecord) -> RunRecord {
            var record = record
            record.exchanges = record.exchanges.map(recognizingCall)
            return record
        }
        var copy = self
        copy.subject = subject.map(recognizingCalls)
        copy.baselines = baselines?.map(recognizingCalls)
        copy.timeline = timeline?.map(recognizingCall)
        return copy
    }

    /// Returns the result of the case, judged again if the entry contains the evidence of the case;
    /// otherwise the saved result.
    fileprivate func judged(_ profile: Profile, _ knownFailures: KnownFailures) -> CaseResult {
        var result = CaseResult(
            contract: contract,
            verdict: verdict,
            findings: findings ?? [],
            seconds: seconds,
            note: note,
            isDeclaredUnsupported: isDeclaredUnsupported,
            overlap: overlap
        )
        result.runCount = runCount
        result.neededLongWait = neededLongWait ?? false
        result.backendOutput = backendOutput
        if let timeline, let base { (result.timeline, result.base) = (timeline, base) }
        guard let judgment = judgment(profile) else { return result }
        let evidence = judgment.evidence
        let subject = evidence.subject
        (result.verdict, result.findings) = (judgment.verdict, judgment.findings)
        result.volatilePaths = StateComparison(evidence).volatilePaths
        if result.verdict == .passed { result.unobservedChecks = evidence.unobservedChecks }
        result.didKillInterruptDelivery = evidence.didKillInterruptDelivery
        result.settleEvidence = subject.settleEvidence
        result.base = subject.base
        if result.verdict != .passed { result.timeline = subject.exchanges }
        let (verdict, note) = knownFailures.verdict(
            result.verdict,
            of: contract.caseID,
            findings: result.findings
        )
        result.verdict = verdict
        result.note =
            note ?? judgment.inapplicableReason
            ?? (verdict == .inconclusive ? result.findings.first?.actual : self.note)
        result.isDeclaredUnsupported = result.verdict == .notRun
        return result
    }
}
