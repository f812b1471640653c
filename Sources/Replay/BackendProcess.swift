package import Conformance
internal import Foundation
internal import FakeServers
internal import Programs

#if canImport(Glibc)
internal import Glibc
#else
internal import Darwin
#endif

/// A backend that Assay started: a shell command in a process group of its own, with its output
/// in a file.
package final class BackendProcess: BackendProgram {
    /// The command could not be started, or did not become ready.
    package struct StartError: Error, Sendable, CustomStringConvertible {
        package let description: String
    }

    private struct State {
        var program: StartedProgram?
        var timeZone: String?
        /// The length of the log at the last launch, in bytes.
        var launchOutputSize: UInt64 = 0
    }

    private let command: String
    private let folder: String?
    private let environment: [String: String]
    private let outputPath: String
    private let stopping: Profile.Stop
    /// The port of this machine on which it listens; nil where it listens elsewhere.
    private let port: UInt16?
    /// Stands in the environment of everything that the backend starts.
    private let mark = UUID().uuidString
    private let state = Locked(State())

    /// - Parameters:
    ///   - command: A line for the shell.
    ///   - folder: Where it runs; nil: where Assay does.
    ///   - environment: What stands in its environment beside ours.
    ///   - outputPath: A file, to which all its output is appended.
    ///   - stopping: How it is asked to end.
    ///   - port: The port of this machine that is free again when it has ended.
    package init(
        command: String,
        folder: String? = nil,
        environment: [String: String],
        outputPath: String,
        stopping: Profile.Stop = Profile.Stop(),
        port: UInt16? = nil
    ) {
        self.command = command
        self.folder = folder
        self.environment = environment
        self.outputPath = outputPath
        self.stopping = stopping
        self.port = port
    }

    /// The time zone of the next launch; nil is the one that Assay runs in.
    package var timeZone: String? {
        get { state.withLock { $0.timeZone } }
        set { state.withLock { $0.timeZone = newValue } }
    }

    package func launch() throws(StartError) {
        var shell = ProgramCommand("/bin/sh", ["-c", command])
        shell.folder = folder
        shell.output = .appending(path: outputPath)
        shell.errors = .sameAsOutput
        shell.endsWithUs = true
        var merged = ProgramCommand.inheritedEnvironment
        merged.merge(environment) { $1 }
        merged["ASSAY_PROCESS"] = mark
        if let timeZone { merged["TZ"] = timeZone }
        shell.environment = merged
        let size = outputSize
        let program: StartedProgram
        do throws(StartedProgram.StartError) {
            program = try StartedProgram(shell)
        } catch {
            throw StartError(description: "cannot start '\(command)': \(error.reason)")
        }
        state.withLock { state in
            state.program = program
            state.launchOutputSize = size
        }
    }

    private var program: StartedProgram? { state.withLock { $0.program } }

    /// How the process ended; nil while it runs.
    package var exitText: String? {
        boundOutput()
        return program?.end?.description
    }

    package func ended() async -> String? { await program?.ended().description }

    /// Sends the signal to everything that the backend started, and waits until all of it is gone
    /// and its port is free.
    ///
    /// A process that does not end within the grace is killed.
    package func stop(_ signal: Restart.Signal, grace: Duration?) async {
        guard let program else { return }
        let number = signal == .kill ? SIGKILL : stopping.signal.number
        // A backend behind another server leaves the port to that one.
        let ports = listeningPorts
        let waitsForPort = port.map { ports.isEmpty || ports.contains(Int($0)) } ?? false
        for process in marked(outside: program) { kill(process, number) }
        program.signal(number)
        let limit = Task {
            try await RealClock().sleep(for: grace ?? stopping.within)
            program.signal(SIGKILL)
        }
        await withTaskCancellationHandler {
            _ = await program.ended()
        } onCancel: {
            program.signal(SIGKILL)
        }
        limit.cancel()
        program.finish()
        sweep()
        await waitUntilGone(program, waitsForPort: waitsForPort)
    }

    /// The longest time that the system may take to clear away killed processes.
    private static let clearingMax: Duration = .seconds(30)

    /// Waits until no process of the backend runs and its port is free, at most `clearingMax`.
    private func waitUntilGone(_ program: StartedProgram, waitsForPort: Bool) async {
        let clock = RealClock()
        let end = clock.now + Self.clearingMax
        var pause = Duration.milliseconds(1)
        while clock.now < end, !Task.isCancelled {
            let isHeld = waitsForPort && (port.map(LoopbackPort.isInUse) ?? false)
            if !isHeld, !program.hasGroup, marked.isEmpty { return }
            // A child that its parent made while it was killed.
            sweep()
            await clock.pause(pause)
            pause = min(pause * 2, .milliseconds(50))
        }
    }

    /// Ends whatever is left of the group, at once and without waiting for more than the kernel.
    package func killNow() { program?.finish() }

    /// How much the backend has written, in bytes.
    package var outputSize: UInt64 {
        let attributes = try? FileManager.default.attributesOfItem(atPath: outputPath)
        return (attributes?[.size] as? NSNumber)?.uint64Value ?? 0
    }

    /// The lines after that many bytes that explain a failure: the first error and the last lines.
    package func output(since start: UInt64, lineCountMax: Int) -> String {
        LogExcerpt.of(text(since: start), lineCountMax: lineCountMax)
    }

    package var hasPortConflict: Bool {
        LogExcerpt.showsPortInUse(text(since: state.withLock { $0.launchOutputSize }))
    }

    /// The most that is read of each end of the log, in bytes.
    private static let pieceMax = 256 << 10

    /// Whole lines of the log after that many bytes; the middle of a long one is left out.
    private func text(since start: UInt64) -> String {
        guard let handle = FileHandle(forReadingAtPath: outputPath) else { return "" }
        // A file that was only read loses nothing.
        defer { try? handle.close() }
        let size = outputSize
        // The log was emptied since.
        let start = start <= size ? start : 0
        let length = size - start
        let piece = UInt64(Self.pieceMax)
        let bytes: [UInt8]
        if length <= 2 * piece {
            bytes = Self.read(handle, at: start, 2 * Self.pieceMax)
        } else {
            let head = Self.read(handle, at: start, Self.pieceMax)
            let tail = Self.read(handle, at: size - piece, Self.pieceMax)
            let newline = UInt8(ascii: "\n")
            let headEnd = head.lastIndex(of: newline) ?? head.startIndex
            let tailStart = tail.firstIndex(of: newline) ?? tail.startIndex
            bytes = head[..<headEnd] + Array("\n\(LogExcerpt.gap)".utf8) + tail[tailStart...]
        }
        return TerminalCodes.removed(from: String(decoding: bytes, as: UTF8.self))
    }

    /// A piece of a file; empty where it cannot be read, as the log is a help and no evidence.
    private static func read(_ handle: FileHandle, at offset: UInt64, _ count: Int) -> [UInt8] {
        guard (try? handle.seek(toOffset: offset)) != nil,
            let data = try? handle.read(upToCount: count)
        else { return [] }
        return Array(data)
    }

    /// A backend that fills its log must not fill the disk: what is over the bound is thrown away.
    private func boundOutput() {
        guard outputSize > Self.outputMax else { return }
        // The file is open for appending, so what follows begins at the new end.
        truncate(outputPath, 0)
    }

    private static let outputMax: UInt64 = 64 << 20

    /// Ends what left the group and lives on.
    package func sweep() {
        for process in marked { kill(process, SIGKILL) }
    }

    /// Everything that the backend started, found by the mark in its environment; empty where
    /// there is no `/proc`.
    private var marked: [pid_t] {
        let folders = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        let wanted = Data("ASSAY_PROCESS=\(mark)".utf8)
        return folders.compactMap { name in
            guard let process = pid_t(name), process != getpid(),
                let environment = FileManager.default.contents(atPath: "/proc/\(name)/environ"),
                environment.range(of: wanted) != nil
            else { return nil }
            return process
        }
    }

    /// Those that have left the process group.
    private func marked(outside program: StartedProgram) -> [pid_t] {
        marked.filter { getpgid($0) != program.identifier }
    }

    package var listeningPorts: [Int] { ListeningPorts.of(marked) }
}

extension Profile.Stop.Signal {
    fileprivate var number: Int32 {
        switch self {
        case .terminate: SIGTERM
        case .interrupt: SIGINT
        case .quit: SIGQUIT
        case .hangUp: SIGHUP
        }
    }
}
