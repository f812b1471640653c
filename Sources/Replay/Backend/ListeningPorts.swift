internal import Foundation
internal import Programs

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
            for name in ProcessFiles.entryNames(in: folder) ?? [] {
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
                let lines = linesOfListeningSockets(
                    in: ProcessFiles.content(of: "/proc/net/" + table)
                )
                portNumbers.formUnion(ports(in: lines, ownedSocketIDs))
            }
        }
        return portNumbers.sorted()
    }

    /// Returns the lines of a table of sockets that may describe a listening socket.
    ///
    /// A table has a line for each connection, often thousands, and few listening sockets. The
    /// search for the state is faster than dividing each line into columns.
    private static func linesOfListeningSockets(in table: [UInt8]) -> String {
        var lines: [String] = []
        var start = 0
        while let match = ProcessFiles.firstIndex(of: listeningState, in: table, from: start) {
            let lineStart = (table[..<match].lastIndex(of: newline) ?? -1) + 1
            let lineEnd = table[match...].firstIndex(of: newline) ?? table.endIndex
            lines.append(String(decoding: table[lineStart..<lineEnd], as: UTF8.self))
            start = lineEnd
        }
        return lines.joined(separator: "\n")
    }

    private static let listeningState = " 0A "
    private static let newline = UInt8(ascii: "\n")

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
        table.split(separator: "\n").compactMap { line in
            let columns = line.split(separator: " ")
            guard columns.count > 9, columns[3] == "0A", sockets.contains(String(columns[9])),
                let port = columns[1].split(separator: ":").last
            else { return nil }
            return Int(port, radix: 16)
        }
    }
}
