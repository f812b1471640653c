internal import Foundation
internal import HTTPTypes
internal import Hummingbird

/// `POST /api/webhooks/revenuecat`: exactly one answer on every path (S-33).
struct WebhookRoute: Sendable {
    let authenticity: Authenticity
    let processor: WebhookProcessor
    let outbox: Outbox

    struct Policy: Sendable {
        var brokenOff = WebhookRoute.brokenOff
        var refused = WebhookRoute.refused
        var read = WebhookRoute.read
        var unreadable = WebhookRoute.unreadable
        var inOrder = WebhookRoute.inOrder
        var answer = WebhookRoute.answer
        var failed = WebhookRoute.failed
    }

    func respond(to request: Request) async -> Response {
        let policy = processor.store.policies.route
        var body = Data()
        do {
            for try await part in request.body {
                body.append(contentsOf: part.readableBytesView)
                guard body.count <= JSON.bodyMax else {
                    return JSON.response(.contentTooLarge, ["error": "too_large"])
                }
            }
        } catch {
            return await policy.brokenOff(body, processor.store)
        }
        // A task that is cancelled with its connection sees the body end early, and no error.
        if let declared = request.headers[.contentLength].flatMap({ Int($0) }),
            body.count < declared
        {
            return await policy.brokenOff(body, processor.store)
        }
        let signature = HTTPField.Name("X-RevenueCat-Webhook-Signature")
            .flatMap { request.headers[$0] }
        guard
            authenticity.accepts(
                authorization: request.headers[.authorization],
                signature: signature,
                body: body
            )
        else { return policy.refused(body) }
        let event: WebhookEvent
        do { event = try policy.read(body) } catch { return policy.unreadable(error) }
        do {
            let whole = body
            return try await policy.inOrder(
                { try await processor.process(event, body: whole) },
                { outcome in await policy.answer(outcome, event, outbox) }
            )
        } catch {
            return policy.failed(error)
        }
    }

    /// Nobody is there to read this answer; what counts is that nothing has been stored.
    static func brokenOff(_ arrived: Data, _ store: Store) async -> Response {
        JSON.response(.badRequest, ["error": "broken_off"])
    }

    /// What a stranger sends is not even looked at (S-01).
    static func refused(_ body: Data) -> Response {
        JSON.response(.unauthorized, ["error": "unauthorized"])
    }

    /// Looks at what is used and at nothing else, so whatever is new passes through (S-08).
    static func read(_ body: Data) throws -> WebhookEvent { try WebhookEvent(body: body) }

    /// What is no event never will be; a 5xx would make RevenueCat send it again for hours (S-02).
    static func unreadable(_ error: any Error) -> Response {
        JSON.response(.badRequest, ["error": "not_an_event"])
    }

    /// A 200 says that the event is stored, so it is stored before anything is said (S-04).
    static func inOrder(
        _ store: @escaping @Sendable () async throws -> WebhookProcessor.Outcome,
        _ answer: @escaping @Sendable (WebhookProcessor.Outcome) async -> Response
    ) async throws -> Response {
        let outcome = try await store()
        return await answer(outcome)
    }

    /// A duplicate is answered like the first; messages leave by themselves and nobody waits for
    /// them (S-06).
    static func answer(
        _ outcome: WebhookProcessor.Outcome,
        to event: WebhookEvent,
        _ outbox: Outbox
    ) async -> Response {
        outbox.wake()
        return JSON.response(.ok, ["received": true])
    }

    /// The database or RevenueCat may be back when the event comes again (S-07).
    static func failed(_ error: any Error) -> Response {
        JSON.response(.internalServerError, ["error": "try_again"])
    }
}
