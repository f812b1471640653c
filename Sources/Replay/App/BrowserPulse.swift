internal import Browser
internal import Conformance
internal import FakeServers

/// Tells how much of the machine a page gets: a browser that starves is no app that is slow.
///
/// An empty page does a little work again and again. What it takes when nothing disturbs it is known
/// from its best pieces; what it takes longer, everybody's pages take longer. Such time is no time in
/// which an app could be seen to do nothing, and the heartbeat is told that it was lost.
package final class BrowserPulse: Sendable {
    private struct State {
        /// Milliseconds that the work has taken at its quickest.
        var best = Double.infinity
        var slowdown = 1.0
    }

    /// Between two looks.
    private static let period: Duration = .milliseconds(400)
    /// The way to the browser and back takes no longer, in milliseconds, on a machine that has time.
    private static let way = 100.0
    /// Below this a page is merely not alone: engines themselves take once more, once less.
    private static let leastSlowdown = 4.0

    private let devTools: DevTools
    private let heartbeat: Heartbeat
    private let clock: any RunClock
    private let state = Locked(State())

    init(_ devTools: DevTools, _ heartbeat: Heartbeat, _ clock: any RunClock) {
        self.devTools = devTools
        self.heartbeat = heartbeat
        self.clock = clock
    }

    /// How many times longer than on an idle machine a page takes for anything, at least 1.
    package var slowdown: Double { state.withLock { $0.slowdown } }

    /// Looks until it is cancelled.
    package func beat() async {
        let target = try? await devTools.send("Target.createTarget", ["url": "about:blank"])
        guard let id = target?["targetId"]?.string else { return }
        let attached = try? await devTools.send(
            "Target.attachToTarget",
            ["targetId": .string(id), "flatten": true]
        )
        guard let session = attached?["sessionId"]?.string else { return }
        while !Task.isCancelled {
            await look(session)
            await clock.pause(Self.period)
        }
        devTools.post("Target.closeTarget", ["targetId": .string(id)])
    }

    private func look(_ session: String) async {
        let start = clock.now
        let answer = try? await devTools.send(
            "Runtime.evaluate",
            ["expression": .string(Self.work), "returnByValue": true],
            session: session
        )
        let now = clock.now
        let took = Double((now - start).microseconds) / 1000
        let slowdown = state.withLock { state in
            // No answer at all is the slowest.
            var worked = took
            if let time = answer?["result"]?["value"]?.int64 {
                worked = max(0.1, Double(time) / 1000)
                state.best = min(state.best, worked)
            }
            state.slowdown = max(1, worked / min(worked, state.best), took / (worked + Self.way))
            return state.slowdown
        }
        guard slowdown >= Self.leastSlowdown else { return }
        let share = 1 - 1 / slowdown
        let length = now - start + Self.period
        heartbeat.lose(.microseconds(Int64(Double(length.microseconds) * share)), during: length)
    }

    /// A few milliseconds of work, and how many microseconds it took.
    private static let work =
        "(function () { function piece() { var sum = 0; "
        + "for (var turn = 0; turn < 300000; turn += 1) sum += turn % 7; return sum; } "
        // What an engine has not seen before takes it longer.
        + "for (var warm = 0; warm < 4; warm += 1) piece(); "
        + "var begin = performance.now(); for (var count = 0; count < 8; count += 1) piece(); "
        + "return Math.round((performance.now() - begin) * 1000); })()"
}
