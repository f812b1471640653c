package import Conformance

/// The way to the backend under test: HTTP outside, a simulated network in tests.
package protocol Transport: Sendable {
    /// Where the backend is, for people.
    var base: String { get }

    /// Sends one request and brings back its end.
    ///
    /// Each lane has connections of its own, so that a repeated delivery comes over another
    /// connection and copies can be released together.
    func send(
        _ request: HTTPMessage.Request,
        lane: Int,
        within: Duration,
        disturbance: Disturbance
    ) async -> Exchange.Outcome

    /// Opens a connection on each of the first lanes, so that a barrier releases requests and not
    /// handshakes.
    func warm(lanes count: Int, path: String) async

    func close() async

    /// Sends later requests to the other loopback address (127.0.0.1 or ::1) on the same port.
    ///
    /// - Returns: Whether there is another one.
    func useOtherLoopback() -> Bool
}

extension Transport {
    package func useOtherLoopback() -> Bool { false }

    package func send(
        _ request: HTTPMessage.Request,
        lane: Int = 0,
        within: Duration
    ) async -> Exchange.Outcome {
        await send(request, lane: lane, within: within, disturbance: .none)
    }

    package func send(
        _ request: HTTPMessage.Request,
        within: Duration,
        disturbance: Disturbance
    ) async -> Exchange.Outcome {
        await send(request, lane: 0, within: within, disturbance: disturbance)
    }
}

/// A backend that can be started and stopped: a process outside, a model in tests.
package protocol BackendProgram: AnyObject, Sendable {
    /// The time zone of the next launch; nil is the one that Assay runs in.
    var timeZone: String? { get set }
    /// How it ended, when it has ended by itself; nil while it runs.
    var exitText: String? { get }
    /// Waits until it ends, however it does; nil when it was never launched.
    func ended() async -> String?
    /// How much it has written, in bytes.
    var outputSize: UInt64 { get }

    func launch() throws(BackendProcess.StartError)
    /// Stops it and waits until it is gone; after the grace it is killed. Nil is the grace that its
    /// profile gives it.
    func stop(_ signal: Restart.Signal, grace: Duration?) async
    /// Ends what is left of it, at once.
    func killNow()
    /// Ends what left its group and lives on.
    func sweep()
    /// Ports of this machine on which anything of it listens; empty where nobody can tell.
    var listeningPorts: [Int] { get }
    /// Whether the output of the last launch reports that its port is in use.
    var hasPortConflict: Bool { get }
    /// The lines that it wrote after that many bytes: the first error, then the last lines.
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
