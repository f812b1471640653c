internal import Providers
internal import Values

/// Reads HTTP Archive 1.2 files, which browsers and proxies write.
extension ImportReader {
    mutating func har(_ file: JSONValue) throws(RecordingError) {
        let remedy = "Export the session again as HAR 1.2."
        guard let entries = file["log"]?["entries"]?.array else {
            throw makeError(1, "the archive has no /log/entries", remedy)
        }
        let entryFilter = HAREntryFilter(entries, hosts: context.hosts)
        notes += entryFilter.notes
        for (index, entry) in entries.enumerated()
        where !entryFilter.excludedIndices.contains(index) {
            self.entry(index) { reader throws(RecordingError) in
                try reader.add(entry: entry, "/log/entries/\(index)")
            }
        }
    }

    private mutating func add(entry: JSONValue, _ location: String) throws(RecordingError) {
        let remedy = "Export the session again as HAR 1.2."
        guard let request = entry["request"], let method = request["method"]?.string,
            Self.isMethod(method), let url = request["url"]?.string,
            let target = Self.target(url)
        else { throw makeError(1, "\(location)/request has no method or no URL", remedy) }
        let message = HTTPMessage.Request(
            method,
            target,
            fields: try fields(request["headers"], location + "/request/headers"),
            body: Array(try body(request["postData"], location + "/request/postData").utf8)
        )
        let startTime = entry["startedDateTime"]?.string.flatMap { Instant(iso8601: $0) }
        let durationInMilliseconds: Double =
            if case .number(let number) = entry["time"] { number.double ?? 1 } else { 1 }
        // Browsers write 0 for a request that had no response.
        guard let response = entry["response"], let statusValue = response["status"],
            !statusValue.isNull, statusValue != 0
        else {
            notes.append("\(location) has no response and is left out")
            return
        }
        let status = try status(statusValue, location + "/response/status")
        let content = response["content"]
        var bytes = Array((content?["text"]?.string ?? "").utf8)
        if content?["encoding"]?.string == "base64" {
            guard let decodedBytes = Base64.bytes(content?["text"]?.string ?? "") else {
                throw makeError(1, "\(location)/response/content/text is not base64", remedy)
            }
            bytes = decodedBytes
        }
        let omittedFieldNames = ["content-encoding", "content-length", "transfer-encoding"]
        try add(
            message,
            RecordedResponse(
                status,
                // The archive contains the decoded body, so headers about the encoding are removed.
                fields: try fields(response["headers"], location + "/response/headers")
                    .filter { !omittedFieldNames.contains($0.name.lowercased()) },
                body: bytes
            ),
            at: startTime,
            microseconds: Int64(clamping: Int(min(max(durationInMilliseconds, 0), 1e9) * 1000))
        )
    }

    /// Returns the request body of an archive entry.
    ///
    /// Some tools save only the parameters of a form, from which the body is built.
    private func body(_ data: JSONValue?, _ location: String) throws(RecordingError) -> String {
        if let text = data?["text"]?.string, !text.isEmpty { return text }
        guard let parameters = data?["params"]?.array, !parameters.isEmpty else { return "" }
        let mediaType = data?["mimeType"]?.string?.lowercased() ?? ""
        guard mediaType.isEmpty || mediaType.hasPrefix("application/x-www-form-urlencoded") else {
            throw makeError(
                1,
                "\(location) has the parts of a '\(mediaType.prefix(40))' body, but not the sent bytes",
                "Export the session with the bodies as text."
            )
        }
        var formPairs: [String] = []
        for parameter in parameters {
            guard let name = parameter["name"]?.string else {
                throw makeError(
                    1,
                    "\(location)/params has an entry without a name",
                    "Export again."
                )
            }
            // The parameters are already encoded.
            formPairs.append(name + (parameter["value"]?.string.map { "=" + $0 } ?? ""))
        }
        return formPairs.joined(separator: "&")
    }

    private func fields(
        _ value: JSONValue?,
        _ location: String
    ) throws(RecordingError) -> [HTTPMessage.Field] {
        var fields: [HTTPMessage.Field] = []
        for header in value?.array ?? [] {
            guard let name = header["name"]?.string, let text = header["value"]?.string else {
                throw makeError(
                    1,
                    "\(location) has an entry without a name or a value",
                    "Export again."
                )
            }
            // HTTP/2 pseudo-header fields belong to the request line.
            if !name.hasPrefix(":") { fields.append(HTTPMessage.Field(name, text)) }
        }
        return fields
    }
}

/// Selects the entries of an HTTP archive that are requests of the app to its backend, with notes
/// about the other entries.
///
/// A browser's archive also contains the page's images, requests to other hosts and WebSockets.
struct HAREntryFilter {
    private(set) var excludedIndices: Set<Int> = []
    private(set) var notes: [String] = []

    private static let staticResourceTypes: Set = [
        "image", "stylesheet", "script", "font", "media", "manifest", "texttrack",
    ]
    private static let staticMediaTypes = ["image/", "font/", "video/", "audio/", "text/css"]

    /// Selects entries of an archive.
    ///
    /// - Parameters:
    ///   - entries: All entries of the archive.
    ///   - hosts: The hosts of the backend. If the list is empty, the host with the most entries is
    ///     used.
    init(_ entries: [JSONValue], hosts: [String]) {
        var (staticFileIndices, webSocketIndices): ([Int], [Int]) = ([], [])
        var entriesByHost: [(host: String, entryIndices: [Int])] = []
        for (index, entry) in entries.enumerated() {
            if Self.isWebSocket(entry) {
                webSocketIndices.append(index)
            } else if Self.isStaticFile(entry) {
                staticFileIndices.append(index)
            } else if let host = Self.host(entry["request"]?["url"]?.string ?? "") {
                if let location = entriesByHost.firstIndex(where: { $0.host == host }) {
                    entriesByHost[location].entryIndices.append(index)
                } else {
                    entriesByHost.append((host, [index]))
                }
            }
        }
        excludedIndices = Set(staticFileIndices + webSocketIndices)
        let entryCountMax = entriesByHost.map(\.entryIndices.count).max()
        let backendHosts =
            hosts.isEmpty
            ? entriesByHost.first { $0.entryIndices.count == entryCountMax }.map { [$0.host] } ?? []
            : hosts.map { $0.lowercased() }
        let otherHosts = entriesByHost.filter { !backendHosts.contains($0.host) }
        for host in otherHosts { excludedIndices.formUnion(host.entryIndices) }
        if !staticFileIndices.isEmpty {
            notes.append(Self.omissionNote(staticFileIndices.count, "files, such as images"))
        }
        for webSocketIndex in webSocketIndices {
            let url = entries[webSocketIndex]["request"]?["url"]?.string ?? ""
            notes.append("the WebSocket \(url.prefix(80)) is left out: only requests are imported")
        }
        for (host, entryIndices) in otherHosts {
            let backendHosts = backendHosts.joined(separator: ", ")
            notes.append(
                Self.omissionNote(
                    entryIndices.count,
                    "sent to \(host), not to \(backendHosts); use --host to choose other hosts"
                )
            )
        }
    }

    private static func omissionNote(_ count: Int, _ text: String) -> String {
        (count == 1 ? "1 request is" : "\(count) requests are") + " left out: " + text
    }

    private static func isWebSocket(_ entry: JSONValue) -> Bool {
        let url = entry["request"]?["url"]?.string ?? ""
        return entry["_resourceType"]?.string == "websocket" || entry["_webSocketMessages"] != nil
            || url.hasPrefix("ws://") || url.hasPrefix("wss://")
    }

    private static func isStaticFile(_ entry: JSONValue) -> Bool {
        guard entry["request"]?["method"]?.string == "GET" else { return false }
        if let kind = entry["_resourceType"]?.string { return staticResourceTypes.contains(kind) }
        let mediaType = entry["response"]?["content"]?["mimeType"]?.string?.lowercased() ?? ""
        return staticMediaTypes.contains { mediaType.hasPrefix($0) }
            || mediaType.contains("javascript")
    }

    /// Returns the host of a URL with its port; nil for a path without a host.
    private static func host(_ url: String) -> String? {
        guard let scheme = url.firstRange(of: "://") else { return nil }
        let authority = url[scheme.upperBound...].prefix { !"/?#".contains($0) }
        return authority.split(separator: "@").last.map { $0.lowercased() }
    }
}
