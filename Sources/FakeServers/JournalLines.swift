package import Conformance
internal import Providers

/// An exchange as the control API shows it, with everything secret replaced.
package enum JournalLine {
    /// Headers whose value is a credential or proves one.
    private static let secretFields: Set<String> = [
        "authorization", "proxy-authorization", "cookie", "set-cookie", "x-api-key",
        "x-goog-api-key", "x-revenuecat-webhook-signature", "x-purchasely-request-signature",
        "x-purchasely-signature",
    ]

    package static func value(_ exchange: Exchange) -> JSONValue {
        var line: JSONObject = [
            "sequence": .integer(Int64(exchange.sequence)),
            "from": .string(exchange.from.description), "to": .string(exchange.to.description),
            "namespace": .string(exchange.namespace),
            "purpose": .string(purpose(exchange.purpose)),
            "at": .string(exchange.at.preciseText), "invoked_us": .integer(exchange.invoked),
            "completed_us": exchange.completed.map(JSONValue.integer) ?? .null,
            "request": [
                "method": .string(exchange.request.method),
                "target": .string(target(exchange.request.target)),
                "headers": headers(exchange.request.fields),
                "body": body(exchange.request.body),
            ],
        ]
        if let phone = exchange.phone { line["phone"] = .string(phone.name) }
        switch exchange.outcome {
        case .answered(let response): line["answer"] = answer(response)
        case .answerLost(let response):
            line["answer"] = response.map(answer) ?? .null
            line["failure"] = "the answer was lost by plan"
        case .failed(_, let text): line["failure"] = .string(text)
        case .pending: line["pending"] = true
        case .requestCut: line["failure"] = "the request was cut by plan"
        }
        line["effects"] = .array(
            exchange.effects.map { effect in
                [
                    "kind": .string(effect.kind), "recipients": .strings(effect.recipients),
                    "content": effect.content,
                ]
            }
        )
        return .object(line)
    }

    private static func purpose(_ purpose: Exchange.Purpose) -> String {
        switch purpose {
        case .delivery(let name, let attempt): "delivery \(name), attempt \(attempt)"
        case .registration(let user): "registration of \(user)"
        case .probe(let name, let user): "probe \(name) of \(user)"
        case .call: "call"
        case .sentinel: "sentinel"
        case .restart(let text): "restart: \(text)"
        case .appCall(let name): "call: \(name)"
        case .gesture(let name): "gesture: \(name)"
        case .screen: "screen"
        }
    }

    /// API keys travel in queries too.
    private static func target(_ text: String) -> String {
        guard let mark = text.firstIndex(of: "?") else { return text }
        let pairs = text[text.index(after: mark)...].split(separator: "&").map { pair in
            pair.hasPrefix("key=")
                ? "key=" + Secret(String(pair.dropFirst(4))).description : String(pair)
        }
        return text[...mark] + pairs.joined(separator: "&")
    }

    private static func answer(_ response: HTTPMessage.Response) -> JSONValue {
        [
            "status": .integer(Int64(response.status)), "headers": headers(response.fields),
            "body": body(response.body),
        ]
    }

    private static func headers(_ fields: [HTTPMessage.Field]) -> JSONValue {
        .object(
            JSONObject(
                members: fields.map { field in
                    let name = field.name.lowercased()
                    let isSecret = secretFields.contains(name)
                    let value = isSecret ? Secret(field.value).description : field.value
                    return .init(key: name, value: .string(value))
                }
            )
        )
    }

    /// JSON stays JSON, text stays text, other bytes are base64.
    private static func body(_ bytes: [UInt8]) -> JSONValue {
        guard !bytes.isEmpty else { return .null }
        if let value = try? JSONValue(
            parsing: bytes,
            options: .init(depthMax: 128, duplicateKeys: .keep)
        ) {
            return redacted(value)
        }
        if let text = String(validating: bytes, as: UTF8.self) { return .string(text) }
        return ["base64": .string(Base64.text(bytes))]
    }

    private static let secretMembers: Set<String> = [
        "password", "newPassword", "oldPassword", "idToken", "refreshToken", "refresh_token",
        "id_token", "access_token", "sessionCookie", "passwordHash", "oobCode", "oobLink", "token",
        "fetch_token", "signing-secret", "authorization",
    ]

    private static func redacted(_ value: JSONValue) -> JSONValue {
        switch value {
        case .object(let object):
            .object(
                JSONObject(
                    members: object.members.map { member in
                        if secretMembers.contains(member.key), let text = member.value.string {
                            return .init(
                                key: member.key,
                                value: .string(Secret(text).description)
                            )
                        }
                        return .init(key: member.key, value: redacted(member.value))
                    }
                )
            )
        case .array(let elements): .array(elements.map(redacted))
        default: value
        }
    }
}
