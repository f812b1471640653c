package import Values

extension Redaction {
    /// Returns an exchange with all secrets in its request and its outcome masked.
    package func exchange(_ exchange: Exchange) -> Exchange {
        var copy = exchange
        copy.purpose = purpose(exchange.purpose)
        copy.request = request(exchange.request)
        copy.outcome = outcome(exchange.outcome)
        copy.effects = exchange.effects.map(effect)
        return copy
    }

    package func request(_ request: HTTPMessage.Request) -> HTTPMessage.Request {
        var copy = request
        copy.target = target(request.target)
        copy.fields = fields(request.fields)
        copy.body = body(request.body, request.fields)
        copy.parsedBody = nil
        return copy
    }

    package func response(_ response: HTTPMessage.Response) -> HTTPMessage.Response {
        var copy = response
        copy.fields = fields(response.fields)
        copy.body = body(response.body, response.fields)
        return copy
    }

    package func outcome(_ outcome: Exchange.Outcome) -> Exchange.Outcome {
        switch outcome {
        case .answered(let response): .answered(self.response(response))
        case .answerLost(let response): .answerLost(response.map(self.response))
        case .failed(let failure, let reasonText): .failed(failure, text(reasonText))
        case .pending, .requestCut: outcome
        }
    }

    package func effect(_ effect: Effect) -> Effect {
        var effect = effect
        effect.recipients = effect.recipients.map(text)
        effect.content = json(effect.content)
        effect.idempotencyKey = effect.idempotencyKey.map(text)
        return effect
    }

    /// Redacts the body of a message.
    ///
    /// A compressed body cannot be searched, so it is masked as a whole.
    private func body(_ bytes: [UInt8], _ fields: [HTTPMessage.Field]) -> [UInt8] {
        let encoding = fields.value(of: "content-encoding")?.lowercased() ?? "identity"
        if encoding != "identity", String(validating: bytes, as: UTF8.self) == nil {
            return Array(masked("body", String(decoding: bytes, as: UTF8.self)).utf8)
        }
        return body(bytes, contentType: fields.value(of: "content-type"))
    }

    private func purpose(_ purpose: Exchange.Purpose) -> Exchange.Purpose {
        switch purpose {
        case .restart(let reasonText): .restart(text(reasonText))
        case .delivery, .registration, .appCall, .probe, .call, .sentinel, .userAction, .screen:
            purpose
        }
    }
}

extension HTTPMessage.Response {
    /// The response body on one line for reports, without secrets and cut to 200 characters.
    package var bodyLine: String {
        let redactedBytes = Redaction.forReports().body(
            body,
            contentType: self[field: "content-type"]
        )
        guard let text = String(validating: redactedBytes, as: UTF8.self) else {
            return "\(body.count) bytes that are not text"
        }
        let line = text.split(whereSeparator: \.isNewline).joined(separator: " ")
        return line.count <= 200 ? line : line.prefix(199) + "…"
    }
}
