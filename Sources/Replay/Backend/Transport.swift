package import Contracts
package import Values

/// A connection to the backend under test: HTTP in production, a simulated network in tests.
package protocol Transport: Sendable {
    /// The base URL of the backend, also as text for the user.
    var base: String { get }

    /// Sends one request and returns its outcome.
    ///
    /// A lane is a separate set of connections to the backend. Requests on different lanes never
    /// share a connection, so a request that is held back on one lane does not block another lane.
    ///
    /// - Parameters:
    /// - request: The request.
    /// - lane: The number of the lane.
    /// - within: The longest wait for the response.
    /// - fault: The fault to inject on the way to the backend.
    /// - Returns: The response, or the reason why there is none.
    func send(
        _ request: HTTPMessage.Request,
        lane: Int,
        within: Duration,
        fault: AttemptFault
    ) async -> Exchange.Outcome

    /// Opens a connection on each of the first lanes, so that later concurrent requests need no
    /// handshake.
    ///
    /// A lane is a separate set of connections to the backend.
    func openConnections(lanes count: Int, path: String) async

    func close() async

    /// Sends later requests to the other loopback address (127.0.0.1 or ::1) on the same port.
    ///
    /// - Returns: Whether there is another loopback address.
    func useOtherLoopback() -> Bool
}

extension Transport {
    package func useOtherLoopback() -> Bool { false }

    package func send(
        _ request: HTTPMessage.Request,
        lane: Int = 0,
        within: Duration
    ) async -> Exchange.Outcome {
        await send(request, lane: lane, within: within, fault: .none)
    }

    package func send(
        _ request: HTTPMessage.Request,
        within: Duration,
        fault: AttemptFault
    ) async -> Exchange.Outcome {
        await send(request, lane: 0, within: within, fault: fault)
    }
}

/// A backend program that can be started and stopped: a process in production, a model in tests.
package protocol BackendProgram: AnyObject, Sendable {
    /// The time zone with which the backend is started next; nil for the time zone of Assay.
    var timeZone: String? { get set }
    /// The change of the secrets with which the backend is started next; nil for the secrets of the
    /// profile.
    var secretChange: SecretChange? { get set }
    /// The reason and the status with which the backend exited; nil while it runs.
    var exitDescription: String? { get }
    /// Waits for the exit of the backend, and returns its reason and status; nil if the backend was
    /// never started.
    func ended() async -> String?
    /// The number of bytes that the backend has printed since the beginning of the run.
    var outputSize: UInt64 { get }

    func launch() throws(BackendProcess.StartError)
    /// Stops the backend with a signal, and waits until it has exited.
    ///
    /// The backend is killed if it does not exit within the grace period; nil selects the grace
    /// period of its profile.
    func stop(_ signal: Restart.Signal, grace: Duration?) async
    /// Kills all processes in the backend's process group at once.
    func killNow()
    /// Kills the remaining processes of the backend, including those that have left its process
    /// group.
    func killLeftoverProcesses()
    /// The ports of this machine on which the backend listens; empty if the system does not show
    /// them.
    var listeningPorts: [Int] { get }
    /// Whether the backend's output since its last start reports that its port is in use.
    var hasPortConflict: Bool { get }
    /// Returns an excerpt of the lines that the backend printed after the first `start` bytes of
    /// its output.
    ///
    /// The excerpt contains the first error and the last lines.
    func output(since start: UInt64, lineCountMax: Int) -> String
}

extension BackendProgram {
    package var hasPortConflict: Bool { LogExcerpt.showsPortInUse(outputTail()) }

    package func stop(_ signal: Restart.Signal) async {
        await stop(signal, grace: nil)
    }

    package func output(since start: UInt64) -> String { output(since: start, lineCountMax: 12) }
    package func outputTail() -> String { output(since: 0, lineCountMax: 12) }
}
