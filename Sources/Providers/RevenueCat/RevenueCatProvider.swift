package import Redaction
package import Values

extension RevenueCatState: Provider {
    package static let party = Exchange.Party.revenueCat
    package static let hosts = [ServiceHost("api.revenuecat.com")]
    package static var hints: ProviderHints {
        ProviderHints(
            environmentVariableNameParts: ["REVENUECAT", "REVENUE_CAT", "RC"],
            packages: ["revenuecat", "@revenuecat/purchases-typescript-internal"]
        )
    }
    package static let title = "RevenueCat"
    package static let defaultPort = 9310
    package static var operations: [ServiceOperation] {
        V1Operation.table.operations + V2Operation.table.operations
    }
    package static let affectsOtherFakes = true
    package static let secrets = SecretFieldNames(
        headers: ["authorization", WebhookSignature.fieldName.lowercased()],
        members: [
            "fetch_token", "$email", "$phoneNumber", "$apnsTokens", "$fcmTokens", "$idfa", "$idfv",
            "$gpsAdId", "$androidId", "$ip", "$deviceToken",
        ]
    )

    package static let controls = WebhookControls.all + ProductControls.all + StoreControls.all

    package init(seed: UInt64, key: Secret?) {
        self.init(key: key, settings: RevenueCatSettings(), seed: seed)
    }

    package mutating func copyConfiguration(from old: RevenueCatState) {
        settings = old.settings
        webhooks = old.webhooks
        catalog = old.catalog
    }

    package mutating func take(key: Secret?) { self.key = key.flatMap { $0.isEmpty ? nil : $0 } }

    package mutating func respond(
        to request: HTTPMessage.Request,
        at now: Instant,
        plannedResponse _: ProviderPlan.PlannedResponse
    ) -> Reply {
        do throws(RevenueCatError) {
            let response = try RevenueCatREST.respond(&self, to: request, at: now)
            return Reply(response, .documented, of: "revenuecat")
        } catch {
            return Reply(error.response, .inferred, of: "revenuecat")
        }
    }

    package func failureResponse(_ status: Int, of request: HTTPMessage.Request)
        -> HTTPMessage.Response
    {
        status == 429
            ? tooManyRequests(1000, of: request)
            : RevenueCatREST.failureResponse(status, isV2: request.path.hasPrefix("/v2/"))
    }

    package func tooManyRequests(
        _ milliseconds: Int64,
        of request: HTTPMessage.Request
    ) -> HTTPMessage.Response {
        RevenueCatREST.rateLimitedResponse(
            milliseconds,
            isV2: request.path.hasPrefix("/v2/"),
            settings
        )
    }

    package var enteredSecrets: [(name: String, secret: Secret)] {
        var namedSecrets: [(name: String, secret: Secret?)] = [("revenuecat-key", key)]
        for webhook in webhooks {
            namedSecrets.append(("revenuecat-authorization", webhook.authorization))
            namedSecrets.append(("revenuecat-signing", webhook.signingKey))
        }
        return namedSecrets.compactMap { name, secret in secret.map { (name, $0) } }
    }

    package static func isCalled(by _: BackendTraits) -> Bool { true }

    package static func environment(_ setup: BackendSetup) -> [String: String] {
        let variableValues: [(String, String?)] = [
            ("REVENUECAT_API_BASE", setup.addresses[party]),
            ("REVENUECAT_API_KEY", setup.text(.revenueCatKey)),
            ("REVENUECAT_WEBHOOK_AUTH", setup.text(.revenueCatAuthorization)),
            ("REVENUECAT_WEBHOOK_SECRET", setup.text(.revenueCatSigning)),
        ]
        return .init(
            uniqueKeysWithValues: variableValues.compactMap { name, text in text.map { (name, $0) }
            }
        )
    }

    // MARK: Time

    /// The time of the next automatic change of a subscription; nil when there is none.
    package var nextChangeTime: Instant? { PassingOfTime.nextDueChange(self)?.time }

    package func renewalCount(by time: Instant) -> Int {
        PassingOfTime.renewalCount(self, by: time)
    }

    // MARK: Webhooks

    /// Queues the fake RevenueCat's pending events for the webhooks that accept them, and writes
    /// them to OneSignal as tags.
    package static func settle(
        _ services: inout Services,
        at now: Instant
    ) -> [Services.InternalCall] {
        services.revenueCat.advance(to: now)
        var internalCalls: [Services.InternalCall] = []
        for event in services.revenueCat.takeEvents() {
            if services.keepsEvents { services.told.append(event) }
            queue(event, &services, at: now)
            if let call = RevenueCatIntegration.send(event, &services, at: now) {
                internalCalls.append(call)
            }
        }
        return internalCalls
    }

    private static func queue(_ event: JSONObject, _ services: inout Services, at now: Instant) {
        let time = event["event_timestamp_ms"]?.int64.map(Instant.init(milliseconds:))
        for webhook in services.revenueCat.webhooks where webhook.accepts(event) {
            services.queue.add(
                party,
                to: webhook.id,
                event: RevenueCatEventWriter.body(event),
                id: (event["id"] ?? event["event_id"])?.string ?? "",
                type: event["type"]?.string ?? "",
                group: event["original_app_user_id"]?.string ?? "",
                // An event is due at its own time. A time in the future counts as now, so that all
                // events of one action are sent together.
                due: min(time ?? now, now)
            )
        }
    }
}

extension RevenueCatState {
    /// Whether the fake refuses this request when a web page of another origin sends it.
    ///
    /// This is true for writing requests while the fake has no API key. Without a key, the fake
    /// would accept the page as a backend. A page with the public key of an app is an exception: it
    /// counts as the app.
    package func isClosedToForeignPages(_ request: HTTPMessage.Request) -> Bool {
        guard key == nil, !["GET", "HEAD"].contains(request.method) else { return false }
        let credential = request.authorization?.credential ?? ""
        return !RevenueCatREST.isPublicKey(credential)
    }
}
