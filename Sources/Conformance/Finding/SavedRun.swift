/// A run that was written down completely, so that it can be judged again without the backend.
///
/// One JSON text a line: a head, then a line for every case with all that its verdict rests on.
/// Secrets are replaced by marks before anything is written: see `SavedRun.lines`.
package struct SavedRun: Sendable {
    /// What all cases share.
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
        package var isWhole: Bool
        package var isInterrupted: Bool
        package var shard: String?
        package var notes: [String]
        package var profile: Profile

        package init(_ report: RunReport, profile: Profile) {
            assay = 1
            kind = "run"
            version = report.version
            suite = report.suite
            seed = report.seed
            target = report.target
            began = report.began
            seconds = report.seconds
            jobs = report.jobs
            isWhole = report.isWhole
            isInterrupted = report.isInterrupted
            shard = report.shard
            notes = report.notes
            self.profile = profile
        }
    }

    /// One case: its evidence, or the reason why there is none.
    package struct Entry: Codable, Sendable {
        package var contract: Contract
        package var verdict: Verdict
        package var seconds: Double
        package var note: String?
        package var isDeclaredUnsupported: Bool
        package var overlap: Int?
        package var runCount: Int?
        package var plan: CasePlan?
        package var subject: RunRecord?
        package var twins: [RunRecord]?
        package var sight: RunRecord.Sight?
        /// Findings of a case without evidence.
        package var findings: [Finding]?

        package init(_ result: CaseResult) {
            contract = result.contract
            verdict = result.verdict
            seconds = result.seconds
            note = result.note
            isDeclaredUnsupported = result.isDeclaredUnsupported
            overlap = result.overlap
            runCount = result.runCount
            plan = result.evidence?.plan
            subject = result.evidence?.subject
            twins = result.evidence?.twins
            sight = result.evidence?.sight
            findings = result.evidence == nil ? result.findings : nil
        }

        /// What the verdict rests on; nil when the entry holds none.
        package func evidence(_ profile: Profile) -> CaseEvidence? {
            guard let plan, let subject, let sight else { return nil }
            return CaseEvidence(
                plan: plan,
                subject: subject,
                twins: twins ?? [],
                profile: profile,
                sight: sight
            )
        }
    }

    /// A file that is not a saved run.
    package struct ReadError: Error, Hashable, Sendable, CustomStringConvertible {
        package let line: Int
        package let problem: String

        package var description: String { "line \(line): \(problem)" }
    }

    package let head: Head
    package let entries: [Entry]

    // MARK: Reading

    /// Reads the lines; the last one may have been cut off.
    ///
    /// - Parameters:
    ///   - text: What `lines` wrote, now or years ago.
    ///   - understood: Fills in what the provider of an exchange was asked for.
    /// - Throws: `ReadError` that names the line.
    package init(
        parsing text: String,
        understood: (Exchange) -> Exchange = { $0 }
    ) throws(ReadError) {
        let lines = text.split(separator: "\n")
        func read<Value: Decodable>(_ index: Int, as type: Value.Type) throws(ReadError) -> Value {
            do {
                return try JSONValue(parsing: Array(lines[index].utf8), options: Self.options)
                    .decoded(as: type)
            } catch {
                throw ReadError(line: index + 1, problem: "\(error)")
            }
        }
        guard let first = lines.first, first.contains("\"kind\":\"run\"") else {
            throw ReadError(line: 1, problem: "this was not written by 'assay verify --save'")
        }
        head = try read(0, as: Head.self)
        guard head.assay == 1 else {
            throw ReadError(line: 1, problem: "it was written by another version of assay")
        }
        var entries: [Entry] = []
        for index in lines.indices.dropFirst() {
            var entry = try read(index, as: Entry.self)
            func again(_ record: RunRecord) -> RunRecord {
                var record = record
                record.exchanges = record.exchanges.map(understood)
                return record
            }
            entry.subject = entry.subject.map(again)
            entry.twins = entry.twins?.map(again)
            entries.append(entry)
        }
        self.entries = entries
    }

    // MARK: Judging

    /// The report of the run, judged now by today's rules.
    package func judged(knownFailures: KnownFailures) -> RunReport {
        let cases = entries.map { entry -> CaseResult in
            var result = CaseResult(
                contract: entry.contract,
                verdict: entry.verdict,
                findings: entry.findings ?? [],
                seconds: entry.seconds,
                note: entry.note,
                isDeclaredUnsupported: entry.isDeclaredUnsupported,
                overlap: entry.overlap
            )
            result.runCount = entry.runCount
            guard let evidence = entry.evidence(head.profile) else { return result }
            let subject = evidence.subject
            (result.verdict, result.findings) = Judge.judge(evidence)
            result.volatile = StateComparison(evidence).volatile
            result.settling = subject.settling
            result.base = subject.base
            if result.verdict != .passed { result.timeline = subject.exchanges }
            let (verdict, note) = knownFailures.verdict(
                result.verdict,
                of: entry.contract.caseID,
                findings: result.findings
            )
            result.verdict = verdict
            result.note =
                note ?? (verdict == .inconclusive ? result.findings.first?.actual : entry.note)
            return result
        }
        var report = RunReport(
            version: head.version,
            suite: head.suite,
            seed: head.seed,
            target: head.target,
            began: head.began,
            seconds: head.seconds,
            jobs: head.jobs,
            cases: cases,
            isInterrupted: head.isInterrupted,
            notes: head.notes
        )
        report.isWhole = head.isWhole
        report.shard = head.shard
        return report
    }
}
