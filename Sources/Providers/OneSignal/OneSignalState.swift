package import Conformance

/// What the fake OneSignal knows, and how it answers `POST /notifications`.
///
/// Facts: OneSignal fact sheet, sections 2 to 5. Switches for what the sheet leaves open have its
/// recommended default.
package struct OneSignalState: Fake {
    /// Results are kept for this long after the first request with a key (section 5).
    package static let replayWindow: Duration = .seconds(30 * 86_400)

    private struct Stored {
        let response: HTTPMessage.Response
        let at: Instant
    }

    private let key: Secret?
    private var namespaceByID: [String: String] = [:]
    private var plans: [String: ProviderPlan] = [:]
    private var results: [String: Stored] = [:]
    private var notificationCount: UInt64 = 0

    /// A key that is not given is not demanded.
    package init(key: Secret?) {
        self.key = key.flatMap { $0.isEmpty ? nil : $0 }
    }

    package mutating func know(_ ids: [String], namespace: String) {
        for id in ids { namespaceByID[id] = namespace }
    }

    /// Schedules the answers to one run's next calls.
    package mutating func schedule(_ plan: ProviderPlan, namespace: String) {
        plans[namespace] = plan
    }

    /// Ends a run's plan; calls are answered as usual again.
    package mutating func heal(namespace: String) {
        plans[namespace] = nil
    }

    package mutating func respond(to request: HTTPMessage.Request, at now: Instant) -> Reply {
        guard let segments = request.pathSegments else {
            return reply(error(400, ["Bad request"]), .inferred)
        }
        // The legacy host served the same paths below /api/v1.
        let path = segments.starts(with: ["api", "v1"]) ? Array(segments.dropFirst(2)) : segments
        guard path == ["notifications"], request.method == "POST" else {
            return reply(error(404, ["Not found"]), .inferred)
        }
        guard isAuthorized(request) else { return reply(Self.accessDenied, .documented) }
        let body: JSONValue
        do throws(JSONError) {
            body = try JSONValue(
                parsing: request.body,
                options: .init(depthMax: 64, duplicateKeys: .keep)
            )
        } catch {
            return reply(self.error(400, ["Invalid JSON: \(error)"]), .inferred)
        }
        let message = Message(body)
        let namespace = attribute(message, body)
        return create(message, body, namespace: namespace, at: now)
    }

    // MARK: Create notification

    /// Whom a message is for and what it says.
    private struct Message {
        let recipients: [String]
        let hasSegments: Bool
        let key: String?

        init(_ body: JSONValue) {
            let aliases = body["include_aliases"]?.object?.members.flatMap(\.value.strings) ?? []
            let lists = [
                "include_external_user_ids", "include_subscription_ids", "include_player_ids",
                "email_to", "include_email_tokens", "include_phone_numbers",
            ].flatMap { body[$0]?.strings ?? [] }
            let filters = (body["filters"]?.array ?? []).compactMap { filter in
                filter["relation"] == "=" ? filter["value"]?.string : nil
            }
            recipients = aliases + lists + filters
            hasSegments = !(body["included_segments"]?.strings ?? []).isEmpty
            key = body["idempotency_key"]?.string ?? body["external_id"]?.string
        }
    }

    private mutating func create(
        _ message: Message,
        _ body: JSONValue,
        namespace: String,
        at now: Instant
    ) -> Reply {
        func answer(
            _ response: HTTPMessage.Response,
            _ confidence: Reply.Confidence,
            manner: Reply.Manner = .answer,
            effects: [Effect] = []
        ) -> Reply {
            Reply(
                response,
                confidence,
                of: "onesignal",
                manner: manner,
                effects: effects,
                namespace: namespace
            )
        }
        if let complaint = complaint(about: body, message) { return answer(complaint, .documented) }
        let planned = nextAnswer(namespace)
        switch planned {
        case .status(let status): return answer(Self.failure(status), .documented)
        case .reset: return answer(error(500, []), .inferred, manner: .reset)
        case .never: return answer(error(500, []), .inferred, manner: .never)
        case .asUsual, .noSubscribers, .invalidAliases, .loseAnswer, .malformed: break
        }
        if let key = message.key, let stored = results[key],
            now - stored.at < Self.replayWindow
        {
            var response = stored.response
            response.fields.append(HTTPMessage.Field("Idempotent-Replayed", "true"))
            let manner: Reply.Manner = planned == .loseAnswer ? .reset : .answer
            return answer(response, .documented, manner: manner)
        }
        if planned == .noSubscribers {
            return answer(Self.nobodyReached, .documented)
        }
        notificationCount += 1
        var fields: JSONObject = [
            "id": .string(notificationID(notificationCount)),
            "external_id": message.key.map(JSONValue.string) ?? .null,
        ]
        if planned == .invalidAliases {
            fields["errors"] = ["invalid_aliases": ["external_id": ["assay-unknown-recipient"]]]
        }
        let response = HTTPMessage.Response(200, json: .object(fields))
        if let key = message.key { results[key] = Stored(response: response, at: now) }
        let effect = Effect(
            kind: "onesignal.notification",
            recipients: message.hasSegments
                ? message.recipients + ["everyone"] : message.recipients,
            content: Self.content(of: body),
            idempotencyKey: message.key
        )
        switch planned {
        case .loseAnswer: return answer(response, .documented, manner: .reset, effects: [effect])
        case .malformed:
            let broken = HTTPMessage.Response(200, body: Array("<html>".utf8))
            return answer(broken, .inferred, effects: [effect])
        default: return answer(response, .documented, effects: [effect])
        }
    }

    private mutating func nextAnswer(_ namespace: String) -> ProviderPlan.Answer {
        guard var plan = plans[namespace], let next = plan.answers.first else { return .asUsual }
        if !(plan.isPermanent && plan.answers.count == 1) { plan.answers.removeFirst() }
        plans[namespace] = plan
        return next
    }

    private func complaint(about body: JSONValue, _ message: Message) -> HTTPMessage.Response? {
        guard let app = body["app_id"]?.string, Self.isUUID(app) else {
            return error(400, ["app_id must be a valid UUID"])
        }
        let needsNoText = body["template_id"] != nil || body["content_available"] == true
        guard needsNoText || body["email_body"] != nil || body["contents"]?["en"]?.string != nil
        else { return error(400, ["Message Notifications must have English language content"]) }
        guard !message.recipients.isEmpty || message.hasSegments else {
            return error(
                400,
                [
                    "You must include which players, segments, or tags you wish to send this "
                        + "notification to."
                ]
            )
        }
        return nil
    }

    // MARK: Pieces

    private func isAuthorized(_ request: HTTPMessage.Request) -> Bool {
        guard let key else { return true }
        let words = (request[field: "authorization"] ?? "").split(separator: " ")
        return words.count == 2 && ["key", "basic", "bearer"].contains(words[0].lowercased())
            && words[1] == key.exposed
    }

    /// The run whose ids the message names, in its recipients first, else anywhere in its body.
    private func attribute(_ message: Message, _ body: JSONValue) -> String {
        (message.recipients + body.strings).lazy.compactMap { namespaceByID[$0] }.first ?? ""
    }

    /// What a person would read or an app would act on; ids and keys of the call are left out.
    private static func content(of body: JSONValue) -> JSONValue {
        guard let object = body.object else { return body }
        let kept = ["contents", "headings", "subtitle", "data", "template_id", "included_segments"]
        return .object(JSONObject(members: object.members.filter { kept.contains($0.key) }))
    }

    private static func isUUID(_ text: String) -> Bool {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        return parts.map(\.count) == [8, 4, 4, 4, 12]
            && parts.joined().allSatisfy { $0.isASCII && $0.isHexDigit }
    }

    private func notificationID(_ number: UInt64) -> String {
        let digits = String(number, radix: 16)
        return "a55a4000-0000-4000-8000-" + String(repeating: "0", count: max(0, 12 - digits.count))
            + digits
    }

    private func reply(_ response: HTTPMessage.Response, _ confidence: Reply.Confidence) -> Reply {
        Reply(response, confidence, of: "onesignal")
    }

    private func error(_ status: Int, _ texts: [String]) -> HTTPMessage.Response {
        HTTPMessage.Response(status, json: ["errors": .strings(texts)])
    }

    /// Two blanks after the full stop, as published (section 2).
    private static let accessDenied = HTTPMessage.Response(
        403,
        json: [
            "errors": .strings([
                "Access denied.  Please include an 'Authorization: ...' header with a valid API key "
                    + "(https://documentation.onesignal.com/docs/en/keys-and-ids#api-keys)."
            ])
        ]
    )

    private static let nobodyReached = HTTPMessage.Response(
        200,
        json: ["id": "", "errors": ["All included players are not subscribed"]]
    )

    private static func failure(_ status: Int) -> HTTPMessage.Response {
        switch status {
        case 429:
            HTTPMessage.Response(
                429,
                json: ["errors": ["API rate limit exceeded."]],
                fields: [HTTPMessage.Field("Retry-After", "1")]
            )
        case 503:
            HTTPMessage.Response(503, json: ["errors": ["Service temporarily unavailable"]])
        default:
            HTTPMessage.Response(status, json: ["errors": ["Internal error"]])
        }
    }
}
