internal import Browser
internal import Values

/// Measures how slow the browser is, so that a page without processor time is not mistaken for a
/// slow app.
///
/// An empty page repeats a small piece of work. Its fastest run shows how long the work takes on an
/// idle machine. If a run takes longer, all pages are slower by the same factor. The lost time is
/// reported to the heartbeat, because the silence of an app in this time proves nothing.
package final class BrowserPulse: Sendable {
    private struct State {
        /// The shortest measured time for the work, in milliseconds.
        var bestTimeInMilliseconds = Double.infinity
        var slowdown = 1.0
    }

    /// The pause between two measurements of the slowdown.
    private static let pollInterval: Duration = .milliseconds(400)
    /// The longest normal time for a message to the browser and back, in milliseconds.
    private static let roundTripMillisecondsMax = 100.0
    /// The smallest slowdown that counts as lost time.
    ///
    /// A smaller slowdown is normal, because JavaScript engines vary and the page shares the
    /// machine.
    private static let slowdownMin = 4.0

    private let devTools: DevTools
    private let heartbeat: Heartbeat
    private let clock: any RunClock
    private let state = Locked(State())

    init(_ devTools: DevTools, _ heartbeat: Heartbeat, _ clock: any RunClock) {
        self.devTools = devTools
        self.heartbeat = heartbeat
        self.clock = clock
    }

    /// The factor by which pages are slower now than on an idle machine; at least 1.
    package var slowdown: Double { state.withLock { $0.slowdown } }

    /// Measures the slowdown at intervals, until the task is canceled.
    package func beat() async {
        // Without a page for the measurement, the slowdown stays 1.
        let targetResult = try? await devTools.send("Target.createTarget", ["url": "about:blank"])
        guard let id = targetResult?["targetId"]?.string else { return }
        let attachResult = try? await devTools.send(
            "Target.attachToTarget",
            ["targetId": .string(id), "flatten": true]
        )
        guard let session = attachResult?["sessionId"]?.string else { return }
        while !Task.isCancelled {
            await measureSlowdown(session)
            await clock.pause(Self.pollInterval)
        }
        devTools.sendWithoutReply("Target.closeTarget", ["targetId": .string(id)])
    }

    private func measureSlowdown(_ session: String) async {
        let measurementStart = clock.now
        // A page that does not respond is a measurement too; see below.
        let response = try? await devTools.send(
            "Runtime.evaluate",
            ["expression": .string(Self.workExpression), "returnByValue": true],
            session: session
        )
        let now = clock.now
        let roundTripMilliseconds = Double((now - measurementStart).microseconds) / 1000
        let slowdown = state.withLock { state in
            // Without a response, the time until the call ended counts as the time for the work.
            var workMilliseconds = roundTripMilliseconds
            if let time = response?["result"]?["value"]?.int64 {
                workMilliseconds = max(0.1, Double(time) / 1000)
                state.bestTimeInMilliseconds = min(state.bestTimeInMilliseconds, workMilliseconds)
            }
            state.slowdown = max(
                1,
                workMilliseconds / min(workMilliseconds, state.bestTimeInMilliseconds),
                roundTripMilliseconds / (workMilliseconds + Self.roundTripMillisecondsMax)
            )
            return state.slowdown
        }
        guard slowdown >= Self.slowdownMin else { return }
        let lostShare = 1 - 1 / slowdown
        let measuredPeriod = now - measurementStart + Self.pollInterval
        heartbeat.recordLostTime(
            .microseconds(Int64(Double(measuredPeriod.microseconds) * lostShare)),
            during: measuredPeriod
        )
    }

    /// A JavaScript expression that does a few milliseconds of work and returns its duration in
    /// microseconds.
    private static let workExpression =
        "(function () { function piece() { var sum = 0; "
        + "for (var turn = 0; turn < 300000; turn += 1) sum += turn % 7; return sum; } "
        // A JavaScript engine runs new code more slowly at first.
        + "for (var warm = 0; warm < 4; warm += 1) piece(); "
        + "var begin = performance.now(); for (var count = 0; count < 8; count += 1) piece(); "
        + "return Math.round((performance.now() - begin) * 1000); })()"
}
