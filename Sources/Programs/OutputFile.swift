internal import Values

#if canImport(Glibc)
internal import Glibc
#else
internal import Darwin
#endif

/// An output file for the user, which is written completely or not at all.
///
/// The bytes go to a temporary file in the same folder, which then replaces the file. After a full
/// disk or a kill, the earlier file is unchanged and no partial file remains.
///
/// Some files are written in place: devices, FIFOs, descriptors such as `/dev/stdout`, files with
/// several names, files of another user, and files in a folder that cannot be written. Symbolic
/// links are followed.
package struct OutputFile: Hashable, Sendable {
    /// The users that may read a file or a folder.
    package enum Permissions: Hashable, Sendable {
        /// The umask of the process determines who may read the file; used for reports.
        case umaskDefault
        /// Only the owner may read the file; used for the recorded data of a run.
        case ownerOnly

        fileprivate var fileMode: mode_t { self == .ownerOnly ? 0o600 : 0o666 }
        fileprivate var folderMode: mode_t { self == .ownerOnly ? 0o700 : 0o777 }
    }

    /// The error for a file or a folder that cannot be written.
    package struct WriteError: Error, Hashable, Sendable, CustomStringConvertible {
        package let path: String
        /// The reason from the system, such as `No space left on device`.
        package let reason: String

        package var description: String { "cannot write '\(path)': \(reason)" }

        fileprivate init(_ path: String, _ errorCode: Int32) {
            self.init(path, String(cString: strerror(errorCode)))
        }

        fileprivate init(_ path: String, _ reason: String) {
            self.path = path
            self.reason = reason
        }
    }

    package let path: String
    private let permissions: Permissions

    /// Describes a file without writing it.
    ///
    /// - Parameters:
    ///   - path: The file. Its missing folders are created when it is written or checked.
    ///   - permissions: The users that may read the file and the created folders.
    package init(_ path: String, _ permissions: Permissions = .umaskDefault) {
        self.path = path
        self.permissions = permissions
    }

    // MARK: Writing

    /// Replaces the content of the file.
    ///
    /// If the file is a pipe, the call also succeeds when the reader has closed the pipe.
    ///
    /// - Throws: `WriteError`, after the temporary file was removed.
    package func write(_ bytes: [UInt8]) throws(WriteError) {
        switch try target() {
        case .descriptor(let descriptorNumber):
            try throwIfFailed(SystemWrite.writeAll(bytes, to: descriptorNumber))
        case .specialFile(let path): try throwIfFailed(overwriteFile(path, isRegular: false, bytes))
        case .missingFile(let path):
            try makeFolder(of: path)
            try throwIfFailed(replaceFile(path, nil, bytes))
        case .regularFile(let path, let fileStatus):
            guard access(path, W_OK) == 0 else { throw error(errno) }
            if !Self.isWrittenInPlace(fileStatus) {
                let errorCode = replaceFile(path, fileStatus, bytes)
                guard [EACCES, EPERM, EROFS, EBUSY].contains(errorCode) else {
                    return try throwIfFailed(errorCode)
                }
            }
            try throwIfFailed(overwriteFile(path, isRegular: true, bytes))
        }
    }

    /// Replaces the content of the file with a string in UTF-8.
    ///
    /// - Throws: `WriteError`.
    package func write(_ text: String) throws(WriteError) {
        try write(Array(text.utf8))
    }

    /// Appends a string to the file.
    ///
    /// After a failure, a regular file is unchanged.
    ///
    /// - Throws: `WriteError`.
    package func append(_ text: String) throws(WriteError) {
        let path: String
        switch try target() {
        case .descriptor(let descriptorNumber):
            return try throwIfFailed(SystemWrite.writeAll(Array(text.utf8), to: descriptorNumber))
        case .specialFile(let targetPath), .regularFile(let targetPath, _): path = targetPath
        case .missingFile(let targetPath):
            try makeFolder(of: targetPath)
            path = targetPath
        }
        let fileDescriptor = open(
            path,
            O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC,
            permissions.fileMode
        )
        guard fileDescriptor >= 0 else { throw error(errno) }
        let end = lseek(fileDescriptor, 0, SEEK_END)
        var errorCode = SystemWrite.writeAll(Array(text.utf8), to: fileDescriptor)
        if errorCode != 0, end >= 0 { _ = ftruncate(fileDescriptor, end) }
        if close(fileDescriptor) != 0, errorCode == 0 { errorCode = errno }
        try throwIfFailed(errorCode)
    }

    /// Writes a temporary file in the same folder, and renames it to the path.
    ///
    /// - Returns: The error number of the system; 0 on success.
    private func replaceFile(_ path: String, _ oldFileStatus: stat?, _ bytes: [UInt8]) -> Int32 {
        let name = ".assay-\(getpid())-\(UInt32.random(in: .min ... .max)).tmp"
        let temporaryPath = PathName(PathName(path).folder).appending(name)
        let flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC
        let fileDescriptor = open(temporaryPath, flags, permissions.fileMode)
        guard fileDescriptor >= 0 else { return errno }
        var errorCode = SystemWrite.writeAll(bytes, to: fileDescriptor)
        if let oldFileStatus {
            // `fchown` fails without harm if the owner does not belong to the group.
            _ = fchown(fileDescriptor, uid_t.max, oldFileStatus.st_gid)
            if permissions == .umaskDefault {
                _ = fchmod(fileDescriptor, oldFileStatus.st_mode & 0o777)
            }
        }
        if close(fileDescriptor) != 0, errorCode == 0 { errorCode = errno }
        if errorCode == 0, rename(temporaryPath, path) != 0 { errorCode = errno }
        if errorCode != 0 { unlink(temporaryPath) }
        return errorCode
    }

    /// Overwrites the existing file.
    ///
    /// After a failure, a regular file is empty.
    ///
    /// - Returns: The error number of the system; 0 on success.
    private func overwriteFile(_ path: String, isRegular: Bool, _ bytes: [UInt8]) -> Int32 {
        let flags = O_WRONLY | O_CLOEXEC | O_NOCTTY | (isRegular ? O_TRUNC : 0)
        let fileDescriptor = open(path, flags)
        guard fileDescriptor >= 0 else { return errno }
        if isRegular, permissions == .ownerOnly { _ = fchmod(fileDescriptor, permissions.fileMode) }
        var errorCode = SystemWrite.writeAll(bytes, to: fileDescriptor)
        if errorCode != 0, isRegular { _ = ftruncate(fileDescriptor, 0) }
        if close(fileDescriptor) != 0, errorCode == 0 { errorCode = errno }
        return errorCode
    }

    /// Returns whether the file must be overwritten in place: it has several hard links or belongs
    /// to another user.
    ///
    /// A new file of the same name would not keep these links or this owner.
    private static func isWrittenInPlace(_ fileStatus: stat) -> Bool {
        fileStatus.st_nlink > 1 || fileStatus.st_uid != geteuid()
    }

    // MARK: Before a run

    /// Checks that the file can be written.
    ///
    /// Creates the missing folders of the file, but not the file.
    ///
    /// - Throws: `WriteError`.
    package func check() throws(WriteError) {
        switch try target() {
        case .descriptor(let descriptorNumber):
            let flags = fcntl(descriptorNumber, F_GETFL)
            guard flags >= 0 else { throw error(errno) }
            guard flags & O_ACCMODE != O_RDONLY else { throw error(EBADF) }
        case .specialFile(let path), .regularFile(let path, _):
            guard access(path, W_OK) == 0 else { throw error(errno) }
        case .missingFile(let path):
            try makeFolder(of: path)
            let flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC
            let fileDescriptor = open(path, flags, permissions.fileMode)
            guard fileDescriptor >= 0 else { throw error(errno) }
            close(fileDescriptor)
            unlink(path)
        }
    }

    /// Removes the regular file of an earlier run, or empties the file when it cannot be removed.
    ///
    /// Devices, FIFOs and descriptors stay unchanged.
    package func removeExisting() {
        // A path that cannot be examined has no file to remove. The later write reports the error.
        guard case .regularFile(let path, let fileStatus)? = try? target() else { return }
        if Self.isWrittenInPlace(fileStatus) || unlink(path) != 0 { _ = truncate(path, 0) }
    }

    // MARK: Folders

    /// Creates a folder and its missing parents.
    ///
    /// - Throws: The `WriteError` of the folder that cannot be created.
    package static func makeFolder(
        _ path: String,
        _ permissions: Permissions
    ) throws(WriteError) {
        guard !path.isEmpty, !isFolder(path) else { return }
        let parentFolder = PathName(path).folder
        if parentFolder != path { try makeFolder(parentFolder, permissions) }
        guard mkdir(path, permissions.folderMode) != 0 else { return }
        let errorCode = errno
        guard errorCode == EEXIST, isFolder(path) else { throw WriteError(path, errorCode) }
    }

    private static func isFolder(_ path: String) -> Bool {
        var fileStatus = stat()
        return stat(path, &fileStatus) == 0 && fileStatus.st_mode & S_IFMT == S_IFDIR
    }

    private func makeFolder(of path: String) throws(WriteError) {
        do throws(WriteError) {
            try Self.makeFolder(PathName(path).folder, permissions)
        } catch {
            let reason = "cannot create the folder '\(error.path)': \(error.reason)"
            throw WriteError(self.path, reason)
        }
    }

    // MARK: Targets

    /// The file, descriptor or device to which a path leads.
    private enum WriteTarget {
        /// A descriptor of this process, such as standard output. It is used directly, because a
        /// file that is opened again by its path is written at another position.
        case descriptor(Int32)
        case missingFile(String)
        case regularFile(String, stat)
        case specialFile(String)
    }

    /// The number of symbolic links after which a path counts as a cycle.
    private static let symbolicLinksMax = 40

    private func target() throws(WriteError) -> WriteTarget {
        var path = path
        for _ in 0..<Self.symbolicLinksMax {
            if let descriptorNumber = Self.descriptor(path) { return .descriptor(descriptorNumber) }
            var fileStatus = stat()
            guard lstat(path, &fileStatus) == 0 else {
                guard errno == ENOENT else { throw error(errno) }
                return .missingFile(path)
            }
            switch fileStatus.st_mode & S_IFMT {
            case S_IFREG: return .regularFile(path, fileStatus)
            case S_IFDIR: throw error(EISDIR)
            // Links below /proc may lead to objects without a path, such as a pipe.
            case S_IFLNK where !path.hasPrefix("/proc/"):
                path = PathName(PathName(path).folder).appending(try symbolicLinkTarget(path))
            default: return .specialFile(path)
            }
        }
        throw error(ELOOP)
    }

    private func symbolicLinkTarget(_ path: String) throws(WriteError) -> String {
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

    private func throwIfFailed(_ errorCode: Int32) throws(WriteError) {
        // A reader that closes its pipe has read everything that it needs.
        guard errorCode != 0, errorCode != EPIPE else { return }
        throw error(errorCode)
    }

    private func error(_ errorCode: Int32) -> WriteError { WriteError(path, errorCode) }
}
