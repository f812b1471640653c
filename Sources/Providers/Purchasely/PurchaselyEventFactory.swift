package import Conformance

/// Makes webhook bodies as Purchasely sends them: flat, version 3, every date twice, and what does
/// not apply left out.
///
/// Source: Purchasely fact sheet, section 5.
package struct PurchaselyEventFactory: Sendable {
    package let namespace: Namespace
    package let base: Instant

    package init(namespace: Namespace, base: Instant) {
        self.namespace = namespace
        self.base = base
    }

    /// The event's id: lower case, as in every published body.
    package func eventID(of name: String) -> String { namespace.eventID(of: name).lowercased() }

    /// The whole body, keys in an order drawn from the event's id.
    package func body(_ spec: PurchaselySpec, name: String) -> JSONValue {
        let id = eventID(of: name)
        let holder = namespace.id(of: spec.user)
        let subscription = namespace.hex("subscription", spec.subscription, count: 16).uppercased()
        let digits = namespace.transactionID(of: spec.subscription, "purchasely")
        let transaction = spec.store == "GOOGLE_PLAY_STORE" ? "GPA.\(digits.prefix(12))" : digits
        let purchased = spec.purchased ?? spec.time
        let ends = spec.expires ?? purchased + .seconds(30 * 86_400)
        let product = spec.plan.split(separator: "_").first.map(String.init) ?? spec.plan
        var members: [(String, JSONValue?)] = [
            ("api_version", 3), ("event_name", .string(spec.name)), ("event_id", .string(id)),
            (spec.isAnonymous ? "anonymous_user_id" : "user_id", .string(holder)),
            ("environment", .string(spec.environment)), ("store", .string(spec.store)),
            ("store_country", "FR"), ("purchase_type", .string(spec.purchaseType)),
            ("plan", .string(spec.plan)), ("product", .string(product)),
            ("previous_plan", spec.previousPlan.map(JSONValue.string)),
            ("store_product_id", .string("com.example." + spec.plan.lowercased())),
            ("store_transaction_id", .string(transaction)),
            ("store_original_transaction_id", .string(transaction)),
            (
                spec.isOneTime ? "purchasely_one_time_purchase_id" : "purchasely_subscription_id",
                .string((spec.isOneTime ? "otp_" : "subs_") + subscription)
            ),
            ("offer_type", "NONE"), ("is_family_shared", false),
            ("subscription_status", spec.isOneTime ? nil : .string(status(spec))),
            ("customer_currency", "EUR"),
            ("plan_price_in_customer_currency", .number(JSONNumber(9.99))),
            ("plan_price_in_eur", .number(JSONNumber(9.99))),
            ("device_type", "PHONE"),
        ]
        let times: [(String, Duration?)] = [
            ("event_created_at", spec.time), ("purchased_at", purchased),
            ("original_purchased_at", purchased),
            ("next_renewal_at", spec.isOneTime ? nil : spec.renews ?? ends),
            ("effective_next_renewal_at", spec.isOneTime ? nil : ends),
        ]
        for (field, offset) in times {
            guard let offset else { continue }
            let moment = base + offset
            members.append((field, .string(moment.preciseText)))
            members.append((field + "_ms", .integer(moment.milliseconds)))
        }
        if let other = spec.other {
            let direction =
                spec.name.hasSuffix("_TRANSFERRED") ? "transferred_to" : "transferred_from"
            members.append((direction + "_user_id", .string(namespace.id(of: other))))
        }
        var generator = SeededGenerator(seed: 0, text: id)
        return .object(
            JSONObject(members: JSONObject.present(members).members.shuffled(using: &generator))
        )
    }

    private func status(_ spec: PurchaselySpec) -> String {
        if let status = spec.status { return status }
        // A transfer's DEACTIVATE still reads AUTO_RENEWING (trap 16).
        return spec.name == "RENEWAL_DISABLED" ? "AUTO_RENEWING_CANCELED" : "AUTO_RENEWING"
    }
}

/// Builds the request that carries a Purchasely event.
package struct PurchaselySender: Sendable {
    package let method: String
    package let path: String
    package let secret: Secret?

    package init(method: String, path: String, secret: Secret?) {
        self.method = method
        self.path = path
        self.secret = secret.flatMap { $0.isEmpty ? nil : $0 }
    }

    package func request(
        body: [UInt8],
        at now: Instant,
        signature use: Delivery.Signature = .configured
    ) -> HTTPMessage.Request {
        var fields = [
            HTTPMessage.Field("Accept", "application/json"),
            HTTPMessage.Field("Content-Type", "application/json"),
        ]
        func add(_ code: String, _ timestamp: String) {
            fields.append(HTTPMessage.Field(PurchaselySignature.timestampName, timestamp))
            fields.append(HTTPMessage.Field(PurchaselySignature.fieldName, code))
        }
        if let key = secret?.exposed {
            func code(_ body: [UInt8], _ timestamp: String, _ key: String = key) -> String {
                PurchaselySignature.code(of: body, timestamp: timestamp, secret: key)
            }
            let fresh = String(now.seconds)
            let old = String(now.seconds - 3600)
            switch use {
            case .configured: add(code(body, fresh), fresh)
            case .missing: break
            case .wrongKey: add(code(body, fresh, key + "x"), fresh)
            case .otherBody: add(code(body + [0x20], fresh), fresh)
            case .stale: add(code(body, old), old)
            case .refreshed: add(code(body, old), fresh)
            case .malformed: add("not-hexadecimal", fresh)
            case .deprecatedOnly:
                fields.append(HTTPMessage.Field(PurchaselySignature.timestampName, fresh))
                fields.append(
                    HTTPMessage.Field(
                        PurchaselySignature.deprecatedName,
                        PurchaselySignature.deprecatedCode(timestamp: fresh, secret: key)
                    )
                )
            }
        }
        return HTTPMessage.Request(method, path, fields: fields, body: body)
    }
}
