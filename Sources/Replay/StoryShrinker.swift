internal import Conformance
internal import Exploration

/// Plays what failed again, as it was or with less in it.
protocol StoryReplaying: Sendable {
    /// - Parameters:
    ///   - stories: What to play, possibly at once.
    ///   - cause: What is asked of them; a promise of an app is one of several.
    /// - Returns: What came of them, in their order; what nobody can play and what was cut short is not
    ///   among it.
    func replay(_ stories: [Story], for cause: LifeCause) async -> [Replayed]

    /// The same as it stands in a file; nil when it was cut short.
    func replay(_ contract: Contract) async -> CaseResult?

    /// What a story would be as a contract that shows the cause; nil where none can say it.
    func contract(of story: Story, for cause: LifeCause, id: String) -> Contract?

    /// Why a result failed.
    func cause(of result: CaseResult) -> LifeCause?
}

/// What came of a story that was played again.
struct Replayed: Sendable {
    /// What the result is about: the whole, or a beginning of it.
    let story: Story
    let result: CaseResult
}

/// Makes one failing story smaller, until nothing more can be left out or the time is over.
struct StoryShrinker<Player: StoryReplaying> {
    private let player: Player
    private let cause: LifeCause
    private let clock: any RunClock
    private let jobs: Int
    private let end: Duration
    private let written: @Sendable (Contract) -> Contract?
    private var best: Replayed
    private var runCount = 0
    private var isMinimal = false

    /// - Parameters:
    ///   - player: Who plays.
    ///   - failed: What failed.
    ///   - cause: Why.
    ///   - ledger: Of the campaign, for its clock, its options and its end.
    init(_ player: Player, _ failed: Replayed, _ cause: LifeCause, _ ledger: CampaignLedger) {
        self.player = player
        self.cause = cause
        clock = ledger.clock
        jobs = ledger.options.jobs
        written = ledger.options.written
        end = ledger.shrinkEnd
        best = failed
    }

    /// What a closer look at a story has come to.
    enum Examination: Sendable {
        case found(Campaign.Found)
        /// It failed once, and not when it was tried again.
        case unsteady(LifeCause, CaseResult)
    }

    /// - Parameter original: The story in which it was found.
    /// - Returns: What is told of it.
    mutating func examine(original: Story) async -> Examination {
        let first = best.result
        switch await confirm() {
        case .yes: await shrink()
        // It failed once, which no silence takes back.
        case .unknown: break
        case .no: return .unsteady(cause, first)
        }
        return .found(await found(original: original))
    }

    private enum Confirmation { case yes, no, unknown }

    /// Once may be chance: whether it fails again, of some more tries.
    private mutating func confirm() async -> Confirmation {
        var isDecided = false
        for _ in 0..<3 {
            guard !isOver else { break }
            let played = await play([best.story])
            if let again = played.first(where: { isSame($0.result) }) {
                best = again
                return .yes
            }
            if played.contains(where: { $0.result.verdict == .passed }) { isDecided = true }
        }
        return isDecided ? .no : .unknown
    }

    private mutating func shrink() async {
        var isSmaller = true
        while isSmaller {
            isSmaller = await step(best.story.shorter)
            if !isSmaller { isSmaller = await step(best.story.plainer) }
        }
        isMinimal = !isOver
    }

    /// Whether its time is; what was found by then stays found.
    private var isOver: Bool { clock.now >= end || Task.isCancelled }

    /// Whether one of them fails in the same way; the first that does is taken.
    private mutating func step(_ candidates: [Story]) async -> Bool {
        var rest = candidates.filter { $0 != best.story && $0.size > 0 }[...]
        while !rest.isEmpty, !isOver {
            let batch = Array(rest.prefix(jobs))
            rest = rest.dropFirst(jobs)
            if let smaller = await play(batch).first(where: { isSame($0.result) }) {
                best = smaller
                return true
            }
        }
        return false
    }

    private mutating func play(_ stories: [Story]) async -> [Replayed] {
        runCount += stories.count
        return await player.replay(stories, for: cause)
    }

    private func isSame(_ result: CaseResult) -> Bool {
        result.verdict == .failed && player.cause(of: result) == cause
    }

    /// What is told of it, from the run of its own file where there is time for it: what is kept is
    /// what was seen to fail.
    private mutating func found(original: Story) async -> Campaign.Found {
        var result = best.result
        // Nil: nobody has tried.
        var isWritten: Bool?
        let id = "found/" + best.story.id(cause)
        if let plain = player.contract(of: best.story, for: cause, id: id) {
            let contract = written(plain)
            result.contract = contract ?? plain
            if let contract, !isOver, let again = await player.replay(contract) {
                isWritten = isSame(again)
                if isSame(again) { result = again }
            } else if contract == nil {
                isWritten = false
            }
        }
        // What was not played from a file stands nowhere in it.
        if isWritten != true {
            for index in result.findings.indices { result.findings[index].location = nil }
        }
        return Campaign.Found(
            story: best.story,
            original: original,
            cause: cause,
            result: result,
            shrinkCount: runCount,
            isMinimal: isMinimal,
            failsAsWritten: isWritten
        )
    }
}
