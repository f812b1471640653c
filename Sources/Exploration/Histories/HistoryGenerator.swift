internal import Contracts
internal import Providers
package import Values

/// Generates valid customer histories, with a preference for situations that few earlier histories
/// covered.
///
/// The same seed, backend capabilities and coverage produce the same histories in the same order.
package struct HistoryGenerator: Sendable {
    /// The options that restrict the generated customer histories.
    package struct Options: Hashable, Sendable {
        package var capabilities: Capabilities
        /// The sellers whose purchases a history may contain, as far as the backend supports them.
        package var sellers = SellerTable.all
        /// The kinds of operations that a history may contain, in addition to purchases and
        /// waiting; empty for all kinds.
        package var kinds: Set<HistoryOperation.Kind> = []
        /// The kinds of faults that a history may contain; empty for all kinds that the backend
        /// supports.
        package var faults: Set<HistoryFault.Kind> = []
        /// The maximum number of users in one history.
        package var userCountMax = 3
        /// The maximum number of operations in one history.
        package var operationsMax = 12

        package init(capabilities: Capabilities) {
            self.capabilities = capabilities
        }
    }

    private static let userNames = ["ada", "bob", "carol"]

    let options: Options
    private let seed: UInt64
    private var number = 0
    /// The situations that the generated histories have covered.
    ///
    /// Rarely covered situations get a higher weight in the next history.
    package private(set) var coverage: HistoryCoverage

    package init(seed: UInt64, options: Options, coverage: HistoryCoverage = HistoryCoverage()) {
        (self.seed, self.options, self.coverage) = (seed, options, coverage)
    }

    /// A generated history as a contract, with its number and coverage.
    package struct GeneratedHistory: Sendable {
        package let number: Int
        package let script: HistoryScript
        /// The number of situations that this history is the first to cover.
        package let newSituationCount: Int
    }

    /// Generates the next valid history and adds its covered situations to `coverage`.
    package mutating func next() -> GeneratedHistory {
        while true {
            var random = SeededGenerator(seed: seed, text: "life \(number)")
            number += 1
            guard let script = generate(&random) else { continue }
            return GeneratedHistory(
                number: number - 1,
                script: script,
                newSituationCount: coverage.add(script.features)
            )
        }
    }

    /// Adds the covered situations of a history from another source, such as a saved file, to
    /// `coverage`.
    ///
    /// - Returns: The number of situations that no earlier history had covered.
    package mutating func note(_ script: HistoryScript) -> Int { coverage.add(script.features) }

    // MARK: One history

    /// The user name for an additional ID of another user.
    ///
    /// No operation has this name as its acting user.
    static let aliasUserName = "eve"

    private static let firstStepTime: Duration = .seconds(-8000 * 86_400)

    private func generate(_ random: inout SeededGenerator) -> HistoryScript? {
        let capabilities = options.capabilities
        var users: [CustomerHistory.HistoryUser] = []
        let count = [1, 1, 1, 2, 2, 2, 3].randomElement(using: &random) ?? 1
        for name in Self.userNames.prefix(min(count, options.userCountMax)) {
            let mayBeUnknown =
                capabilities.has(.createsUnknownUsers) && !capabilities.backendChoosesIDs
            let isUnknown = mayBeUnknown && random.occursOncePer(4)
            users.append(CustomerHistory.HistoryUser(name, isUnknown ? .unknown : .registered))
        }
        if users.count > 1, capabilities.has(.createsUnknownUsers),
            !capabilities.backendChoosesIDs, random.occursOncePer(3)
        {
            users.append(CustomerHistory.HistoryUser(Self.aliasUserName, .unknown))
        }
        var model = HistoryModel(users, options.sellers)
        var tracker = HistoryCoverage.Tracker(users)
        var steps: [CustomerHistory.Step] = []
        var events: [HistoryModel.StepEvent] = []
        var time = Self.firstStepTime
        // Most defects of a backend show in short histories, and more short histories fit in the
        // same time.
        let operationCount = min(
            Int.random(in: 1...options.operationsMax, using: &random),
            Int.random(in: 1...options.operationsMax, using: &random)
        )
        for id in 0..<operationCount {
            guard
                let (step, stepEvents, after) = chooseStep(
                    id,
                    users,
                    model,
                    time,
                    tracker,
                    &random
                )
            else {
                continue
            }
            model = after
            _ = tracker.features(of: step, stepEvents, model)
            time = step.operation.time
            events += stepEvents
            steps.append(step)
        }
        let last =
            random.occursOncePer(20) ? irrelevantFinalStep(users, model, time, &random) : nil
        if let last { steps.append(last) }
        guard !events.isEmpty || last != nil else { return nil }
        let activeUsers = Set(steps.flatMap(\.operation.users))
        let includedUsers = users.filter {
            $0.name != Self.aliasUserName || activeUsers.contains($0.name)
        }
        var history = CustomerHistory(
            users: includedUsers,
            steps: steps,
            sellers: options.sellers
        )
        if last == nil { addFaults(&history, events, &random) } else { history.hasBaseline = true }
        return shiftedScript(history, &random)
    }

    /// Returns the history as a contract, with times shifted so that the history ends before the
    /// run begins.
    ///
    /// No paid period may end close to the present. The result is nil when no shift makes the
    /// history possible.
    private func shiftedScript(_ history: CustomerHistory, _ random: inout SeededGenerator)
        -> HistoryScript?
    {
        let endTimes: [Duration] = [
            .seconds(-300), .seconds(-600), .seconds(-3 * 3600), .seconds(-2 * 86_400),
            .seconds(-12 * 86_400), .seconds(-45 * 86_400), .seconds(-400 * 86_400),
        ]
        let last = history.steps.last?.operation.time ?? .zero
        // Most histories end close to the present, because a backend's `access` only shows the
        // present.
        let nearEndTimes = Array(endTimes.prefix(3)).shuffled(using: &random)
        let farEndTimes = Array(endTimes.dropFirst(3)).shuffled(using: &random)
        for end in random.occursOncePer(6)
            ? farEndTimes + nearEndTimes : nearEndTimes + farEndTimes
        {
            var shiftedHistory = history
            for index in shiftedHistory.steps.indices {
                shiftedHistory.steps[index].operation.time += end - last
            }
            // If the history is impossible at this time, the next time is tried.
            if let script = try? HistoryScript(shiftedHistory, options.capabilities) {
                return script
            }
        }
        return nil
    }

    // MARK: One operation

    /// The number of valid random operations of which the best one becomes the next operation.
    private static let candidateCount = 4
    /// The maximum number of events that one operation may cause.
    ///
    /// A wait of years would cause hundreds of weekly renewals without covering anything new.
    static let eventsPerOperationMax = 4
    /// The maximum number of random operations to try until `candidateCount` valid operations are
    /// found.
    private static let candidateAttemptsMax = 24

    private func chooseStep(
        _ id: Int,
        _ users: [CustomerHistory.HistoryUser],
        _ model: HistoryModel,
        _ time: Duration,
        _ tracker: HistoryCoverage.Tracker,
        _ random: inout SeededGenerator
    ) -> (CustomerHistory.Step, [HistoryModel.StepEvent], HistoryModel)? {
        var bestCandidate:
            (
                score: Double, step: CustomerHistory.Step, stepEvents: [HistoryModel.StepEvent],
                model: HistoryModel
            )?
        var acceptedCandidateCount = 0
        for _ in 0..<Self.candidateAttemptsMax where acceptedCandidateCount < Self.candidateCount {
            guard let operation = operation(users, model, time, &random) else { continue }
            let step = CustomerHistory.Step(
                id: id,
                operation: operation,
                readsStateAfterStep: false
            )
            var after = model
            // An impossible operation is not a candidate.
            guard let stepEvents = try? after.perform(step),
                stepEvents.count <= Self.eventsPerOperationMax
            else {
                continue
            }
            acceptedCandidateCount += 1
            var trackerCopy = tracker
            let features = trackerCopy.features(of: step, stepEvents, after)
            let novelty = features.map { 1 / Double(1 + coverage.count($0)) }.reduce(0, +)
            // The score has a random part so that operations that were often covered are still
            // chosen sometimes.
            let randomWeight = Double(UInt16.random(in: .min ... .max, using: &random)) / 65_536
            let score = novelty * (0.5 + randomWeight) + randomWeight * 0.05
            if bestCandidate.map({ $0.score < score }) ?? true {
                bestCandidate = (score, step, stepEvents, after)
            }
        }
        return bestCandidate.map { ($0.step, $0.stepEvents, $0.model) }
    }
}

extension SeededGenerator {
    /// Returns true once in the given number of calls, on average.
    package mutating func occursOncePer(_ trials: Int) -> Bool {
        Int.random(in: 0..<trials, using: &self) == 0
    }
}
