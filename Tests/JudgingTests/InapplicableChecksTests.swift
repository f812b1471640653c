import Contracts
import Judging
import Providers
import TestSupport
import Testing
import Values

@Suite("Checks that had nothing to judge")
struct InapplicableChecksTests {
    private static let (ada, bob) = (id(of: "ada", run: 0), id(of: "bob", run: 0))

    private static func id(of user: String, run: Int) -> String {
        EvidenceBuilder(expectation: SampleContract.expectation()).id(of: user, run: run)
    }

    /// A case with `unlike` or `added-like`, in which the backend sent these messages to each user.
    private func evidence(
        _ change: (inout EffectExpectation) -> Void,
        given: [String: [String]] = [:],
        steps: [String: [String]]
    ) -> CaseEvidence {
        func pushes(_ messages: [String: [String]], run: Int) -> [Exchange] {
            messages.sorted { $0.key < $1.key }.flatMap { user, texts in
                texts.map { EvidenceBuilder.push(to: Self.id(of: user, run: run), $0) }
            }
        }
        var effect = SampleContract.effect { change(&$0) }
        effect.countMin = 0
        return EvidenceBuilder.bought({ $0.effects = [effect] }).with {
            $0.contract.given = [.register(user: "ada"), .register(user: "bob")]
            $0.subject += pushes(given, run: 0) + pushes(steps, run: 0)
            $0.addBaselineBeforeSteps(pushes(given, run: 1))
        }.evidence
    }

    /// The probes that show whether a user exists, as the calibration found, and the verdict of a case
    /// about an existing user.
    private static let visibilities: [(showing: [String], notShowing: [String], Verdict)] = [
        ([], ["subscription"], .notRun), ([], [], .inconclusive),
        (["account"], ["subscription"], .inconclusive),
    ]

    @Test("a case about users that no probe shows is not applicable", arguments: visibilities)
    func invisibleUsers(showing: [String], notShowing: [String], verdict: Verdict) {
        let judged = EvidenceBuilder.bought {
            $0.states = [SampleContract.state("exists", true)]
        }.with { builder in
            builder.observability.probesShowingExistence = showing
            builder.observability.probesNotShowingExistence = notShowing
            builder.observability.unknownUserDocuments = ["subscription": ["active": false]]
            builder.subject += [EvidenceBuilder.probe(["active": false])]
        }
        let judgment = CaseJudgment(judged.evidence)
        #expect(judgment.verdict == verdict, "\(judgment.findings)")
        #expect((judgment.inapplicableReason != nil) == (verdict == .notRun))
        // Any other finding counts.
        let broken = judged.with { builder in
            builder.contract.expectation.states.append(SampleContract.state("access", true))
        }
        #expect(CaseJudgment(broken.evidence).verdict != .notRun)
    }

    private static let comparisons: [@Sendable (inout EffectExpectation) -> Void] = [
        { $0.userWithOtherContent = "bob" }, { $0.userWithSameAddedCount = "bob" },
    ]

    @Test("messages of `given` change no verdict about the steps", arguments: 0..<2)
    func ignoresGiven(comparison: Int) {
        var verdicts: Set<Verdict> = []
        for seed in UInt64(0)..<300 {
            var made = ArbitraryValues(seed: seed)
            func messages() -> [String: [String]] {
                var texts: [String: [String]] = [:]
                for user in ["ada", "bob"] {
                    texts[user] = (0..<made.int(0...2)).map { _ in
                        made.one(of: ["Welcome", "Ended", "Renewed"])
                    }
                }
                return texts
            }
            let (given, steps) = (messages(), messages())
            let change = Self.comparisons[comparison]
            let withGiven = CaseJudgment(evidence(change, given: given, steps: steps))
            let withoutGiven = CaseJudgment(evidence(change, steps: steps))
            #expect(withGiven.hasSameOutcome(as: withoutGiven), "\(given), \(steps)")
            #expect(withGiven.inapplicableReason == withoutGiven.inapplicableReason)
            verdicts.insert(withGiven.verdict)
        }
        #expect(verdicts == [.passed, .failed, .notRun], "each verdict occurs")
    }

    @Test func `a backend that is silent on a cancellation is not accused`() {
        let judgment = CaseJudgment(
            evidence(
                { $0.userWithOtherContent = "bob" },
                given: ["bob": ["Welcome"]],
                steps: ["ada": ["Welcome"]]
            )
        )
        #expect(judgment.verdict == .notRun)
        let result = CaseResult(judgment)
        #expect(result.isDeclaredUnsupported)
        #expect(
            result.note
                == "not applicable: the steps caused no onesignal.notification to compare"
        )
    }

    @Test func `one silent user of two is a correct difference`() {
        let judgment = CaseJudgment(
            evidence({ $0.userWithOtherContent = "bob" }, steps: ["bob": ["Ended"]])
        )
        #expect(judgment.verdict == .passed)
    }

    @Test func `a message that given and the steps both cause is a message of the steps`() {
        let judgment = CaseJudgment(
            evidence(
                { $0.userWithOtherContent = "bob" },
                given: ["bob": ["Updated"]],
                steps: ["ada": ["Updated"], "bob": ["Updated"]]
            )
        )
        #expect(judgment.findings.map(\.code) == [.identicalMessages])
    }

    @Test func `another judged expectation keeps the verdict and reports the gap`() {
        let evidence = EvidenceBuilder.bought(
            {
                var effect = SampleContract.effect { $0.userWithOtherContent = "bob" }
                effect.countMin = 0
                $0.effects = [effect]
                $0.states = [SampleContract.state("access", .bool(true))]
            },
            [EvidenceBuilder.delivery(), EvidenceBuilder.probe(["access": true])]
        ).evidence
        #expect(CaseJudgment(evidence).verdict == .passed)
        #expect(
            evidence.unobservedChecks == [
                "not applicable: the steps caused no onesignal.notification to compare"
            ]
        )
    }

    @Test("a contract about addresses demands no push", arguments: [0, 1])
    func demandsNoPush(pushCount: Int) {
        for allowedAddresses in EffectExpectation.AllowedAddresses.allCases {
            let effect = SampleContract.effect { $0.allowedAddresses = allowedAddresses }
            let judgment = CaseJudgment(
                EvidenceBuilder.bought(
                    { $0.effects = [effect] },
                    [EvidenceBuilder.delivery()]
                        + (0..<pushCount).map { _ in EvidenceBuilder.push(to: Self.ada) }
                ).evidence
            )
            #expect(judgment.verdict == (pushCount == 0 ? .notRun : .passed))
            #expect(
                judgment.inapplicableReason
                    == (pushCount == 0
                        ? "not applicable: the backend sent no onesignal.notification to check"
                        : nil)
            )
        }
    }

    @Test(
        "only a registered ID is a registered address",
        arguments: EffectExpectation.AllowedAddresses.allCases
    )
    func excludesAnonymousID(allowedAddresses: EffectExpectation.AllowedAddresses) {
        let namespace = Namespace(name: "namespace-0", idForm: .string)
        let effect = SampleContract.effect { $0.allowedAddresses = allowedAddresses }
        let judgment = CaseJudgment(
            EvidenceBuilder.bought(
                { $0.effects = [effect] },
                [EvidenceBuilder.delivery()]
                    + [EvidenceBuilder.push(to: namespace.anonymousID(of: "ada"))]
            ).evidence
        )
        #expect(
            judgment.findings.map(\.code)
                == (allowedAddresses == .personal ? [] : [.wrongRecipient])
        )
    }

    @Test func `a saved case that judged nothing stays without a verdict`() throws {
        let evidence = evidence({ $0.userWithOtherContent = "bob" }, steps: [:])
        let judgment = CaseJudgment(evidence)
        var result = CaseResult(judgment)
        result.judgment = judgment
        let text = try SavedRun.lines(RunReport(of: [result]), profile: evidence.profile)
            .joined(separator: "\n")
        let saved = try SavedRun(parsing: text).judged(knownFailures: KnownFailures()).cases
        #expect(saved.map(\.verdict) == [.notRun])
        #expect(saved.map(\.note) == [result.note])
        #expect(saved.map(\.isDeclaredUnsupported) == [true])
    }
}
