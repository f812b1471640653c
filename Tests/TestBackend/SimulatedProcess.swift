package import Contracts
package import Replay
import Values

extension BackendDouble {
    /// The process of a double on a simulated machine.
    package struct ProcessState {
        /// The reason for which the process cannot start.
        package var launchError: String?
        /// The time between a start and the first accepted connection.
        package var bootTime: Duration = .zero
        /// Whether a port accepts connections.
        package var isListening = true
        /// The reason with which the process exited; nil while it runs.
        package var exitDescription: String?
        package var output = ""
        package var listeningPorts: [Int] = []
        package var timeZone: String?
        package var secretChange: SecretChange?
        /// Everything that a runner did to the process, in order.
        package internal(set) var operations: [String] = []
        /// Changes with each start and each end, so that work of an earlier process can stop.
        package fileprivate(set) var lifetime = 0
    }

    /// Whether a client can connect.
    package var isReachable: Bool { process.isListening && process.exitDescription == nil }

    /// Ends the process: its connections close, and its memory is lost.
    package func exit(_ description: String? = nil) {
        process.isListening = false
        process.exitDescription = description
        process.lifetime += 1
        model.processDidEnd()
        resetConnections()
    }
}

extension BackendDouble: BackendProgram {
    package var timeZone: String? {
        get { process.timeZone }
        set { process.timeZone = newValue }
    }
    package var secretChange: SecretChange? {
        get { process.secretChange }
        set { process.secretChange = newValue }
    }
    package var exitDescription: String? { process.exitDescription }
    package var outputSize: UInt64 { 0 }
    package var listeningPorts: [Int] { process.listeningPorts }

    package func ended() async -> String? { process.exitDescription }

    package func output(since start: UInt64, lineCountMax: Int) -> String { process.output }

    package func launch() throws(BackendProcess.StartError) {
        process.operations.append("launch" + (process.timeZone.map { " in \($0)" } ?? ""))
        if let text = process.launchError { throw BackendProcess.StartError(description: text) }
        process.lifetime += 1
        process.exitDescription = nil
        process.isListening = process.bootTime == .zero
        model.processDidStart(of: self)
        guard !process.isListening else { return }
        _ = clock.task {
            await self.clock.pause(self.process.bootTime)
            self.process.isListening = true
        }
    }

    package func stop(_ signal: Restart.Signal, grace: Duration?) async {
        process.operations.append("stop \(signal.rawValue)")
        exit(process.exitDescription)
    }

    package func killNow() {
        process.operations.append("kill")
        exit(process.exitDescription)
    }

    package func killLeftoverProcesses() { process.operations.append("sweep") }
}
