#if canImport(Glibc)
package import Glibc
#else
package import Darwin
#endif

/// The files under `/proc`, by which Linux describes its processes and sockets (`proc(5)`).
package enum ProcessFiles {
    /// The IDs of all processes; nil on systems without `/proc`.
    package static var processIDs: [pid_t]? {
        guard let names = entryNames(in: "/proc"), names.contains("self") else { return nil }
        return names.compactMap { pid_t($0) }
    }

    /// Returns the names in a folder; nil when the folder cannot be listed.
    package static func entryNames(in folder: String) -> [String]? {
        guard let directory = opendir(folder) else { return nil }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 1) { String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }

    /// Returns the content of a file; empty when the file cannot be read.
    ///
    /// The kernel returns only whole lines of a table, so a read may return fewer bytes than
    /// requested before the end of the file. Foundation takes such a read for the end of the file.
    package static func content(of path: String) -> [UInt8] {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return [] }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = read(descriptor, &chunk, chunk.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return bytes }
            bytes += chunk[..<count]
        }
    }

    /// Returns the position of the first occurrence of a string in a text at or after `start`; nil
    /// when there is none.
    ///
    /// The search ends at the first null byte of the text.
    package static func firstIndex(
        of string: String,
        in text: [UInt8],
        from start: Int = 0
    ) -> Int? {
        guard start < text.count else { return nil }
        return (text + [0]).withUnsafeBytes { buffer in
            guard let base = buffer.bindMemory(to: CChar.self).baseAddress,
                let match = strstr(base + start, string)
            else { return nil }
            return UnsafePointer(match) - base
        }
    }

    /// Searches the environment of a process for a variable with a value.
    ///
    /// False also for a process of another user, whose environment cannot be read.
    ///
    /// - Parameters:
    ///   - entry: The variable and its value: `NAME=VALUE`.
    ///   - process: The ID of the process.
    /// - Returns: Whether an entry of the environment is exactly `entry`.
    package static func environmentContains(_ entry: String, of process: pid_t) -> Bool {
        let entries = content(of: "/proc/\(process)/environ") + [0]
        return entries.withUnsafeBytes { buffer in
            guard let base = buffer.bindMemory(to: CChar.self).baseAddress else { return false }
            var start = 0
            while start < buffer.count {
                if strcmp(base + start, entry) == 0 { return true }
                start += strlen(base + start) + 1
            }
            return false
        }
    }
}
