internal import Values

/// Limits the number of scenarios that begin at the same time in a browser, so that pages do not
/// starve each other.
///
/// A loading page needs a processor, and a waiting page needs none. Many scenarios can therefore
/// run at once, but only a few can begin at once.
package final class BrowserAdmission: Sendable {
    /// The longest time for which the first page of a scenario counts as loading.
    ///
    /// A page that takes longer waits for its network, not for the machine.
    private static let loadTimeMax: Duration = .seconds(2)
    /// The slowdown of pages (1 means not slower) at which no more than `concurrentLoadMax` scenarios run
    /// at once.
    private static let slowdownMax = 3.0
    private static let pollInterval: Duration = .milliseconds(15)

    private struct State {
        var scenarioNumber = 0
        /// The start times of the scenarios whose first page is still loading, by the number of the
        /// scenario.
        var loadStartTimes: [Int: Duration] = [:]
        var runningCount = 0
    }

    private let concurrentLoadMax: Int
    private let slowdown: @Sendable () -> Double
    private let clock: any RunClock
    private let state = Locked(State())

    /// Creates a limit for the scenarios of one browser.
    ///
    /// - Parameters:
    ///   - concurrentLoadMax: The number of first pages that may load at the same time. This number of
    ///     scenarios may always run, however slow the pages are, so that the run makes progress.
    ///   - clock: The clock that measures the loading time of first pages.
    ///   - slowdown: Returns the factor by which pages are slower now than at their best.
    package init(
        concurrentLoadMax: Int,
        clock: any RunClock,
        slowdown: @escaping @Sendable () -> Double
    ) {
        self.concurrentLoadMax = concurrentLoadMax
        self.slowdown = slowdown
        self.clock = clock
    }

    /// Waits until one more scenario may begin, and returns its number for `endScenario(_:)`.
    ///
    /// If the task is canceled, the scenario is admitted at once, so that it can end.
    package func waitForAdmission() async -> Int {
        while true {
            if let scenarioNumber = admitIfPossible(isForced: Task.isCancelled) {
                return scenarioNumber
            }
            await clock.pause(Self.pollInterval)
        }
    }

    /// Admits one more scenario and returns its number; nil if none may begin now.
    ///
    /// - Parameter isForced: Whether the scenario is admitted in any case.
    /// - Returns: The number of the scenario; nil if none may begin now.
    package func admitIfPossible(isForced: Bool = false) -> Int? {
        let now = clock.now
        let isBelowSlowdownMax = slowdown() < Self.slowdownMax
        return state.withLock { state in
            state.loadStartTimes = state.loadStartTimes.filter { now - $0.value < Self.loadTimeMax }
            let hasFreeSlot = state.loadStartTimes.count < concurrentLoadMax
            let hasProcessorTime = isBelowSlowdownMax || state.runningCount < concurrentLoadMax
            guard isForced || hasFreeSlot && hasProcessorTime else { return nil }
            state.scenarioNumber += 1
            state.loadStartTimes[state.scenarioNumber] = now
            state.runningCount += 1
            return state.scenarioNumber
        }
    }

    /// Records that the first page of the scenario with this number has loaded.
    package func recordFirstPageLoaded(_ scenarioNumber: Int) {
        state.withLock { $0.loadStartTimes[scenarioNumber] = nil }
    }

    package func endScenario(_ scenarioNumber: Int) {
        state.withLock { state in
            state.loadStartTimes[scenarioNumber] = nil
            state.runningCount -= 1
        }
    }
}
