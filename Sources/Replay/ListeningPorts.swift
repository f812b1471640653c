internal import Foundation

/// Which ports processes listen on, as Linux tells it under `/proc`; elsewhere nobody can tell.
enum ListeningPorts {
    /// The kernel's table is read in pieces, and is no snapshot.
    private static let readingCount = 3

    /// - Parameter processes: Processes of our own.
    /// - Returns: Their ports, in order.
    static func of(_ processes: [pid_t]) -> [Int] {
        let files = FileManager.default
        var owned: Set<String> = []
        for process in processes {
            let folder = "/proc/\(process)/fd"
            for name in (try? files.contentsOfDirectory(atPath: folder)) ?? [] {
                // `socket:[12345]`
                guard
                    let link = try? files.destinationOfSymbolicLink(atPath: "\(folder)/\(name)"),
                    link.hasPrefix("socket:[")
                else { continue }
                owned.insert(String(link.dropFirst(8).dropLast()))
            }
        }
        // Whoever opens or closes a socket meanwhile makes a reading miss others' lines.
        var found: Set<Int> = []
        for _ in 0..<readingCount {
            for table in ["tcp", "tcp6"] {
                let text = String(decoding: whole("/proc/net/" + table), as: UTF8.self)
                found.formUnion(ports(in: text, owned))
            }
        }
        return found.sorted()
    }

    /// All of a file of the kernel's, which hands out whole lines: a piece that is shorter than it might
    /// be is not the last, as Foundation takes it to be.
    private static func whole(_ path: String) -> [UInt8] {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return [] }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = read(descriptor, &piece, piece.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return bytes }
            bytes += piece.prefix(count)
        }
    }

    /// The ports of a table of the kernel's (`proc(5)`): the local address is the second column, the
    /// state the fourth, where `0A` listens, and the socket's number the tenth.
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
