internal import Foundation
internal import Synchronization

#if canImport(Glibc)
internal import Glibc
#else
internal import Darwin
#endif

/// A folder in the temporary one for as long as it is needed, and no longer than this process lives.
///
/// Its owner holds a lock on a file in it, which the system takes away however the owner ends: folders
/// whose lock nobody holds are left over from a process that was killed, and the next one removes them.
package final class WorkFolder: Sendable {
    package struct MakeError: Error, CustomStringConvertible {
        package let description: String
    }

    package let path: String
    private let lock: Int32
    private let isRemoved = Atomic<Bool>(false)

    private static let prefix = "assay-"
    private static let ownerName = "/owner"
    /// Those of this process that are there.
    private static let open = Mutex<[String: Int32]>([:])

    /// Makes one, and the first time removes what killed processes have left.
    ///
    /// - Parameter label: Part of its name, for those who look into the temporary folder.
    /// - Throws: Why it cannot be made.
    package init(_ label: String = "run") throws(MakeError) {
        _ = Self.swept
        let name = Self.prefix + label + "-" + UUID().uuidString
        let path = NSTemporaryDirectory() + name
        // No other user may read the backend's log, its data and the key of the proxy's authority.
        guard mkdir(path, 0o700) == 0 else {
            let reason = String(cString: strerror(errno))
            throw MakeError(description: "cannot make the folder '\(path)': \(reason)")
        }
        // It is locked before it has its name: nobody ever finds it without an owner.
        let lock = openFile(path + "/new", O_CREAT | O_RDWR | O_CLOEXEC, 0o600)
        guard lock >= 0, flock(lock, LOCK_EX | LOCK_NB) == 0,
            Self.sign(lock), rename(path + "/new", path + Self.ownerName) == 0
        else {
            let reason = String(cString: strerror(errno))
            if lock >= 0 { close(lock) }
            try? FileManager.default.removeItem(atPath: path)
            throw MakeError(description: "cannot write into the folder '\(path)': \(reason)")
        }
        self.path = path
        self.lock = lock
        Self.open.withLock { $0[path] = lock }
    }

    deinit { remove() }

    /// Removes it with everything in it; a second time does nothing.
    package func remove() {
        guard !isRemoved.exchange(true, ordering: .relaxed) else { return }
        _ = Self.open.withLock { $0.removeValue(forKey: path) }
        try? FileManager.default.removeItem(atPath: path)
        close(lock)
    }

    /// Removes all of this process, which is about to end without a farewell.
    package static func removeAll() {
        for path in open.withLock({ Array($0.keys) }) {
            try? FileManager.default.removeItem(atPath: path)
        }
    }

    // MARK: What others left

    /// What the owner's file says: no other program writes it by accident.
    private static let signature = Array("assay work folder\n".utf8)

    private static func sign(_ file: Int32) -> Bool {
        write(file, signature, signature.count) == signature.count
    }

    private static func isSigned(_ file: Int32) -> Bool {
        var bytes = [UInt8](repeating: 0, count: signature.count + 1)
        let count = read(file, &bytes, bytes.count)
        return count == signature.count && bytes.prefix(count).elementsEqual(signature)
    }

    /// `assay-`, a label, and a unique name.
    private static func isOurs(_ name: String) -> Bool {
        name.hasPrefix(prefix) && UUID(uuidString: String(name.suffix(36))) != nil
    }

    private static let swept: Void = sweep(NSTemporaryDirectory())

    /// Removes the folders of ours in that one whose owner has ended.
    package static func sweep(_ folder: String) {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        for name in names where isOurs(name) {
            let path = folder + (folder.hasSuffix("/") ? "" : "/") + name
            // Whatever somebody else has put there, or a link that leads elsewhere, is not ours.
            var state = stat()
            guard lstat(path, &state) == 0, state.st_mode & S_IFMT == S_IFDIR,
                state.st_uid == geteuid()
            else { continue }
            let owner = openFile(path + ownerName, O_RDWR | O_CLOEXEC | O_NOFOLLOW)
            guard owner >= 0 else { continue }
            if flock(owner, LOCK_EX | LOCK_NB) == 0, isSigned(owner) {
                try? FileManager.default.removeItem(atPath: path)
            }
            close(owner)
        }
    }
}

/// `open` of the system, which the type's own name hides.
private func openFile(_ path: String, _ flags: Int32, _ mode: mode_t = 0) -> Int32 {
    open(path, flags, mode)
}
