internal import Foundation

/// Finds the ports on which processes listen, by reading `/proc` on Linux.
///
/// On other systems, no port is found.
enum ListeningPorts {
    /// The number of times that the kernel's table of sockets is read.
    ///
    /// The kernel returns the table in parts, so that one reading may miss entries.
    private static let tableReadCount = 3

    /// Returns the ports on which the given processes listen.
    ///
    /// - Parameter processes: Processes of the current user.
    /// - Returns: The ports in ascending order.
    static func of(_ processes: [pid_t]) -> [Int] {
        let fileManager = FileManager.default
        var ownedSocketIDs: Set<String> = []
        for process in processes {
            let folder = "/proc/\(process)/fd"
            // A process that has ended listens on no port.
            for name in (try? fileManager.contentsOfDirectory(atPath: folder)) ?? [] {
                // The link of a socket is `socket:[12345]`.
                // A descriptor may be closed after it was listed.
                guard
                    let linkTarget = try? fileManager.destinationOfSymbolicLink(
                        atPath: "\(folder)/\(name)"
                    ),
                    linkTarget.hasPrefix("socket:[")
                else { continue }
                ownedSocketIDs.insert(String(linkTarget.dropFirst(8).dropLast()))
            }
        }
        // The table is read several times, because a socket that is opened or closed during a
        // reading can hide the lines of other sockets.
        var portNumbers: Set<Int> = []
        for _ in 0..<tableReadCount {
            for table in ["tcp", "tcp6"] {
                let text = String(decoding: readFile("/proc/net/" + table), as: UTF8.self)
                portNumbers.formUnion(ports(in: text, ownedSocketIDs))
            }
        }
        return portNumbers.sorted()
    }

    /// Reads a whole file under `/proc`.
    ///
    /// The kernel returns only whole lines, so a read may return fewer bytes than requested before
    /// the end of the file. Foundation takes such a read for the end of the file, so this function
    /// does not use Foundation.
    private static func readFile(_ path: String) -> [UInt8] {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return [] }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = read(descriptor, &chunk, chunk.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return bytes }
            bytes += chunk.prefix(count)
        }
    }

    /// Returns the listening ports in a table of sockets of the kernel (`proc(5)`).
    ///
    /// The local address is in the second column, the state in the fourth (`0A` is listening), and
    /// the socket number in the tenth.
    ///
    /// - Parameters:
    ///   - table: The text of the table.
    ///   - sockets: The numbers of the sockets to include.
    /// - Returns: The ports.
    static func ports(in table: String, _ sockets: Set<String>) -> [Int] {
        table.split(separator: "\n").dropFirst().compactMap { line in
            let columns = line.split(separator: " ")
            guard columns.count > 9, columns[3] == "0A", sockets.contains(String(columns[9])),
                let port = columns[1].split(separator: ":").last
            else { return nil }
            return Int(port, radix: 16)
        }
    }
}
