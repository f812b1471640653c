internal import Values

/// Reads a Pact file of specification 3 or 4, which lists the responses that a client expects from
/// the backend.
extension ImportReader {
    mutating func pact(_ file: JSONValue) throws(RecordingError) {
        let version =
            file["metadata"]?["pactSpecification"]?["version"]?.string
            ?? file["metadata"]?["pact-specification"]?["version"]?.string ?? ""
        guard ["3", "4"].contains(version.prefix(1)) else {
            throw makeError(
                1,
                "the Pact file has specification '\(version)'; only 3 and 4 are supported",
                "Generate the Pact file with a client of specification 3 or 4."
            )
        }
        guard let interactions = file["interactions"]?.array else {
            throw makeError(
                1,
                "the Pact file has no /interactions",
                "Generate the Pact file again."
            )
        }
        for (index, interaction) in interactions.enumerated() {
            entry(index) { reader throws(RecordingError) in
                try reader.add(interaction: interaction, "/interactions/\(index)")
            }
        }
    }

    private mutating func add(
        interaction: JSONValue,
        _ location: String
    ) throws(RecordingError) {
        let type = interaction["type"]?.string ?? "Synchronous/HTTP"
        guard type == "Synchronous/HTTP" else {
            notes.append("\(location) is \(type), not HTTP, and is left out")
            return
        }
        guard let request = interaction["request"],
            let method = request["method"]?.string?.uppercased(), Self.isMethod(method),
            let path = request["path"]?.string, path.hasPrefix("/")
        else {
            throw makeError(
                1,
                "\(location)/request has no method or no path",
                "Generate the Pact file again."
            )
        }
        let response = interaction["response"]
        let statusValue = response?["status"] ?? .null
        try add(
            HTTPMessage.Request(
                method,
                path + query(request["query"]),
                fields: fields(request["headers"]),
                body: body(request["body"])
            ),
            RecordedResponse(
                // A Pact file may omit the status; then status 200 is assumed.
                statusValue.isNull ? .ok : try status(statusValue, "\(location)/response/status"),
                fields: fields(response?["headers"]),
                body: body(response?["body"])
            ),
            at: nil
        )
    }

    private func query(_ value: JSONValue?) -> String {
        let pairs = (value?.object?.members ?? []).flatMap { member in
            let values = member.value.array?.compactMap(\.string) ?? member.value.strings
            return values.map { "\(member.key.percentEncoded)=\($0.percentEncoded)" }
        }
        return pairs.isEmpty ? "" : "?" + pairs.joined(separator: "&")
    }

    private func fields(_ value: JSONValue?) -> [HTTPMessage.Field] {
        (value?.object?.members ?? []).map { member in
            HTTPMessage.Field(member.key, member.value.strings.joined(separator: ", "))
        }
    }

    /// Returns the bytes of a request or response body; specification 4 wraps a body in an object
    /// with its content type.
    private func body(_ value: JSONValue?) -> [UInt8] {
        guard let value, !value.isNull else { return [] }
        guard let content = value["content"], value["contentType"] != nil else {
            return value.string.map { Array($0.utf8) } ?? value.bytes
        }
        return content.string.map { Array($0.utf8) } ?? content.bytes
    }
}
