internal import AsyncHTTPClient
internal import Foundation
internal import HTTPTypes
internal import Hummingbird
internal import Logging
internal import NIOCore

/// A complete, correct subscription backend, to be read by people who write their own.
///
/// One request goes: verify the sender, read the event, apply it in one transaction together with
/// the mark that it was seen and the messages it causes, answer 200, and send the messages
/// afterwards. `WebhookProcessor` is the heart; `Subscription` says what each event means.
package struct ReferenceBackend: Sendable {
    /// Where the state comes from.
    package enum Style: String, Sendable, CaseIterable {
        /// From the event's own fields.
        case body
        /// From `GET /v1/subscribers`, which the event only triggers.
        case sync
    }

    package struct Configuration: Sendable {
        package var port: Int
        /// Folder of the database file.
        package var dataPath: String
        package var authorization: String?
        package var signingKey: String?
        package var oneSignalBaseURL: String
        package var oneSignalAppID: String
        package var oneSignalKey: String
        package var defects: Set<Defect>
        package var style = Style.body
        package var revenueCatBaseURL = ""
        package var revenueCatKey = ""
        package var purchaselySecret: String?
        package var firebaseProject = ""
        /// Where Firebase publishes its keys; nil accepts the emulator's unsigned tokens.
        package var firebaseKeysURL: String?
        package var firebaseAuthURL: String?

        package init(
            port: Int,
            dataPath: String,
            authorization: String?,
            signingKey: String?,
            oneSignalBaseURL: String,
            oneSignalAppID: String,
            oneSignalKey: String,
            defects: Set<Defect>
        ) {
            self.port = port
            self.dataPath = dataPath
            self.authorization = authorization
            self.signingKey = signingKey
            self.oneSignalBaseURL = oneSignalBaseURL
            self.oneSignalAppID = oneSignalAppID
            self.oneSignalKey = oneSignalKey
            self.defects = defects
        }
    }

    private let configuration: Configuration

    package init(_ configuration: Configuration) {
        self.configuration = configuration
    }

    /// Serves until the process is told to stop, by SIGINT or SIGTERM.
    package func run(onReady: @escaping @Sendable (Int) -> Void = { _ in }) async throws {
        let defects = configuration.defects
        try FileManager.default.createDirectory(
            atPath: configuration.dataPath,
            withIntermediateDirectories: true
        )
        let store = try Store(path: configuration.dataPath + "/backend.sqlite", defects: defects)
        let client = HTTPClient(eventLoopGroupProvider: .singleton)
        let outbox = Outbox(
            store: store,
            service: Outbox.Service(
                baseURL: configuration.oneSignalBaseURL,
                appID: configuration.oneSignalAppID,
                apiKey: configuration.oneSignalKey
            ),
            client: client
        )
        let reader = SubscriberReader(
            client: client,
            baseURL: configuration.revenueCatBaseURL,
            apiKey: configuration.revenueCatKey
        )
        let processor = WebhookProcessor(
            store: store,
            reader: configuration.style == .sync ? reader : nil
        )
        let purchasely = PurchaselyWebhook(
            store: store,
            outbox: outbox,
            secret: configuration.purchaselySecret,
            defects: defects
        )
        let verifier = TokenVerifier(
            project: configuration.firebaseProject,
            keysURL: configuration.firebaseKeysURL,
            authURL: configuration.firebaseAuthURL,
            client: client,
            defects: defects
        )
        let webhook = WebhookRoute(
            authenticity: Authenticity(
                authorization: configuration.authorization,
                signingKey: configuration.signingKey,
                defects: defects
            ),
            processor: processor,
            outbox: outbox,
            secret: configuration.oneSignalKey,
            defects: defects
        )
        let router = Router()
        router.get("healthz") { _, _ in Response(status: .ok) }
        router.post("api/webhooks/revenuecat") { request, _ in await webhook.respond(to: request) }
        router.post("api/webhooks/purchasely") { request, _ in
            await purchasely.respond(to: request)
        }
        UserRoutes(
            store: store,
            accounts: Accounts(store: store),
            verifier: verifier,
            processor: processor
        ).add(to: router)
        var logger = Logger(label: "reference-backend")
        logger.logLevel = .warning
        let application = Application(
            router: router,
            configuration: ApplicationConfiguration(
                address: .hostname("127.0.0.1", port: configuration.port)
            ),
            onServerRunning: { onReady($0.localAddress?.port ?? 0) },
            logger: logger
        )
        let sending = Task { await outbox.run() }
        defer { sending.cancel() }
        do {
            try await application.runService()
        } catch {
            try? await client.shutdown()
            throw error
        }
        try? await client.shutdown()
    }
}

/// `POST /api/webhooks/revenuecat`: exactly one answer on every path (S-33).
struct WebhookRoute: Sendable {
    let authenticity: Authenticity
    let processor: WebhookProcessor
    let outbox: Outbox
    /// Only a defect shows it.
    let secret: String
    let defects: Set<Defect>

    func respond(to request: Request) async -> Response {
        var body = Data()
        do {
            for try await part in request.body {
                body.append(contentsOf: part.readableBytesView)
                guard body.count <= JSON.bodyMax else {
                    return JSON.response(.contentTooLarge, ["error": "too_large"])
                }
            }
        } catch {
            // Nobody is there to read this; what counts is that nothing has been stored.
            // Defect: broken-body-marked
            if defects.contains(.brokenBodyMarked) { await processor.markStump(body) }
            return JSON.response(.badRequest, ["error": "broken_off"])
        }
        guard
            authenticity.accepts(
                authorization: request.headers[.authorization],
                signature: HTTPField.Name("X-RevenueCat-Webhook-Signature")
                    .flatMap { request.headers[$0] },
                body: body
            )
        else { return JSON.response(.unauthorized, ["error": "unauthorized"]) }
        do {
            let event = try WebhookEvent(body: body)
            if let refusal = Refusal.of(event, body, defects) { return refusal }
            // Defect: answer-before-store
            if defects.contains(.answerBeforeStore) {
                Task {
                    try await Task.sleep(for: .milliseconds(300))
                    _ = try await processor.process(event, body: body)
                    outbox.wake()
                }
                return JSON.response(.ok, ["received": true])
            }
            let outcome = try await processor.process(event, body: body)
            return try await answer(outcome, event)
        } catch is WebhookEvent.Malformed {
            // Defect: malformed-500, malformed-accepted
            if defects.contains(.malformedFails) {
                return JSON.response(.internalServerError, ["error": "internal"])
            }
            if defects.contains(.malformedAccepted) { return JSON.response(.ok, [:]) }
            return JSON.response(.badRequest, ["error": "not_an_event"])
        } catch is Store.UnknownUser where defects.contains(.unknownUserRejected) {
            return JSON.response(.notFound, ["error": "unknown_user"])
        } catch  where defects.contains(.failureAcknowledged) {
            // Defect: failure-acknowledged
            return JSON.response(.ok, [:])
        } catch {
            // The database may be back when RevenueCat tries again.
            return JSON.response(.internalServerError, ["error": "try_again"])
        }
    }

    private func answer(
        _ outcome: WebhookProcessor.Outcome,
        _ event: WebhookEvent
    ) async throws -> Response {
        if outcome == .duplicate {
            // Defect: duplicate-rejected, duplicate-drops-connection
            if defects.contains(.duplicateRejected) {
                return JSON.response(.conflict, ["error": "duplicate"])
            }
            if defects.contains(.duplicateDropsConnection) {
                return Response(status: .ok, body: ResponseBody { _ in throw CancellationError() })
            }
        }
        // Defect: push-before-answer, push-failure-fails-webhook
        if defects.contains(.pushBeforeAnswer) || defects.contains(.pushFailureFailsWebhook) {
            if let failure = await sendInline(event, outcome) { return failure }
        } else {
            outbox.wake()
        }
        // Defect: ignored-answers-204
        if defects.contains(.ignoredAnswersNoContent), !event.concernsPurchase {
            return Response(status: .noContent)
        }
        // Defect: secret-shown
        if defects.contains(.secretShown) {
            return JSON.response(.ok, ["received": true, "notifier": secret])
        }
        return JSON.response(.ok, ["received": true])
    }

    /// Only defects send before they answer.
    private func sendInline(
        _ event: WebhookEvent,
        _ outcome: WebhookProcessor.Outcome
    ) async -> Response? {
        guard outcome == .applied, let text = Notification.text(for: event, defects),
            let recipient = event.appUserID
        else { return nil }
        let message = Outbox.Message(
            id: 0,
            key: Outbox.key(for: event.id),
            recipient: recipient,
            text: text,
            attemptCount: 0
        )
        let isPatient = defects.contains(.pushBeforeAnswer)
        let result = await outbox.attempt(message, timeout: .seconds(isPatient ? 90 : 2))
        if case .accepted = result { return nil }
        return isPatient ? nil : JSON.response(.internalServerError, ["error": "push_failed"])
    }
}
