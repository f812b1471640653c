import Contracts
import Judging
import Providers
import TestSupport
import Testing
import Values

/// What a verdict must not depend on: names, the hour, and the order of what has nothing to do with
/// each other.
@Suite("Properties of judging")
struct JudgePropertyTests {
    /// What a judge said, without its words.
    private struct Outcome: Equatable {
        let verdict: Verdict
        let codes: [FindingCode]

        init(_ verdict: Verdict, _ codes: [FindingCode]) {
            self.verdict = verdict
            self.codes = codes.sorted { $0.rawValue < $1.rawValue }
        }

        init(_ evidence: CaseEvidence) {
            let (verdict, findings) = Judge.judge(evidence)
            self.init(verdict, findings.map(\.code))
        }
    }

    /// A case of two people made up from a seed: right or wrong, both come up often.
    private struct MadeUpCase {
        var names = ["ada", "bob"]
        /// By how much everything takes place later.
        var shift: Duration = .zero
        /// Whether neighbours that happened at one moment change places.
        var swaps = false
        /// Whether strangers' lines stand between.
        var hasNoise = false

        private static let relations: [Contracts.Expectation.BaselineRelation?] = [
            nil, .once, .faultFree, .before,
        ]

        func evidence(seed: UInt64) -> CaseEvidence {
            var made = ArbitraryValues(seed: seed)
            var expectation = SampleContract.expectation(made.one(of: Self.relations))
            for name in names where made.bool() {
                let low = made.int(0...2)
                var effect = SampleContract.effect(user: name, low...(low + made.int(0...2)))
                if made.bool() { effect.allowedAddresses = .personal }
                if made.bool() { effect.userWithOtherContent = names.first { $0 != name } }
                expectation.effects.append(effect)
            }
            if made.bool() {
                expectation.states = [
                    SampleContract.state("access", .bool(made.bool()), user: names[0])
                ]
            }
            if made.bool() { expectation.hidesSecrets = true }
            var builder = EvidenceBuilder(
                names.map { name in
                    Delivery(
                        name: "for-" + (name == names[0] ? "one" : "two"),
                        subject: .event(EventSpec(type: .documented(.renewal), user: name))
                    )
                },
                expectation: expectation
            )
            builder.contract.steps[0] = .register(user: names[0])
            builder.subject = run(0, builder, &made)
            builder.baselines = (1...2).map { run($0, builder, &made) }
            let whole = builder.evidence
            return CaseEvidence(
                plan: whole.plan,
                subject: shifted(whole.subject),
                baselines: whole.baselines.map(shifted),
                profile: whole.profile,
                observability: whole.observability
            )
        }

        private func run(
            _ number: Int,
            _ builder: EvidenceBuilder,
            _ made: inout ArbitraryValues
        ) -> [Exchange] {
            var lines: [Exchange] = []
            for (index, name) in names.enumerated() {
                let id = builder.id(of: name, run: number)
                let status =
                    number > 0 || made.int(0...5) > 0 ? 200 : made.one(of: [201, 429, 500])
                lines.append(
                    EvidenceBuilder.delivery(
                        index == 0 ? "for-one" : "for-two",
                        .answered(HTTPMessage.Response(status))
                    )
                )
                var pushes = (0..<made.int(0...2)).map { _ in
                    EvidenceBuilder.push(
                        to: made.int(0...6) == 0 ? "stranger" : id,
                        made.one(of: ["Welcome", "Welcome", "Hi \(id)"])
                    )
                }
                if hasNoise { pushes.insert(Self.noise, at: 0) }
                lines += pushes
            }
            for name in names {
                lines.append(
                    EvidenceBuilder.probe(
                        [
                            "access": .bool(made.int(0...3) > 0), "until": 5,
                            "owner": .string(builder.id(of: name, run: number)),
                            "seen": .integer(clock),
                        ],
                        user: name
                    )
                )
            }
            if swaps {
                // A look at one person and a look at the other have nothing to do with each other.
                lines.swapAt(lines.count - 1, lines.count - 2)
                let halves = lines.partitionedByPerson
                lines = halves
            }
            return lines.enumerated().map { index, line in
                var line = line
                line.sequence = index
                return line
            }
        }

        /// What the backend's own clock says during the run, in milliseconds.
        private var clock: Int64 { (SampleContract.base + .seconds(3605) + shift).milliseconds }

        private static var noise: Exchange {
            var read = EvidenceBuilder.attempt(200)
            read.request = HTTPMessage.Request("GET", "/apps/x/users/by/external_id/y")
            read.effects = []
            return read
        }

        private func shifted(_ record: RunRecord) -> RunRecord {
            var copy = record
            copy.base = record.base + shift
            copy.began = record.began + shift
            copy.ended = record.ended + shift
            copy.exchanges = record.exchanges.map { exchange in
                var exchange = exchange
                exchange.at = exchange.at + shift
                exchange.invoked += shift.milliseconds * 1000
                exchange.completed = exchange.completed.map { $0 + shift.milliseconds * 1000 }
                return exchange
            }
            return copy
        }

        func judged(seed: UInt64) -> Outcome { Outcome(evidence(seed: seed)) }
    }

    private static let seeds: Range<UInt64> = 0..<160

    @Test func `generated cases pass and fail often enough`() {
        let verdicts = Self.seeds.map { MadeUpCase().judged(seed: $0).verdict }
        #expect(verdicts.count { $0 == .passed } > 5)
        #expect(verdicts.count { $0 == .failed } > 40)
    }

    @Test(
        "names do not change the verdict",
        arguments: [
            ["zoe", "amy"], ["b", "a"], ["user", "delivery"], ["ada2", "ada"], ["ä", "ß"],
        ]
    )
    func names(names: [String]) {
        for seed in Self.seeds {
            let (plain, other) = (MadeUpCase(), MadeUpCase(names: names))
            #expect(plain.judged(seed: seed) == other.judged(seed: seed), "seed \(seed)")
        }
    }

    @Test(
        "the time of day does not change the verdict",
        arguments: [Duration.seconds(-86_400 * 400), .milliseconds(1), .seconds(86_400 * 3000)]
    )
    func hour(shift: Duration) {
        for seed in Self.seeds {
            let (plain, other) = (MadeUpCase(), MadeUpCase(shift: shift))
            #expect(plain.judged(seed: seed) == other.judged(seed: seed), "seed \(seed)")
        }
    }

    @Test func `the order of independent users does not change the verdict`() {
        for seed in Self.seeds {
            let (plain, other) = (MadeUpCase(), MadeUpCase(swaps: true))
            #expect(plain.judged(seed: seed) == other.judged(seed: seed), "seed \(seed)")
        }
    }

    @Test func `read-only calls of the backend do not change the verdict`() {
        for seed in Self.seeds {
            let (plain, other) = (MadeUpCase(), MadeUpCase(hasNoise: true))
            #expect(plain.judged(seed: seed) == other.judged(seed: seed), "seed \(seed)")
        }
    }

    @Test func `a third equal baseline run keeps a passed verdict`() {
        for seed in Self.seeds {
            let evidence = MadeUpCase().evidence(seed: seed)
            let more = CaseEvidence(
                plan: evidence.plan,
                subject: evidence.subject,
                baselines: evidence.baselines + evidence.baselines.prefix(1),
                profile: evidence.profile,
                observability: evidence.observability
            )
            #expect(Judge.judge(evidence).verdict == Judge.judge(more).verdict, "seed \(seed)")
        }
    }

    /// Whatever else is wrong: trouble of the run decides nothing, and an end of the backend does.
    @Test func `a crashed backend ranks first, then run problems, then rules`() {
        for seed in Self.seeds {
            let evidence = MadeUpCase().evidence(seed: seed)
            func judged(_ change: (inout RunRecord) -> Void) -> Outcome {
                var subject = evidence.subject
                change(&subject)
                return Outcome(
                    CaseEvidence(
                        plan: evidence.plan,
                        subject: subject,
                        baselines: evidence.baselines,
                        profile: evidence.profile,
                        observability: evidence.observability
                    )
                )
            }
            let gap = Outcome(.inconclusive, [.journalGap])
            #expect(judged { $0.runProblem = .journalGap } == gap)
            #expect(
                judged { $0.backendExitReason = "signal 11" } == Outcome(.failed, [.backendExited])
            )
            for runProblem in [RunRecord.RunProblem.backendGone("refused"), .journalGap] {
                #expect(
                    judged {
                        $0.runProblem = runProblem
                        $0.backendExitReason = "signal 11"
                    } == Outcome(.failed, [.backendExited]),
                    "whoever has ended is gone as well, and no journal is asked for it"
                )
            }
        }
    }

    @Test func `a verdict follows from its findings`() {
        for seed in Self.seeds {
            let outcome = MadeUpCase().judged(seed: seed)
            let codes = outcome.codes
            switch outcome.verdict {
            case .passed: #expect(codes.isEmpty)
            case .failed: #expect(!codes.isEmpty && codes.allSatisfy { !$0.isInconclusive })
            case .inconclusive: #expect(!codes.isEmpty && codes.allSatisfy(\.isInconclusive))
            case .knownFailure, .unexpectedPass, .notRun:
                Issue.record("a judge does not say \(outcome.verdict)")
            }
        }
    }

    @Test func `missing effects may arrive, present effects stay`() {
        for seed in Self.seeds {
            let evidence = MadeUpCase().evidence(seed: seed)
            let findings = Judge.judge(evidence).findings
            guard findings.contains(where: { $0.code == .unexpectedEffect || $0.isFinal }) else {
                continue
            }
            #expect(!Judge.mayResolveWithLongerWait(findings), "seed \(seed)")
        }
    }
}

extension [Exchange] {
    /// The lines of the second person before those of the first; each keeps its own order.
    fileprivate var partitionedByPerson: [Exchange] {
        guard
            let cut = firstIndex(where: {
                if case .delivery("for-two", _) = $0.purpose { true } else { false }
            }),
            let end = firstIndex(where: {
                if case .probe = $0.purpose { true } else { false }
            })
        else { return self }
        return Array(self[cut..<end]) + Array(self[..<cut]) + Array(self[end...])
    }
}
