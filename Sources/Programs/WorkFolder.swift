internal import Foundation
internal import Synchronization

#if canImport(Glibc)
internal import Glibc
#else
internal import Darwin
#endif

/// A temporary folder that is removed after its use, at the latest when the process ends.
///
/// The process that owns the folder holds a lock on a file in it. The system releases the lock even
/// when the process is killed. A folder without a locked file is left over from a killed process,
/// and the next process removes it.
package final class WorkFolder: Sendable {
    package struct CreationError: Error, CustomStringConvertible {
        package let description: String
    }

    package let path: String
    private let lockDescriptor: Int32
    private let isRemoved = Atomic<Bool>(false)

    private static let prefix = "assay-"
    private static let ownerFileName = "/owner"
    /// The existing work folders of this process, each with the descriptor of its lock.
    private static let open = Mutex<[String: Int32]>([:])

    /// Creates a work folder.
    ///
    /// The first call in a process also removes the work folders of killed processes.
    ///
    /// - Parameter label: A part of the folder's name, for people who list the temporary folder.
    /// - Throws: An error with the reason.
    package init(_ label: String = "run") throws(CreationError) {
        _ = Self.sweepOnce
        let name = Self.prefix + label + "-" + UUID().uuidString
        let path = NSTemporaryDirectory() + name
        // Other users may not read the backend's log, its data, or the key of the proxy's
        // certificate authority.
        guard mkdir(path, 0o700) == 0 else {
            let reason = String(cString: strerror(errno))
            throw CreationError(description: "cannot create the folder '\(path)': \(reason)")
        }
        // The file is locked before it gets its final name, so that it is never found without a
        // lock.
        let lockDescriptor = openFile(path + "/new", O_CREAT | O_RDWR | O_CLOEXEC, 0o600)
        guard lockDescriptor >= 0, flock(lockDescriptor, LOCK_EX | LOCK_NB) == 0,
            Self.writeSignature(lockDescriptor),
            rename(path + "/new", path + Self.ownerFileName) == 0
        else {
            let reason = String(cString: strerror(errno))
            if lockDescriptor >= 0 { close(lockDescriptor) }
            // The error thrown below names the folder. A later process removes a folder that stays.
            try? FileManager.default.removeItem(atPath: path)
            throw CreationError(description: "cannot write into the folder '\(path)': \(reason)")
        }
        self.path = path
        self.lockDescriptor = lockDescriptor
        Self.open.withLock { $0[path] = lockDescriptor }
    }

    deinit { remove() }

    /// Removes the work folder and its contents; a second call does nothing.
    package func remove() {
        guard !isRemoved.exchange(true, ordering: .relaxed) else { return }
        _ = Self.open.withLock { $0.removeValue(forKey: path) }
        // A later process removes a folder that stays.
        try? FileManager.default.removeItem(atPath: path)
        close(lockDescriptor)
    }

    /// Removes all work folders of this process, before it exits without cleanup.
    package static func removeAll() {
        for path in open.withLock({ Array($0.keys) }) {
            // A later process removes a folder that stays.
            try? FileManager.default.removeItem(atPath: path)
        }
    }

    // MARK: Folders of killed processes

    /// The content of the lock file, which no other program writes by accident.
    private static let ownerFileSignature = Array("assay work folder\n".utf8)

    private static func writeSignature(_ file: Int32) -> Bool {
        write(file, ownerFileSignature, ownerFileSignature.count) == ownerFileSignature.count
    }

    private static func hasOwnerSignature(_ file: Int32) -> Bool {
        var bytes = [UInt8](repeating: 0, count: ownerFileSignature.count + 1)
        let count = read(file, &bytes, bytes.count)
        return count == ownerFileSignature.count
            && bytes.prefix(count).elementsEqual(ownerFileSignature)
    }

    /// Returns whether the name has the form of a work folder: `assay-`, a label and a unique ID.
    private static func isAssayFolderName(_ name: String) -> Bool {
        name.hasPrefix(prefix) && UUID(uuidString: String(name.suffix(36))) != nil
    }

    private static let sweepOnce: Void = sweepAbandonedFolders(NSTemporaryDirectory())

    /// Removes the work folders inside a folder, if the processes that own them have ended.
    package static func sweepAbandonedFolders(_ folder: String) {
        // The cleanup is optional: a folder that cannot be read is skipped.
        let folderEntries = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        for name in folderEntries where isAssayFolderName(name) {
            let path = folder + (folder.hasSuffix("/") ? "" : "/") + name
            // Other files, links, and folders of other users are not work folders.
            var state = stat()
            guard lstat(path, &state) == 0, state.st_mode & S_IFMT == S_IFDIR,
                state.st_uid == geteuid()
            else { continue }
            let ownerDescriptor = openFile(path + ownerFileName, O_RDWR | O_CLOEXEC | O_NOFOLLOW)
            guard ownerDescriptor >= 0 else { continue }
            if flock(ownerDescriptor, LOCK_EX | LOCK_NB) == 0, hasOwnerSignature(ownerDescriptor) {
                // A later process tries again to remove a folder that stays.
                try? FileManager.default.removeItem(atPath: path)
            }
            close(ownerDescriptor)
        }
    }
}

/// The system function `open`, which `WorkFolder.open` hides.
private func openFile(_ path: String, _ flags: Int32, _ mode: mode_t = 0) -> Int32 {
    open(path, flags, mode)
}
