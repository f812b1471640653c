package import Redaction
package import Values

extension PurchaselyState: Provider {
    package static let party = Exchange.Party.purchasely
    package static let hosts = [
        ServiceHost("api.purchasely.io", pathPrefixes: [clientAPIPathPrefix])
    ]
    /// The start of the path for the synchronization of custom audiences, which is the only
    /// published call for backends.
    private static let clientAPIPathPrefix = "/client/mobile_applications/"
    package static var operations: [ServiceOperation] {
        ["GET", "POST", "PUT", "PATCH", "DELETE"].map { method in
            ServiceOperation(
                interface: "Client API",
                method: method,
                path: clientAPIPathPrefix + "{app_id}/…",
                supportStatus: .refused,
                isInAPIDescription: true,
                isValidated: false,
                deviation: "403 as for an account without custom audiences; no other call for "
                    + "backends is published"
            )
        }
    }
    package static var hints: ProviderHints {
        ProviderHints(environmentVariableNameParts: ["PURCHASELY"])
    }
    package static let title = "Purchasely"
    package static let defaultPort = 9340
    package static let secrets = SecretFieldNames(
        headers: [
            PurchaselySignature.fieldName.lowercased(),
            PurchaselySignature.deprecatedFieldName.lowercased(),
        ]
    )

    package static let controls = PurchaselyControls.all

    package var enteredSecrets: [(name: String, secret: Secret)] {
        (webhook?.secret).map { [("purchasely-signing", $0)] } ?? []
    }

    /// Returns false, because a backend needs only the service's webhooks.
    package static func isCalled(by _: BackendTraits) -> Bool { false }

    package static func environment(_ setup: BackendSetup) -> [String: String] {
        setup.text(.purchaselySigning).map { ["PURCHASELY_WEBHOOK_SECRET": $0] } ?? [:]
    }

    /// Creates the fake and ignores the API key, because the fake has no API.
    package init(seed: UInt64, key _: Secret?) {
        self.init(seed: seed)
    }

    /// Refuses every API call of a backend, as Purchasely does for an account without custom
    /// audiences.
    ///
    /// Other data reaches the backend through Purchasely's webhooks, not through an API. `GET /`
    /// returns the state of the fake itself.
    ///
    /// Source: documentation of Purchasely's Client API (Bearer keys, `FEATURE_NOT_ENABLED`).
    package mutating func respond(
        to request: HTTPMessage.Request,
        at _: Instant,
        plannedResponse _: ProviderPlan.PlannedResponse
    ) -> Reply {
        let response: HTTPMessage.Response
        if request.method == "GET", request.path == "/" {
            let readiness: JSONObject = [
                "ready": true, "subscriptions": .integer(Int64(subscriptions.count)),
            ]
            response = HTTPMessage.Response(200, json: ["purchasely": .object(readiness)])
        } else if request.path.hasPrefix(Self.clientAPIPathPrefix) {
            response = Self.clientAPIResponse(request)
        } else {
            response = Self.errorResponse(
                404,
                "NOT_FOUND",
                "the fake Purchasely has no such path; perform actions with the control API: "
                    + "POST /assay/v1/purchasely/{action}"
            )
        }
        return Reply(response, .inferred, of: "purchasely")
    }

    private static func clientAPIResponse(_ request: HTTPMessage.Request) -> HTTPMessage.Response {
        guard request.authorization?.scheme == "bearer" else {
            return errorResponse(401, "UNAUTHORIZED", "A Bearer token is required.")
        }
        return errorResponse(
            403,
            "FEATURE_NOT_ENABLED",
            "Custom audiences are not enabled on this account."
        )
    }

    private static func errorResponse(
        _ status: Int,
        _ code: String,
        _ text: String
    ) -> HTTPMessage.Response {
        HTTPMessage.Response(status, json: ["error": .string(text), "code": .string(code)])
    }

    package mutating func copyConfiguration(from old: PurchaselyState) {
        settings = old.settings
        webhook = old.webhook
    }

    // MARK: Time

    /// The next time at which a subscription changes without an action; nil when there is no such
    /// time.
    package var nextChangeTime: Instant? { subscriptions.nextDueChange?.time }

    package func renewalCount(by time: Instant) -> Int {
        PurchaselyRenewals.renewalCount(self, by: time)
    }

    // MARK: Webhooks

    package static func settle(
        _ services: inout Services,
        at now: Instant
    ) -> [Services.InternalCall] {
        services.purchasely.advance(to: now)
        for event in services.purchasely.takeEvents() where services.purchasely.webhook != nil {
            services.queue.add(
                party,
                to: party.description,
                event: .object(event.body),
                id: event.id,
                type: event.name,
                group: event.subscriptionID,
                orderKeys: event.holders,
                due: now
            )
        }
        return []
    }
}
