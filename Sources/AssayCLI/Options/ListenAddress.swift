/// A value of `--listen`: the name of a server and its address, such as `onesignal=127.0.0.1:9320`.
struct ListenAddress {
    let name: String
    let host: String
    let port: Int

    /// Parses an address without a name: `HOST:PORT`.
    init(bare text: String) throws {
        guard let colon = text.lastIndex(of: ":"), colon != text.startIndex,
            let port = UInt16(text[text.index(after: colon)...])
        else {
            throw CommandFailure(
                .usage,
                "--listen '\(text)' is not HOST:PORT, such as 127.0.0.1:8081"
            )
        }
        name = ""
        host = Self.bare(text[..<colon])
        self.port = Int(port)
    }

    /// Parses the values of `--listen`, or of the variable `ASSAY_LISTEN` when the flag is not
    /// given.
    static func all(_ flags: [String], names: [String]) throws -> [ListenAddress] {
        let name = flags.isEmpty ? Setting.listen.variable : Setting.listen.name
        return try all(Setting.listen.texts(flags), names: names, from: name)
    }

    /// Parses addresses that the flag or the variable `source` contains.
    static func all(
        _ texts: [String],
        names: [String],
        from source: String
    ) throws -> [ListenAddress] {
        try texts.map { try ListenAddress($0, names: names, from: source) }
    }

    private init(_ text: String, names: [String], from source: String) throws {
        let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
        let address = parts.last ?? ""
        guard parts.count == 2, let colon = address.lastIndex(of: ":"),
            let port = UInt16(address[address.index(after: colon)...]),
            names.contains(parts[0]), colon != address.startIndex
        else {
            throw CommandFailure(
                .usage,
                "\(source) '\(text)' is not NAME=HOST:PORT with one of "
                    + names.sorted().joined(separator: ", ")
            )
        }
        name = parts[0]
        host = Self.bare(address[..<colon])
        self.port = Int(port)
    }

    /// Returns the host without the brackets that enclose an IPv6 address (RFC 3986, section
    /// 3.2.2).
    private static func bare(_ host: Substring) -> String {
        host.hasPrefix("[") && host.hasSuffix("]")
            ? String(host.dropFirst().dropLast()) : String(host)
    }
}
