internal import Contracts
internal import FakeServers
internal import Judging
internal import Providers
internal import Values

/// Finds the reason why the webhook accepts no plain purchase, from the responses to two of them.
///
/// Cases could only repeat this failure. A status such as 204, which the sender does not count as a
/// success, is left to the cases.
struct WebhookCheck {
    let executor: RunExecutor
    /// The namespace of test events.
    let name: String
    /// The exchanges that delivered the purchases.
    let purchases: [Exchange]

    /// A path that no backend serves.
    private static let unservedPath = "/assay-no-such-route"

    private var webhook: PurchaseWebhook { executor.purchaseWebhook }
    private var route: String { "\(webhook.method) \(webhook.path)" }

    /// Returns the problem and its remedy; nil if at least one purchase was accepted, or if the
    /// purchases got different responses.
    func problem() async -> String? {
        guard let first = purchases.first else { return nil }
        guard let response = first.response else { return missingResponse(first) }
        let text = "\(route) returns \(response.bodyExcerpt)"
        func isEach(_ isMeant: (HTTPMessage.Response) -> Bool) -> Bool {
            purchases.allSatisfy { $0.response.map(isMeant) ?? false }
        }
        if isEach({ RouteStatuses.unserved.contains($0.status) }) {
            return text + (await unservedRouteProblem(response))
        }
        if isEach({ RouteStatuses.refused.contains($0.status) }) {
            let refusal = await CallerRefusals(executor: executor, name: name).webhookRefusal()
            return "\(text) for a purchase \(refusal.reason); \(refusal.remedy)"
        }
        if isEach({ (300..<400).contains($0.status) }) { return text + redirection(response) }
        if isEach({ $0.status == 429 }) {
            return "\(text) for the first purchases of the run, so a rate limit would refuse every "
                + "case; exempt the webhook from it, or restart the backend"
        }
        if isEach({ $0.status < 300 && $0.isHTMLPage }) {
            return "\(text), so a web page answers instead of the webhook; " + pathRemedy(nil)
        }
        if isEach({ $0.status >= 400 }) {
            return "\(text) for a plain purchase, so no case could judge more than this error"
                + errorLineText + "; correct the backend, then run again"
        }
        return nil
    }

    private func missingResponse(_ purchase: Exchange) -> String? {
        guard purchases.allSatisfy({ $0.response == nil }),
            case .failed(_, let reason) = purchase.outcome
        else { return nil }
        return "\(route) sends no response to a plain purchase: \(reason)" + errorLineText
            + "; correct the backend, then run again"
    }

    /// Distinguishes a route that does not exist from a handler that returns 404 itself.
    private func unservedRouteProblem(_ response: HTTPMessage.Response) async -> String {
        let servedPath = await DoctorChecks.servedPath(executor, name)
        if servedPath == nil, response.status == 404, await isOwnResponse(response) {
            return
                " for a plain purchase of a new user. The route exists, because a path without a "
                + "route gets another response" + errorLineText
                + "; store the event even if its user is unknown (clause S-06), then run again"
        }
        return "; " + (servedPath.map { "POST \($0) responds to events: " } ?? "")
            + pathRemedy(servedPath)
    }

    private func pathRemedy(_ path: String?) -> String {
        (path == nil ? "set its path:" : "write")
            + " 'endpoints: {\(webhook.sender.webhookEndpoint): POST \(path ?? "/…")}' in assay.yaml"
    }

    /// Whether a path without a route gets a response of another form than the purchases.
    private func isOwnResponse(_ response: HTTPMessage.Response) async -> Bool {
        let outcome = await executor.sendTestEvent(
            name,
            path: Self.unservedPath,
            proof: SenderProof()
        )
        guard case .answered(let other) = outcome else { return false }
        return ResponseForm(other) != ResponseForm(response)
    }

    private func redirection(_ response: HTTPMessage.Response) -> String {
        guard let location = response[field: "location"] else {
            return " without a Location, and senders of webhooks follow no redirection; "
                + pathRemedy(nil)
        }
        let target = HTTPMessage.Request.target(of: location)
        return " to \(location), and senders of webhooks follow no redirection; "
            + (target == webhook.path
                ? "serve the route without a redirection, for example at the scheme and host of "
                    + "the target" : pathRemedy(target))
    }

    /// The last error that the backend printed, as the end of a sentence; empty if it printed none.
    private var errorLineText: String {
        (executor.backend.process?.outputTail()).flatMap(LogExcerpt.lastErrorLine).map {
            "; the backend printed: \($0)"
        } ?? ""
    }
}

extension HTTPMessage.Response {
    /// The status and the title of an HTML page.
    var pageDescription: String {
        let text = String(decoding: body.prefix(4096), as: UTF8.self)
        let title = text.firstRange(of: "<title>").flatMap { start in
            text[start.upperBound...].firstRange(of: "</title>").map { end in
                text[start.upperBound..<end.lowerBound]
            }
        }
        let name = title.map { $0.split(whereSeparator: \.isWhitespace).joined(separator: " ") }
        return "\(status) with an HTML page" + (name.map { " '\($0.prefix(60))'" } ?? "")
    }
}
