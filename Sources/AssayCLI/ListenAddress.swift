internal import Foundation

/// `NAME=HOST:PORT`, as `--listen` takes it.
struct ListenAddress {
    let name: String
    let host: String
    let port: Int

    /// An address without a name.
    init(bare text: String) throws {
        guard let colon = text.lastIndex(of: ":"), colon != text.startIndex,
            let port = UInt16(text[text.index(after: colon)...])
        else {
            throw Failure(.usage, "--listen '\(text)' is not HOST:PORT, such as 127.0.0.1:8081")
        }
        name = ""
        host = String(text[..<colon])
        self.port = Int(port)
    }

    /// Reads the flags, or `ASSAY_LISTEN` when there are none.
    static func all(_ flags: [String], names: [String]) throws -> [ListenAddress] {
        let variable = ProcessInfo.processInfo.environment["ASSAY_LISTEN"]
        let entries =
            flags.isEmpty ? (variable?.split(separator: ",").map(String.init) ?? []) : flags
        return try entries.map { try ListenAddress($0, names: names) }
    }

    private init(_ text: String, names: [String]) throws {
        let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
        let address = parts.last ?? ""
        guard parts.count == 2, let colon = address.lastIndex(of: ":"),
            let port = UInt16(address[address.index(after: colon)...]),
            names.contains(parts[0]), colon != address.startIndex
        else {
            throw Failure(
                .usage,
                "--listen '\(text)' is not NAME=HOST:PORT with one of "
                    + names.sorted().joined(separator: ", ")
            )
        }
        name = parts[0]
        host = String(address[..<colon])
        self.port = Int(port)
    }
}
