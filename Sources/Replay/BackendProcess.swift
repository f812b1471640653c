package import Conformance
internal import Foundation
internal import FakeServers

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
        var process: pid_t = 0
        var timeZone: String?
        /// The writing end of the pipe by which the backend's group learns that we are gone.
        var lifeline: Int32 = -1
        var exitText: String?
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

    /// Waits beside the command for the end of the pipe, which comes when Assay is gone, however it
    /// went, and then ends the whole group; then becomes the command.
    private static let guarded =
        "(read -r _ <&3; kill -KILL 0) & exec 3<&-; exec /bin/sh -c \"$0\""

    package func launch() throws(StartError) {
        var actions = Self.emptyFileActions()
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(
            &actions,
            1,
            outputPath,
            O_WRONLY | O_CREAT | O_APPEND,
            0o600
        )
        posix_spawn_file_actions_adddup2(&actions, 1, 2)
        var ends: [Int32] = [0, 0]
        guard pipe(&ends) == 0 else {
            throw StartError(description: "cannot start '\(command)': no file descriptor is left")
        }
        // Only the child's copy of the reading end is inherited.
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        posix_spawn_file_actions_adddup2(&actions, ends[0], 3)
        defer { close(ends[0]) }
        var attributes = Self.emptyAttributes()
        defer { posix_spawnattr_destroy(&attributes) }
        // A group of its own, so that its children end with it, and the default signals.
        var defaults = sigset_t()
        sigemptyset(&defaults)
        sigaddset(&defaults, SIGINT)
        sigaddset(&defaults, SIGTERM)
        sigaddset(&defaults, SIGPIPE)
        posix_spawnattr_setsigdefault(&attributes, &defaults)
        posix_spawnattr_setpgroup(&attributes, 0)
        posix_spawnattr_setflags(
            &attributes,
            Int16(POSIX_SPAWN_SETPGROUP) | Int16(POSIX_SPAWN_SETSIGDEF)
        )
        var merged = ProcessInfo.processInfo.environment
        merged.merge(environment) { $1 }
        merged["ASSAY_PROCESS"] = mark
        if let timeZone = state.withLock({ $0.timeZone }) { merged["TZ"] = timeZone }
        let words = ["/bin/sh", "-c", Self.guarded, command]
        let pairs = merged.map { "\($0.key)=\($0.value)" }
        var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
        var variables: [UnsafeMutablePointer<CChar>?] = pairs.map { strdup($0) } + [nil]
        defer {
            for pointer in arguments + variables { free(pointer) }
        }
        var process: pid_t = 0
        let result = posix_spawn(
            &process,
            "/bin/sh",
            &actions,
            &attributes,
            &arguments,
            &variables
        )
        guard result == 0 else {
            close(ends[1])
            throw StartError(
                description: "cannot start '\(command)': \(String(cString: strerror(result)))"
            )
        }
        state.withLock {
            if $0.lifeline > 0 { close($0.lifeline) }
            $0 = State(process: process, timeZone: $0.timeZone, lifeline: ends[1])
        }
    }

    /// How the process ended, when it has ended by itself; nil while it runs.
    package var exitText: String? {
        boundOutput()
        return state.withLock { state in
            reap(&state, wait: false)
            return state.exitText
        }
    }

    /// Sends the signal to the whole group and waits until the process is gone; a group that does
    /// not end within the grace is killed.
    package func stop(_ signal: Restart.Signal, grace: Duration) async {
        let process = state.withLock { $0.process }
        guard process > 0 else { return }
        kill(-process, signal == .kill ? SIGKILL : SIGTERM)
        let clock = RealClock()
        let deadline = clock.now + grace
        while exitText == nil {
            if clock.now > deadline { kill(-process, SIGKILL) }
            await clock.pause(.milliseconds(1))
            if Task.isCancelled { break }
        }
        killNow()
    }

    /// Ends whatever is left of the group, at once and without waiting for more than the kernel.
    package func killNow() {
        state.withLock { state in
            guard state.process > 0 else { return }
            kill(-state.process, SIGKILL)
            reap(&state, wait: true)
            state.process = 0
        }
    }

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

    private func reap(_ state: inout State, wait: Bool) {
        guard state.process > 0, state.exitText == nil else { return }
        var status: Int32 = 0
        guard waitpid(state.process, &status, wait ? 0 : WNOHANG) == state.process else { return }
        let signal = status & 0x7f
        state.exitText =
            signal == 0
            ? "it exited with status \(status >> 8 & 0xff)" : "signal \(signal) ended it"
    }

    #if canImport(Glibc)
    private static func emptyFileActions() -> posix_spawn_file_actions_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        return actions
    }

    private static func emptyAttributes() -> posix_spawnattr_t {
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        return attributes
    }
    #else
    private static func emptyFileActions() -> posix_spawn_file_actions_t? {
        var actions: posix_spawn_file_actions_t?
        posix_spawn_file_actions_init(&actions)
        return actions
    }

    private static func emptyAttributes() -> posix_spawnattr_t? {
        var attributes: posix_spawnattr_t?
        posix_spawnattr_init(&attributes)
        return attributes
    }
    #endif
}
