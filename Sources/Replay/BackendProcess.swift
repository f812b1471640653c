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
package final class BackendProcess: Sendable {
    /// The command could not be started, or did not become ready.
    package struct StartError: Error, Sendable, CustomStringConvertible {
        package let description: String
    }

    private struct State {
        var process: pid_t = 0
        var timeZone: String?
        var exitText: String?
    }

    private let command: String
    private let environment: [String: String]
    private let outputPath: String
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
        if let timeZone = state.withLock({ $0.timeZone }) { merged["TZ"] = timeZone }
        let words = ["/bin/sh", "-c", command]
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
            throw StartError(
                description: "cannot start '\(command)': \(String(cString: strerror(result)))"
            )
        }
        state.withLock { $0 = State(process: process, timeZone: $0.timeZone) }
    }

    /// How the process ended, when it has ended by itself; nil while it runs.
    package var exitText: String? {
        state.withLock { state in
            reap(&state, wait: false)
            return state.exitText
        }
    }

    /// Sends the signal to the whole group and waits until the process is gone; a group that does
    /// not end within the grace is killed.
    package func stop(_ signal: Restart.Signal, grace: Duration = .seconds(10)) async {
        let process = state.withLock { $0.process }
        guard process > 0 else { return }
        kill(-process, signal == .kill ? SIGKILL : SIGTERM)
        let clock = ContinuousClock()
        let deadline = clock.now + grace
        while exitText == nil {
            if clock.now > deadline { kill(-process, SIGKILL) }
            try? await clock.sleep(for: .milliseconds(1))
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

    /// The last lines that the backend wrote.
    package func outputTail(lineCountMax: Int = 12) -> String {
        guard let data = FileManager.default.contents(atPath: outputPath) else { return "" }
        let text = String(decoding: data.suffix(8192), as: UTF8.self)
        return text.split(separator: "\n").suffix(lineCountMax).joined(separator: "\n")
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
