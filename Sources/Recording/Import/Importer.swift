package import Conformance
internal import Providers

/// Reads sessions that other tools wrote, as recordings.
package enum Importer {
    package enum Format: String, CaseIterable, Sendable {
        /// HTTP Archive 1.2.
        case har
        /// `curl` command lines, one after the other.
        case curl
        /// Lines of `{"method", "url", "headers", "body", "status", "answer"}`.
        case ndjson
        /// Events of services that send webhooks, as JSON: one, many in an array, or one a line.
        case events
        /// A Pact file, specification 3 or 4.
        case pact
        /// A Postman collection, format 2.0 or 2.1.
        case postman
        /// Flows that mitmproxy saved.
        case mitmproxy
        /// The examples of an OpenAPI description, version 3, in JSON or YAML.
        case openapi
    }

    /// What an import needs to know beyond the file.
    package struct Context: Sendable {
        /// Where events are delivered: `POST /api/webhooks/revenuecat`, by provider.
        package var webhooks: [Exchange.Party: String]
        /// Stands for the moment of exchanges that have none.
        package var now: Instant
        /// The backend's hosts, where an archive holds those of others too; none: that of most.
        package var hosts: [String]
        /// The bytes of a file that the imported one names; nil when there is none.
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

    /// Deepest nesting that is read, and longest text of one body, in bytes.
    static let depthMax = 160
    static let bodyMax = 16 << 20
    /// Bytes that all packed bodies of a file may unpack to: this many, or this many times the
    /// file's own size where that is more.
    static let unpackedMin = 64 << 20
    static let unpackedRatio = 8

    /// - Returns: The exchanges with the backend in their order, and notes on what was left out: an
    ///   entry that a recording cannot hold, with its number and the reason.
    /// - Throws: When the file is not of the format, or no entry of it can be imported.
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
        case .mitmproxy: try reader.flows(bytes)
        case .openapi: try reader.openAPI(try ImportReader.document(bytes))
        case .events: try reader.events(bytes)
        case .ndjson: try reader.lines(bytes)
        case .curl: try reader.curl(bytes)
        }
        try reader.finish()
        return (reader.exchanges, reader.notes)
    }

    /// What a file is by its beginning; nil when nobody can tell.
    package static func format(of bytes: [UInt8]) -> Format? {
        let head = String(decoding: bytes.prefix(4096), as: UTF8.self)
        let first =
            head.split(whereSeparator: \.isNewline)
            .first { !$0.hasPrefix("#") && !$0.allSatisfy(\.isWhitespace) } ?? ""
        if first.hasPrefix("curl ") || first.hasPrefix("$ curl ") { return .curl }
        if isFlow(bytes) { return .mitmproxy }
        if head.hasPrefix("openapi:") || bytes.holds("\nopenapi:") { return .openapi }
        if let value = try? JSONValue(parsing: bytes, options: options) {
            if value["openapi"] != nil, value["paths"] != nil { return .openapi }
            if value["log"]?["entries"] != nil { return .har }
            if value["interactions"] != nil { return .pact }
            if value["info"]?["schema"] != nil, value["item"] != nil { return .postman }
            if value["method"] != nil { return .ndjson }
            let first = ["events", "items", "data"].lazy.compactMap { value[$0]?.array }.first
            return isEvent((first ?? value.array)?.first ?? value) ? .events : nil
        }
        guard let end = bytes.firstIndex(of: UInt8(ascii: "\n")),
            let line = try? JSONValue(parsing: Array(bytes[..<end]), options: options)
        else { return nil }
        if line["method"] != nil { return .ndjson }
        return isEvent(line) ? .events : nil
    }

    private static func isEvent(_ value: JSONValue) -> Bool {
        value["event"] != nil || Services.providers.contains { $0.event(value) != nil }
    }

    /// Whether a file begins as a table of flows does: a length, and the name that comes first.
    private static func isFlow(_ bytes: [UInt8]) -> Bool {
        let rest = bytes.prefix(16).drop { (48...57).contains($0) }
        return rest.startIndex > 0 && rest.first == UInt8(ascii: ":")
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
                remedy: "Export the file again, or name its format with --format."
            )
        }
    }
}
