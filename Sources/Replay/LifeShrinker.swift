internal import Conformance
internal import Exploration

/// Makes one failing life smaller, until nothing more can be left out or the time is over.
struct LifeShrinker {
    let players: LifePlayer
    let cause: LifeCause
    let clock: any RunClock
    let jobs: Int
    private let end: Duration
    private var best: LifePlayer.Played
    private var runCount = 0
    private var isMinimal = false
    /// Whether its file's text failed as well; nil: nobody has tried.
    private var isWritten: Bool?
    private let written: @Sendable (Contract) -> Contract?

    init(
        _ players: LifePlayer,
        _ played: LifePlayer.Played,
        _ cause: LifeCause,
        _ clock: any RunClock,
        _ options: Campaign.Options,
        until campaignEnd: Duration?
    ) {
        self.players = players
        self.cause = cause
        self.clock = clock
        jobs = options.jobs
        written = options.written
        let latest = campaignEnd.map { $0 + options.shrinkTime } ?? .seconds(Int64.max / 2)
        end = min(clock.now + options.shrinkTime, max(latest, clock.now))
        best = played
    }

    enum Confirmation { case yes, no, unknown }

    /// Once may be chance: whether it fails again, of some more tries.
    mutating func confirm() async -> Confirmation {
        var isDecided = false
        for _ in 0..<3 {
            guard !isOver else { return isDecided ? .no : .unknown }
            let played = await play([best.life])
            if let again = played.first(where: isSame) {
                best = again
                return .yes
            }
            if played.contains(where: { $0.result.verdict == .passed }) { isDecided = true }
        }
        return isDecided ? .no : .unknown
    }

    mutating func run() async {
        var isSmaller = true
        while isSmaller {
            isSmaller = await step(best.life.shorter)
            if !isSmaller { isSmaller = await step(best.life.plainer) }
        }
        isMinimal = !isOver
    }

    /// Whether its time is; what was found by then stays found.
    private var isOver: Bool { clock.now >= end || Task.isCancelled }

    /// Whether one of them fails in the same way; the first that does is taken.
    private mutating func step(_ candidates: [Life]) async -> Bool {
        var rest = candidates.filter { $0 != best.life && !$0.steps.isEmpty }[...]
        while !rest.isEmpty, !isOver {
            let batch = Array(rest.prefix(jobs))
            rest = rest.dropFirst(jobs)
            if let smaller = await failing(batch) {
                best = smaller
                return true
            }
        }
        return false
    }

    private mutating func failing(_ lives: [Life]) async -> LifePlayer.Played? {
        await play(lives).first(where: isSame)
    }

    private func isSame(_ played: LifePlayer.Played) -> Bool {
        played.result.verdict == .failed
            && played.result.findings.first.map(LifeCause.init) == cause
    }

    /// In their order; what was cut short is not among them.
    private mutating func play(_ lives: [Life]) async -> [LifePlayer.Played] {
        let scripts = lives.compactMap { try? LifeScript($0, players.means) }
        runCount += scripts.count
        let isAlone = scripts.contains(where: \.needsSolitude)
        return await withTaskGroup(of: (Int, LifePlayer.Played?).self) { group in
            var found: [(Int, LifePlayer.Played)] = []
            for (index, script) in scripts.enumerated() {
                // One after the other where nobody may play beside.
                if isAlone {
                    if let played = await players.play(script, isAlone: true) {
                        found.append((index, played))
                    }
                } else {
                    group.addTask { [players] in
                        (index, await players.play(script, isAlone: false))
                    }
                }
            }
            var ended: [Int] = []
            for await (index, played) in group {
                if let played {
                    found.append((index, played))
                } else {
                    ended.append(index)
                }
            }
            // Which of them ended the backend shows when each is alone.
            for index in ended.sorted() where !Task.isCancelled {
                if let played = await players.play(scripts[index], isAlone: true) {
                    found.append((index, played))
                }
            }
            return found.sorted { $0.0 < $1.0 }.map(\.1)
        }
    }

    /// - Parameters:
    /// - Parameter original: The life in which it was found.
    /// - Returns: What is told of it, from the run of its own file where there is time for it.
    mutating func found(original: Life) async -> Campaign.Found {
        var result = best.result
        let id = "found/" + Story.people(best.life).id(cause)
        if let script = try? LifeScript(best.life.withoutQuietPoints, players.means, id: id) {
            // What is kept is what was seen to fail.
            let contract = written(script.contract)
            result.contract = contract ?? script.contract
            if let contract, !isOver,
                let again = await players.play(contract, isAlone: script.needsSolitude)
            {
                let isSame =
                    again.verdict == .failed && again.findings.first.map(LifeCause.init) == cause
                if isSame { result = again }
                isWritten = isSame
            } else if contract == nil {
                isWritten = false
            }
        }
        return Campaign.Found(
            story: .people(best.life),
            original: .people(original),
            cause: cause,
            result: result,
            shrinkCount: runCount,
            isMinimal: isMinimal,
            failsAsWritten: isWritten
        )
    }
}
