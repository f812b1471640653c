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
    private let environment: [String: String]
    private let outputPath: String
    /// Stands in the environment of everything that the backend starts.
    private let mark = UUID().uuidString
    private let state = Locked(State())

    package init(command: String, environment: [String: String], outputPath: String) {
        self.command = command
        self.environment = environment
        self.outputPath = outputPath
    }

    /// The time zone of the next launch; nil is the one that Assay runs in.
    package var timeZone: String? {
        get { state.withLock { $0.timeZone } }
        set { state.withLock { $0.timeZone = newValue } }
    }

    package func launch() throws(StartError) {
        var shell = ProgramCommand("/bin/sh", ["-c", command])
        shell.output = .appending(path: outputPath)
        shell.errors = .sameAsOutput
        shell.endsWithUs = true
        var merged = ProcessInfo.processInfo.environment
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
    package func stop(_ signal: Restart.Signal, grace: Duration) async {
        guard let program else { return }
        program.signal(signal == .kill ? SIGKILL : SIGTERM)
        let limit = Task {
            try await RealClock().sleep(for: grace)
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
        return String(decoding: data, as: UTF8.self).split(separator: "\n").suffix(lineCountMax)
            .joined(separator: "\n")
    }

    /// A backend that fills its log must not fill the disk: what is over the bound is thrown away.
    private func boundOutput() {
        guard outputSize > Self.outputMax else { return }
        // The file is open for appending, so what follows begins at the new end.
        truncate(outputPath, 0)
    }

    private static let outputMax: UInt64 = 64 << 20

    /// Ends what left the group and lives on, found by the mark in its environment.
    package func sweep() {
        let folders = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        let wanted = Data("ASSAY_PROCESS=\(mark)".utf8)
        for name in folders {
            guard let process = pid_t(name), process != getpid(),
                let environment = FileManager.default.contents(atPath: "/proc/\(name)/environ"),
                environment.range(of: wanted) != nil
            else { continue }
            kill(process, SIGKILL)
        }
    }
}
