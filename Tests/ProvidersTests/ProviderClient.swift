import Grammar
import Providers
import Values

/// One request after another to one fake, at a clock that the test moves.
struct ProviderClient<State: Provider> {
    static var start: Instant { Instant(milliseconds: 1_790_000_000_000) }

    var state: State
    var now = Self.start
    /// Fields that go with every request.
    var fields: [HTTPMessage.Field] = []

    init(_ state: State, authorization: String? = nil) {
        self.state = state
        if let authorization { fields = [HTTPMessage.Field("Authorization", authorization)] }
    }

    @discardableResult
    mutating func say(
        _ method: String,
        _ target: String,
        _ body: JSONValue? = nil,
        _ fields: [HTTPMessage.Field]? = nil
    ) -> ProviderResponse {
        let request = HTTPMessage.Request(
            method,
            target,
            fields: fields ?? self.fields,
            body: body?.bytes ?? []
        )
        return ProviderResponse(reply: state.respond(to: request, at: now))
    }

    /// A form, as Firebase's token route takes it.
    mutating func post(_ target: String, form: String) -> ProviderResponse {
        let type = HTTPMessage.Field("content-type", "application/x-www-form-urlencoded")
        let request = HTTPMessage.Request(
            "POST",
            target,
            fields: fields + [type],
            body: Array(form.utf8)
        )
        return ProviderResponse(reply: state.respond(to: request, at: now))
    }

    mutating func wait(_ time: Duration) { now = now + time }
}

/// What came back.
struct ProviderResponse {
    let reply: Reply

    var status: Int { reply.response.status }
    var json: JSONValue { (try? JSONValue(parsing: reply.response.body)) ?? .null }
    var text: String { String(decoding: reply.response.body, as: UTF8.self) }

    /// What stands at that place; nil when nothing does.
    subscript(_ pointer: String) -> JSONValue? {
        JSONPointer(pointer).flatMap { json[$0] }
    }

    subscript(field name: String) -> String? { reply.response[field: name] }

    /// The kinds of what it changed.
    var effects: [String] { reply.effects.map(\.kind) }
}
