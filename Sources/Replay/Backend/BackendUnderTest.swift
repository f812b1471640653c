package import Contracts
internal import Foundation
package import Values

/// The backend under test: its address, and its process if Assay started it.
package final class BackendUnderTest: Sendable {
    /// The error of a backend that could not be started or reached.
    package struct UnreachableError: Error, Sendable, CustomStringConvertible {
        package let description: String
        /// Whether the process that Assay started has exited by itself.
        package var hasEnded = false
        /// Whether the process exited because its port was still in use soon after Assay had
        /// stopped the backend.
        package var isPortConflict = false
        /// The ports on which the process listens, if the expected one is not among them.
        package var otherPorts: [Int] = []
    }

    package let client: any Transport
    package let process: (any BackendProgram)?
    /// The port and the data folder of the backend, by the names of their templates; empty for a
    /// backend that is already running.
    let instanceValues: [String: String]
    private let clock: any RunClock
    private let startedProcessCount = Locked(0)
    private let ready: Profile.ReadinessCheck?
    private let startTimeMax: Duration
    private let stopTimeMax: Duration
    private let onStartupWait: @Sendable (StartupWait) -> Void

    /// A progress report during the wait for a backend that is not ready yet.
    package struct StartupWait: Hashable, Sendable {
        /// The time that Assay has waited for the backend so far.
        package let time: Duration
        /// The result of the last readiness request, as text for the user.
        package let last: String
        /// A message about the ports on which the backend listens, with a remedy.
        ///
        /// Nil if the backend listens on the expected port, or if its ports are not known.
        package let portMismatchMessage: String?
    }

    /// Creates a backend; `start()` starts its process.
    ///
    /// - Parameters:
    ///   - client: The connection to the backend.
    ///   - process: The process to start; nil for a backend that is already running.
    ///   - instanceValues: The port and the data folder, by the names of their templates.
    ///   - clock: The clock that measures waits.
    ///   - ready: The request and the status that show that the backend is ready. With nil, any
    ///     status counts except those of a gateway (502 to 504).
    ///   - startTimeMax: The longest time until the backend is ready.
    ///   - stopTimeMax: The longest time that the backend gets to exit at the end of a run; then it is
    ///     killed.
    ///   - onStartupWait: Receives a progress report every few seconds while the backend is not ready.
    package init(
        client: any Transport,
        process: (any BackendProgram)?,
        instanceValues: [String: String] = [:],
        clock: any RunClock,
        ready: Profile.ReadinessCheck? = nil,
        startTimeMax: Duration = Profile.StartSettings.defaultTimeout,
        stopTimeMax: Duration = .seconds(3),
        onStartupWait: @escaping @Sendable (StartupWait) -> Void = { _ in }
    ) {
        self.client = client
        self.clock = clock
        self.process = process
        self.instanceValues = instanceValues
        self.ready = ready
        self.startTimeMax = startTimeMax
        self.stopTimeMax = stopTimeMax
        self.onStartupWait = onStartupWait
    }

    package var target: String { client.base }
    package var readyPath: String { readinessRequest.target }

    /// The request that shows whether the backend is ready: the one of the profile, or `GET /`.
    package var readinessRequest: HTTPMessage.Request {
        HTTPMessage.Request(ready?.method ?? "GET", ready?.path ?? "/")
    }
    /// The number of times that the backend was started.
    ///
    /// State in the memory of the backend process can last from one observation to another only if
    /// this number is the same for both.
    package var processNumber: Int { startedProcessCount.withLock { $0 } }

    /// Starts the backend process, if Assay manages one, and waits until the backend responds.
    package func start() async throws(UnreachableError) {
        startedProcessCount.withLock { $0 += 1 }
        if let process {
            do {
                try process.launch()
            } catch {
                throw UnreachableError(description: error.description)
            }
        }
        try await waitUntilReady()
    }

    /// Stops the backend process with a signal, and starts it again with the same data.
    package func restart(_ signal: Restart.Signal) async throws(UnreachableError) {
        await process?.stop(signal)
        var pause = Self.conflictPause
        for _ in 1..<Self.startAttemptMax {
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

    /// The largest number of attempts to start a stopped backend while its port is still in use.
    private static let startAttemptMax = 6
    /// The pause after the first start that fails because the port is in use; each later pause is
    /// twice as long.
    private static let conflictPause: Duration = .milliseconds(100)

    /// Returns whether anything accepts connections at the backend's address.
    package func isReachable() async -> Bool {
        let outcome = await client.send(
            readinessRequest,
            within: .seconds(5)
        )
        if case .failed(.refused, _) = outcome { return false }
        return true
    }

    /// Stops the backend process and closes the connections to it, at the end of a run.
    package func stop() async {
        await process?.stop(.terminate, grace: stopTimeMax)
        process?.killLeftoverProcesses()
        await client.close()
    }

    /// The statuses that a proxy returns while its backend is not available (RFC 9110, section
    /// 15.6).
    private static let gatewayStatuses = 502...504
    private static let waitReportPeriod: Duration = .seconds(3)
    /// The pause between two readiness requests to a backend that is starting.
    private static let pause: Duration = .milliseconds(5)
    /// The factor by which a busy machine may extend the time to start (`startTimeMax`).
    private static let busyStartTimeFactor = 10

    private func isReady(_ response: HTTPMessage.Response) -> Bool {
        // For a backend that is already running, any response is enough, because it may not have
        // the ready path.
        guard process != nil else { return true }
        guard let ready else { return !Self.gatewayStatuses.contains(response.status) }
        return ready.status.map { $0 == response.status } ?? (response.status < 400)
    }

    /// Sends the readiness request to the backend's address.
    ///
    /// If that address refuses the connection, the request goes to the other loopback address
    /// (127.0.0.1 or ::1). The address that responds is the target from then on.
    private func sendReadinessRequest() async -> Exchange.Outcome {
        let outcome = await client.send(readinessRequest, within: .seconds(5))
        guard case .failed(.refused, let text) = outcome else { return outcome }
        let firstTarget = target
        guard client.useOtherLoopback() else { return outcome }
        let secondTarget = target
        let secondOutcome = await client.send(readinessRequest, within: .seconds(5))
        if case .answered = secondOutcome { return secondOutcome }
        // A machine without IPv4 or IPv6 rejects the second address with another error.
        _ = client.useOtherLoopback()
        return .failed(
            .refused,
            text + " at \(firstTarget), and nothing responds at \(secondTarget) either"
        )
    }

    private func waitUntilReady() async throws(UnreachableError) {
        let startTimeLimit = process == nil ? .seconds(5) : startTimeMax
        let start = clock.now
        var deadline = start + startTimeLimit
        let end = start + startTimeLimit * Self.busyStartTimeFactor
        var lastReportTime = start
        var last = ""
        repeat {
            let requestTime = clock.now
            let outcome = await sendReadinessRequest()
            var responseTime = clock.now - requestTime
            switch outcome {
            case .answered(let response) where isReady(response): return
            case .answered(let response):
                last =
                    "\(readinessRequest.method) \(readinessRequest.target) returned \(response.status)"
            case .failed(.refused, let text) where process == nil:
                throw UnreachableError(description: "\(target): \(text)")
            case .failed(.refused, let text):
                last = text
                // A refused connection takes the backend no time, so the machine caused the whole
                // delay.
                responseTime = .zero
            case .failed(_, let text): last = text
            case .pending, .answerLost, .requestCut: break
            }
            if let exit = process?.exitDescription {
                throw UnreachableError(
                    description: "the backend did not start: \(exit)\n"
                        + (process?.outputTail() ?? ""),
                    hasEnded: true,
                    isPortConflict: process?.hasPortConflict == true
                )
            }
            if clock.now - lastReportTime >= Self.waitReportPeriod {
                lastReportTime = clock.now
                onStartupWait(
                    StartupWait(
                        time: lastReportTime - start,
                        last: last,
                        portMismatchMessage: portMismatchMessage
                    )
                )
            }
            do {
                try await clock.sleep(for: Self.pause)
            } catch {
                throw UnreachableError(description: "interrupted while waiting for the backend")
            }
            // Time that a busy machine adds to a pause was not available to the backend.
            let excessDelay = clock.now - requestTime - responseTime - Self.pause * 2
            if excessDelay > .zero { deadline = min(deadline + excessDelay, end) }
        } while clock.now < deadline
        throw timeoutError(startTimeLimit, last)
    }

    /// Returns the error of a backend that was not ready in time.
    ///
    /// - Parameters:
    ///   - startTimeLimit: The maximum time until the backend is ready.
    ///   - last: The outcome of the last readiness request.
    /// - Returns: The error, with the remedies that may apply.
    private func timeoutError(_ startTimeLimit: Duration, _ last: String) -> UnreachableError {
        let messageParts = [portMismatchMessage, remedy(last), process?.outputTail()].compactMap(
            \.self
        )
        return UnreachableError(
            description: (["\(target) was not ready after \(startTimeLimit.unsignedText): \(last)"]
                + messageParts)
                .filter { !$0.isEmpty }.joined(separator: "\n"),
            otherPorts: otherPorts
        )
    }

    /// Suggests a change of `ready` in the profile if the backend responds with an unexpected
    /// status; nil otherwise.
    private func remedy(_ last: String) -> String? {
        guard process != nil, let ready, last.contains(" returned ") else { return nil }
        return "if the backend is ready when it returns this status, remove 'ready', or write "
            + "'ready: {\(ready.method.lowercased()): \(ready.path), status: "
            + "\(last.split(separator: " ").last ?? "")}'"
    }

    /// The ports on which the process listens; none if the expected one is among them, or if its
    /// ports are not known.
    private var otherPorts: [Int] {
        let ports = process?.listeningPorts ?? []
        return URLComponents(string: target)?.port.map(ports.contains) == false ? ports : []
    }

    /// A message about the ports on which the backend listens, with a remedy.
    ///
    /// Nil if the backend listens on the expected port, or if its ports are not known.
    private var portMismatchMessage: String? {
        let ports = otherPorts
        guard let first = ports.first, let expectedPort = URLComponents(string: target)?.port else {
            return nil
        }
        let portList = ports.map(String.init).joined(separator: ", ")
        return
            "the backend listens on port \(portList), not on port \(expectedPort) from the environment "
            + "variable PORT; let the backend read PORT, write {{port}} into its start command, or "
            + "set its address in the profile: 'target: http://127.0.0.1:\(first)'"
    }
}
