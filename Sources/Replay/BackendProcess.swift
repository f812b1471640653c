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
    }

    private let command: String
    private let folder: String?
    private let environment: [String: String]
    private let outputPath: String
    private let stopping: Profile.Stop
    /// Stands in the environment of everything that the backend starts.
    private let mark = UUID().uuidString
    private let state = Locked(State())

    /// - Parameters:
    ///   - command: A line for the shell.
    ///   - folder: Where it runs; nil: where Assay does.
    ///   - environment: What stands in its environment beside ours.
    ///   - outputPath: A file, to which all its output is appended.
    ///   - stopping: How it is asked to end.
    package init(
        command: String,
        folder: String? = nil,
        environment: [String: String],
        outputPath: String,
        stopping: Profile.Stop = Profile.Stop()
    ) {
        self.command = command
        self.folder = folder
        self.environment = environment
        self.outputPath = outputPath
        self.stopping = stopping
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
        var merged = ProcessInfo.processInfo.environment
        // With these it could move the fakes that judge it, or undo a redaction.
        for name in ["ASSAY_CONTROL_TOKEN", "ASSAY_REDACTION_KEY"] { merged[name] = nil }
        merged.merge(environment) { $1 }
        merged["ASSAY_PROCESS"] = mark
        if let timeZone { merged["TZ"] = timeZone }
        shell.environment = merged
        let program: StartedProgram
        do throws(StartedProgram.StartError) {
            program = try StartedProgram(shell)
        } catch {
            throw StartError(description: "cannot start '\(command)': \(error.reason)")
        }
        state.withLock { $0.program = program }
    }

    private var program: StartedProgram? { state.withLock { $0.program } }

    /// How the process ended; nil while it runs.
    package var exitText: String? {
        boundOutput()
        return program?.end?.description
    }

    package func ended() async -> String? { await program?.ended().description }

    /// Sends the signal to the whole group and waits until the process is gone; a group that does
    /// not end within the grace is killed.
    package func stop(_ signal: Restart.Signal, grace: Duration?) async {
        guard let program else { return }
        program.signal(signal == .kill ? SIGKILL : stopping.signal.number)
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
    }

    /// Ends whatever is left of the group, at once and without waiting for more than the kernel.
    package func killNow() { program?.finish() }

    /// How much the backend has written, in bytes.
    package var outputSize: UInt64 {
        let attributes = try? FileManager.default.attributesOfItem(atPath: outputPath)
        return (attributes?[.size] as? NSNumber)?.uint64Value ?? 0
    }

    /// The last lines that the backend wrote after that many bytes.
    package func output(since start: UInt64, lineCountMax: Int) -> String {
        guard let handle = FileHandle(forReadingAtPath: outputPath) else { return "" }
        defer { try? handle.close() }
        let size = outputSize
        let from = max(start <= size ? start : 0, size > 8192 ? size - 8192 : 0)
        guard (try? handle.seek(toOffset: from)) != nil,
            let data = try? handle.read(upToCount: 8192)
        else { return "" }
        return TerminalCodes.removed(from: String(decoding: data, as: UTF8.self))
            .split(separator: "\n").suffix(lineCountMax).joined(separator: "\n")
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
