package import Conformance

extension HTTPMessage.Request {
    /// The query's pairs in order, decoded; `+` is a blank there.
    package var query: [(name: String, value: String)] {
        guard let mark = target.firstIndex(of: "?") else { return [] }
        let text = target[target.index(after: mark)...].prefix { $0 != "#" }
        return FormText.pairs(text)
    }

    package func query(_ name: String) -> String? { query.first { $0.name == name }?.value }

    /// Whether a web page of another origin makes the call, by the headers that browsers add (Fetch
    /// Metadata, RFC 6454).
    ///
    /// A page on another port of this machine is of another origin, too.
    package var isFromForeignPage: Bool {
        if let site = self[field: "sec-fetch-site"]?.lowercased(),
            !["same-origin", "none"].contains(site)
        {
            return true
        }
        guard let origin = self[field: "origin"]?.lowercased() else { return false }
        let host = self[field: "host"]?.lowercased() ?? ""
        return !["http://" + host, "https://" + host].contains(origin)
    }

    /// The body's pairs, when it is a form.
    package var form: [(name: String, value: String)] {
        FormText.pairs(String(decoding: body, as: UTF8.self))
    }

    package var isForm: Bool {
        self[field: "content-type"]?.lowercased().hasPrefix("application/x-www-form-urlencoded")
            ?? false
    }

    /// The body as JSON; nil for no body at all.
    ///
    /// Duplicate keys are kept, the last one counts, as the services' own parsers do.
    package func json(depthMax: Int = 64) throws(JSONError) -> JSONValue? {
        if let parsedBody { return parsedBody }
        guard body.contains(where: { $0 > 0x20 }) else { return nil }
        return try JSONValue(
            parsing: body,
            options: .init(depthMax: depthMax, duplicateKeys: .keep)
        )
    }

    /// Reads the body ahead of time, so that nobody who holds a lock has to.
    package mutating func readBody() {
        if body.first == UInt8(ascii: "{") { parsedBody = try? json() }
    }

    /// The body as a JSON object; empty for no body, nil with the reason when it is something else.
    package func jsonObject(depthMax: Int = 64) -> (object: JSONObject?, problem: String) {
        do throws(JSONError) {
            guard let value = try json(depthMax: depthMax) else { return (JSONObject(), "") }
            guard let object = value.object else { return (nil, "found \(value.kind)") }
            return (object, "")
        } catch {
            return (nil, error.description)
        }
    }

    /// The scheme in lower case and the credential of `Authorization`; nil when it has no two words.
    package var authorization: (scheme: String, credential: String)? {
        guard let value = self[field: "authorization"] else { return nil }
        let words = value.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: true)
        guard words.count == 2 else { return nil }
        return (words[0].lowercased(), String(words[1]))
    }
}

extension JSONValue {
    /// A text, or the digits of a number: what services take for one another.
    var scalarText: String? {
        switch self {
        case .string(let text): text
        case .number(let number): number.description
        case .null, .bool, .array, .object: nil
        }
    }
}
