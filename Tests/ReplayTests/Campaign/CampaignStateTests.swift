import Contracts
import Exploration
import FakeServers
import Judging
import Synchronization
import Testing
import Values

@testable import Replay

/// What both kinds of campaign keep count of, and how what failed becomes small.
struct CampaignStateTests {
    private static let plain = FailureSignature(
        Finding(.wrongStateValue, expected: "access of ada is true", actual: "false")
    )
    private static let other = FailureSignature(
        Finding(.unexpectedEffect, expected: "1", actual: "2")
    )

    private static func history(_ acts: String...) -> CustomerHistory {
        var steps: [CustomerHistory.Step] = []
        for (index, name) in acts.enumerated() {
            let kind = HistoryOperation.Kind(rawValue: name) ?? .wait
            var operation = HistoryOperation(kind, "ada", at: .seconds(-3600 + 60 * index))
            operation.product = "premium_monthly"
            steps.append(
                CustomerHistory.Step(id: index, operation: operation, readsStateAfterStep: false)
            )
        }
        return CustomerHistory(
            users: [CustomerHistory.HistoryUser("ada", .registered)],
            steps: steps
        )
    }

    private static func found(_ history: CustomerHistory, _ failureSignature: FailureSignature)
        -> Campaign.FoundFailure
    {
        Campaign.FoundFailure(
            input: .users(history),
            original: .users(history),
            failureSignature: failureSignature,
            result: CampaignCasesTests.result(.failed),
            shrinkCount: 1,
            isMinimal: true,
            failsFromSavedFile: true
        )
    }

    private func campaignState(
        _ clock: ManualClock = ManualClock(),
        _ change: (inout Campaign.Options) -> Void = { _ in },
        reportingTo report: @escaping @Sendable (Campaign.Event) -> Void = { _ in }
    ) -> CampaignState {
        var options = Campaign.Options(seed: 1, jobs: 2, nonce: "n")
        change(&options)
        return CampaignState(options, clock, report: report)
    }

    // MARK: What is kept

    @Test func `a history that covers something new is reported when it is drawn`() {
        let kept = Locked<[CampaignInput]>([])
        var campaignState = campaignState(reportingTo: { event in
            if case .kept(let input) = event { kept.withLock { $0.append(input) } }
        })
        let (first, second) = (Self.history("purchase"), Self.history("purchase", "cancel"))
        campaignState.recordGenerated(.users(first), newSituationCount: 0)
        campaignState.recordGenerated(.users(second), newSituationCount: 3)
        #expect(kept.withLock { $0.map(\.size) } == [CampaignInput.users(second).size])
    }

    @Test func `the coverage is reported every five seconds`() {
        let clock = ManualClock()
        let count = Locked(0)
        var campaignState = campaignState(
            clock,
            reportingTo: { event in
                if case .coverageUpdated = event { count.withLock { $0 += 1 } }
            }
        )
        for _ in 0..<100 {
            clock.now += .milliseconds(100)
            campaignState.reportCoverage(HistoryCoverage())
        }
        #expect(count.withLock { $0 } == 2)
    }

    // MARK: When it is over

    @Test func `a campaign without a time limit ends when nothing new was executed for a while`() {
        let clock = ManualClock()
        var campaignState = campaignState(clock)
        clock.now += .seconds(59)
        #expect(!campaignState.isOver())
        campaignState.recordGenerated(.users(Self.history("purchase")), newSituationCount: 1)
        clock.now += .seconds(59)
        #expect(!campaignState.isOver())
        // While nothing could be drawn nothing new is no sign of anything.
        let begin = clock.now
        clock.now += .seconds(30)
        campaignState.extendCoverageWait(since: begin)
        #expect(!campaignState.isOver())
        clock.now += .seconds(2)
        #expect(campaignState.isOver())
    }

    @Test func `a time limit, a history limit and a first failure end the campaign`() {
        let clock = ManualClock()
        let timed = campaignState(clock) { $0.time = .seconds(600) }
        var counted = campaignState(clock) { $0.historyCountMax = 1 }
        let first = campaignState(clock) { $0.stopsAtFirstFailure = true }
        clock.now += .seconds(599)
        #expect(!timed.isOver())
        #expect(!counted.isOver())
        counted.recordGenerated(.users(Self.history("purchase")), newSituationCount: 0)
        #expect(counted.isOver())
        #expect(first.isOver(hasPendingFailure: true))
        clock.now += .seconds(1)
        #expect(timed.isOver())
    }

    @Test func `no history starts that would end after the limit`() {
        let clock = ManualClock()
        let campaignState = campaignState(clock) { $0.historyCountMax = 1_000_000_000 }
        clock.now += HistoryModel.campaignTimeMax - .seconds(1)
        #expect(!campaignState.isOver())
        clock.now += .seconds(1)
        #expect(campaignState.isOver())
    }

    @Test func `a minute or a hundred histories without a result end the campaign`() {
        let clock = ManualClock()
        var silent = campaignState(clock)
        silent.undecided("E103 no-response", "nothing came")
        #expect(silent.outcome.end == nil)
        clock.now += .seconds(60)
        silent.undecided("E103 no-response", "nothing came")
        #expect(silent.outcome.end == "2 histories in a row were inconclusive: nothing came")
        var refused = campaignState(clock)
        for _ in 0..<99 { refused.undecided("E103 no-response", "429") }
        #expect(refused.outcome.end == nil)
        refused.decided()
        for _ in 0..<99 { refused.undecided("E103 no-response", "429") }
        #expect(refused.outcome.end == nil)
        refused.undecided("E103 no-response", "429")
        #expect(refused.outcome.end == "100 histories in a row were inconclusive: 429")
        #expect(refused.outcome.inconclusive == ["E103 no-response": 199])
    }

    // MARK: What is news

    @Test func `a smaller input explains a larger one with the same signature only`() {
        var campaignState = campaignState()
        campaignState.add(Self.found(Self.history("purchase", "cancel"), Self.plain))
        let larger = CampaignInput.users(Self.history("purchase", "extend", "cancel"))
        let isExplained = !campaignState.countsAsNewFailure(Self.plain, larger)
        #expect(isExplained)
        #expect(campaignState.outcome.found[0].duplicateCount == 1)
        let isOtherNews = campaignState.countsAsNewFailure(Self.other, larger)
        #expect(isOtherNews)
        let isElsewhereNews = campaignState.countsAsNewFailure(
            Self.plain,
            .users(Self.history("purchase", "refund"))
        )
        #expect(isElsewhereNews)
        // What became smaller later takes its place.
        campaignState.add(Self.found(Self.history("purchase"), Self.plain))
        #expect(campaignState.outcome.found.map(\.input.size) == [1])
        #expect(campaignState.outcome.found[0].duplicateCount == 2)
        #expect(campaignState.outcome.progress.found == 1)
    }

    @Test func `three inputs per signature are kept, and the rest is counted`() {
        var campaignState = campaignState()
        for operation in ["cancel", "refund", "extend"] {
            campaignState.add(Self.found(Self.history("purchase", operation), Self.plain))
        }
        let fourth = CampaignInput.users(Self.history("purchase", "expire"))
        let isFourthNews = campaignState.countsAsNewFailure(Self.plain, fourth)
        #expect(!isFourthNews)
        #expect(campaignState.outcome.unshrunkFailureCount == 1)
        let isOtherNews = campaignState.countsAsNewFailure(Self.other, fourth)
        #expect(isOtherNews)
    }

    // MARK: Making small

    /// Fails whenever an operation is among those that happen, as a backend would that gets it wrong.
    private struct Scripted: InputReplaying {
        let fails: @Sendable (CustomerHistory, Int) -> Verdict?
        let isSameFromFile: Bool
        let clock: ManualClock
        let count = Counted()

        final class Counted: Sendable { let value = Mutex(0) }

        func replay(_ inputs: [CampaignInput], for failureSignature: FailureSignature) async
            -> [ReplayedInput]
        {
            inputs.compactMap { input in
                let number = count.value.withLock { number in
                    number += 1
                    return number
                }
                clock.now += .seconds(1)
                guard let history = input.history, let verdict = fails(history, number) else {
                    return nil
                }
                return ReplayedInput(input: input, result: CampaignCasesTests.result(verdict))
            }
        }

        func replay(_ contract: Contract) async -> CaseResult? {
            CampaignCasesTests.result(isSameFromFile ? .failed : .passed)
        }

        func contract(of input: CampaignInput, for failureSignature: FailureSignature, id: String)
            -> Contract?
        {
            var contract = CampaignCasesTests.result(.failed).contract
            contract.id = id
            return contract
        }

        func failureSignature(of result: CaseResult) -> FailureSignature? {
            result.findings.first.map(FailureSignature.init)
        }
    }

    private enum ShrinkResult: Equatable {
        case found(acts: [HistoryOperation.Kind], isMinimal: Bool, failsFromSavedFile: Bool?)
        case unsteady
    }

    private func examined(
        shrinkTime: Duration = .seconds(10_000),
        isSameFromFile: Bool = true,
        _ fails: @escaping @Sendable (CustomerHistory, Int) -> Verdict?
    ) async -> ShrinkResult {
        let clock = ManualClock()
        let campaignState = campaignState(clock) { $0.shrinkTime = shrinkTime }
        let inputExecutor = Scripted(fails: fails, isSameFromFile: isSameFromFile, clock: clock)
        let history = Self.history("purchase", "extend", "cancel", "uncancel", "refund", "tell")
        let first = ReplayedInput(
            input: .users(history),
            result: CampaignCasesTests.result(.failed)
        )
        var shrinker = InputShrinker(inputExecutor, first, Self.plain, campaignState)
        switch await shrinker.confirmAndShrink(original: .users(history)) {
        case .notReproduced: return .unsteady
        case .found(let found):
            return .found(
                acts: found.input.history?.steps.map(\.operation.kind) ?? [],
                isMinimal: found.isMinimal,
                failsFromSavedFile: found.failsFromSavedFile
            )
        }
    }

    private static let failsWithBothOperations: @Sendable (CustomerHistory, Int) -> Verdict? = {
        history,
        _ in
        let kinds = history.steps.map(\.operation.kind)
        return kinds.contains(.cancel) && kinds.contains(.refund) ? .failed : .passed
    }

    @Test func `a failing input is shrunk to the minimum`() async {
        let small = await examined(Self.failsWithBothOperations)
        #expect(
            small == .found(acts: [.cancel, .refund], isMinimal: true, failsFromSavedFile: true)
        )
    }

    @Test func `the saved file must reproduce the failure`() async {
        let small = await examined(isSameFromFile: false, Self.failsWithBothOperations)
        #expect(
            small == .found(acts: [.cancel, .refund], isMinimal: true, failsFromSavedFile: false)
        )
    }

    @Test func `after the time limit the input is reported as not minimal`() async {
        guard
            case .found(let acts, let isMinimal, let isWritten) = await examined(
                shrinkTime: .seconds(2),
                Self.failsWithBothOperations
            )
        else {
            Issue.record("it failed again, and was not found")
            return
        }
        #expect(acts.count > 2)
        #expect(!isMinimal)
        #expect(isWritten == nil)
    }

    @Test func `an input that passes three reruns is a race, and no response is not`() async {
        #expect(await examined { _, _ in .passed } == .unsteady)
        let silent = await examined { _, _ in nil }
        #expect(
            silent
                == .found(
                    acts: [.purchase, .extend, .cancel, .uncancel, .refund, .wait],
                    isMinimal: false,
                    failsFromSavedFile: true
                )
        )
        // The third try counts.
        let late = await examined { history, number in
            number < 3 ? .passed : Self.failsWithBothOperations(history, number)
        }
        #expect(
            late == .found(acts: [.cancel, .refund], isMinimal: true, failsFromSavedFile: true)
        )
    }
}
