package import Conformance
internal import FakeServers

/// The backend as the runner sees it: an address, and a process when Assay started it.
package final class BackendUnderTest: Sendable {
    /// The backend cannot be reached before the first case.
    package struct UnreachableError: Error, Sendable, CustomStringConvertible {
        package let description: String
    }

    package let client: any Transport
    package let process: (any BackendProgram)?
    private let clock: any RunClock
    private let lives = Locked(0)
    private let ready: Profile.Endpoint
    private let startMax: Duration
    private let takesAnyAnswer: Bool

    package init(
        client: any Transport,
        process: (any BackendProgram)?,
        clock: any RunClock,
        ready: Profile.Endpoint,
        startMax: Duration = .seconds(30),
        takesAnyAnswer: Bool = false
    ) {
        self.takesAnyAnswer = takesAnyAnswer
        self.client = client
        self.clock = clock
        self.process = process
        self.ready = ready
        self.startMax = startMax
    }

    package var target: String { client.base }
    package var readyPath: String { ready.path }
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
        try await start()
    }

    /// Whether anything listens at the address.
    package func isReachable() async -> Bool {
        let outcome = await client.send(
            HTTPMessage.Request(ready.method, ready.path),
            within: .seconds(5)
        )
        if case .failed(.refused, _) = outcome { return false }
        return true
    }

    /// Ends the process; the last thing a run does.
    package func stop() async {
        await process?.stop(.terminate, grace: .seconds(3))
        process?.sweep()
        await client.close()
    }

    private func waitUntilReady() async throws(UnreachableError) {
        let wait = process == nil ? .seconds(5) : startMax
        let deadline = clock.now + wait
        var last = ""
        repeat {
            let outcome = await client.send(
                HTTPMessage.Request(ready.method, ready.path),
                within: .seconds(5)
            )
            switch outcome {
            // A backend that is already running need not know the ready path.
            case .answered(let response)
            where process == nil || response.status < (takesAnyAnswer ? 500 : 400):
                return
            case .answered(let response):
                last = "\(ready.method) \(ready.path) answered \(response.status)"
            case .failed(.refused, let text) where process == nil:
                throw UnreachableError(description: "\(target): \(text)")
            case .failed(_, let text): last = text
            case .pending, .answerLost, .requestCut: break
            }
            if let exit = process?.exitText {
                throw UnreachableError(
                    description: "the backend did not start: \(exit)\n"
                        + (process?.outputTail() ?? "")
                )
            }
            do {
                try await clock.sleep(for: .milliseconds(5))
            } catch {
                throw UnreachableError(description: "interrupted while waiting for the backend")
            }
        } while clock.now < deadline
        throw UnreachableError(
            description: "\(target) was not ready after \(wait.milliseconds / 1000) s: \(last)"
                + (process.map { "\n" + $0.outputTail() } ?? "")
        )
    }
}
