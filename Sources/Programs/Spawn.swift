internal import Foundation

#if canImport(Glibc)
internal import Glibc
#else
internal import Darwin
#endif

/// `posix_spawn` with the descriptors, the group and the signals that a command asks for.
enum Spawn {
    /// Waits beside the program for the end of the pipe, which comes when we are gone, and then ends
    /// the whole group; then becomes the program.
    private static let guarded =
        "(read -r _ <&9; kill -KILL 0) </dev/null >/dev/null 2>&1 3<&- 4<&- 5<&- 6<&- 7<&- 8<&- & "
        + "exec 9<&-; exec \"$0\" \"$@\""
    /// Goes to the program's folder and becomes the program; `posix_spawn` alone can do so with
    /// extensions that not every C library has.
    private static let entering = "cd -- \"$0\" || exit 126; exec \"$@\""
    /// The program's number of the lifeline, beyond those that a command may name.
    private static let lifelineNumber: Int32 = 9

    static func start(
        _ command: ProgramCommand,
        lifeline: Int32?
    ) throws(StartedProgram.StartError) -> pid_t {
        func fail(_ code: Int32) -> StartedProgram.StartError {
            .init(program: command.path, reason: String(cString: strerror(code)))
        }
        // The shell of the guard would tell nobody but the program's errors that it is not there.
        guard access(command.path, X_OK) == 0 else { throw fail(errno) }
        guard ProgramCommand.isProgram(command.path) else { throw fail(EACCES) }
        if let folder = command.folder {
            var info = stat()
            guard stat(folder, &info) == 0 else {
                throw .init(program: command.path, reason: "there is no folder '\(folder)'")
            }
            guard info.st_mode & S_IFMT == S_IFDIR else {
                throw .init(program: command.path, reason: "'\(folder)' is no folder")
            }
        }
        var files = FileActions()
        defer { files.destroy() }
        guard files.add(command, lifeline: lifeline, number: lifelineNumber) else {
            throw .init(program: command.path, reason: "no file descriptor is left")
        }
        var attributes = attributes()
        defer { posix_spawnattr_destroy(&attributes) }
        let words =
            (lifeline == nil ? [] : ["/bin/sh", "-c", guarded])
            + (command.folder.map { ["/bin/sh", "-c", entering, $0] } ?? [])
            + [command.path] + command.arguments
        let environment = command.environment ?? ProgramCommand.inheritedEnvironment
        let pairs = environment.map { "\($0.key)=\($0.value)" }
        var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
        var variables: [UnsafeMutablePointer<CChar>?] = pairs.map { strdup($0) } + [nil]
        defer { for pointer in arguments + variables { free(pointer) } }
        var process: pid_t = 0
        let result = posix_spawn(
            &process,
            words[0],
            &files.actions,
            &attributes,
            &arguments,
            &variables
        )
        guard result == 0 else { throw fail(result) }
        return process
    }

    #if canImport(Glibc)
    private typealias Attributes = posix_spawnattr_t
    private static var noAttributes: Attributes { posix_spawnattr_t() }
    #else
    private typealias Attributes = posix_spawnattr_t?
    private static var noAttributes: Attributes { nil }
    #endif

    /// A group of its own, so that its children end with it, and the default signals.
    private static func attributes() -> Attributes {
        var attributes = noAttributes
        posix_spawnattr_init(&attributes)
        var signals = defaultSignals
        posix_spawnattr_setsigdefault(&attributes, &signals)
        // Threads of a pool block signals, and a program would inherit that.
        var blocked = sigset_t()
        sigemptyset(&blocked)
        posix_spawnattr_setsigmask(&attributes, &blocked)
        posix_spawnattr_setpgroup(&attributes, 0)
        var flags =
            Int16(POSIX_SPAWN_SETPGROUP) | Int16(POSIX_SPAWN_SETSIGDEF)
            | Int16(POSIX_SPAWN_SETSIGMASK)
        #if !canImport(Glibc)
        flags |= Int16(POSIX_SPAWN_CLOEXEC_DEFAULT)
        #endif
        posix_spawnattr_setflags(&attributes, flags)
        return attributes
    }

    private static var defaultSignals: sigset_t {
        var signals = sigset_t()
        sigemptyset(&signals)
        for signal in [SIGINT, SIGTERM, SIGHUP, SIGPIPE] { sigaddset(&signals, signal) }
        return signals
    }
}

/// What happens to the descriptors between the two programs.
private struct FileActions {
    #if canImport(Glibc)
    var actions = posix_spawn_file_actions_t()
    #else
    var actions: posix_spawn_file_actions_t?
    #endif
    /// Copies of ours with numbers that no target has, so that no copy overwrites another's source.
    private var copies: [Int32] = []

    init() {
        posix_spawn_file_actions_init(&actions)
    }

    mutating func destroy() {
        posix_spawn_file_actions_destroy(&actions)
        for copy in copies { close(copy) }
    }

    /// Whether all of it could be arranged.
    mutating func add(_ command: ProgramCommand, lifeline: Int32?, number: Int32) -> Bool {
        var targets = command.descriptors.sorted { $0.key < $1.key }.map {
            (target: $0.key, source: $0.value)
        }
        if let lifeline { targets.append((number, lifeline)) }
        let streams = [command.input, command.output, command.errors]
        for (target, stream) in zip(Int32(0)..., streams) {
            guard add(stream, target, isInput: target == 0) else { return false }
        }
        for (target, source) in targets {
            guard let copy = copy(source) else { return false }
            posix_spawn_file_actions_adddup2(&actions, copy, target)
        }
        closeAll(but: Set(targets.map(\.target)))
        return true
    }

    /// What we have open is not the program's, or it would hold our callers' connections open after
    /// us; libraries do not say so of every socket.
    private mutating func closeAll(but kept: Set<Int32>) {
        #if canImport(Glibc)
        let last = max(2, kept.max() ?? 0)
        for number in 3..<max(3, last) where !kept.contains(number) {
            posix_spawn_file_actions_addclose(&actions, number)
        }
        if let closeFrom = Self.closeFrom {
            _ = closeFrom(&actions, last + 1)
        } else {
            let open = (try? FileManager.default.contentsOfDirectory(atPath: "/dev/fd")) ?? []
            for number in open.compactMap(Int32.init) where number > last {
                posix_spawn_file_actions_addclose(&actions, number)
            }
        }
        #endif
    }

    #if canImport(Glibc)
    private typealias CloseFrom =
        @convention(c) (UnsafeMutablePointer<posix_spawn_file_actions_t>, Int32) -> Int32

    /// Since glibc 2.34, and not among what Swift sees of it.
    private static let closeFrom = dlsym(nil, "posix_spawn_file_actions_addclosefrom_np").map {
        unsafeBitCast($0, to: CloseFrom.self)
    }
    #endif

    private mutating func add(
        _ stream: ProgramCommand.Stream,
        _ target: Int32,
        isInput: Bool
    ) -> Bool {
        switch stream {
        case .nothing:
            let mode = isInput ? O_RDONLY : O_WRONLY
            posix_spawn_file_actions_addopen(&actions, target, "/dev/null", mode, 0)
        case .appending(let path):
            let mode = O_WRONLY | O_CREAT | O_APPEND
            posix_spawn_file_actions_addopen(&actions, target, path, mode, 0o600)
        case .sameAsOutput: posix_spawn_file_actions_adddup2(&actions, 1, target)
        case .descriptor(let source):
            guard let copy = copy(source) else { return false }
            posix_spawn_file_actions_adddup2(&actions, copy, target)
        }
        return true
    }

    private mutating func copy(_ descriptor: Int32) -> Int32? {
        let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 10)
        guard copy >= 0 else { return nil }
        copies.append(copy)
        return copy
    }
}
