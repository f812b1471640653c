internal import Conformance

/// The part of REST v2 that the fact sheet describes (section 4.4): customers, their active
/// entitlements and subscriptions. All times are milliseconds.
extension RevenueCatState {
    func answerV2(
        _ request: HTTPMessage.Request,
        _ path: [String],
        at now: Instant
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        guard path.count >= 4, path[0] == "projects", path[2] == "customers" else {
            throw RevenueCatError(v2: 404, "resource_missing", "The resource was not found.")
        }
        let isKnown = path[1] == settings.project || settings.knowsItsProjectAlone != true
        guard isKnown, !path[1].isEmpty else {
            throw RevenueCatError(v2: 404, "resource_missing", "The project was not found.")
        }
        guard request.method == "GET" else {
            throw RevenueCatError(
                v2: 400,
                "invalid_request",
                "\(request.method) is not described for this resource."
            )
        }
        // Unlike v1, a read creates nobody.
        guard let customer = customer(path[3]) else {
            throw RevenueCatError(v2: 404, "resource_missing", "The customer was not found.")
        }
        let base = "/v2/projects/\(path[1])/customers/\(path[3].percentEncoded)"
        switch Array(path.dropFirst(4)) {
        case []:
            return HTTPMessage.Response(
                200,
                json: [
                    "object": "customer", "id": .string(path[3]), "project_id": .string(path[1]),
                    "first_seen_at": .integer(customer.firstSeen.milliseconds),
                    "last_seen_at": .integer(customer.lastSeen.milliseconds),
                    "last_seen_app_version": .null, "last_seen_country": .null,
                    "last_seen_platform": customer.lastPlatform.map(JSONValue.string) ?? .null,
                    "last_seen_platform_version": .null,
                    "active_entitlements": activeEntitlements(customer, base, at: now),
                ]
            )
        case ["active_entitlements"]:
            return HTTPMessage.Response(200, json: activeEntitlements(customer, base, at: now))
        case ["subscriptions"]:
            let items = customer.purchases.filter { !$0.isOneTime }.map {
                subscription($0, customer, path[3], at: now)
            }
            return HTTPMessage.Response(200, json: Self.list(items, base + "/subscriptions"))
        default:
            throw RevenueCatError(v2: 404, "resource_missing", "The resource was not found.")
        }
    }

    private static func list(_ items: [JSONValue], _ url: String) -> JSONValue {
        ["object": "list", "items": .array(items), "next_page": .null, "url": .string(url)]
    }

    /// RevenueCat's own id of an entitlement, which is not its lookup key.
    private static func entitlementID(_ name: String) -> String {
        "entl" + Digest.sha256(Array(name.utf8)).dropFirst(7).prefix(10)
    }

    private func activeEntitlements(
        _ customer: Customer,
        _ base: String,
        at now: Instant
    ) -> JSONValue {
        var ends: [(name: String, end: Instant?)] = []
        for purchase in customer.purchases where purchase.isActive(at: now) {
            for name in purchase.entitlements {
                guard let index = ends.firstIndex(where: { $0.name == name }) else {
                    ends.append((name, purchase.effectiveEnd))
                    continue
                }
                guard let known = ends[index].end else { continue }
                ends[index].end = purchase.effectiveEnd.map { max($0, known) }
            }
        }
        let items: [JSONValue] = ends.map {
            [
                "object": "customer.active_entitlement",
                "entitlement_id": .string(Self.entitlementID($0.name)),
                "expires_at": $0.end.map { .integer($0.milliseconds) } ?? .null,
            ]
        }
        return Self.list(items, base + "/active_entitlements")
    }

    private func subscription(
        _ purchase: Purchase,
        _ customer: Customer,
        _ id: String,
        at now: Instant
    ) -> JSONValue {
        let isActive = purchase.isActive(at: now)
        let isInGrace = isActive && (purchase.graceEnd.map { $0 > now } ?? false)
        let status =
            purchase.isPaused
            ? "paused"
            : isInGrace
                ? "in_grace_period"
                : isActive
                    ? purchase.period == "TRIAL" ? "trialing" : "active"
                    : purchase.billingIssue != nil && !purchase.hasEnded
                        ? "in_billing_retry" : "expired"
        func time(_ instant: Instant?) -> JSONValue {
            instant.map { .integer($0.milliseconds) } ?? .null
        }
        return [
            "object": "subscription",
            "id": .string(
                "sub"
                    + Digest.sha256(Array(purchase.originalTransactionID.utf8)).dropFirst(7)
                    .prefix(12)
            ),
            "customer_id": .string(id),
            "original_customer_id": .string(customer.originalID),
            "product_id": .string(
                "prod" + Digest.sha256(Array(purchase.productID.utf8)).dropFirst(7).prefix(10)
            ),
            "starts_at": time(purchase.originallyPurchased),
            "current_period_starts_at": time(purchase.purchased),
            "current_period_ends_at": time(purchase.expires),
            "ends_at": purchase.willRenew ? .null : time(purchase.expires),
            "gives_access": .bool(isActive),
            "status": .string(status),
            "auto_renewal_status": .string(
                purchase.willRenew && purchase.unsubscribed == nil
                    ? "will_renew" : "will_not_renew"
            ),
            "environment": .string(purchase.environment.lowercased()),
            "store": .string(purchase.store.lowercased()),
            "store_subscription_identifier": .string(purchase.originalTransactionID),
            "country": .null,
            "pending_payment": false,
        ]
    }
}
