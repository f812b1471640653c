internal import Conformance

#if canImport(Glibc)
internal import Glibc
#else
internal import Darwin
#endif

/// A file that is written for the user: whole, or not at all.
///
/// The bytes go to a temporary file in the same folder, which then takes the name, so that a full
/// disk or a kill leaves no half of a file and the earlier one as it was. Devices, FIFOs, descriptors
/// such as `/dev/stdout`, files with several names, files of another user and files in a folder that
/// cannot be written are written in place. A symbolic link is followed.
package struct OutputFile: Hashable, Sendable {
    /// The users that may read a file or a folder.
    package enum Permissions: Hashable, Sendable {
        /// The umask decides, as for a report.
        case asUmask
        /// The owner alone, for what was seen in a run.
        case ownerOnly

        fileprivate var ofFile: mode_t { self == .ownerOnly ? 0o600 : 0o666 }
        fileprivate var ofFolder: mode_t { self == .ownerOnly ? 0o700 : 0o777 }
    }

    /// A file or a folder that cannot be written, with the system's reason.
    package struct WriteError: Error, Hashable, Sendable, CustomStringConvertible {
        package let path: String
        /// The reason in the system's words, such as `No space left on device`.
        package let reason: String

        package var description: String { "cannot write '\(path)': \(reason)" }

        fileprivate init(_ path: String, _ code: Int32) {
            self.init(path, String(cString: strerror(code)))
        }

        fileprivate init(_ path: String, _ reason: String) {
            self.path = path
            self.reason = reason
        }
    }

    package let path: String
    private let permissions: Permissions

    /// - Parameters:
    ///   - path: The file; its missing folders are made when it is written or checked.
    ///   - permissions: The users that may read the file and the folders that are made.
    package init(_ path: String, _ permissions: Permissions = .asUmask) {
        self.path = path
        self.permissions = permissions
    }

    // MARK: Writing

    /// Replaces the content of the file.
    ///
    /// A pipe whose reader has ended is not an error.
    ///
    /// - Throws: `WriteError`; the temporary file is removed then.
    package func write(_ bytes: [UInt8]) throws(WriteError) {
        switch try target() {
        case .descriptor(let number): try finish(SystemWrite.all(bytes, to: number))
        case .special(let path): try finish(overwrite(path, isRegular: false, bytes))
        case .missing(let path):
            try makeFolder(of: path)
            try finish(replace(path, nil, bytes))
        case .regular(let path, let state):
            guard access(path, W_OK) == 0 else { throw error(errno) }
            if !Self.staysInPlace(state) {
                let code = replace(path, state, bytes)
                guard [EACCES, EPERM, EROFS, EBUSY].contains(code) else { return try finish(code) }
            }
            try finish(overwrite(path, isRegular: true, bytes))
        }
    }

    /// Replaces the content of the file with text in UTF-8.
    ///
    /// - Throws: `WriteError`.
    package func write(_ text: String) throws(WriteError) {
        try write(Array(text.utf8))
    }

    /// Adds text at the end of the file; a failure leaves a regular file as it was.
    ///
    /// - Throws: `WriteError`.
    package func append(_ text: String) throws(WriteError) {
        let path: String
        switch try target() {
        case .descriptor(let number):
            return try finish(SystemWrite.all(Array(text.utf8), to: number))
        case .special(let found), .regular(let found, _): path = found
        case .missing(let found):
            try makeFolder(of: found)
            path = found
        }
        let file = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, permissions.ofFile)
        guard file >= 0 else { throw error(errno) }
        let end = lseek(file, 0, SEEK_END)
        var code = SystemWrite.all(Array(text.utf8), to: file)
        if code != 0, end >= 0 { _ = ftruncate(file, end) }
        if close(file) != 0, code == 0 { code = errno }
        try finish(code)
    }

    /// Writes a new file in the folder and gives it the name.
    ///
    /// - Returns: The system's error number; 0 when it is done.
    private func replace(_ path: String, _ old: stat?, _ bytes: [UInt8]) -> Int32 {
        let name = ".assay-\(getpid())-\(UInt32.random(in: .min ... .max)).tmp"
        let temporary = PathName(PathName(path).folder).appending(name)
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC
        let file = open(temporary, flags, permissions.ofFile)
        guard file >= 0 else { return errno }
        var code = SystemWrite.all(bytes, to: file)
        if let old {
            // A group that the owner is not in stays out.
            _ = fchown(file, uid_t.max, old.st_gid)
            if permissions == .asUmask { _ = fchmod(file, old.st_mode & 0o777) }
        }
        if close(file) != 0, code == 0 { code = errno }
        if code == 0, rename(temporary, path) != 0 { code = errno }
        if code != 0 { unlink(temporary) }
        return code
    }

    /// Writes into the file that is there; a failure empties a regular one.
    ///
    /// - Returns: The system's error number; 0 when it is done.
    private func overwrite(_ path: String, isRegular: Bool, _ bytes: [UInt8]) -> Int32 {
        let flags = O_WRONLY | O_CLOEXEC | O_NOCTTY | (isRegular ? O_TRUNC : 0)
        let file = open(path, flags)
        guard file >= 0 else { return errno }
        if isRegular, permissions == .ownerOnly { _ = fchmod(file, permissions.ofFile) }
        var code = SystemWrite.all(bytes, to: file)
        if code != 0, isRegular { _ = ftruncate(file, 0) }
        if close(file) != 0, code == 0 { code = errno }
        return code
    }

    /// Whether a new file of the same name would not be the same to others.
    private static func staysInPlace(_ state: stat) -> Bool {
        state.st_nlink > 1 || state.st_uid != geteuid()
    }

    // MARK: Before a run

    /// Checks that the file can be written, and leaves nothing of it behind but its folders.
    ///
    /// - Throws: `WriteError`.
    package func check() throws(WriteError) {
        switch try target() {
        case .descriptor(let number):
            let flags = fcntl(number, F_GETFL)
            guard flags >= 0 else { throw error(errno) }
            guard flags & O_ACCMODE != O_RDONLY else { throw error(EBADF) }
        case .special(let path), .regular(let path, _):
            guard access(path, W_OK) == 0 else { throw error(errno) }
        case .missing(let path):
            try makeFolder(of: path)
            let flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC
            let file = open(path, flags, permissions.ofFile)
            guard file >= 0 else { throw error(errno) }
            close(file)
            unlink(path)
        }
    }

    /// Removes the regular file of an earlier run, or empties it where it cannot be removed; a device,
    /// a FIFO and a descriptor are left alone.
    package func removeEarlier() {
        guard case .regular(let path, let state)? = try? target() else { return }
        if Self.staysInPlace(state) || unlink(path) != 0 { _ = truncate(path, 0) }
    }

    // MARK: Folders

    /// Makes a folder and the ones above it that are missing.
    ///
    /// - Throws: `WriteError` of the folder that cannot be made.
    package static func makeFolder(
        _ path: String,
        _ permissions: Permissions
    ) throws(WriteError) {
        guard !path.isEmpty, !isFolder(path) else { return }
        let above = PathName(path).folder
        if above != path { try makeFolder(above, permissions) }
        guard mkdir(path, permissions.ofFolder) != 0 else { return }
        let code = errno
        guard code == EEXIST, isFolder(path) else { throw WriteError(path, code) }
    }

    private static func isFolder(_ path: String) -> Bool {
        var state = stat()
        return stat(path, &state) == 0 && state.st_mode & S_IFMT == S_IFDIR
    }

    private func makeFolder(of path: String) throws(WriteError) {
        do throws(WriteError) {
            try Self.makeFolder(PathName(path).folder, permissions)
        } catch {
            let reason = "cannot make the folder '\(error.path)': \(error.reason)"
            throw WriteError(self.path, reason)
        }
    }

    // MARK: Targets

    /// The thing that a path leads to.
    private enum Target {
        /// A descriptor of this process: opening its name again would write at another position.
        case descriptor(Int32)
        case missing(String)
        case regular(String, stat)
        case special(String)
    }

    /// More links than these in a row are a circle.
    private static let linkMax = 40

    private func target() throws(WriteError) -> Target {
        var path = path
        for _ in 0..<Self.linkMax {
            if let number = Self.descriptor(path) { return .descriptor(number) }
            var state = stat()
            guard lstat(path, &state) == 0 else {
                guard errno == ENOENT else { throw error(errno) }
                return .missing(path)
            }
            switch state.st_mode & S_IFMT {
            case S_IFREG: return .regular(path, state)
            case S_IFDIR: throw error(EISDIR)
            // Links below /proc lead to what no path names, such as a pipe.
            case S_IFLNK where !path.hasPrefix("/proc/"):
                path = PathName(PathName(path).folder).appending(try link(path))
            default: return .special(path)
            }
        }
        throw error(ELOOP)
    }

    private func link(_ path: String) throws(WriteError) -> String {
        var characters = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink(path, &characters, characters.count)
        guard count >= 0 else { throw error(errno) }
        let bytes = characters.prefix(count).map(UInt8.init(bitPattern:))
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func descriptor(_ path: String) -> Int32? {
        switch path {
        case "/dev/stdout": return STDOUT_FILENO
        case "/dev/stderr": return STDERR_FILENO
        default:
            let folders = ["/dev/fd/", "/proc/self/fd/"]
            guard let folder = folders.first(where: path.hasPrefix) else { return nil }
            return Int32(path.dropFirst(folder.count))
        }
    }

    private func finish(_ code: Int32) throws(WriteError) {
        // The reader of a pipe has seen what it wanted.
        guard code != 0, code != EPIPE else { return }
        throw error(code)
    }

    private func error(_ code: Int32) -> WriteError { WriteError(path, code) }
}
