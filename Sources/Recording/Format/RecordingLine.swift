internal import Providers
internal import Values

/// A line of a recording file: a request (invocation), a request body, or a response (completion).
///
/// A separate line contains a request body that was not complete when the request was written.
enum RecordingLine {
    /// The representation of a request or response body in a line of a recording.
    enum Body {
        case none
        /// The body was not complete when its request was written; a separate `sent` line contains
        /// it.
        case deferred
        /// A JSON body on one line, with the digest of the original bytes if they were formatted
        /// differently.
        case json([UInt8], digest: String?)
        case bytes([UInt8])
        /// A body of which only the size in bytes and the digest are recorded.
        ///
        /// The body is too long, cannot be decoded, or contains secrets that cannot be replaced.
        case omitted(count: Int, digest: String)
    }

    private static let deferredBodyKey = "later"

    // MARK: Writing

    /// Returns the line that records the request of an exchange.
    ///
    /// A JSON body is embedded unchanged.
    static func began(_ exchange: Exchange, body: Body) -> [UInt8] {
        var lineObject: JSONObject = [
            "begin": .integer(Int64(exchange.sequence)),
            "from": .string(exchange.from.description), "to": .string(exchange.to.description),
            "at": .string(exchange.at.preciseText), "us": .integer(exchange.invoked),
        ]
        if case .delivery(let name, let attempt) = exchange.purpose {
            lineObject["delivery"] = .string(name)
            lineObject["attempt"] = .integer(Int64(attempt))
        }
        if let proof = exchange.proof { lineObject["sender"] = json(proof) }
        let request: JSONObject = [
            "method": .string(exchange.request.method),
            "target": .string(exchange.request.target),
            "headers": headers(exchange.request.fields),
        ]
        return joined(lineObject, "request", joined(request, "body", value(body)))
    }

    /// Returns the line that records a request body, if the line of its request was written before
    /// the body was complete.
    static func sent(_ sequence: Int, body: Body, proof: SenderProof?) -> [UInt8] {
        var lineObject: JSONObject = ["sent": .integer(Int64(sequence))]
        if let proof { lineObject["sender"] = json(proof) }
        return joined(lineObject, "body", value(body))
    }

    /// Returns the line that records a message on a WebSocket.
    ///
    /// The line is only a note, because a replay of the recording does not send such messages.
    static func message(
        _ sequence: Int,
        from party: Exchange.Party,
        body: Body,
        at microseconds: Int64
    ) -> [UInt8] {
        let lineObject: JSONObject = [
            "note": "a message on a WebSocket", "of": .integer(Int64(sequence)),
            "from": .string(party.description), "us": .integer(microseconds),
        ]
        return joined(lineObject, "body", value(body))
    }

    private static func json(_ proof: SenderProof) -> JSONValue {
        var value = JSONObject()
        if let use = proof.authorization { value["authorization"] = .string(use.rawValue) }
        if let use = proof.signature { value["signature"] = .string(use.rawValue) }
        return .object(value)
    }

    static func completed(
        _ sequence: Int,
        _ outcome: Exchange.Outcome,
        body: Body,
        effects: [Effect],
        at microseconds: Int64
    ) -> [UInt8] {
        var lineObject: JSONObject = [
            "end": .integer(Int64(sequence)), "us": .integer(microseconds),
        ]
        var recordedResponse: [UInt8]?
        switch outcome {
        case .answered(let response), .answerLost(let response?):
            let responseHead: JSONObject = [
                "status": .integer(Int64(response.status)), "headers": headers(response.fields),
            ]
            recordedResponse = joined(responseHead, "body", value(body))
            if case .answerLost = outcome { lineObject["lost"] = true }
        case .answerLost(nil): lineObject["lost"] = true
        case .failed(let failure, let text):
            lineObject["failure"] = .string(name(failure))
            lineObject["text"] = .string(text)
        case .requestCut: lineObject["failure"] = "cut"
        case .pending: lineObject["failure"] = "pending"
        }
        if !effects.isEmpty {
            lineObject["effects"] = .array(
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
        return recordedResponse.map { joined(lineObject, "response", $0) }
            ?? JSONValue.object(lineObject).bytes
    }

    /// Returns a JSON object as bytes, with one more member, whose value is already serialized as
    /// JSON.
    private static func joined(_ object: JSONObject, _ key: String, _ value: [UInt8]) -> [UInt8] {
        var bytes = JSONValue.object(object).bytes
        bytes.removeLast()
        bytes += ",\"\(key)\":".utf8
        bytes += value
        bytes.append(UInt8(ascii: "}"))
        return bytes
    }

    private static func headers(_ fields: [HTTPMessage.Field]) -> JSONValue {
        .array(fields.map { .strings([$0.name, $0.value]) })
    }

    private static func value(_ body: Body) -> [UInt8] {
        switch body {
        case .none: return Array("null".utf8)
        case .deferred: return JSONValue.object([deferredBodyKey: true]).bytes
        case .json(let bytes, let digest):
            guard let digest else { return Array("{\"json\":".utf8) + bytes + [UInt8(ascii: "}")] }
            return joined(["digest": .string(digest)], "json", bytes)
        case .omitted(let count, let digest):
            let value: JSONValue = [
                "omitted": .integer(Int64(count)), "digest": .string(digest),
            ]
            return value.bytes
        case .bytes(let bytes):
            if let text = String(validating: bytes, as: UTF8.self) {
                return JSONValue.object(["text": .string(text)]).bytes
            }
            let value: JSONValue = [
                "base64": .string(Base64.text(bytes)), "digest": .string(Digest.sha256(bytes)),
            ]
            return value.bytes
        }
    }

    private static let failureNames: [(Exchange.Failure, String)] = [
        (.refused, "refused"), (.closed, "closed"), (.timedOut, "timed-out"),
        (.malformed, "malformed"),
    ]

    private static func name(_ failure: Exchange.Failure) -> String {
        failureNames.first { $0.0 == failure }?.1 ?? "closed"
    }

    // MARK: Reading

    static func exchange(_ value: JSONValue, sequence: Int, line: Int) throws(RecordingError)
        -> Exchange
    {
        func makeError(_ problem: String) -> RecordingError {
            RecordingError(line: line, problem: problem, remedy: .restoreRemedy)
        }
        func party(_ key: String) throws(RecordingError) -> Exchange.Party {
            let text = value[key]?.string ?? ""
            guard let matchingParty = ProviderTable.all.party(named: text) else {
                throw makeError("'\(key)' is not a known party: '\(text.prefix(40))'")
            }
            return matchingParty
        }
        guard let request = value["request"], let method = request["method"]?.string,
            let target = request["target"]?.string
        else { throw makeError("the request has no method or no target") }
        guard let at = value["at"]?.string.flatMap({ Instant(iso8601: $0) }),
            let invoked = value["us"]?.int64.flatMap(Exchange.time)
        else { throw makeError("'at' or 'us' is not a time") }
        let purpose: Exchange.Purpose =
            value["delivery"]?.string.map { name in
                .delivery(name: name, attempt: Int(clamping: value["attempt"]?.int64 ?? 1))
            } ?? .call
        var exchange = Exchange(
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
        exchange.proof = try proof(value, line)
        return exchange
    }

    /// The content of a recording line that ends an exchange, such as its response.
    struct Completion: Sendable {
        var completed: Int64
        var outcome: Exchange.Outcome
        var effects: [Effect]
    }

    /// One line of a recording file, parsed without knowledge of the other lines.
    enum ParsedLine: Sendable {
        case header(RecordingHeader)
        case begin(Exchange, isBodyDeferred: Bool)
        case sent(Int, [UInt8], SenderProof?)
        case end(Int, Completion)
        case closed(Int)
        case note
        case invalid(RecordingError)

        init(_ line: ArraySlice<UInt8>, number: Int, hasHeader: Bool) {
            do throws(RecordingError) {
                self = try Self.read(line, number, hasHeader)
            } catch {
                self = .invalid(error)
            }
        }

        private static func read(
            _ line: ArraySlice<UInt8>,
            _ number: Int,
            _ hasHeader: Bool
        ) throws(RecordingError) -> ParsedLine {
            let value: JSONValue
            do throws(JSONError) {
                value = try JSONValue(
                    parsing: line,
                    options: .init(depthMax: 160, duplicateKeys: .keep)
                )
            } catch {
                throw RecordingError(
                    line: number,
                    problem: "this is not JSON: \(error)",
                    remedy: .restoreRemedy
                )
            }
            guard hasHeader else { return .header(try RecordingHeader(value, line: number)) }
            if let sequence = value["begin"]?.int64 {
                let sequence = Int(clamping: sequence)
                return .begin(
                    try exchange(value, sequence: sequence, line: number),
                    isBodyDeferred: isBodyDeferred(value["request"]?["body"])
                )
            }
            if let sequence = value["sent"]?.int64 {
                return .sent(
                    Int(clamping: sequence),
                    try bytes(value["body"], number),
                    try proof(value, number)
                )
            }
            if let sequence = value["end"]?.int64 {
                return .end(Int(clamping: sequence), try completion(value, line: number))
            }
            if let count = value["closed"]?.int64 { return .closed(Int(clamping: count)) }
            if value["note"]?.string != nil { return .note }
            throw RecordingError(
                line: number,
                problem: "the line has none of the keys begin, sent, end, note and closed",
                remedy: .restoreRemedy
            )
        }
    }

    private static func completion(
        _ value: JSONValue,
        line: Int
    ) throws(RecordingError) -> Completion {
        guard let completed = value["us"]?.int64.flatMap(Exchange.time) else {
            throw RecordingError(line: line, problem: "'us' is not a time", remedy: .restoreRemedy)
        }
        var response: HTTPMessage.Response?
        if let recordedResponse = value["response"] {
            guard let status = recordedResponse["status"]?.int64.flatMap(RecordedStatus.init) else {
                throw RecordingError(
                    line: line,
                    problem: "the response has no valid status",
                    remedy: .restoreRemedy
                )
            }
            response = HTTPMessage.Response(
                status.code,
                fields: try fields(recordedResponse["headers"], line),
                body: try bytes(recordedResponse["body"], line)
            )
        }
        let outcome: Exchange.Outcome
        if value["lost"] == true {
            outcome = .answerLost(response)
        } else if let response {
            outcome = .answered(response)
        } else {
            let word = value["failure"]?.string ?? ""
            let text = value["text"]?.string ?? ""
            outcome =
                word == "cut"
                ? .requestCut : .failed(failureNames.first { $0.1 == word }?.0 ?? .closed, text)
        }
        let effects = (value["effects"]?.array ?? []).compactMap { effect -> Effect? in
            guard let kind = effect["kind"]?.string else { return nil }
            return Effect(
                kind: kind,
                recipients: effect["to"]?.strings ?? [],
                content: effect["content"] ?? .null,
                idempotencyKey: effect["key"]?.string
            )
        }
        return Completion(completed: completed, outcome: outcome, effects: effects)
    }

    /// Returns the result of checking the sender's credentials that a recording line contains, such
    /// as a wrong signature; nil when it contains none.
    static func proof(_ value: JSONValue, _ line: Int) throws(RecordingError) -> SenderProof? {
        guard let sender = value["sender"] else { return nil }
        func use<Use: RawRepresentable<String>>(_ key: String) throws(RecordingError) -> Use? {
            guard let word = sender[key] else { return nil }
            guard let use = word.string.flatMap(Use.init(rawValue:)) else {
                throw RecordingError(
                    line: line,
                    problem:
                        "'sender' has the unknown value \(word.text) for '\(key)'",
                    remedy: .restoreRemedy
                )
            }
            return use
        }
        return SenderProof(
            authorization: try use("authorization"),
            signature: try use("signature")
        )
    }

    /// Header names and values that most exchanges contain, each mapped to itself, so that each
    /// string is in memory only once.
    private static let commonHeaderNames: [String: String] = Dictionary(
        uniqueKeysWithValues: [
            "application/json", "application/json; charset=utf-8", "text/plain; charset=utf-8",
            "gzip, deflate", "gzip, deflate, br", "transfer-encoding", "Transfer-Encoding",
            "Content-Encoding", "content-encoding",
        ].map { ($0, $0) }
    )

    private static func fields(
        _ value: JSONValue?,
        _ line: Int
    ) throws(RecordingError) -> [HTTPMessage.Field] {
        var fields: [HTTPMessage.Field] = []
        for pair in value?.array ?? [] {
            let nameAndValue = pair.array ?? []
            guard nameAndValue.count == 2, let name = nameAndValue[0].string,
                let value = nameAndValue[1].string
            else {
                throw RecordingError(
                    line: line,
                    problem: "a header is not a pair of name and value",
                    remedy: .restoreRemedy
                )
            }
            fields.append(
                HTTPMessage.Field(
                    commonHeaderNames[name] ?? name,
                    commonHeaderNames[value] ?? value
                )
            )
        }
        return fields
    }

    /// Returns whether a request body follows in a separate `sent` line.
    static func isBodyDeferred(_ body: JSONValue?) -> Bool { body?[deferredBodyKey] == true }

    static func bytes(_ value: JSONValue?, _ line: Int) throws(RecordingError) -> [UInt8] {
        guard let value, !value.isNull else { return [] }
        if let json = value["json"] { return json.bytes }
        if let text = value["text"]?.string { return Array(text.utf8) }
        if let text = value["base64"]?.string {
            guard let bytes = Base64.bytes(text), Digest.sha256(bytes) == value["digest"]?.string
            else {
                throw RecordingError(
                    line: line,
                    problem: "the body does not match its digest",
                    remedy: .restoreRemedy
                )
            }
            return bytes
        }
        if value["omitted"] != nil || isBodyDeferred(value) { return [] }
        throw RecordingError(
            line: line,
            problem: "a body has none of the keys json, text, base64, later and omitted",
            remedy: .restoreRemedy
        )
    }
}
