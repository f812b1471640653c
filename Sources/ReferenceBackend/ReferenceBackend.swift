internal import AsyncHTTPClient
internal import Foundation
internal import HTTPTypes
internal import Hummingbird
internal import Logging
internal import NIOCore

/// A complete, correct subscription backend, written as an example for authors of other backends.
///
/// The backend handles a webhook in these steps: authenticate the sender, read the event, apply the
/// event in one transaction, respond with 200, and send push messages. The transaction also stores
/// the event ID as processed and the push messages. The central type is `WebhookProcessor`;
/// `Entitlement` defines the effect of each event.
package struct ReferenceBackend: Sendable {
    /// The source from which the backend takes the state of a customer.
    package enum StateSource: String, Sendable, CaseIterable {
        /// The state comes from the fields of each event.
        case body
        /// The state comes from RevenueCat's `GET /v1/subscribers`, which the backend calls for
        /// each event.
        case sync
    }

    /// The proof of identity that a login requires.
    package enum LoginProof: String, Sendable, CaseIterable {
        /// The account's password; a claimed user keeps its ID.
        case password
        /// The account's Firebase ID token, whose uid becomes the ID of the claimed user.
        case idToken = "id-token"
    }

    package struct Configuration: Sendable {
        package var port: Int
        /// The path of the folder that contains the database file.
        package var dataPath: String
        package var authorization: String?
        package var signingKey: String?
        package var oneSignalBaseURL: String
        package var oneSignalAppID: String
        package var oneSignalKey: String
        package var style = StateSource.body
        package var loginProof = LoginProof.password
        package var revenueCatBaseURL = ""
        package var revenueCatKey = ""
        package var purchaselySecret: String?
        /// The name of the entitlement that gives access.
        package var entitlement = "premium"
        package var firebaseProject = ""
        /// The URL of Firebase's published keys; nil to accept the unsigned tokens of Firebase's
        /// emulator.
        package var firebaseKeysURL: String?
        package var firebaseAuthURL: String?

        package init(
            port: Int,
            dataPath: String,
            authorization: String?,
            signingKey: String?,
            oneSignalBaseURL: String,
            oneSignalAppID: String,
            oneSignalKey: String
        ) {
            self.port = port
            self.dataPath = dataPath
            self.authorization = authorization
            self.signingKey = signingKey
            self.oneSignalBaseURL = oneSignalBaseURL
            self.oneSignalAppID = oneSignalAppID
            self.oneSignalKey = oneSignalKey
        }
    }

    private let configuration: Configuration
    private let policies: Policies

    package init(_ configuration: Configuration) {
        self.init(configuration, policies: Policies())
    }

    init(_ configuration: Configuration, policies: Policies) {
        self.configuration = configuration
        self.policies = policies
    }

    /// Serves requests until the process receives SIGINT or SIGTERM.
    package func run(onReady: @escaping @Sendable (Int) -> Void = { _ in }) async throws {
        try FileManager.default.createDirectory(
            atPath: configuration.dataPath,
            withIntermediateDirectories: true
        )
        let store = try Store(
            path: configuration.dataPath + "/backend.sqlite",
            policies: policies,
            entitlement: configuration.entitlement
        )
        let client = HTTPClient(eventLoopGroupProvider: .singleton)
        let outbox = Outbox(
            store: store,
            pushService: Outbox.PushServiceSettings(
                baseURL: configuration.oneSignalBaseURL,
                appID: configuration.oneSignalAppID,
                apiKey: configuration.oneSignalKey
            ),
            client: client
        )
        var logger = Logger(label: "reference-backend")
        logger.logLevel = .warning
        let application = Application(
            router: router(store, outbox, client),
            configuration: ApplicationConfiguration(
                address: .hostname("127.0.0.1", port: configuration.port)
            ),
            onServerRunning: { onReady($0.localAddress?.port ?? 0) },
            logger: logger
        )
        let sendingTask = Task { await outbox.run() }
        defer { sendingTask.cancel() }
        do {
            try await application.runService()
        } catch {
            // The backend ends here, so an error of closing the client changes nothing.
            try? await client.shutdown()
            throw error
        }
        try? await client.shutdown()
    }

    private func router(
        _ store: Store,
        _ outbox: Outbox,
        _ client: HTTPClient
    ) -> Router<BasicRequestContext> {
        let reader =
            configuration.style == .sync
            ? SubscriberReader(
                client: client,
                baseURL: configuration.revenueCatBaseURL,
                apiKey: configuration.revenueCatKey,
                entitlement: configuration.entitlement
            ) : nil
        let accounts = Accounts(store: store)
        let router = Router()
        router.get("healthz") { _, _ in policies.probes.healthResponse(configuration) }
        addWebhooks(to: router, store, outbox, reader)
        router.post("api/user/register") { request, _ in
            try await Registration.respond(to: request, store)
        }
        let verifier = TokenVerifier(
            project: configuration.firebaseProject,
            keysURL: configuration.firebaseKeysURL,
            authURL: configuration.firebaseAuthURL,
            client: client,
            policy: policies.tokens
        )
        SessionRoutes(
            accounts: accounts,
            verifier: verifier,
            loginProof: configuration.loginProof
        ).add(to: router)
        ProbeRoutes(store: store, accounts: accounts).add(to: router)
        return router
    }

    private func addWebhooks(
        to router: Router<BasicRequestContext>,
        _ store: Store,
        _ outbox: Outbox,
        _ reader: SubscriberReader?
    ) {
        let webhook = WebhookRoute(
            authenticity: Authenticity(
                authorization: configuration.authorization,
                signingKey: configuration.signingKey,
                policy: policies.authenticity
            ),
            processor: WebhookProcessor(store: store, reader: reader),
            outbox: outbox
        )
        let purchasely = PurchaselyWebhookRoute(
            store: store,
            outbox: outbox,
            secret: configuration.purchaselySecret
        )
        let reconciliation = Reconciliation(store: store, reader: reader)
        router.post("api/webhooks/revenuecat") { request, _ in await webhook.respond(to: request) }
        router.post("api/webhooks/purchasely") { request, _ in
            await purchasely.respond(to: request)
        }
        router.post("admin/reconcile") { _, _ in
            try await reconciliation.run()
            return JSON.response(.ok, ["reconciled": true])
        }
    }
}
