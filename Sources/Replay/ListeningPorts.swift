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
            for table in ["tcp", "tcp6"].compactMap({ files.contents(atPath: "/proc/net/\($0)") }) {
                found.formUnion(ports(in: String(decoding: table, as: UTF8.self), owned))
            }
        }
        return found.sorted()
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
