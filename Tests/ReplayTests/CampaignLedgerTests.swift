import Conformance
import Exploration
import FakeServers
import Synchronization
import Testing

@testable import Replay

/// What both kinds of campaign keep count of, and how what failed becomes small.
struct CampaignLedgerTests {
    private static let plain = LifeCause(
        Finding(.stateValue, expected: "access of ada is true", actual: "false")
    )
    private static let other = LifeCause(Finding(.effectExtra, expected: "1", actual: "2"))

    private static func life(_ acts: String...) -> Life {
        var steps: [Life.Step] = []
        for (index, name) in acts.enumerated() {
            let kind = Act.Kind(rawValue: name) ?? .wait
            var act = Act(kind, "ada", at: .seconds(-3600 + 60 * index))
            act.product = "premium_monthly"
            steps.append(Life.Step(id: index, act: act, isQuietPoint: false))
        }
        return Life(people: [Life.Person("ada", .registered)], steps: steps)
    }

    private static func found(_ life: Life, _ cause: LifeCause) -> Campaign.Found {
        Campaign.Found(
            story: .people(life),
            original: .people(life),
            cause: cause,
            result: CampaignCasesTests.result(.failed),
            shrinkCount: 1,
            isMinimal: true,
            failsAsWritten: true
        )
    }

    private func ledger(
        _ clock: HandClock = HandClock(),
        _ change: (inout Campaign.Options) -> Void = { _ in },
        reportingTo report: @escaping @Sendable (Campaign.Event) -> Void = { _ in }
    ) -> CampaignLedger {
        var options = Campaign.Options(seed: 1, jobs: 2, nonce: "n")
        change(&options)
        return CampaignLedger(options, clock, report: report)
    }

    // MARK: What is kept

    @Test func `a history that covers something new is reported when it is drawn`() {
        let kept = Locked<[Story]>([])
        var ledger = ledger(reportingTo: { event in
            if case .kept(let story) = event { kept.withLock { $0.append(story) } }
        })
        let (first, second) = (Self.life("purchase"), Self.life("purchase", "cancel"))
        ledger.drew(.people(first), newCount: 0)
        ledger.drew(.people(second), newCount: 3)
        #expect(kept.withLock { $0.map(\.size) } == [Story.people(second).size])
    }

    @Test func `the coverage is reported every five seconds`() {
        let clock = HandClock()
        let count = Locked(0)
        var ledger = ledger(
            clock,
            reportingTo: { event in
                if case .covered = event { count.withLock { $0 += 1 } }
            }
        )
        for _ in 0..<100 {
            clock.now += .milliseconds(100)
            ledger.cover(LifeCoverage())
        }
        #expect(count.withLock { $0 } == 2)
    }

    // MARK: When it is over

    @Test func `without a time it is over when nothing new was played for a while`() {
        let clock = HandClock()
        var ledger = ledger(clock)
        clock.now += .seconds(59)
        #expect(!ledger.isOver())
        ledger.drew(.people(Self.life("purchase")), newCount: 1)
        clock.now += .seconds(59)
        #expect(!ledger.isOver())
        // While nothing could be drawn nothing new is no sign of anything.
        let begin = clock.now
        clock.now += .seconds(30)
        ledger.excuse(since: begin)
        #expect(!ledger.isOver())
        clock.now += .seconds(2)
        #expect(ledger.isOver())
    }

    @Test func `a time, a number of lives and a first failure end it`() {
        let clock = HandClock()
        let timed = ledger(clock) { $0.time = .seconds(600) }
        var counted = ledger(clock) { $0.livesMax = 1 }
        let first = ledger(clock) { $0.endsAtFirst = true }
        clock.now += .seconds(599)
        #expect(!timed.isOver())
        #expect(!counted.isOver())
        counted.drew(.people(Self.life("purchase")), newCount: 0)
        #expect(counted.isOver())
        #expect(first.isOver(isSuspicious: true))
        clock.now += .seconds(1)
        #expect(timed.isOver())
    }

    @Test func `none goes on so long that an end could come which is to lie ahead`() {
        let clock = HandClock()
        let ledger = ledger(clock) { $0.livesMax = 1_000_000_000 }
        clock.now += LifeModel.campaignTimeMax - .seconds(1)
        #expect(!ledger.isOver())
        clock.now += .seconds(1)
        #expect(ledger.isOver())
    }

    @Test func `what tells nothing for a minute, or a hundred times, ends it`() {
        let clock = HandClock()
        var silent = ledger(clock)
        silent.undecided("E103 no-response", "nothing came")
        #expect(silent.outcome.end == nil)
        clock.now += .seconds(60)
        silent.undecided("E103 no-response", "nothing came")
        #expect(silent.outcome.end == "2 histories in a row were inconclusive: nothing came")
        var refused = ledger(clock)
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

    @Test func `a smaller story explains a larger one, of its cause alone`() {
        var ledger = ledger()
        ledger.add(Self.found(Self.life("purchase", "cancel"), Self.plain))
        let larger = Story.people(Self.life("purchase", "extend", "cancel"))
        let isExplained = !ledger.isNews(Self.plain, larger)
        #expect(isExplained)
        #expect(ledger.outcome.found[0].alsoIn == 1)
        let isOtherNews = ledger.isNews(Self.other, larger)
        #expect(isOtherNews)
        let isElsewhereNews = ledger.isNews(Self.plain, .people(Self.life("purchase", "refund")))
        #expect(isElsewhereNews)
        // What became smaller later takes its place.
        ledger.add(Self.found(Self.life("purchase"), Self.plain))
        #expect(ledger.outcome.found.map(\.story.size) == [1])
        #expect(ledger.outcome.found[0].alsoIn == 2)
        #expect(ledger.outcome.progress.found == 1)
    }

    @Test func `of one cause three stories are enough, and the rest is counted`() {
        var ledger = ledger()
        for act in ["cancel", "refund", "extend"] {
            ledger.add(Self.found(Self.life("purchase", act), Self.plain))
        }
        let fourth = Story.people(Self.life("purchase", "expire"))
        let isFourthNews = ledger.isNews(Self.plain, fourth)
        #expect(!isFourthNews)
        #expect(ledger.outcome.unexaminedCount == 1)
        let isOtherNews = ledger.isNews(Self.other, fourth)
        #expect(isOtherNews)
    }

    // MARK: Making small

    /// Fails whenever an act is among those that happen, as a backend would that gets it wrong.
    private struct Scripted: StoryReplaying {
        let fails: @Sendable (Life, Int) -> Verdict?
        let isSameFromFile: Bool
        let clock: HandClock
        let count = Counted()

        final class Counted: Sendable { let value = Mutex(0) }

        func replay(_ stories: [Story], for cause: LifeCause) async -> [Replayed] {
            stories.compactMap { story in
                let number = count.value.withLock { number in
                    number += 1
                    return number
                }
                clock.now += .seconds(1)
                guard let life = story.life, let verdict = fails(life, number) else { return nil }
                return Replayed(story: story, result: CampaignCasesTests.result(verdict))
            }
        }

        func replay(_ contract: Contract) async -> CaseResult? {
            CampaignCasesTests.result(isSameFromFile ? .failed : .passed)
        }

        func contract(of story: Story, for cause: LifeCause, id: String) -> Contract? {
            var contract = CampaignCasesTests.result(.failed).contract
            contract.id = id
            return contract
        }

        func cause(of result: CaseResult) -> LifeCause? {
            result.findings.first.map(LifeCause.init)
        }
    }

    private enum Examined: Equatable {
        case found(acts: [Act.Kind], isMinimal: Bool, failsAsWritten: Bool?)
        case unsteady
    }

    private func examined(
        shrinkTime: Duration = .seconds(10_000),
        isSameFromFile: Bool = true,
        _ fails: @escaping @Sendable (Life, Int) -> Verdict?
    ) async -> Examined {
        let clock = HandClock()
        let ledger = ledger(clock) { $0.shrinkTime = shrinkTime }
        let player = Scripted(fails: fails, isSameFromFile: isSameFromFile, clock: clock)
        let life = Self.life("purchase", "extend", "cancel", "uncancel", "refund", "tell")
        let first = Replayed(story: .people(life), result: CampaignCasesTests.result(.failed))
        var shrinker = StoryShrinker(player, first, Self.plain, ledger)
        switch await shrinker.examine(original: .people(life)) {
        case .unsteady: return .unsteady
        case .found(let found):
            return .found(
                acts: found.story.life?.steps.map(\.act.kind) ?? [],
                isMinimal: found.isMinimal,
                failsAsWritten: found.failsAsWritten
            )
        }
    }

    private static let hasBoth: @Sendable (Life, Int) -> Verdict? = { life, _ in
        let kinds = life.steps.map(\.act.kind)
        return kinds.contains(.cancel) && kinds.contains(.refund) ? .failed : .passed
    }

    @Test func `what fails becomes as small as it gets`() async {
        let small = await examined(Self.hasBoth)
        #expect(small == .found(acts: [.cancel, .refund], isMinimal: true, failsAsWritten: true))
    }

    @Test func `its file has to show it as well`() async {
        let small = await examined(isSameFromFile: false, Self.hasBoth)
        #expect(small == .found(acts: [.cancel, .refund], isMinimal: true, failsAsWritten: false))
    }

    @Test func `when the time is over what is left is told, and that it is not the smallest`() async
    {
        guard
            case .found(let acts, let isMinimal, let isWritten) = await examined(
                shrinkTime: .seconds(2),
                Self.hasBoth
            )
        else {
            Issue.record("it failed again, and was not found")
            return
        }
        #expect(acts.count > 2)
        #expect(!isMinimal)
        #expect(isWritten == nil)
    }

    @Test func `what passes three times after is a race, and silence is none`() async {
        #expect(await examined { _, _ in .passed } == .unsteady)
        let silent = await examined { _, _ in nil }
        #expect(
            silent
                == .found(
                    acts: [.purchase, .extend, .cancel, .uncancel, .refund, .wait],
                    isMinimal: false,
                    failsAsWritten: true
                )
        )
        // The third try counts.
        let late = await examined { life, number in
            number < 3 ? .passed : Self.hasBoth(life, number)
        }
        #expect(late == .found(acts: [.cancel, .refund], isMinimal: true, failsAsWritten: true))
    }
}
