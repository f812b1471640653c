internal import Providers
package import Values

/// Converts files of other tools to exchanges of a recording.
package enum Importer {
    package enum Format: String, CaseIterable, Sendable {
        /// HTTP Archive 1.2, which browsers and proxies export.
        case har
        /// A file of `curl` command lines.
        case curl
        /// One request per line, as JSON: `{"method", "url", "headers", "body", "status",
        /// "response"}`.
        case ndjson
        /// Webhook events as JSON: one event, an array of events, or one event per line.
        case events
        /// A Pact file, specification 3 or 4.
        case pact
        /// A Postman collection, format 2.0 or 2.1.
        case postman
        /// Flows that mitmproxy saved with `mitmdump -w`.
        case mitmproxy
        /// The examples in an OpenAPI document, version 3, in JSON or YAML.
        case openapi
    }

    /// The information that an import needs in addition to the file.
    package struct Context: Sendable {
        /// The route of each provider's webhook, such as `POST /api/webhooks/revenuecat`.
        package var webhooks: [Exchange.Party: String]
        /// The time of the exchanges for which the imported file has no time.
        package var now: Instant
        /// The hosts of the backend, for archives that also contain requests to other hosts.
        ///
        /// If the list is empty, the host with the most requests is used.
        package var hosts: [String]
        /// Returns the content of a file that the imported file names; nil when it does not exist.
        package var files: @Sendable (_ path: String) -> [UInt8]?

        package init(
            webhooks: [Exchange.Party: String],
            now: Instant,
            hosts: [String] = [],
            files: @escaping @Sendable (_ path: String) -> [UInt8]? = { _ in nil }
        ) {
            self.webhooks = webhooks
            self.now = now
            self.hosts = hosts
            self.files = files
        }
    }

    /// The maximum nesting depth of JSON in an imported file.
    static let depthMax = 160
    /// The maximum length of one decompressed body in an imported file, in bytes.
    static let bodyBytesMax = 16 << 20
    /// The maximum size in bytes of all compressed bodies of an imported file after decompression.
    ///
    /// The limit is higher for a large file: `decompressionRatioMax` times the size of the file.
    static let decompressedBytesMin = 64 << 20
    /// The maximum size of all decompressed bodies of an imported file, as a multiple of the size
    /// of the file.
    ///
    /// This limit applies when it is higher than `decompressedBytesMin`.
    static let decompressionRatioMax = 8

    /// Reads the exchanges in a file of another tool.
    ///
    /// - Returns: The exchanges with the backend in order, and notes about the entries that were
    ///   left out, each with its number and the reason.
    /// - Throws: An error when the file does not have the given format, or when no entry can be
    ///   imported.
    package static func exchanges(
        _ bytes: [UInt8],
        format: Format,
        _ context: Context
    ) throws(RecordingError) -> (exchanges: [Exchange], notes: [String]) {
        var reader = ImportReader(context: context, byteCount: bytes.count)
        switch format {
        case .har: try reader.har(try json(bytes))
        case .pact: try reader.pact(try json(bytes))
        case .postman: try reader.postman(try json(bytes))
        case .mitmproxy: try reader.readFlows(bytes)
        case .openapi: try reader.readOpenAPI(try ImportReader.document(bytes))
        case .events: try reader.events(bytes)
        case .ndjson: try reader.lines(bytes)
        case .curl: try reader.curl(bytes)
        }
        try reader.finish()
        return (reader.exchanges, reader.notes)
    }

    /// Returns the format of a file according to its content; nil when it cannot be detected.
    package static func format(of bytes: [UInt8]) -> Format? {
        let fileStartText = String(decoding: bytes.prefix(4096), as: UTF8.self)
        let first =
            fileStartText.split(whereSeparator: \.isNewline)
            .first { !$0.hasPrefix("#") && !$0.allSatisfy(\.isWhitespace) } ?? ""
        if first.hasPrefix("curl ") || first.hasPrefix("$ curl ") { return .curl }
        if isFlow(bytes) { return .mitmproxy }
        if fileStartText.hasPrefix("openapi:") || bytes.containsText("\nopenapi:") {
            return .openapi
        }
        if let value = JSONValue(ifValid: bytes, options: options) {
            if value["openapi"] != nil, value["paths"] != nil { return .openapi }
            if value["log"]?["entries"] != nil { return .har }
            if value["interactions"] != nil { return .pact }
            if value["info"]?["schema"] != nil, value["item"] != nil { return .postman }
            if value["method"] != nil { return .ndjson }
            let first = ["events", "items", "data"].lazy.compactMap { value[$0]?.array }.first
            return isEvent((first ?? value.array)?.first ?? value) ? .events : nil
        }
        guard let end = bytes.firstIndex(of: UInt8(ascii: "\n")),
            let line = JSONValue(ifValid: Array(bytes[..<end]), options: options)
        else { return nil }
        if line["method"] != nil { return .ndjson }
        return isEvent(line) ? .events : nil
    }

    private static func isEvent(_ value: JSONValue) -> Bool {
        value["event"] != nil || Services.providers.contains { $0.sender?.event(value) != nil }
    }

    /// Returns whether a file looks like a mitmproxy flow: it begins with the length of a
    /// dictionary and ends with its type marker.
    private static func isFlow(_ bytes: [UInt8]) -> Bool {
        let bytesAfterLength = bytes.prefix(16).drop { (48...57).contains($0) }
        return bytesAfterLength.startIndex > 0 && bytesAfterLength.first == UInt8(ascii: ":")
            && bytes.prefix(400).contains(UInt8(ascii: ";")) && bytes.last == UInt8(ascii: "}")
    }

    static let options = JSONValue.ParseOptions(depthMax: depthMax, duplicateKeys: .keep)

    static func json(_ bytes: [UInt8], line: Int = 1) throws(RecordingError) -> JSONValue {
        do throws(JSONError) {
            return try JSONValue(parsing: bytes, options: options)
        } catch {
            throw RecordingError(
                line: line,
                problem: "this is not JSON: \(error)",
                remedy: "Export the file again, or pass its format with --format."
            )
        }
    }
}
