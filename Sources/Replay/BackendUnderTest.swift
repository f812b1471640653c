package import Conformance
internal import FakeServers
internal import Foundation

/// The backend as the runner sees it: an address, and a process when Assay started it.
package final class BackendUnderTest: Sendable {
    /// The backend cannot be reached before the first case.
    package struct UnreachableError: Error, Sendable, CustomStringConvertible {
        package let description: String
        /// Whether a process that Assay started has ended by itself.
        package var hasEnded = false
        /// Whether it ended because its port was in use soon after Assay had stopped it.
        package var isPortConflict = false
    }

    package let client: any Transport
    package let process: (any BackendProgram)?
    private let clock: any RunClock
    private let lives = Locked(0)
    private let ready: Profile.Ready?
    private let startMax: Duration
    private let stopMax: Duration
    private let onWaiting: @Sendable (Waiting) -> Void

    /// What is told while a backend is not ready.
    package struct Waiting: Hashable, Sendable {
        /// How long that has been so.
        package let time: Duration
        /// What it did last when it was asked.
        package let last: String
        /// Where it listens, if it does so elsewhere than it should.
        package let elsewhere: String?
    }

    /// - Parameters:
    ///   - client: The way to it.
    ///   - process: What is started; nil where it runs already.
    ///   - clock: What time is told by.
    ///   - ready: Which answer says that it is ready; nil: any.
    ///   - startMax: How long it may take until then.
    ///   - stopMax: How long its last end may take, before it is killed.
    ///   - onWaiting: Told every few seconds while it is not.
    package init(
        client: any Transport,
        process: (any BackendProgram)?,
        clock: any RunClock,
        ready: Profile.Ready? = nil,
        startMax: Duration = Profile.Start.usualTimeout,
        stopMax: Duration = .seconds(3),
        onWaiting: @escaping @Sendable (Waiting) -> Void = { _ in }
    ) {
        self.client = client
        self.clock = clock
        self.process = process
        self.ready = ready
        self.startMax = startMax
        self.stopMax = stopMax
        self.onWaiting = onWaiting
    }

    package var target: String { client.base }
    package var readyPath: String { question.target }

    private var question: HTTPMessage.Request {
        HTTPMessage.Request(ready?.method ?? "GET", ready?.path ?? "/")
    }
    /// How often it was started; two looks in one life see one memory.
    package var life: Int { lives.withLock { $0 } }

    /// Starts the process, when there is one, and waits until the backend answers.
    package func start() async throws(UnreachableError) {
        lives.withLock { $0 += 1 }
        if let process {
            do {
                try process.launch()
            } catch {
                throw UnreachableError(description: error.description)
            }
        }
        try await waitUntilReady()
    }

    /// Stops the process with that signal and starts it again on the same data.
    package func restart(_ signal: Restart.Signal) async throws(UnreachableError) {
        await process?.stop(signal)
        var pause = Self.conflictPause
        for _ in 1..<Self.restartMax {
            do throws(UnreachableError) {
                return try await start()
            } catch {
                guard error.isPortConflict, !Task.isCancelled else { throw error }
            }
            await clock.pause(pause)
            pause = pause * 2
        }
        try await start()
    }

    /// Starts after a stop, while the port is in use.
    private static let restartMax = 6
    /// The pause after the first of them; each later one is twice as long.
    private static let conflictPause: Duration = .milliseconds(100)

    /// Whether anything listens at the address.
    package func isReachable() async -> Bool {
        let outcome = await client.send(
            question,
            within: .seconds(5)
        )
        if case .failed(.refused, _) = outcome { return false }
        return true
    }

    /// Ends the process; the last thing a run does.
    package func stop() async {
        await process?.stop(.terminate, grace: stopMax)
        process?.sweep()
        await client.close()
    }

    /// What a proxy answers in the place of a backend that is not there yet (RFC 9110, section 15.6).
    private static let gatewayStatuses = 502...504
    private static let waitingPeriod: Duration = .seconds(3)
    /// Between two questions.
    private static let pause: Duration = .milliseconds(5)
    /// How much longer than `startMax` a busy machine may make it.
    private static let busyFactor = 10

    private func isReady(_ response: HTTPMessage.Response) -> Bool {
        // A backend that is already running need not know the ready path.
        guard process != nil else { return true }
        guard let ready else { return !Self.gatewayStatuses.contains(response.status) }
        return ready.status.map { $0 == response.status } ?? (response.status < 400)
    }

    /// Sends the question to the backend's address and, where that refuses, to the other loopback
    /// address.
    ///
    /// The address that responds is the target from then on.
    private func askOnce() async -> Exchange.Outcome {
        let outcome = await client.send(question, within: .seconds(5))
        guard case .failed(.refused, let text) = outcome else { return outcome }
        let first = target
        guard client.useOtherLoopback() else { return outcome }
        let second = target
        let other = await client.send(question, within: .seconds(5))
        if case .answered = other { return other }
        // A machine without that family refuses in other ways.
        _ = client.useOtherLoopback()
        return .failed(.refused, text + " at \(first), and nothing responds at \(second)")
    }

    private func waitUntilReady() async throws(UnreachableError) {
        let wait = process == nil ? .seconds(5) : startMax
        let start = clock.now
        var deadline = start + wait
        let end = start + wait * Self.busyFactor
        var told = start
        var last = ""
        repeat {
            let asked = clock.now
            let outcome = await askOnce()
            var own = clock.now - asked
            switch outcome {
            case .answered(let response) where isReady(response): return
            case .answered(let response):
                last = "\(question.method) \(question.target) answered \(response.status)"
            case .failed(.refused, let text) where process == nil:
                throw UnreachableError(description: "\(target): \(text)")
            case .failed(.refused, let text):
                last = text
                // Nobody is there who could take his time.
                own = .zero
            case .failed(_, let text): last = text
            case .pending, .answerLost, .requestCut: break
            }
            if let exit = process?.exitText {
                throw UnreachableError(
                    description: "the backend did not start: \(exit)\n"
                        + (process?.outputTail() ?? ""),
                    hasEnded: true,
                    isPortConflict: process?.hasPortConflict == true
                )
            }
            if clock.now - told >= Self.waitingPeriod {
                told = clock.now
                onWaiting(Waiting(time: told - start, last: last, elsewhere: elsewhere))
            }
            do {
                try await clock.sleep(for: Self.pause)
            } catch {
                throw UnreachableError(description: "interrupted while waiting for the backend")
            }
            // What a machine that is busy adds to a pause is no time that the backend had.
            let excess = clock.now - asked - own - Self.pause * 2
            if excess > .zero { deadline = min(deadline + excess, end) }
        } while clock.now < deadline
        let lines = [elsewhere, remedy(last), process?.outputTail()].compactMap(\.self)
        throw UnreachableError(
            description: (["\(target) was not ready after \(wait.unsignedText): \(last)"] + lines)
                .filter { !$0.isEmpty }.joined(separator: "\n")
        )
    }

    /// What to write where it answers, but not what it should.
    private func remedy(_ last: String) -> String? {
        guard process != nil, let ready, last.contains(" answered ") else { return nil }
        return "if that is its answer, leave 'ready' out, or write 'ready: "
            + "{\(ready.method.lowercased()): \(ready.path), status: "
            + "\(last.split(separator: " ").last ?? "")}'"
    }

    /// Where it listens, when that is not where it is looked for.
    private var elsewhere: String? {
        guard let process, let wanted = URLComponents(string: target)?.port else { return nil }
        let ports = process.listeningPorts
        guard !ports.isEmpty, !ports.contains(wanted) else { return nil }
        let list = ports.map(String.init).joined(separator: ", ")
        return "the backend listens on port \(list), and not on \(wanted), which PORT in its "
            + "environment says; let it read PORT, write {{port}} into the command, or name its own "
            + "address: 'target: http://127.0.0.1:\(ports[0])'"
    }
}
