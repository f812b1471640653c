internal import Providers
internal import Values

/// Converts recordings to the formats of other tools.
package enum Exporter {
    package enum Format: String, CaseIterable, Sendable {
        /// HTTP Archive 1.2, which browsers' developer tools and proxies can open.
        case har
        /// `curl` command lines, one for each request.
        case curl
    }

    /// Converts a recording to the format of another tool.
    ///
    /// - Parameters:
    ///   - recording: The recording to export; its secrets are already placeholders.
    ///   - format: The format of the result.
    ///   - base: The URL of the backend, which is prepended to each request target.
    /// - Returns: The content of the exported file, with all exchanges that were sent to the
    ///   backend.
    package static func text(_ recording: Recording, _ format: Format, base: String) -> String {
        let inboundExchanges = recording.exchanges.filter { $0.to == .backend }
        switch format {
        case .har: return har(recording, inboundExchanges, base).prettyText + "\n"
        case .curl:
            return inboundExchanges.map { curl($0, base) }.joined(separator: "\n\n") + "\n"
        }
    }

    // MARK: HAR

    private static func har(
        _ recording: Recording,
        _ exchanges: [Exchange],
        _ base: String
    ) -> JSONValue {
        [
            "log": [
                "version": "1.2",
                "creator": ["name": "assay", "version": .string(recording.header.version)],
                "entries": .array(exchanges.map { harEntry($0, base) }),
            ]
        ]
    }

    private static func harEntry(_ exchange: Exchange, _ base: String) -> JSONValue {
        let request = exchange.request
        let milliseconds =
            Double((exchange.completed ?? exchange.invoked) - exchange.invoked) / 1000
        let query = request.target.cut(at: "?")?.after ?? ""
        var requestJSON: JSONObject = [
            "method": .string(request.method), "url": .string(base + request.target),
            "httpVersion": "HTTP/1.1", "cookies": [], "headers": headers(request.fields),
            "queryString": .array(
                FormText.pairs(query).map { name, value in
                    ["name": .string(name), "value": .string(value)]
                }
            ),
            "headersSize": -1, "bodySize": .integer(Int64(request.body.count)),
        ]
        if !request.body.isEmpty {
            requestJSON["postData"] = [
                "mimeType": .string(request[field: "content-type"] ?? ""),
                "text": .string(String(decoding: request.body, as: UTF8.self)),
            ]
        }
        let response = exchange.response
        var content: JSONObject = [
            "size": .integer(Int64(response?.body.count ?? 0)),
            "mimeType": .string(response?[field: "content-type"] ?? "x-unknown"),
        ]
        if let body = response?.body, !body.isEmpty {
            if let text = String(validating: body, as: UTF8.self) {
                content["text"] = .string(text)
            } else {
                content["text"] = .string(Base64.text(body))
                content["encoding"] = "base64"
            }
        }
        return [
            "startedDateTime": .string(exchange.at.preciseText),
            "time": .number(JSONNumber(milliseconds)), "request": .object(requestJSON),
            "response": [
                "status": .integer(Int64(response?.status ?? 0)), "statusText": "",
                "httpVersion": "HTTP/1.1", "cookies": [],
                "headers": headers(response?.fields ?? []), "content": .object(content),
                "redirectURL": .string(response?[field: "location"] ?? ""), "headersSize": -1,
                "bodySize": .integer(Int64(response?.body.count ?? -1)),
            ],
            "cache": [:],
            "timings": ["send": 0, "wait": .number(JSONNumber(milliseconds)), "receive": 0],
            "comment": .string("\(exchange.from) → \(exchange.to)"),
        ]
    }

    private static func headers(_ fields: [HTTPMessage.Field]) -> JSONValue {
        .array(fields.map { ["name": .string($0.name), "value": .string($0.value)] })
    }

    // MARK: curl

    private static func curl(_ exchange: Exchange, _ base: String) -> String {
        let omittedFieldNames = ["host", "content-length", "user-agent", "accept", "connection"]
        var lines = [
            "curl -X \(exchange.request.method) \(shellQuoted(base + exchange.request.target))"
        ]
        for field in exchange.request.fields
        where !omittedFieldNames.contains(field.name.lowercased()) {
            lines.append("  -H \(shellQuoted("\(field.name): \(field.value)"))")
        }
        if !exchange.request.body.isEmpty {
            let text = String(decoding: exchange.request.body, as: UTF8.self)
            lines.append("  --data-raw \(shellQuoted(text))")
        }
        let status = exchange.response.map { "\($0.status)" } ?? "no response"
        return "# \(exchange.from) → \(exchange.to): \(status)\n" + lines.joined(separator: " \\\n")
    }

    private static func shellQuoted(_ text: String) -> String {
        "'" + text.parts(between: "'").joined(separator: "'\\''") + "'"
    }
}
