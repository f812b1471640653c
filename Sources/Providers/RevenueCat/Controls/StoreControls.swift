internal import Conformance

/// Customers, stores and developers do something.
extension RevenueCatState {
    static let storeControls = [
        ProviderControl("storeActions", "GET", "/store", "The store's actions and what they do.") {
            _,
            _,
            _ in
            let actions = StoreAction.words.map {
                JSONObject.Member(key: $0.name, value: .string($0.summary))
            }
            return ["actions": .object(JSONObject(members: actions))]
        },
        ProviderControl(
            "storeAction",
            "POST",
            "/store/{action}",
            "A customer, a store or a developer does something.",
            members: StoreAction.members,
            words: StoreAction.words,
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
        guard let kind = StoreAction.Kind(rawValue: call.value) else {
            throw .unknown(call.value, "the store", among: StoreAction.words)
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
        for member in event.members where member.key.hasSuffix("_ms") {
            guard let time = member.value.int64, CallDate(milliseconds: time) == nil else {
                continue
            }
            throw ControlRefusal(
                400,
                "'\(member.key)' is \(time), which is not within \(CallDate.rangeText)",
                hint: "a number is milliseconds since 1970, not seconds or microseconds"
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
    /// What there is to be done.
    package static let words = Kind.allCases.map { ControlWord($0.rawValue, $0.summary) }

    private static func member(
        _ name: String,
        _ kind: ControlMember.Kind,
        _ summary: String,
        of kinds: [Kind]
    ) -> ControlMember {
        ControlMember(name, kind, summary, of: kinds.map(\.rawValue))
    }

    /// What an action takes.
    package static let members = [
        ControlMember("user", .text, "The customer's id."),
        member(
            "from",
            .text,
            "the other customer.",
            of: [.transfer, .restore, .familyShare, .redeem, .logIn]
        ),
        member("product", .text, "The product.", of: making + changing + [.familyShare]),
        member("newProduct", .text, "the product to come.", of: [.changeProduct]),
        member("store", .open(EventSpec.stores), "who sells.", of: making),
        member("environment", .open(environments), "where.", of: making),
        member(
            "period",
            .open(periods),
            "the first period.",
            of: making
        ),
        member("reason", .text, "why it ends.", of: [.cancel, .expire]),
        member("offering", .text, "the offering that was shown.", of: making),
        member("offerCode", .text, "the offer code that was redeemed.", of: making),
        member("entitlement", .text, "the entitlement.", of: [.grant, .revoke]),
        member("duration", .text, "how long, for example weekly.", of: [.grant]),
        member("grace", .text, "the grace period, for example 16d.", of: [.billingIssue]),
        member(
            "by",
            .text,
            "by how much, for example 3d.",
            of: [.extend, .pause, .temporaryGrant]
        ),
        member("when", .open(moments), "when.", of: [.changeProduct]),
        member("approved", .flag, "whether it is given.", of: [.priceConsent]),
        member("amount", .integer, "how much of it.", of: [.currency]),
        member("variant", .text, "the arm of the experiment.", of: [.enroll]),
        member("type", .text, "the event's type.", of: [.paywall]),
        member("attributes", .object, "texts by name.", of: [.setAttributes]),
        member("price", .number, "what is paid.", of: making),
        member("currency", .text, "what it is paid in.", of: making),
    ]

    /// What makes a purchase.
    private static let making: [Kind] = [.purchase, .invoice, .temporaryGrant]

    /// What happens to a purchase that is there.
    private static let changing: [Kind] = [
        .renew, .cancel, .uncancel, .pause, .resume, .extend, .expire, .billingIssue, .recover,
        .changeProduct, .refund, .reverseRefund, .stopFamilyShare, .priceConsent, .currency,
    ]
}
