internal import Conformance
internal import Providers

/// HTTP Archive 1.2, as browsers and proxies write it.
extension ImportReader {
    mutating func har(_ file: JSONValue) throws(RecordingError) {
        let export = "Export the session again as HAR 1.2."
        guard let entries = file["log"]?["entries"]?.array else {
            throw fail(1, "there is no /log/entries", export)
        }
        for (index, entry) in entries.enumerated() {
            let place = "/log/entries/\(index)"
            guard let request = entry["request"], let method = request["method"]?.string,
                Self.isMethod(method), let url = request["url"]?.string,
                let target = Self.target(url)
            else { throw fail(1, "\(place)/request has no method or no URL", export) }
            let body = request["postData"]?["text"]?.string ?? ""
            let message = HTTPMessage.Request(
                method,
                target,
                fields: try fields(request["headers"], place + "/request/headers"),
                body: Array(body.utf8)
            )
            let started = entry["startedDateTime"]?.string.flatMap { Instant(iso8601: $0) }
            let milliseconds: Double =
                if case .number(let number) = entry["time"] { number.double ?? 1 } else { 1 }
            guard let response = entry["response"], let status = response["status"]?.int64,
                (100...999).contains(status)
            else {
                notes.append("\(place) has no answer and is left out")
                continue
            }
            let content = response["content"]
            var bytes = Array((content?["text"]?.string ?? "").utf8)
            if content?["encoding"]?.string == "base64" {
                guard let decoded = Base64.bytes(content?["text"]?.string ?? "") else {
                    throw fail(1, "\(place)/response/content/text is not base64", export)
                }
                bytes = decoded
            }
            let skipped = ["content-encoding", "content-length", "transfer-encoding"]
            add(
                message,
                HTTPMessage.Response(
                    Int(status),
                    // The archive holds the decoded text.
                    fields: try fields(response["headers"], place + "/response/headers")
                        .filter { !skipped.contains($0.name.lowercased()) },
                    body: bytes
                ),
                at: started,
                microseconds: Int64(clamping: Int(min(max(milliseconds, 0), 1e9) * 1000))
            )
        }
    }

    private func fields(
        _ value: JSONValue?,
        _ place: String
    ) throws(RecordingError) -> [HTTPMessage.Field] {
        var fields: [HTTPMessage.Field] = []
        for header in value?.array ?? [] {
            guard let name = header["name"]?.string, let text = header["value"]?.string else {
                throw fail(1, "\(place) holds something else than name and value", "Export again.")
            }
            // HTTP/2's own fields belong to the request line.
            if !name.hasPrefix(":") { fields.append(HTTPMessage.Field(name, text)) }
        }
        return fields
    }
}
