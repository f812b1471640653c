internal import Conformance

/// A consumer's Pact, specification 3 or 4: what the backend was promised to answer.
extension ImportReader {
    mutating func pact(_ file: JSONValue) throws(RecordingError) {
        let version =
            file["metadata"]?["pactSpecification"]?["version"]?.string
            ?? file["metadata"]?["pact-specification"]?["version"]?.string ?? ""
        guard ["3", "4"].contains(version.prefix(1)) else {
            throw fail(
                1,
                "the Pact's specification is '\(version)', and this reads 3 and 4",
                "Write the Pact with a client of specification 3 or 4."
            )
        }
        guard let interactions = file["interactions"]?.array else {
            throw fail(1, "there are no /interactions", "Write the Pact again.")
        }
        for (index, interaction) in interactions.enumerated() {
            entry(index) { reader throws(RecordingError) in
                try reader.add(interaction: interaction, "/interactions/\(index)")
            }
        }
    }

    private mutating func add(
        interaction: JSONValue,
        _ place: String
    ) throws(RecordingError) {
        let type = interaction["type"]?.string ?? "Synchronous/HTTP"
        guard type == "Synchronous/HTTP" else {
            notes.append("\(place) is \(type), no HTTP, and is left out")
            return
        }
        guard let request = interaction["request"],
            let method = request["method"]?.string?.uppercased(), Self.isMethod(method),
            let path = request["path"]?.string, path.hasPrefix("/")
        else {
            throw fail(1, "\(place)/request has no method or no path", "Write the Pact again.")
        }
        let response = interaction["response"]
        let written = response?["status"] ?? .null
        try add(
            HTTPMessage.Request(
                method,
                path + query(request["query"]),
                fields: fields(request["headers"]),
                body: body(request["body"])
            ),
            RecordedResponse(
                // A Pact may leave the status to the provider.
                written.isNull ? .ok : try status(written, "\(place)/response/status"),
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

    /// Version 4 wraps the body in its content type.
    private func body(_ value: JSONValue?) -> [UInt8] {
        guard let value, !value.isNull else { return [] }
        guard let content = value["content"], value["contentType"] != nil else {
            return value.string.map { Array($0.utf8) } ?? value.bytes
        }
        return content.string.map { Array($0.utf8) } ?? content.bytes
    }
}
