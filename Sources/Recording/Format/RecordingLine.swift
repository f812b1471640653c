internal import Conformance
internal import Providers

/// One line of a recording: an invocation, or a completion that names it.
enum RecordingLine {
    /// A body as lines hold it.
    enum Body {
        case none
        case bytes([UInt8])
        /// Too long, or in an encoding that cannot be looked into.
        case omitted(count: Int, digest: String)
    }

    // MARK: Writing

    static func began(_ exchange: Exchange, body: Body) -> JSONValue {
        var line: JSONObject = [
            "begin": .integer(Int64(exchange.sequence)),
            "from": .string(exchange.from.description), "to": .string(exchange.to.description),
            "at": .string(exchange.at.preciseText), "us": .integer(exchange.invoked),
        ]
        if case .delivery(let name, let attempt) = exchange.purpose {
            line["delivery"] = .string(name)
            line["attempt"] = .integer(Int64(attempt))
        }
        line["request"] = [
            "method": .string(exchange.request.method),
            "target": .string(exchange.request.target),
            "headers": headers(exchange.request.fields), "body": value(body),
        ]
        return .object(line)
    }

    static func completed(
        _ sequence: Int,
        _ outcome: Exchange.Outcome,
        body: Body,
        effects: [Effect],
        at microseconds: Int64
    ) -> JSONValue {
        var line: JSONObject = [
            "end": .integer(Int64(sequence)), "us": .integer(microseconds),
        ]
        switch outcome {
        case .answered(let response), .answerLost(let response?):
            line["answer"] = [
                "status": .integer(Int64(response.status)), "headers": headers(response.fields),
                "body": value(body),
            ]
            if case .answerLost = outcome { line["lost"] = true }
        case .answerLost(nil): line["lost"] = true
        case .failed(let failure, let text):
            line["failure"] = .string(name(failure))
            line["text"] = .string(text)
        case .requestCut: line["failure"] = "cut"
        case .pending: line["failure"] = "pending"
        }
        if !effects.isEmpty {
            line["effects"] = .array(
                effects.map { effect in
                    var value: JSONObject = [
                        "kind": .string(effect.kind), "to": .strings(effect.recipients),
                        "content": effect.content,
                    ]
                    if let key = effect.idempotencyKey { value["key"] = .string(key) }
                    return .object(value)
                }
            )
        }
        return .object(line)
    }

    private static func headers(_ fields: [HTTPMessage.Field]) -> JSONValue {
        .array(fields.map { .strings([$0.name, $0.value]) })
    }

    private static func value(_ body: Body) -> JSONValue {
        switch body {
        case .none: return .null
        case .omitted(let count, let digest):
            return ["omitted": .integer(Int64(count)), "digest": .string(digest)]
        case .bytes(let bytes):
            if let json = try? JSONValue(
                parsing: bytes,
                options: .init(depthMax: 128, duplicateKeys: .keep)
            ) {
                // Only the members matter to most readers; whoever needs the spelling sees by the
                // digest that it was another.
                return json.bytes == bytes
                    ? ["json": json] : ["json": json, "digest": .string(Digest.sha256(bytes))]
            }
            if let text = String(validating: bytes, as: UTF8.self) {
                return ["text": .string(text)]
            }
            return [
                "base64": .string(Base64.text(bytes)), "digest": .string(Digest.sha256(bytes)),
            ]
        }
    }

    private static let failures: [(Exchange.Failure, String)] = [
        (.refused, "refused"), (.closed, "closed"), (.timedOut, "timed-out"),
        (.malformed, "malformed"),
    ]

    private static func name(_ failure: Exchange.Failure) -> String {
        failures.first { $0.0 == failure }?.1 ?? "closed"
    }

    // MARK: Reading

    static func exchange(_ value: JSONValue, sequence: Int, line: Int) throws(RecordingError)
        -> Exchange
    {
        func fail(_ problem: String) -> RecordingError {
            RecordingError(line: line, problem: problem, remedy: .restore)
        }
        func party(_ key: String) throws(RecordingError) -> Exchange.Party {
            let text = value[key]?.string ?? ""
            let found = Exchange.Party.allCases.first { $0.description == text }
            guard let found else { throw fail("'\(key)' names nobody: '\(text.prefix(40))'") }
            return found
        }
        guard let request = value["request"], let method = request["method"]?.string,
            let target = request["target"]?.string
        else { throw fail("the request has no method or no target") }
        guard let at = value["at"]?.string.flatMap({ Instant(iso8601: $0) }),
            let invoked = value["us"]?.int64
        else { throw fail("'at' or 'us' is no time") }
        let purpose: Exchange.Purpose =
            value["delivery"]?.string.map { name in
                .delivery(name: name, attempt: Int(clamping: value["attempt"]?.int64 ?? 1))
            } ?? .call
        return Exchange(
            from: try party("from"),
            to: try party("to"),
            namespace: "",
            purpose: purpose,
            at: at,
            request: HTTPMessage.Request(
                method,
                target,
                fields: try fields(request["headers"], line),
                body: try bytes(request["body"], line)
            ),
            sequence: sequence,
            invoked: invoked
        )
    }

    static func complete(
        _ exchange: inout Exchange,
        with value: JSONValue,
        line: Int
    ) throws(RecordingError) {
        guard let completed = value["us"]?.int64 else {
            throw RecordingError(line: line, problem: "'us' is no time", remedy: .restore)
        }
        exchange.completed = completed
        var response: HTTPMessage.Response?
        if let answer = value["answer"] {
            guard let status = answer["status"]?.int64, (100...999).contains(status) else {
                throw RecordingError(
                    line: line,
                    problem: "the answer has no status",
                    remedy: .restore
                )
            }
            response = HTTPMessage.Response(
                Int(status),
                fields: try fields(answer["headers"], line),
                body: try bytes(answer["body"], line)
            )
        }
        if value["lost"] == true {
            exchange.outcome = .answerLost(response)
        } else if let response {
            exchange.outcome = .answered(response)
        } else {
            let word = value["failure"]?.string ?? ""
            let text = value["text"]?.string ?? ""
            exchange.outcome =
                word == "cut"
                ? .requestCut : .failed(failures.first { $0.1 == word }?.0 ?? .closed, text)
        }
        exchange.effects = (value["effects"]?.array ?? []).compactMap { effect in
            guard let kind = effect["kind"]?.string else { return nil }
            return Effect(
                kind: kind,
                recipients: effect["to"]?.strings ?? [],
                content: effect["content"] ?? .null,
                idempotencyKey: effect["key"]?.string
            )
        }
    }

    private static func fields(
        _ value: JSONValue?,
        _ line: Int
    ) throws(RecordingError) -> [HTTPMessage.Field] {
        var fields: [HTTPMessage.Field] = []
        for pair in value?.array ?? [] {
            let words = pair.strings
            guard words.count == 2 else {
                throw RecordingError(
                    line: line,
                    problem: "a header is no pair of name and value",
                    remedy: .restore
                )
            }
            fields.append(HTTPMessage.Field(words[0], words[1]))
        }
        return fields
    }

    private static func bytes(_ value: JSONValue?, _ line: Int) throws(RecordingError) -> [UInt8] {
        guard let value, !value.isNull else { return [] }
        if let json = value["json"] { return json.bytes }
        if let text = value["text"]?.string { return Array(text.utf8) }
        if let text = value["base64"]?.string {
            guard let bytes = Base64.bytes(text), Digest.sha256(bytes) == value["digest"]?.string
            else {
                throw RecordingError(
                    line: line,
                    problem: "the body does not have the digest that stands beside it",
                    remedy: .restore
                )
            }
            return bytes
        }
        if value["omitted"] != nil { return [] }
        throw RecordingError(
            line: line,
            problem: "a body is neither json, text, base64 nor omitted",
            remedy: .restore
        )
    }
}
