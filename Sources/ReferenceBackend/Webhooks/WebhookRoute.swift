internal import Foundation
internal import HTTPTypes
internal import Hummingbird

/// The route `POST /api/webhooks/revenuecat`, which sends exactly one response in every case
/// (S-33).
struct WebhookRoute: Sendable {
    let authenticity: Authenticity
    let processor: WebhookProcessor
    let outbox: Outbox

    struct Policy: Sendable {
        var truncatedRequestResponse = WebhookRoute.truncatedRequestResponse
        var unauthorizedResponse = WebhookRoute.unauthorizedResponse
        var read = WebhookRoute.read
        var unreadableBodyResponse = WebhookRoute.unreadableBodyResponse
        var storeThenRespond = WebhookRoute.storeThenRespond
        var successResponse = WebhookRoute.successResponse
        var serverErrorResponse = WebhookRoute.serverErrorResponse
    }

    func respond(to request: Request) async -> Response {
        let policy = processor.store.policies.route
        var body = Data()
        do {
            for try await part in request.body {
                body.append(contentsOf: part.readableBytesView)
                guard body.count <= JSON.bodyBytesMax else {
                    return JSON.response(.contentTooLarge, ["error": "too_large"])
                }
            }
        } catch {
            return await policy.truncatedRequestResponse(body, processor.store)
        }
        // When the connection is lost, the task of the request sees an early end of the body
        // without an error.
        if let declaredLength = request.headers[.contentLength].flatMap({ Int($0) }),
            body.count < declaredLength
        {
            return await policy.truncatedRequestResponse(body, processor.store)
        }
        let signature = HTTPField.Name("X-RevenueCat-Webhook-Signature")
            .flatMap { request.headers[$0] }
        guard
            authenticity.accepts(
                authorization: request.headers[.authorization],
                signature: signature,
                body: body
            )
        else { return policy.unauthorizedResponse(body) }
        let event: WebhookEvent
        do { event = try policy.read(body) } catch { return policy.unreadableBodyResponse(error) }
        do {
            let completeBody = body
            return try await policy.storeThenRespond(
                { try await processor.process(event, body: completeBody) },
                { outcome in await policy.successResponse(outcome, event, outbox) }
            )
        } catch {
            return policy.serverErrorResponse(error)
        }
    }

    /// Handles a truncated request.
    ///
    /// Nothing is stored, and no caller reads the response.
    static func truncatedRequestResponse(_ receivedPart: Data, _ store: Store) async -> Response {
        JSON.response(.badRequest, ["error": "broken_off"])
    }

    /// Returns the response to an unauthenticated request, without parsing its body (S-01).
    static func unauthorizedResponse(_ body: Data) -> Response {
        JSON.response(.unauthorized, ["error": "unauthorized"])
    }

    /// Parses the fields of an event that the backend uses, so that new fields cause no errors
    /// (S-08).
    static func read(_ body: Data) throws -> WebhookEvent { try WebhookEvent(body: body) }

    /// Returns status 400 for a body that is not an event.
    ///
    /// After a 5xx status, RevenueCat would retry the delivery for hours (S-02).
    static func unreadableBodyResponse(_ error: any Error) -> Response {
        JSON.response(.badRequest, ["error": "not_an_event"])
    }

    /// Stores an event and then responds, because a 200 confirms that the event is stored (S-04).
    static func storeThenRespond(
        _ store: @escaping @Sendable () async throws -> WebhookProcessor.Outcome,
        _ successResponse: @escaping @Sendable (WebhookProcessor.Outcome) async -> Response
    ) async throws -> Response {
        let outcome = try await store()
        return await successResponse(outcome)
    }

    /// Returns the response to a processed event, which is the same for a duplicate.
    ///
    /// The response does not wait for push messages (S-06).
    static func successResponse(
        _ outcome: WebhookProcessor.Outcome,
        to event: WebhookEvent,
        _ outbox: Outbox
    ) async -> Response {
        outbox.wake()
        return JSON.response(.ok, ["received": true])
    }

    /// Returns a server error, so that RevenueCat retries the delivery.
    ///
    /// The database or RevenueCat may be available at the next attempt (S-07).
    static func serverErrorResponse(_ error: any Error) -> Response {
        JSON.response(.internalServerError, ["error": "try_again"])
    }
}
