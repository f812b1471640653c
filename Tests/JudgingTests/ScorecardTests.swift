import Contracts
import Judging
import Providers
import Redaction
import TestSupport
import Testing
import Values

/// What a run says as a whole: exit codes, clauses, grades, lists of known failures, parts.
@Suite("Scorecard and reports")
struct ScorecardTests {
    private func result(
        _ verdict: Verdict,
        clause: String = "S-03",
        id: String = "test/case",
        _ change: (inout CaseResult) -> Void = { _ in }
    ) -> CaseResult {
        var contract = SampleContract.contract()
        contract.clause = clause
        contract.id = id
        var result = CaseResult(contract: contract, verdict: verdict)
        change(&result)
        return result
    }

    private func report(
        _ cases: [CaseResult],
        _ change: (inout RunReport) -> Void = { _ in }
    ) -> RunReport {
        var report = RunReport(of: cases)
        report.seed = "7"
        report.seconds = 2
        change(&report)
        return report
    }

    // MARK: Kills

    @Test func `late kills are counted`() {
        let hit = result(.passed) { $0.didKillInterruptDelivery = true }
        let miss = result(.passed) { $0.didKillInterruptDelivery = false }
        #expect(report([hit, result(.passed)]).notesWithSummaries.isEmpty)
        #expect(
            report([hit, miss, hit]) { $0.notes = ["a"] }.notesWithSummaries == [
                "a",
                "2 of 3 kills of the backend interrupted a delivery; "
                    + "the others came after the response",
            ]
        )
    }

    @Test func `runs on a busy machine are counted`() {
        let busy = result(.passed) { $0.busyRunCount = 2 }
        let once = result(.inconclusive) { $0.busyRunCount = 1 }
        #expect(
            report([once, result(.passed)]).notesWithSummaries == [
                "this machine was too busy for 1 run of 1 case, which ran again"
            ]
        )
        #expect(
            report([busy, once]).notesWithSummaries == [
                "this machine was too busy for 3 runs of 2 cases, which ran again"
            ]
        )
    }

    // MARK: Exit codes

    private static let verdicts: [(Verdict, alone: Int32)] = [
        (.passed, 0), (.failed, 1), (.knownFailure, 0), (.unexpectedPass, 1), (.inconclusive, 5),
        (.notRun, 5),
    ]

    @Test("one case decides the exit code", arguments: verdicts)
    func alone(verdict: Verdict, code: Int32) {
        #expect(report([result(verdict)]).exitCode == code)
        #expect(report([result(verdict), result(.passed)]).exitCode == code)
    }

    @Test("of two cases the worse decides", arguments: verdicts, verdicts)
    func pairs(one: (Verdict, alone: Int32), two: (Verdict, alone: Int32)) {
        let rank: [Int32: Int] = [0: 0, 5: 1, 1: 2]
        let worse = (rank[one.alone] ?? 0) >= (rank[two.alone] ?? 0) ? one.alone : two.alone
        #expect(report([result(one.0), result(two.0)]).exitCode == worse)
    }

    @Test("a stopped run has its own exit code", arguments: Verdict.allCases)
    func stopped(verdict: Verdict) {
        #expect(report([result(verdict)]) { $0.isInterrupted = true }.exitCode == 130)
        let isRed = verdict == .failed || verdict == .unexpectedPass
        let late = report([result(verdict)]) { $0.hasTimedOut = true }
        #expect(late.exitCode == (isRed ? 1 : 5), "time ran out: green would be a lie")
    }

    @Test func `an unsupported feature passes, and so does an empty run`() {
        let declared = result(.notRun) { $0.isDeclaredUnsupported = true }
        #expect(report([declared]).exitCode == 0)
        #expect(report([declared, result(.notRun)]).exitCode == 5)
        #expect(report([]).exitCode == 0)
    }

    // MARK: Clauses

    private static let clauses: [([Verdict], Scorecard.ClauseState)] = [
        ([.passed], .proven), ([.passed, .passed], .proven), ([.failed], .failed),
        ([.passed, .failed], .failed), ([.passed, .knownFailure], .failed),
        ([.passed, .inconclusive], .unproven), ([.inconclusive], .unproven),
        ([.passed, .notRun], .unproven), ([.notRun], .unproven),
        ([.passed, .unexpectedPass], .unproven), ([.failed, .inconclusive], .failed),
    ]

    @Test("a clause is proven if all its cases passed", arguments: clauses)
    func clause(verdicts: [Verdict], state: Scorecard.ClauseState) {
        let scorecard = Scorecard(verdicts.map { result($0) }, coversWholeSuite: true)
        #expect(scorecard.clauses == ["S-03": state])
        #expect(scorecard.count(state) == 1 && scorecard.clauseNames(state) == ["S-03"])
    }

    // MARK: What was not seen

    @Test func `an inconclusive case proves nothing`() {
        let line = "no probe maps 'expires'"
        let blind = result(.passed) { $0.unobservedChecks = [line] }
        #expect(Scorecard([blind], coversWholeSuite: true).clauses == ["S-03": .unproven])
        #expect(Scorecard.unobservedChecks([blind]).map(\.line) == [line])
        #expect(Scorecard.unobservedChecks([blind]).map(\.clauses) == [["S-03"]])
        // Another case of the clause did.
        let both = [blind, result(.passed)]
        #expect(Scorecard(both, coversWholeSuite: true).clauses == ["S-03": .proven])
        #expect(Scorecard.unobservedChecks(both).isEmpty)
        // A clause that is broken is not one that lacks a line of profile.
        #expect(Scorecard.unobservedChecks([blind, result(.failed)]).isEmpty)
    }

    @Test func `an unmapped field is reported with the line that would map it`() {
        var builder = EvidenceBuilder.bought()
        builder.contract.expectation.states = [
            SampleContract.state("access", true), SampleContract.state("expires", 5),
        ]
        #expect(builder.evidence.unobservedChecks.isEmpty)
        builder.contract.expectation.states.append(SampleContract.state("will-renew", false))
        let unobservedChecks = builder.evidence.unobservedChecks
        #expect(unobservedChecks.count == 1)
        #expect(unobservedChecks.first?.contains("no probe maps 'will-renew'") == true)
        #expect(unobservedChecks.first?.contains("will-renew: /…") == true)
    }

    @Test func `comparison cases without a probe prove nothing`() {
        var builder = EvidenceBuilder.compared(mine: { _ in [] }, baselines: { _, _ in [] })
        #expect(builder.evidence.unobservedChecks.isEmpty)
        builder.observability.areProbeChangesObservable = false
        #expect(builder.evidence.unobservedChecks.first?.contains("plain purchase") == true)
        builder.profile.probes = []
        #expect(builder.evidence.unobservedChecks.first?.contains("no probe shows state") == true)
        // Pushes alone were asked about, and seen.
        builder.contract.expectation.compared = [.effects]
        #expect(builder.evidence.unobservedChecks.isEmpty)
        // Fields by name are told by name.
        builder.contract.expectation.compared = [.fields]
        builder.contract.expectation.comparedFields = ["access"]
        #expect(builder.evidence.unobservedChecks.map { $0.contains("'access'") } == [true])
    }

    @Test func `a kill after the response interrupted nothing`() {
        var killed = SampleContract.purchase()
        killed.crash = Crash(signal: .kill, phase: .working)
        var builder = EvidenceBuilder(
            [killed],
            expectation: SampleContract.expectation()
        )
        builder.subject = [EvidenceBuilder.delivery(killed.name, .answerLost(nil))]
        #expect(builder.evidence.didKillInterruptDelivery == true)
        #expect(builder.evidence.unobservedChecks.isEmpty)
        builder.subject = [EvidenceBuilder.delivery(killed.name)]
        #expect(builder.evidence.didKillInterruptDelivery == false)
        #expect(
            builder.evidence.unobservedChecks.first?.contains("the kill interrupted nothing")
                == true
        )
        // To come after the answer, or to be told to end, is what these are for.
        for crash in [
            Crash(signal: .kill, phase: .answered), Crash(signal: .terminate, phase: .working),
        ] {
            killed.crash = crash
            builder.contract.steps = [.deliver(killed)]
            #expect(builder.evidence.didKillInterruptDelivery == nil)
            #expect(builder.evidence.unobservedChecks.isEmpty)
        }
    }

    @Test func `a stop before the first case has its own exit code`() {
        let stopped = report([result(.notRun)]) { $0.skipReasons = ["no webhook"] }
        #expect(stopped.exitCode == 6)
        var interrupted = stopped
        interrupted.isInterrupted = true
        #expect(interrupted.exitCode == 130)
        #expect(RunReport.joined([stopped, stopped])?.skipReasons == ["no webhook"])
    }

    @Test func `a case with a missing feature does not affect its clause`() {
        let missing = result(.notRun) { $0.isDeclaredUnsupported = true }
        #expect(Scorecard([missing], coversWholeSuite: true).clauses == ["S-03": .unproven])
        #expect(
            Scorecard([missing, result(.passed)], coversWholeSuite: true).clauses == [
                "S-03": .proven
            ]
        )
    }

    // MARK: Grades

    private static let retrySchedule = ["S-01", "S-03", "S-04", "S-10"]

    @Test("a grade fails at the first unproven must clause", arguments: 0..<4)
    func grade(broken: Int) {
        for verdict in Verdict.allCases where verdict != .passed {
            let cases = Self.retrySchedule.enumerated().map { index, clause in
                result(index == broken ? verdict : .passed, clause: clause)
            }
            let grade = Scorecard(cases, coversWholeSuite: true).grade
            #expect(grade == Scorecard.Grade.allCases[broken], "\(verdict)")
        }
    }

    @Test func `a grade requires every must clause of it and of the lower grades`() {
        func result(_ clause: String, _ verdict: Verdict, unsupported: Bool = false) -> CaseResult {
            var contract = SampleContract.contract()
            contract.clause = clause
            return CaseResult(
                contract: contract,
                verdict: verdict,
                isDeclaredUnsupported: unsupported
            )
        }
        func grade(_ cases: [CaseResult]) -> Scorecard.Grade? {
            Scorecard(cases, coversWholeSuite: true).grade
        }
        let good = ["S-01", "S-03", "S-04", "S-10"].map { result($0, .passed) }
        #expect(grade(good) == .complete)
        #expect(grade(good + [result("S-03", .failed)]) == .receives)
        #expect(grade(good + [result("S-01", .inconclusive)]) == Scorecard.Grade.none)
        #expect(grade(good + [result("S-10", .notRun, unsupported: true)]) == .complete)
        #expect(grade(good + [result("S-10", .notRun)]) == .resilient)
        #expect(Scorecard(good, coversWholeSuite: false).grade == nil)
        let scorecard = Scorecard(
            good + [result("O-01", .notRun, unsupported: true)],
            coversWholeSuite: true
        )
        #expect(scorecard.clauses["O-01"] == .unproven, "not run is not proven")
    }

    @Test func `profile exceptions do not raise a grade, except for missing providers`() {
        let whole = Self.retrySchedule.map { result(.passed, clause: $0) }
        func excepted(_ clauses: [String], _ needs: [Feature]) -> [CaseResult] {
            clauses.map { clause in
                result(.notRun, clause: clause) {
                    $0.isDeclaredUnsupported = true
                    $0.contract.needs = needs
                }
            }
        }
        func grade(_ more: [CaseResult]) -> Scorecard.Grade? {
            Scorecard(whole + more, coversWholeSuite: true).grade
        }
        // One of two of the first grade, then four of five, then four of six of all.
        #expect(grade(excepted(["S-02"], [.signature])) == Scorecard.Grade.none)
        #expect(grade(excepted(["S-11"], [.push])) == .complete)
        #expect(grade(excepted(["S-11", "S-12"], [.push])) == .resilient)
        for provider in [Feature.purchasely, .firebase, .accountApp] {
            #expect(grade(excepted(["P-01", "P-05", "S-11", "S-12"], [provider])) == .complete)
        }
    }

    @Test func `should and may clauses and own sessions do not affect the grade`() {
        let whole = Self.retrySchedule.map { result(.passed, clause: $0) }
        for level in [Contract.Level.should, .may] {
            let extra = result(.failed, clause: "S-01") { $0.contract.level = level }
            #expect(Scorecard(whole + [extra], coversWholeSuite: true).grade == .complete)
        }
        let session = result(.failed, clause: "S-01") {
            $0.contract.provenance = Provenance(
                recorded: SampleContract.base,
                ageMax: nil,
                location: SampleContract.location
            )
        }
        #expect(Scorecard(whole + [session], coversWholeSuite: true).grade == .complete)
    }

    @Test func `a shard and an interrupted run have no grade`() {
        let whole = Self.retrySchedule.map { result(.passed, clause: $0) }
        #expect(report(whole).scorecard.grade == nil)
        #expect(report(whole) { $0.coversWholeSuite = true }.scorecard.grade == .complete)
        let stopped = report(whole) {
            $0.coversWholeSuite = true
            $0.isInterrupted = true
        }
        #expect(stopped.scorecard.grade == nil)
    }

    @Test func `each clause belongs to one grade`() {
        let all = Scorecard.Grade.allCases.flatMap(\.clauses)
        #expect(Set(all).count == all.count)
        for grade in Scorecard.Grade.allCases {
            for clause in grade.clauses { #expect(Scorecard.Grade.grade(of: clause) == grade) }
        }
        #expect(Scorecard.Grade.grade(of: "Z-99") == .complete)
    }

    // MARK: Known failures

    private func list(_ text: String) throws -> KnownFailures {
        try KnownFailures(parsing: text, path: "known.txt")
    }

    @Test(
        "an entry without a matching case is an error with a suggestion",
        arguments: [
            ("# none\n", nil), ("test/case E204 x\n", nil), ("run/one E105 x\n", nil),
            ("search/all/call:onesignal-2 E301 x\n", nil),
            ("test/case E204 x\ntest/cas E204 y\n", "Did you mean 'test/case'?"),
            ("nonsense E204 y\n", "Delete the line"), ("search E301 x\n", "Delete the line"),
        ] as [(String, String?)]
    )
    func unknownUsers(text: String, remedy: String?) throws {
        var contract = SampleContract.contract()
        var search = contract
        search.id = "search/all"
        search.search = .crashPoints([.killAfter])
        contract.id = "test/case"
        let known = try list(text)
        var problem: KnownFailures.ParseError?
        do throws(KnownFailures.ParseError) {
            try known.check(against: [contract, search].map(\.heading), and: ["run/one"])
        } catch {
            problem = error
        }
        #expect((problem == nil) == (remedy == nil))
        guard let remedy, let problem else { return }
        #expect(problem.remedy.hasPrefix(remedy))
        #expect(problem.location.column == 1 && problem.location.text.contains(" E"))
    }

    @Test("known failures change each verdict", arguments: Verdict.allCases)
    func listed(verdict: Verdict) throws {
        let known = try list("test/case E204 ticket 12 # said Bo\n")
        let findings = [Finding(.wrongEffectCount, expected: "1", actual: "2")]
        let (seen, note) = known.verdict(verdict, of: "test/case", findings: findings)
        switch verdict {
        case .passed:
            #expect(seen == .unexpectedPass)
            #expect(note?.contains("line 1") == true)
        case .failed:
            #expect(seen == .knownFailure)
            #expect(note == "ticket 12")
        case .knownFailure, .unexpectedPass, .inconclusive, .notRun:
            #expect(seen == verdict)
            #expect(note == nil)
        }
        #expect(known.verdict(verdict, of: "test/other", findings: findings).verdict == verdict)
    }

    @Test func `a different code is a different failure`() throws {
        let known = try list("test/case E204\n")
        let other = Finding(.noResponse, expected: "200", actual: "closed")
        let (verdict, note) = known.verdict(.failed, of: "test/case", findings: [other])
        #expect(verdict == .failed)
        #expect(note?.contains("failed with another code") == true)
    }

    @Test func `blank lines and comments are none, and a variant is a case`() throws {
        let known = try list("\n  # all of it\na/b E204\n\ta/b/copies:2   E301   two  words\n")
        #expect(known.entries.keys.sorted() == ["a/b", "a/b/copies:2"])
        #expect(known.entries["a/b/copies:2"]?.reason == "two words")
        #expect(known.entries["a/b/copies:2"]?.line == 4)
        #expect(known.entries["a/b"]?.reason == "")
    }

    @Test("every code can be listed", arguments: FindingCode.allCases)
    func everyCode(code: FindingCode) throws {
        #expect(try list("a \(code.rawValue)\n").entries["a"]?.codes == [code])
    }

    @Test func `a case may be known by several codes`() throws {
        let known = try list("test/case E204,E301 both\n")
        let both = [
            Finding(.wrongEffectCount, expected: "1", actual: "2"),
            Finding(.stateDiffers, expected: "a", actual: "b"),
        ]
        #expect(known.verdict(.failed, of: "test/case", findings: both).verdict == .knownFailure)
        let more = both + [Finding(.noResponse, expected: "200", actual: "closed")]
        #expect(known.verdict(.failed, of: "test/case", findings: more).verdict == .failed)
    }

    @Test func `a new baseline lists exactly the failed cases`() throws {
        let findings = [
            Finding(.stateDiffers, expected: "a", actual: "b # c\nd"),
            Finding(.wrongEffectCount, expected: "1", actual: "2"),
        ]
        let failed = result(.failed, id: "a/failed") { $0.findings = findings }
        let known = result(.knownFailure, id: "a/known") {
            $0.findings = [findings[1]]
            $0.note = "ticket 7"
        }
        let others = [
            result(.passed, id: "a/passed"), result(.inconclusive, id: "a/doubt"),
            result(.unexpectedPass, id: "a/mended"), result(.notRun, id: "a/left"),
        ]
        let run = report([failed, known] + others)
        let text = KnownFailures.text(KnownFailures.linesAcceptingFailures(run), of: run)
        let again = try list(text)
        #expect(again.entries.keys.sorted() == ["a/failed", "a/known"])
        #expect(again.entries["a/failed"]?.codes == [.wrongEffectCount, .stateDiffers])
        #expect(again.entries["a/known"]?.reason == "ticket 7")
        #expect(again.verdict(.failed, of: "a/failed", findings: findings).verdict == .knownFailure)
        #expect(again.verdict(.passed, of: "a/failed", findings: []).verdict == .unexpectedPass)
    }

    @Test func `a partial run keeps the other entries of the list`() throws {
        let old = try list("a/failed E204\nb/other E301 ticket 9\nb/left E204\n")
        let run = report([result(.passed, id: "a/failed"), result(.notRun, id: "b/left")])
        let lines = KnownFailures.linesAcceptingFailures(run, keeping: old)
        #expect(lines.map(\.caseID) == ["b/other", "b/left"], "what passes now is known no more")
        #expect(lines.first?.codes == [.stateDiffers])
        #expect(lines.first?.reason == "ticket 9")
    }

    @Test func `two secrets under one header are both declared`() {
        var profile = Profile()
        for (name, value) in [("a", "key-one"), ("b", "key-two")] {
            var probe = Profile.Probe(
                name: name,
                source: .get("/"),
                readings: [:],
                ignoredPointers: []
            )
            probe.credentials = Profile.Credentials(headers: ["X-Key": Secret(value)])
            profile.probes.append(probe)
        }
        let declared = Set(SecretDeclaration(profile).values.values)
        #expect(declared.isSuperset(of: [Secret("key-one"), Secret("key-two")]))
    }

    @Test(
        "an invalid line is refused with its location",
        arguments: ["a", "a E", "a e204", "a 204", "a E204,", "a E204,E9", "a E204\na E204"]
    )
    func refused(text: String) {
        #expect(throws: KnownFailures.ParseError.self) { try list(text) }
    }

    // MARK: Expiry

    private func golden(_ verdict: Verdict, ageMax: Duration?) -> CaseResult {
        result(verdict) {
            $0.contract.provenance = Provenance(
                recorded: SampleContract.base,
                ageMax: ageMax,
                location: SampleContract.location
            )
        }
    }

    @Test(
        "a recording expires after its age, to the millisecond",
        arguments: [(86_400_000, false), (86_400_001, true), (0, false)] as [(Int64, Bool)]
    )
    func expiry(milliseconds: Int64, isOver: Bool) {
        let now = SampleContract.base + .milliseconds(milliseconds)
        var strict = report([golden(.passed, ageMax: .seconds(86_400))])
        strict.reportExpiredContracts(at: now, isError: true)
        #expect(strict.cases.map(\.verdict) == [isOver ? .inconclusive : .passed])
        #expect(strict.cases[0].findings.map(\.code) == (isOver ? [.contractExpired] : []))
        #expect(strict.notes.isEmpty)
        var mild = report([golden(.passed, ageMax: .seconds(86_400))])
        mild.reportExpiredContracts(at: now, isError: false)
        #expect(mild.cases.map(\.verdict) == [.passed])
        #expect(mild.notes.isEmpty == !isOver)
    }

    @Test func `only what passed expires, and only what has an age`() {
        var report = report([
            golden(.failed, ageMax: .seconds(1)), golden(.passed, ageMax: nil), result(.passed),
        ])
        report.reportExpiredContracts(at: SampleContract.base + .seconds(999_999), isError: true)
        #expect(report.cases.map(\.verdict) == [.failed, .passed, .passed])
    }

    @Test func `a note lists three cases and the number of others`() {
        var report = report(
            (0..<4).map { index in
                var case0 = golden(.passed, ageMax: .seconds(1))
                case0.contract.id = "g/\(index)"
                return case0
            }
        )
        report.reportExpiredContracts(at: SampleContract.base + .seconds(9), isError: false)
        #expect(report.notes.first?.contains("g/0, g/1, g/2, …") == true)
        #expect(report.notes.first?.contains("max-age: 4 (") == true)
    }

    // MARK: Parts

    @Test func `shards merge into the original run`() throws {
        let ids = ["a", "b", "c", "d", "e"]
        let whole = report(ids.map { result(.passed, id: $0) })
        for cut in 1..<ids.count {
            let parts = [
                report(Array(whole.cases[cut...])) { $0.shard = "2/2" },
                report(Array(whole.cases[..<cut])) { $0.shard = "1/2" },
            ]
            let joined = try #require(RunReport.joined(parts))
            #expect(joined.cases == whole.cases)
            #expect(joined.shard == nil && joined.seconds == 4 && joined.seed == "7")
        }
        #expect(RunReport.joined([]) == nil)
    }

    @Test func `a stopped shard stops the merged run, and notes are not repeated`() throws {
        let parts = [
            report([]) { $0.notes = ["x", "y"] },
            report([]) {
                $0.notes = ["y", "z"]
                $0.isInterrupted = true
                $0.seed = "8"
                $0.began = SampleContract.base - .seconds(5)
            },
            report([]) { $0.hasTimedOut = true },
        ]
        let joined = try #require(RunReport.joined(parts))
        #expect(joined.isInterrupted && joined.hasTimedOut)
        #expect(joined.notes == ["x", "y", "z"])
        #expect(joined.seed == "7,8")
        #expect(joined.began == SampleContract.base - .seconds(5))
    }

    // MARK: Saved runs

    @Test("a saved run comes back case by case", arguments: Verdict.allCases)
    func savedCase(verdict: Verdict) throws {
        let original = result(verdict) {
            $0.note = "because"
            $0.seconds = 1.5
            $0.overlap = 3
            $0.runCount = 7
            $0.findings =
                verdict == .failed ? [Finding(.noResponse, expected: "a", actual: "b")] : []
        }
        let text = try SavedRun.lines(report([original]), profile: Profile())
            .joined(separator: "\n")
        let again = try SavedRun(parsing: text).judged(knownFailures: KnownFailures())
        let back = try #require(again.cases.first)
        #expect(back.verdict == verdict && back.note == "because" && back.seconds == 1.5)
        #expect(back.findings == original.findings)
        #expect(back.overlap == 3 && back.runCount == 7)
        #expect(back.contract == original.contract)
    }

    @Test func `profile secrets are masked everywhere, the longest first`() throws {
        var profile = Profile()
        profile.secrets = [
            .oneSignalKey: Secret("secret-value"), .revenueCatKey: Secret("secret-value-long"),
        ]
        let noted = result(.notRun) { $0.note = "a secret-value-long and a secret-value" }
        let text = try SavedRun.lines(report([noted]), profile: profile).joined()
        #expect(!text.contains("secret-value"))
        #expect(text.contains("revenuecat-key") && text.contains("onesignal-key"))
    }

    @Test(
        "an invalid saved run is refused",
        arguments: ["", "{}", "[]", "not JSON", "{\"kind\":\"run\"}", "{\"kind\":\"recording\"}"]
    )
    func notSaved(text: String) {
        #expect(throws: SavedRun.ReadError.self) { try SavedRun(parsing: text) }
    }
}
