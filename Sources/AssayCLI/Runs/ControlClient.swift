internal import Redaction
internal import Replay
internal import Values

/// A client for the control API of a running `assay serve`.
struct ControlClient {
    static let defaultURL = "http://127.0.0.1:9300"

    let url: TargetURL

    init(_ text: String, allowed: [String]) throws {
        url = try TargetURL(text, flag: "--control", allowed: allowed)
    }

    /// Sends a POST request to a path of the control API, below `/assay/v1`.
    ///
    /// - Throws: A failure with the error message of the API. Without a response, the failure asks
    ///   the user to start `assay serve`.
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
            throw CommandFailure(
                .unreachable,
                "no control API at \(url.base); start the fakes with 'assay serve'"
            )
        }
        let reply = response.bodyJSON ?? .null
        guard response.status == 200 else {
            let text = reply["error"]?.string ?? "status \(response.status)"
            let hintText = reply["hint"]?.string.map { "; " + $0 } ?? ""
            throw CommandFailure(.usage, text + hintText)
        }
        return reply
    }

    /// Prints a line for each webhook delivery in a response of the control API, and a line for
    /// each attempt.
    ///
    /// - Returns: Whether the backend accepted every delivery.
    static func printDeliveriesAndCheckSuccess(_ reply: JSONValue) -> Bool {
        var areAllDeliveriesAccepted = true
        for delivery in reply["deliveries"]?.array ?? [] {
            let eventType = delivery["type"]?.string ?? ""
            let eventID = delivery["event"]?.string ?? ""
            Terminal.output("--> \(eventType) \(eventID) to \(delivery["webhook"]?.string ?? "")\n")
            for attempt in delivery["attempts"]?.array ?? [] {
                if let status = attempt["status"]?.int64 {
                    Terminal.output("<-- \(status)\n")
                } else {
                    Terminal.output("<-- \(attempt["failure"]?.string ?? "no response")\n")
                }
            }
            if delivery["state"] != "delivered" {
                areAllDeliveriesAccepted = false
                if let dueTime = delivery["due"]?.string {
                    Terminal.output(
                        "    the backend did not accept it; the next attempt: \(dueTime)\n"
                    )
                }
            }
        }
        return areAllDeliveriesAccepted
    }
}
