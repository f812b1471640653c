internal import Redaction
package import Values

/// RevenueCat's OneSignal integration, which writes tags of a OneSignal user after each event.
///
/// The URLs and the body of the user-centric API are *inferred*. Source: RevenueCat fact sheet,
/// section 6; OneSignal fact sheet, section 11.
package enum RevenueCatIntegration {
    /// Makes the OneSignal integration's call for an event.
    ///
    /// Returns nil for an event that the integration does not send.
    static func send(
        _ event: JSONObject,
        _ services: inout Services,
        at now: Instant
    ) -> Services.InternalCall? {
        guard var call = Self.call(for: event, services.revenueCat) else { return nil }
        if let key = services.oneSignal.key {
            call.fields.append(HTTPMessage.Field("Authorization", "Key " + key.exposed))
        }
        let reply = services.oneSignal.respond(to: call, at: now)
        return Services.InternalCall(
            from: RevenueCatState.party,
            to: OneSignalState.party,
            request: call,
            reply: reply
        )
    }

    /// Returns the call to OneSignal that an event causes.
    ///
    /// Nil for an event that the integration does not send, and for a customer without a OneSignal
    /// ID.
    package static func call(
        for event: JSONObject,
        _ state: RevenueCatState
    ) -> HTTPMessage.Request? {
        guard let type = RevenueCatEventType(rawValue: event["type"]?.string ?? "").documented,
            let name = type.facts.integrationName,
            let id = event["app_user_id"]?.string, let customer = state.customer(id)
        else { return nil }
        func attributeValue(_ name: String) -> String? {
            customer.attributes[name]?["value"]?.string.flatMap { $0.isEmpty ? nil : $0 }
        }
        let tags = tags(of: event, type, name, state)
        guard !tags.members.isEmpty else { return nil }
        let app = state.settings.oneSignalApp
        let header = [HTTPMessage.Field("content-type", "application/json")]
        if let oneSignalUserID = attributeValue("$onesignalUserId") {
            return HTTPMessage.Request(
                "PATCH",
                "/apps/\(app)/users/by/onesignal_id/\(oneSignalUserID.percentEncoded)",
                fields: header,
                body: JSONValue.object(["properties": ["tags": .object(tags)]]).bytes
            )
        }
        guard let playerID = attributeValue("$onesignalId") else { return nil }
        return HTTPMessage.Request(
            "PUT",
            "/api/v1/players/\(playerID.percentEncoded)",
            fields: header,
            body: JSONValue.object(["app_id": .string(app), "tags": .object(tags)]).bytes
        )
    }

    /// The OneSignal tags that the integration maintains.
    ///
    /// Backends must not write these tags (clause O-05 of Assay's contracts).
    package static let tagNames: Set<String> = [
        "app_user_id", "period_type", "purchased_at", "expiration_at", "store", "environment",
        "last_event_type", "product_id", "entitlement_ids", "active_subscription",
        "subscription_status", "grace_period_expiration_at",
    ]

    private static func tags(
        of event: JSONObject,
        _ type: RevenueCatEventType.Documented,
        _ name: String,
        _ state: RevenueCatState
    ) -> JSONObject {
        let isTrial = event["period_type"] == "TRIAL"
        var name = name
        switch type {
        case .initialPurchase where isTrial: name = "trial_started"
        case .renewal where event["is_trial_conversion"] == true: name = "trial_converted"
        case .cancellation where isTrial: name = "trial_cancelled"
        // All other types keep the name of the table.
        default: break
        }
        func tagInSeconds(_ key: String) -> JSONValue? {
            event[key]?.int64.map { .integer($0 / 1000) }
        }
        // The published sample of an expiration contains only the first five of these tags, and the
        // status.
        var tags: [(String, JSONValue?)] = [
            ("period_type", event["period_type"]),
            ("purchased_at", tagInSeconds("purchased_at_ms")),
            ("expiration_at", tagInSeconds("expiration_at_ms")),
            ("last_event_type", .string(name)),
            ("last_event_at", tagInSeconds("event_timestamp_ms")),
            (
                "subscription_status",
                subscriptionStatus(of: event, type, isTrial, state).map(JSONValue.string)
            ),
        ]
        if type == .expiration {
            tags.append(("active_subscription", "false"))
        } else {
            let entitlements = event["entitlement_ids"]?.array?.compactMap(\.string)
            tags += [
                ("app_user_id", event["app_user_id"]), ("store", event["store"]),
                ("environment", event["environment"]), ("product_id", event["product_id"]),
                (
                    "entitlement_ids",
                    entitlements.map { .string($0.joined(separator: ",")) } ?? .null
                ),
                ("new_product_id", event["new_product_id"]),
                ("grace_period_expiration_at", tagInSeconds("grace_period_expiration_at_ms")),
                ("auto_resume_at", tagInSeconds("auto_resume_at_ms")),
            ]
            if type.facts.payment == .charge {
                tags.append(("active_subscription", "true"))
            }
        }
        let disabledTags = Set(state.settings.oneSignalTagsOff)
        let names = state.settings.oneSignalTagNames ?? [:]
        return .present(
            tags.filter { !disabledTags.contains($0.0) }.map { (names[$0.0] ?? $0.0, $0.1) }
        )
    }

    /// Returns the value of `subscription_status` for a subscription in its grace period.
    ///
    /// Nil without a grace period, which leaves the status unchanged.
    private static func graceStatus(
        of event: JSONObject,
        _ isTrial: Bool,
        _ state: RevenueCatState
    ) -> String? {
        let product = event["product_id"]?.string?.split(separator: ":").first.map(String.init)
        guard let id = event["app_user_id"]?.string, let knownCustomer = state.customer(id),
            knownCustomer.subscription(
                to: product ?? "",
                preferring: event["environment"]?.string ?? "PRODUCTION"
            )?.graceEnd != nil
        else { return nil }
        return isTrial ? "grace_period_trial" : "grace_period"
    }

    /// Returns the value of the tag `subscription_status` after an event (*inferred* from the
    /// definitions of the values); nil to leave it unchanged.
    private static func subscriptionStatus(
        of event: JSONObject,
        _ type: RevenueCatEventType.Documented,
        _ isTrial: Bool,
        _ state: RevenueCatState
    ) -> String? {
        switch type {
        case .initialPurchase, .renewal, .uncancellation:
            return isTrial ? "trial" : event["period_type"] == "INTRO" ? "intro" : "active"
        case .cancellation:
            switch event["cancel_reason"]?.string {
            case "CUSTOMER_SUPPORT": return "expired"
            case "BILLING_ERROR": return graceStatus(of: event, isTrial, state)
            default: return isTrial ? "cancelled_trial" : "cancelled"
            }
        case .billingIssue: return graceStatus(of: event, isTrial, state)
        case .productChange: return "active"
        case .subscriptionPaused: return "paused"
        case .expiration:
            return event["store"] == "PROMOTIONAL" ? "expired_promotional" : "expired"
        case .nonRenewingPurchase:
            return event["store"] == "PROMOTIONAL" ? "promotional" : nil
        // The integration does not send events of these types.
        case .test, .subscriptionExtended, .refundReversed, .transfer, .temporaryEntitlementGrant,
            .invoiceIssuance, .virtualCurrencyTransaction, .experimentEnrollment,
            .purchaseRedeemed, .priceIncreaseConsentRequired, .priceIncreaseConsentApproved,
            .subscriberAlias, .paywallImpression, .paywallClose, .paywallCancel,
            .paywallExitOffer, .paywallComponentInteracted:
            return nil
        }
    }
}
