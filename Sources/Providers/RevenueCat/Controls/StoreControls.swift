internal import Conformance

/// Customers, stores and developers do something.
extension RevenueCatState {
    static let storeControls = [
        ProviderControl("storeActions", "GET", "/store", "The store's actions and what they do.") {
            _,
            _,
            _ in
            let actions = StoreAction.Kind.allCases.map {
                JSONObject.Member(key: $0.rawValue, value: .string($0.summary))
            }
            return ["actions": .object(JSONObject(members: actions))]
        },
        ProviderControl(
            "storeAction",
            "POST",
            "/store/{action}",
            "A customer, a store or a developer does something.",
            members: StoreAction.members,
            tells: true,
            work: act
        ),
        ProviderControl(
            "customer",
            "GET",
            "/store/customers/{id}",
            "CustomerInfo, as REST v1 returns it to a secret key.",
            work: lookUp
        ),
        ProviderControl(
            "send",
            "POST",
            "/events",
            "Sends a RevenueCat event to the webhooks as it stands, and applies it.",
            members: [
                ControlMember(
                    "event",
                    .object,
                    "The event as it goes out; id and time are added if missing."
                )
            ],
            tells: true,
            work: sendEvent
        ),
    ]

    private static func act(
        _ services: inout Services,
        _ call: ProviderControl.Call,
        _ now: Instant
    ) throws(ControlRefusal) -> JSONObject {
        let all = StoreAction.Kind.allCases.map(\.rawValue)
        guard let kind = StoreAction.Kind(rawValue: call.value) else {
            let near = Suggestion.nearest(to: call.value, among: all)
            throw ControlRefusal(
                404,
                "the store knows no '\(call.value)'",
                hint: (near.map { "did you mean '\($0)'? " } ?? "")
                    + "there are " + all.joined(separator: ", ")
            )
        }
        let action: StoreAction
        do throws(StoreAction.Refusal) {
            action = try StoreAction(kind, call.body)
        } catch {
            throw ControlRefusal(400, error.description)
        }
        do throws(StoreAction.Refusal) {
            try services.revenueCat.carryOut(action, at: now)
        } catch {
            throw ControlRefusal(409, error.description)
        }
        let events = services.revenueCat.peekEvents().map(JSONValue.object)
        let info = services.revenueCat.customer(action.user)?.info(at: now, showsAttributes: true)
        return .present([("events", .array(events)), ("customer", info)])
    }

    private static func lookUp(
        _ services: inout Services,
        _ call: ProviderControl.Call,
        _ now: Instant
    ) throws(ControlRefusal) -> JSONObject {
        let known = services.revenueCat.customer(call.value)
        guard let info = known?.info(at: now, showsAttributes: true).object else {
            throw ControlRefusal(404, "there is no customer '\(call.value)'")
        }
        return info
    }

    private static func sendEvent(
        _ services: inout Services,
        _ call: ProviderControl.Call,
        _ now: Instant
    ) throws(ControlRefusal) -> JSONObject {
        guard var event = call.body["event"]?.object, event["type"]?.string != nil else {
            throw ControlRefusal(400, "'event' is an object with a 'type'")
        }
        guard !services.revenueCat.webhooks.isEmpty else {
            throw ControlRefusal(
                409,
                "no webhook is configured",
                hint: "PUT /assay/v1/webhooks/main with {\"url\": \"http://127.0.0.1:…\"}"
            )
        }
        if event["id"] == nil, event["event_id"] == nil {
            event["id"] = .string(services.revenueCat.newEventID())
        }
        if event["event_timestamp_ms"] == nil {
            event["event_timestamp_ms"] = .integer(now.milliseconds)
        }
        services.revenueCat.apply(RevenueCatState.body(event))
        services.revenueCat.announce(event)
        return ["event": .object(event)]
    }
}

extension StoreAction {
    /// What an action takes.
    package static let members = [
        ControlMember("user", .text, "The customer's id."),
        ControlMember(
            "from",
            .text,
            "The other customer of a transfer, restore, share, redemption."
        ),
        ControlMember("product", .text, "The product."),
        ControlMember("newProduct", .text, "change-product: the product to come."),
        ControlMember("store", .text, "APP_STORE and so on."),
        ControlMember("environment", .text, "PRODUCTION or SANDBOX."),
        ControlMember("period", .text, "NORMAL, TRIAL, INTRO or PREPAID."),
        ControlMember("reason", .text, "Why it is cancelled, refunded or ended."),
        ControlMember("offering", .text, "The offering that was shown."),
        ControlMember("offerCode", .text, "The offer code that was redeemed."),
        ControlMember("entitlement", .text, "grant, revoke: the entitlement."),
        ControlMember("duration", .text, "grant: how long, for example weekly."),
        ControlMember("grace", .text, "billing-issue: the grace period, for example 16d."),
        ControlMember("by", .text, "extend, pause: by how much, for example 3d."),
        ControlMember("when", .text, "change-product: now or period-end."),
        ControlMember("approved", .flag, "price-consent: whether it is given."),
        ControlMember("amount", .integer, "currency: how much of it."),
        ControlMember("variant", .text, "enroll: the arm of the experiment."),
        ControlMember("type", .text, "paywall: the event's type."),
        ControlMember("attributes", .object, "set-attributes: texts by name."),
        ControlMember("price", .number, "What is paid."),
        ControlMember("currency", .text, "What it is paid in."),
    ]
}
