internal import Foundation

#if canImport(Glibc)
internal import Glibc
#else
internal import Darwin
#endif

/// Starts a program by `posix_spawn`, with the descriptors, the process group and the signals of
/// its command.
enum Spawn {
    /// A shell script that guards the program's process group, and then becomes the program.
    ///
    /// A background process of the script waits until the lifeline pipe is closed, which happens
    /// when Assay ends. It then kills the whole group.
    private static let lifelineScript =
        "(read -r _ <&9; kill -KILL 0) </dev/null >/dev/null 2>&1 3<&- 4<&- 5<&- 6<&- 7<&- 8<&- & "
        + "exec 9<&-; exec \"$0\" \"$@\""
    /// A shell script that changes to the program's folder and becomes the program.
    ///
    /// `posix_spawn` can change the folder only with extensions that some C libraries lack.
    private static let changeFolderScript = "cd -- \"$0\" || exit 126; exec \"$@\""
    /// The number of the lifeline descriptor in the program, above the numbers that a command may
    /// use.
    private static let lifelineNumber: Int32 = 9

    static func start(
        _ command: ProgramCommand,
        lifeline: Int32?
    ) throws(StartedProgram.StartError) -> pid_t {
        func startError(_ code: Int32) -> StartedProgram.StartError {
            .init(program: command.path, reason: String(cString: strerror(code)))
        }
        // If the program is missing, the guarding shell would report it only in the standard error
        // of the program.
        guard access(command.path, X_OK) == 0 else { throw startError(errno) }
        guard ProgramCommand.isExecutableFile(command.path) else { throw startError(EACCES) }
        if let folder = command.folder {
            var folderStatus = stat()
            guard stat(folder, &folderStatus) == 0 else {
                throw .init(program: command.path, reason: "the folder '\(folder)' does not exist")
            }
            guard folderStatus.st_mode & S_IFMT == S_IFDIR else {
                throw .init(program: command.path, reason: "'\(folder)' is not a folder")
            }
        }
        var fileActions = FileActions()
        defer { fileActions.destroy() }
        guard fileActions.addFileActions(command, lifeline: lifeline, number: lifelineNumber) else {
            throw .init(program: command.path, reason: "no file descriptor is left")
        }
        var attributes = attributes()
        defer { posix_spawnattr_destroy(&attributes) }
        let commandLine =
            (lifeline == nil ? [] : ["/bin/sh", "-c", lifelineScript])
            + (command.folder.map { ["/bin/sh", "-c", changeFolderScript, $0] } ?? [])
            + [command.path] + command.arguments
        let environment = command.environment ?? ProgramCommand.inheritedEnvironment
        let environmentEntries = environment.map { "\($0.key)=\($0.value)" }
        var arguments: [UnsafeMutablePointer<CChar>?] = commandLine.map { strdup($0) } + [nil]
        var environmentVariables: [UnsafeMutablePointer<CChar>?] =
            environmentEntries.map { strdup($0) } + [nil]
        defer { for pointer in arguments + environmentVariables { free(pointer) } }
        var process: pid_t = 0
        let spawnErrorCode = posix_spawn(
            &process,
            commandLine[0],
            &fileActions.actions,
            &attributes,
            &arguments,
            &environmentVariables
        )
        guard spawnErrorCode == 0 else { throw startError(spawnErrorCode) }
        return process
    }

    #if canImport(Glibc)
    private typealias Attributes = posix_spawnattr_t
    private static var noAttributes: Attributes { posix_spawnattr_t() }
    #else
    private typealias Attributes = posix_spawnattr_t?
    private static var noAttributes: Attributes { nil }
    #endif

    /// Returns the attributes of the new process: default signals, and a new process group.
    ///
    /// With the process group, Assay can end the program together with its child processes.
    private static func attributes() -> Attributes {
        var attributes = noAttributes
        posix_spawnattr_init(&attributes)
        var signals = defaultSignals
        posix_spawnattr_setsigdefault(&attributes, &signals)
        // The threads of a thread pool block signals, which a program would inherit.
        var blockedSignals = sigset_t()
        sigemptyset(&blockedSignals)
        posix_spawnattr_setsigmask(&attributes, &blockedSignals)
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

/// The actions of `posix_spawn` that give the new program its descriptors.
private struct FileActions {
    #if canImport(Glibc)
    var actions = posix_spawn_file_actions_t()
    #else
    var actions: posix_spawn_file_actions_t?
    #endif
    /// Copies of descriptors, with numbers that the program does not use.
    ///
    /// With them, no descriptor is overwritten before it is copied to its number in the program.
    private var copiedDescriptors: [Int32] = []

    init() {
        posix_spawn_file_actions_init(&actions)
    }

    mutating func destroy() {
        posix_spawn_file_actions_destroy(&actions)
        for copiedDescriptor in copiedDescriptors { close(copiedDescriptor) }
    }

    /// Adds the descriptors of a command; returns false when no descriptor is left.
    mutating func addFileActions(_ command: ProgramCommand, lifeline: Int32?, number: Int32) -> Bool
    {
        var descriptorCopies = command.descriptors.sorted { $0.key < $1.key }.map {
            (target: $0.key, source: $0.value)
        }
        if let lifeline { descriptorCopies.append((number, lifeline)) }
        let streams = [command.input, command.output, command.errorOutput]
        for (target, stream) in zip(Int32(0)..., streams) {
            guard addFileActions(stream, target, isInput: target == 0) else { return false }
        }
        for (target, source) in descriptorCopies {
            guard let copiedDescriptor = copiedDescriptor(source) else { return false }
            posix_spawn_file_actions_adddup2(&actions, copiedDescriptor, target)
        }
        closeAllDescriptors(but: Set(descriptorCopies.map(\.target)))
        return true
    }

    /// Closes in the new program all descriptors of this process except the kept ones.
    ///
    /// With inherited descriptors, the program would keep connections open after this process ends.
    /// Some libraries do not set the flag (`FD_CLOEXEC`) that closes a socket when a program
    /// starts.
    private mutating func closeAllDescriptors(but keptDescriptors: Set<Int32>) {
        #if canImport(Glibc)
        let lastKeptDescriptor = max(2, keptDescriptors.max() ?? 0)
        for number in 3..<max(3, lastKeptDescriptor) where !keptDescriptors.contains(number) {
            posix_spawn_file_actions_addclose(&actions, number)
        }
        if let closeFrom = Self.closeFrom {
            _ = closeFrom(&actions, lastKeptDescriptor + 1)
        } else {
            // Without a list of open descriptors, only those with the flag are closed.
            let openDescriptorNames =
                (try? FileManager.default.contentsOfDirectory(atPath: "/dev/fd")) ?? []
            for number in openDescriptorNames.compactMap(Int32.init)
            where number > lastKeptDescriptor {
                posix_spawn_file_actions_addclose(&actions, number)
            }
        }
        #endif
    }

    #if canImport(Glibc)
    private typealias CloseFrom =
        @convention(c) (UnsafeMutablePointer<posix_spawn_file_actions_t>, Int32) -> Int32

    /// A function of glibc 2.34 and later that closes descriptors in the new program.
    ///
    /// Swift does not import it.
    private static let closeFrom = dlsym(nil, "posix_spawn_file_actions_addclosefrom_np").map {
        unsafeBitCast($0, to: CloseFrom.self)
    }
    #endif

    private mutating func addFileActions(
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
            guard let copiedDescriptor = copiedDescriptor(source) else { return false }
            posix_spawn_file_actions_adddup2(&actions, copiedDescriptor, target)
        }
        return true
    }

    private mutating func copiedDescriptor(_ descriptor: Int32) -> Int32? {
        let copiedDescriptor = fcntl(descriptor, F_DUPFD_CLOEXEC, 10)
        guard copiedDescriptor >= 0 else { return nil }
        copiedDescriptors.append(copiedDescriptor)
        return copiedDescriptor
    }
}
