internal import Conformance
internal import Replay

/// Talks to the control API of a running `assay serve`.
struct ControlClient {
    static let defaultURL = "http://127.0.0.1:9300"

    let url: TargetURL

    init(_ text: String, allowed: [String]) throws {
        url = try TargetURL(text, flag: "--control", allowed: allowed)
    }

    /// Posts to a path below `/assay/v1`.
    ///
    /// - Throws: A failure with the API's own words, or how to start `assay serve`.
    func post(_ path: String, _ body: JSONObject) async throws -> JSONValue {
        var fields = [HTTPMessage.Field("content-type", "application/json")]
        if let token = Setting.controlToken.secret {
            fields.append(HTTPMessage.Field("authorization", "Bearer " + token.exposed))
        }
        let client = BackendClient(base: url.base, laneCount: 1)
        let request = HTTPMessage.Request(
            "POST",
            "/assay/v1" + path,
            fields: fields,
            body: JSONValue.object(body).bytes
        )
        let outcome = await client.send(request, within: .seconds(120))
        await client.close()
        guard case .answered(let response) = outcome else {
            throw Failure(
                .unreachable,
                "no control API at \(url.base); start the fakes with 'assay serve'"
            )
        }
        let answer = (try? JSONValue(parsing: response.body)) ?? .null
        guard response.status == 200 else {
            let text = answer["error"]?.string ?? "status \(response.status)"
            let hint = answer["hint"]?.string.map { "; " + $0 } ?? ""
            throw Failure(.usage, text + hint)
        }
        return answer
    }

    /// A line for each attempt of each delivery; whether all were taken.
    static func show(_ answer: JSONValue) -> Bool {
        var allTaken = true
        for delivery in answer["deliveries"]?.array ?? [] {
            let type = delivery["type"]?.string ?? ""
            let id = delivery["event"]?.string ?? ""
            Terminal.output("--> \(type) \(id) to \(delivery["webhook"]?.string ?? "")\n")
            for attempt in delivery["attempts"]?.array ?? [] {
                if let status = attempt["status"]?.int64 {
                    Terminal.output("<-- \(status)\n")
                } else {
                    Terminal.output("<-- \(attempt["failure"]?.string ?? "no answer")\n")
                }
            }
            if delivery["state"] != "delivered" {
                allTaken = false
                if let due = delivery["due"]?.string {
                    Terminal.output("    not taken; tried again at \(due)\n")
                }
            }
        }
        return allTaken
    }
}
