internal import Providers
package import Redaction
package import Values

/// Converts an exchange in the journal to the JSON of the control API, with every secret replaced.
package enum JournalLine {
    /// Returns the redaction rules for the journal, which replace each secret with its
    /// `Secret.description`.
    package static func redaction(_ declaredSecrets: SecretDeclaration) -> Redaction {
        Redaction(
            known: KnownSecrets(declaredSecrets.values) { "‹secret:\($0)›" },
            kind: Redaction.kindLookup(declaredSecrets.names),
            mask: { _, value in Secret(value).description }
        )
    }

    /// Converts exchanges to JSON with the redaction rules of their provider.
    ///
    /// A name that one provider uses for secrets may be harmless in the exchanges of another
    /// provider.
    struct RedactionByProvider {
        private let defaultRedaction: Redaction
        private let redactionByProvider: [Exchange.Party: Redaction]
        private let providers: ProviderTable

        init(_ declaredSecrets: SecretDeclaration, _ providers: ProviderTable) {
            defaultRedaction = JournalLine.redaction(declaredSecrets)
            var redactionByProvider: [Exchange.Party: Redaction] = [:]
            for provider in providers.entries {
                var providerSecrets = declaredSecrets
                providerSecrets.names += provider.secrets.headers + provider.secrets.members
                redactionByProvider[provider.party] = JournalLine.redaction(providerSecrets)
            }
            self.redactionByProvider = redactionByProvider
            self.providers = providers
        }

        func value(_ exchange: Exchange) -> JSONValue {
            let redaction =
                redactionByProvider[exchange.to] ?? redactionByProvider[exchange.from]
                ?? defaultRedaction
            var line = JournalLine.value(exchange, redaction)
            // The description comes from the redacted exchange, so it contains no secret.
            if let text = description(redaction.exchange(exchange)) {
                line.set(JSONPointer(tokens: ["about"]), to: .string(text))
            }
            return line
        }

        /// Returns the values that decide what an event or a call means; nil when none is known.
        private func description(_ exchange: Exchange) -> String? {
            let format = providers[exchange.from]?.sender?.format
            guard let event = format?.description(of: exchange.request) else {
                return providers[exchange.to]?.callText(exchange)
            }
            let facts = event.facts { String($0.description.prefix(16)).replacing("T", with: " ") }
            return facts.isEmpty ? nil : facts
        }
    }

    package static func value(_ exchange: Exchange, _ redaction: Redaction) -> JSONValue {
        let redactedExchange = redaction.exchange(exchange)
        var line: JSONObject = [
            "sequence": .integer(Int64(redactedExchange.sequence)),
            "from": .string(redactedExchange.from.description),
            "to": .string(redactedExchange.to.description),
            "namespace": .string(redactedExchange.namespace),
            "purpose": .string(purpose(redactedExchange.purpose)),
            "at": .string(redactedExchange.at.preciseText),
            "invoked_us": .integer(redactedExchange.invoked),
            "completed_us": redactedExchange.completed.map(JSONValue.integer) ?? .null,
            "request": [
                "method": .string(redactedExchange.request.method),
                "target": .string(redactedExchange.request.target),
                "headers": headers(redactedExchange.request.fields),
                "body": body(redactedExchange.request.body),
            ],
        ]
        if let phone = redactedExchange.phone { line["phone"] = .string(phone.name) }
        switch redactedExchange.outcome {
        case .answered(let response): line["response"] = responseJSON(response)
        case .answerLost(let response):
            line["response"] = response.map(responseJSON) ?? .null
            line["failure"] = "the response was lost (planned fault)"
        case .failed(_, let text): line["failure"] = .string(text)
        case .pending: line["pending"] = true
        case .requestCut: line["failure"] = "the request was truncated (planned fault)"
        }
        line["effects"] = .array(
            redactedExchange.effects.map { effect in
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
        case .userAction(let name): "gesture: \(name)"
        case .screen: "screen"
        }
    }

    private static func responseJSON(_ response: HTTPMessage.Response) -> JSONValue {
        [
            "status": .integer(Int64(response.status)), "headers": headers(response.fields),
            "body": body(response.body),
        ]
    }

    private static func headers(_ fields: [HTTPMessage.Field]) -> JSONValue {
        .object(
            JSONObject(
                members: fields.map { .init(key: $0.name.lowercased(), value: .string($0.value)) }
            )
        )
    }

    /// Returns a body as a JSON value: JSON unchanged, UTF-8 text as a string, and other bytes in
    /// base64.
    private static func body(_ bytes: [UInt8]) -> JSONValue {
        guard !bytes.isEmpty else { return .null }
        if let value = JSONValue(
            ifValid: bytes,
            options: .init(depthMax: 128, duplicateKeys: .keep)
        ) {
            return value
        }
        if let text = String(validating: bytes, as: UTF8.self) { return .string(text) }
        return ["base64": .string(Base64.text(bytes))]
    }
}
