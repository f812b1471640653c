internal import Foundation

#if canImport(Glibc)
internal import Glibc
#else
internal import Darwin
#endif

/// A running program in a separate process group.
///
/// Assay starts every process through this type. A thread waits for the process, so that its end is
/// known at once. The system keeps the ended process until `finish`. A signal therefore never
/// reaches another process with the same number.
package final class StartedProgram: Sendable {
    /// The error for a program that could not be started, with the reason from the system.
    package struct StartError: Error, Hashable, Sendable, CustomStringConvertible {
        package let program: String
        package let reason: String

        package var description: String { "cannot start '\(program)': \(reason)" }
    }

    /// The way in which a process ended.
    package enum ProgramEnd: Hashable, Sendable, CustomStringConvertible {
        case exited(status: Int32)
        case killed(signal: Int32)

        package var description: String {
            switch self {
            case .exited(let status): "it exited with status \(status)"
            case .killed(let signal): "signal \(signal) ended it"
            }
        }
    }

    private struct State {
        var end: ProgramEnd?
        /// Whether the process was reaped.
        ///
        /// Another process may then have the same number.
        var isReaped = false
        var endContinuations: [CheckedContinuation<ProgramEnd, Never>] = []
        /// The writing end of the lifeline pipe.
        ///
        /// When it is closed, the guard of the program's process group kills the group.
        var lifeline: Int32 = -1
    }

    /// The state that a started program shares with the thread that waits for its process.
    ///
    /// The thread may outlive the program's object.
    private final class ProcessRecord: Sendable {
        private let lock = NSLock()
        private nonisolated(unsafe) var state = State()

        func withLockedState<Result>(_ body: (inout State) throws -> Result) rethrows -> Result {
            lock.lock()
            defer { lock.unlock() }
            return try body(&state)
        }

        func ended(_ end: ProgramEnd) {
            let endContinuations = withLockedState { state in
                state.end = state.end ?? end
                defer { state.endContinuations = [] }
                return state.endContinuations
            }
            for continuation in endContinuations { continuation.resume(returning: end) }
        }
    }

    /// The ID of the process, which is also the ID of its process group.
    package let processID: Int32
    private let record = ProcessRecord()

    /// Starts a program.
    ///
    /// - Throws: `StartError` when the program does not exist or the system refuses.
    package init(_ command: ProgramCommand) throws(StartError) {
        let lifeline = command.endsWithParent ? ProgramPipe.ends() : nil
        guard lifeline != nil || !command.endsWithParent else {
            throw StartError(program: command.path, reason: "no file descriptor is left")
        }
        defer { if let lifeline { close(lifeline.readEnd) } }
        do throws(StartError) {
            processID = try Spawn.start(command, lifeline: lifeline?.readEnd)
        } catch {
            if let lifeline { close(lifeline.writeEnd) }
            throw error
        }
        record.withLockedState { $0.lifeline = lifeline?.writeEnd ?? -1 }
        Self.watchProcess(processID, record)
    }

    deinit { finish() }

    /// Starts a thread that waits for the end of the process.
    ///
    /// The thread does not reap the process; `finish` does that.
    private static func watchProcess(_ process: pid_t, _ record: ProcessRecord) {
        let thread = Thread {
            var exitInfo = siginfo_t()
            while true {
                let status = waitid(P_PID, id_t(process), &exitInfo, WEXITED | WNOWAIT)
                if status == 0 { break }
                // `finish` has reaped the process, and reports its end.
                guard errno == EINTR else { return }
            }
            record.ended(end(exitInfo))
        }
        thread.name = "assay.program"
        thread.stackSize = 1 << 17
        thread.start()
    }

    private static func end(_ exitInfo: siginfo_t) -> ProgramEnd {
        #if canImport(Glibc)
        let status = exitInfo._sifields._sigchld.si_status
        #else
        let status = exitInfo.si_status
        #endif
        return Int(exitInfo.si_code) == Int(CLD_EXITED)
            ? .exited(status: status) : .killed(signal: status)
    }

    // MARK: Its end

    /// The way in which the process ended; nil while it runs.
    package var end: ProgramEnd? { record.withLockedState { $0.end } }

    /// Waits until the process has ended, by itself or by a signal.
    @discardableResult
    package func ended() async -> ProgramEnd {
        await withCheckedContinuation { continuation in
            let end = record.withLockedState { state in
                if state.end == nil { state.endContinuations.append(continuation) }
                return state.end
            }
            if let end { continuation.resume(returning: end) }
        }
    }

    /// Sends a signal to all remaining processes of the program's group.
    package func signal(_ number: Int32) {
        record.withLockedState { state in
            if !state.isReaped { kill(-processID, number) }
        }
    }

    /// Whether any process of the program's group is still running.
    ///
    /// Ended processes that wait for their parent do not count on systems with `/proc`.
    package var hasProcessGroup: Bool {
        guard kill(-processID, 0) == 0 || errno == EPERM else { return false }
        return Self.hasRunningProcess(inGroup: processID) ?? !record.withLockedState { $0.isReaped }
    }

    /// Returns whether `/proc` lists a running process of a process group; nil on systems without
    /// `/proc`.
    private static func hasRunningProcess(inGroup group: pid_t) -> Bool? {
        ProcessFiles.processIDs?.contains { process in
            // The file has the form `pid (name) state parent group …`, and a name may contain
            // anything.
            let text = String(
                decoding: ProcessFiles.content(of: "/proc/\(process)/stat"),
                as: UTF8.self
            )
            guard let end = text.lastIndex(of: ")") else { return false }
            let columns = text[text.index(after: end)...].split(separator: " ")
            guard columns.count > 2 else { return false }
            return columns[2] == String(group) && !["Z", "X"].contains(columns[0])
        }
    }

    /// Closes the lifeline pipe, as the system does when Assay ends, so that the program's group is
    /// killed.
    package func releaseLifeline() {
        record.withLockedState { state in
            if state.lifeline >= 0 { close(state.lifeline) }
            state.lifeline = -1
        }
    }

    /// Kills all remaining processes of the program's group, and reaps the program.
    ///
    /// The call waits only until the kernel has ended the process.
    package func finish() {
        let end: ProgramEnd? = record.withLockedState { state in
            guard !state.isReaped else { return nil }
            kill(-processID, SIGKILL)
            var status: Int32 = 0
            while waitpid(processID, &status, 0) < 0, errno == EINTR {}
            state.isReaped = true
            if state.lifeline >= 0 { close(state.lifeline) }
            state.lifeline = -1
            let signal = status & 0x7f
            return signal == 0
                ? .exited(status: status >> 8 & 0xff) : .killed(signal: signal)
        }
        if let end { record.ended(end) }
    }
}
