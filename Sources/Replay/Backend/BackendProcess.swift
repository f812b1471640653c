package import Contracts
internal import FakeServers
internal import Foundation
internal import Programs
internal import Values

#if canImport(Glibc)
internal import Glibc
#else
internal import Darwin
#endif

/// A backend process that Assay started.
///
/// It is a shell command in a separate process group, with its output in a file.
package final class BackendProcess: BackendProgram {
    /// The error of a backend command that could not be started.
    package struct StartError: Error, Sendable, CustomStringConvertible {
        package let description: String

        package init(description: String) { self.description = description }
    }

    private struct State {
        var program: StartedProgram?
        var timeZone: String?
        var secretChange: SecretChange?
        /// Whether the backend itself listens on its port; nil until one of its processes has been
        /// seen listening.
        var ownsPort: Bool?
        /// The length of the output file when the backend was last started, in bytes.
        var launchOutputSize: UInt64 = 0
    }

    private let configuredLaunch: BackendLaunch
    private let parentEnvironment: [String: String]
    private let folder: String?
    private let launchWithSecrets: @Sendable (SecretChange) -> BackendLaunch
    private let outputPath: String
    private let stopSettings: Profile.StopSettings
    /// The port of this machine on which the backend is expected to listen; nil if it listens on
    /// another machine.
    private let port: UInt16?
    /// A unique value in the environment of all processes of the backend, by which they are found.
    private let processMarker = UUID().uuidString
    private let state = Locked(State())

    /// Prepares a backend process; `launch()` starts the process.
    ///
    /// - Parameters:
    ///   - command: A command line for the shell.
    ///   - folder: The working directory of the command; nil for that of Assay.
    ///   - environment: Environment variables in addition to those of Assay.
    ///   - parentEnvironment: The environment of Assay. The backend inherits the variables that do
    ///     not configure Assay.
    ///   - outputPath: The file to which all output is appended.
    ///   - stopSettings: The signal and the time limit for stopping the backend.
    ///   - port: The port of this machine that has to be free again before the backend counts as
    ///     stopped.
    ///   - launchWithSecrets: Returns the command line and the environment for a start with other
    ///     secrets.
    package init(
        command: String,
        folder: String? = nil,
        environment: [String: String],
        parentEnvironment: [String: String] = ProcessInfo.processInfo.environment,
        outputPath: String,
        stopSettings: Profile.StopSettings = Profile.StopSettings(),
        port: UInt16? = nil,
        launchWithSecrets: (@Sendable (SecretChange) -> BackendLaunch)? = nil
    ) {
        let launch = BackendLaunch(command: command, environment: environment)
        configuredLaunch = launch
        self.parentEnvironment = parentEnvironment
        self.launchWithSecrets = launchWithSecrets ?? { _ in launch }
        self.folder = folder
        self.outputPath = outputPath
        self.stopSettings = stopSettings
        self.port = port
    }

    /// The time zone with which the backend is started next; nil for the time zone of Assay.
    package var timeZone: String? {
        get { state.withLock { $0.timeZone } }
        set { state.withLock { $0.timeZone = newValue } }
    }

    package var secretChange: SecretChange? {
        get { state.withLock { $0.secretChange } }
        set { state.withLock { $0.secretChange = newValue } }
    }

    package func launch() throws(StartError) {
        let launch = secretChange.map(launchWithSecrets) ?? configuredLaunch
        var shell = ProgramCommand("/bin/sh", ["-c", launch.command])
        shell.folder = folder
        shell.output = .appending(path: outputPath)
        shell.errorOutput = .sameAsOutput
        shell.endsWithParent = true
        var mergedEnvironment = ProgramCommand.withoutAssayVariables(parentEnvironment)
        for name in launch.removedVariables { mergedEnvironment[name] = nil }
        mergedEnvironment.merge(launch.environment) { $1 }
        mergedEnvironment["ASSAY_PROCESS"] = processMarker
        if let timeZone { mergedEnvironment["TZ"] = timeZone }
        shell.environment = mergedEnvironment
        let size = outputSize
        let program: StartedProgram
        do throws(StartedProgram.StartError) {
            program = try StartedProgram(shell)
        } catch {
            throw StartError(description: "cannot start '\(launch.command)': \(error.reason)")
        }
        state.withLock { state in
            state.program = program
            state.launchOutputSize = size
        }
    }

    private var program: StartedProgram? { state.withLock { $0.program } }

    /// The reason and the status with which the backend exited; nil while it runs.
    package var exitDescription: String? {
        truncateOutput()
        return program?.end?.description
    }

    package func ended() async -> String? { await program?.ended().description }

    /// Sends a signal to all processes of the backend, and waits until they have exited and the
    /// port is free.
    ///
    /// A process that does not exit within the grace period is killed.
    package func stop(_ signal: Restart.Signal, grace: Duration?) async {
        guard let program else { return }
        let signalNumber = signal == .kill ? SIGKILL : stopSettings.signal.signalNumber
        // The port may belong to another server that listens on behalf of the backend. Such a port
        // stays in use, so the method does not wait for it.
        let processes = processIDsWithRunMarker
        let waitsForPort = port.map { ownsPort($0, processes) } ?? false
        for process in processes where getpgid(process) != program.processID {
            kill(process, signalNumber)
        }
        program.signal(signalNumber)
        let killTimer = Task {
            try await RealClock().sleep(for: grace ?? stopSettings.within)
            program.signal(SIGKILL)
        }
        await withTaskCancellationHandler {
            _ = await program.ended()
        } onCancel: {
            program.signal(SIGKILL)
        }
        killTimer.cancel()
        program.finish()
        killLeftoverProcesses()
        await waitUntilGone(program, waitsForPort: waitsForPort)
    }

    /// Returns whether the backend itself listens on its port; true when none of its processes
    /// listens on a port yet.
    ///
    /// Each start of the backend uses the same command, so the first observation is reused: the
    /// kernel needs several milliseconds to list its sockets.
    private func ownsPort(_ port: UInt16, _ processes: [pid_t]) -> Bool {
        if let ownsPort = state.withLock({ $0.ownsPort }) { return ownsPort }
        let ports = ListeningPorts.of(processes)
        guard !ports.isEmpty else { return true }
        let ownsPort = ports.contains(Int(port))
        state.withLock { $0.ownsPort = ownsPort }
        return ownsPort
    }

    /// The longest wait for the system to remove killed processes and to free the port.
    private static let cleanupTimeMax: Duration = .seconds(30)

    /// Waits until all processes of the backend have exited and its port is free, at most for
    /// `cleanupTimeMax`.
    private func waitUntilGone(_ program: StartedProgram, waitsForPort: Bool) async {
        let clock = RealClock()
        let end = clock.now + Self.cleanupTimeMax
        var pause = Duration.milliseconds(1)
        while clock.now < end, !Task.isCancelled {
            let isPortInUse = waitsForPort && (port.map(LoopbackPort.isInUse) ?? false)
            if !isPortInUse, !program.hasProcessGroup, processIDsWithRunMarker.isEmpty { return }
            // A process may have started a child process while it was being killed.
            killLeftoverProcesses()
            await clock.pause(pause)
            pause = min(pause * 2, .milliseconds(50))
        }
    }

    /// Kills all processes in the backend's process group at once, without time for a clean exit.
    ///
    /// Returns when the kernel has ended them.
    package func killNow() { program?.finish() }

    /// The number of bytes that the backend has printed since the beginning of the run.
    package var outputSize: UInt64 {
        // A file that does not exist has no output.
        let attributes = try? FileManager.default.attributesOfItem(atPath: outputPath)
        return (attributes?[.size] as? NSNumber)?.uint64Value ?? 0
    }

    /// Returns an excerpt of the lines that the backend printed after the first `start` bytes of
    /// its output.
    ///
    /// The excerpt contains the first error and the last lines.
    package func output(since start: UInt64, lineCountMax: Int) -> String {
        LogExcerpt.of(outputText(since: start), lineCountMax: lineCountMax)
    }

    package var hasPortConflict: Bool {
        LogExcerpt.showsPortInUse(outputText(since: state.withLock { $0.launchOutputSize }))
    }

    /// The number of bytes that are read at the beginning and at the end of a long output file.
    private static let chunkBytesMax = 256 << 10

    /// Returns the whole lines of the output file after `start` bytes, without the middle of a long
    /// file.
    private func outputText(since start: UInt64) -> String {
        guard let handle = FileHandle(forReadingAtPath: outputPath) else { return "" }
        // Closing a file that was only read cannot lose data, so an error is ignored.
        defer { try? handle.close() }
        let size = outputSize
        // An output file that is smaller than before has been emptied.
        let start = start <= size ? start : 0
        let length = size - start
        let chunkSize = UInt64(Self.chunkBytesMax)
        let bytes: [UInt8]
        if length <= 2 * chunkSize {
            bytes = Self.read(handle, at: start, 2 * Self.chunkBytesMax)
        } else {
            let outputHead = Self.read(handle, at: start, Self.chunkBytesMax)
            let outputEnd = Self.read(handle, at: size - chunkSize, Self.chunkBytesMax)
            let newline = UInt8(ascii: "\n")
            let headEnd = outputHead.lastIndex(of: newline) ?? outputHead.startIndex
            let tailStart = outputEnd.firstIndex(of: newline) ?? outputEnd.startIndex
            bytes =
                outputHead[..<headEnd] + Array("\n\(LogExcerpt.gapMarker)".utf8)
                + outputEnd[tailStart...]
        }
        return TerminalCodes.textWithoutCodes(from: String(decoding: bytes, as: UTF8.self))
    }

    /// Reads some bytes of a file.
    ///
    /// Returns an empty array when the file cannot be read, because verdicts do not depend on the
    /// output of the backend.
    private static func read(_ handle: FileHandle, at offset: UInt64, _ count: Int) -> [UInt8] {
        // Verdicts do not depend on the output of the backend.
        guard (try? handle.seek(toOffset: offset)) != nil,
            let data = try? handle.read(upToCount: count)
        else { return [] }
        return Array(data)
    }

    /// Empties the output file when it exceeds `outputBytesMax`, so that the backend cannot fill the
    /// disk.
    private func truncateOutput() {
        guard outputSize > Self.outputBytesMax else { return }
        // The file is open for appending, so later output begins at the new end.
        truncate(outputPath, 0)
    }

    private static let outputBytesMax: UInt64 = 64 << 20

    /// Kills all remaining processes of the backend, including those that have left its process
    /// group.
    package func killLeftoverProcesses() {
        for process in processIDsWithRunMarker { kill(process, SIGKILL) }
    }

    /// The processes that the backend started, found by a unique variable in their environment.
    ///
    /// Empty on systems without `/proc`.
    private var processIDsWithRunMarker: [pid_t] {
        let markerEntry = "ASSAY_PROCESS=\(processMarker)"
        return (ProcessFiles.processIDs ?? []).filter {
            $0 != getpid() && ProcessFiles.environmentContains(markerEntry, of: $0)
        }
    }

    package var listeningPorts: [Int] { ListeningPorts.of(processIDsWithRunMarker) }
}

extension Profile.StopSettings.Signal {
    fileprivate var signalNumber: Int32 {
        switch self {
        case .terminate: SIGTERM
        case .interrupt: SIGINT
        case .quit: SIGQUIT
        case .hangUp: SIGHUP
        }
    }
}
