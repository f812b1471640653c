internal import Conformance
internal import Providers

/// Phones, and what happens to them.
extension ControlAPI {
    func device(_ route: ControlRoute, _ call: Call) async throws(Refusal) -> JSONValue {
        let name = call.query("device") ?? call.body["device"]?.string ?? "main"
        let first = nextDelivery(call.namespace)
        var request = HTTPMessage.Request("GET", "/device?device=\(name.percentEncoded)")
        if route == .deviceAction {
            var body = call.body
            body["device"] = .string(name)
            body["settle"] = nil
            request = HTTPMessage.Request(
                "POST",
                "/device/" + call.value,
                fields: [HTTPMessage.Field("content-type", "application/json")],
                body: JSONValue.object(body).bytes
            )
        }
        let sent = request
        let response = world.edit(call.namespace) { services, now in
            services.despia.respond(to: sent, at: now).response
        }
        let answer = response.flatMap { try? JSONValue(parsing: $0.body) }?.object ?? JSONObject()
        guard response?.status == 200 else {
            throw Refusal(response?.status ?? 500, answer["error"]?.string ?? "refused")
        }
        guard route == .deviceAction else { return .object(answer) }
        return await settled(call, from: first, answer)
    }
}
