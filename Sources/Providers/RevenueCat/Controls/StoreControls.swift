internal import Values

/// The control API's operations for actions of customers, stores and developers at the fake
/// RevenueCat.
enum StoreControls {
    static let all = [
        ProviderControl(
            "storeActions",
            "GET",
            "/store",
            "Returns the store's actions with descriptions."
        ) {
            _,
            _,
            _ in
            let actions = StoreAction.pathValues.map {
                JSONObject.Member(key: $0.name, value: .string($0.summary))
            }
            return ["actions": .object(JSONObject(members: actions))]
        },
        ProviderControl(
            "storeAction",
            "POST",
            "/store/{action}",
            "Performs an action of a customer, a store or a developer.",
            members: StoreAction.members,
            pathValues: StoreAction.pathValues,
            sendsEvents: true,
            handler: carryOutAction
        ),
        ProviderControl(
            "customer",
            "GET",
            "/store/customers/{id}",
            "Returns a customer as REST v1 returns it to a caller with a secret key.",
            handler: readCustomer
        ),
        ProviderControl(
            "send",
            "POST",
            "/events",
            "Sends a RevenueCat event to the webhooks unchanged, and applies it to the fake.",
            members: [
                ControlMember(
                    "event",
                    .object,
                    "The event to send; its ID and time are added if missing."
                )
            ],
            sendsEvents: true,
            handler: sendEvent
        ),
    ]

    private static func carryOutAction(
        _ services: inout Services,
        _ call: ProviderControl.Call,
        _ now: Instant
    ) throws(ControlRefusal) -> JSONObject {
        guard let kind = StoreAction.Kind(rawValue: call.value) else {
            throw .unknownName(call.value, "the store", among: StoreAction.pathValues)
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
        let events = services.revenueCat.outbox.events.map(JSONValue.object)
        let customerInfo = services.revenueCat.customer(action.user)?.customerInfo(
            at: now,
            showsAttributes: true
        )
        return .present([("events", .array(events)), ("customer", customerInfo)])
    }

    private static func readCustomer(
        _ services: inout Services,
        _ call: ProviderControl.Call,
        _ now: Instant
    ) throws(ControlRefusal) -> JSONObject {
        let knownCustomer = services.revenueCat.customer(call.value)
        guard let customerInfo = knownCustomer?.customerInfo(at: now, showsAttributes: true).object
        else {
            throw ControlRefusal(404, "there is no customer '\(call.value)'")
        }
        return customerInfo
    }

    private static func sendEvent(
        _ services: inout Services,
        _ call: ProviderControl.Call,
        _ now: Instant
    ) throws(ControlRefusal) -> JSONObject {
        guard var event = call.body["event"]?.object, event["type"]?.string != nil else {
            throw ControlRefusal(400, "'event' must be an object with a 'type'")
        }
        guard !services.revenueCat.webhooks.isEmpty else {
            throw ControlRefusal(
                409,
                "no webhook is configured",
                hint: "send PUT /assay/v1/webhooks/main with {\"url\": \"http://127.0.0.1:…\"}"
            )
        }
        for member in event.members where member.key.hasSuffix("_ms") {
            guard let time = member.value.int64, RequestDate(milliseconds: time) == nil else {
                continue
            }
            throw ControlRefusal(
                400,
                "'\(member.key)' is \(time), which is not within \(RequestDate.acceptedRangeText)",
                hint: "a number must be milliseconds since 1970, not seconds or microseconds"
            )
        }
        if event["id"] == nil, event["event_id"] == nil {
            event["id"] = .string(services.revenueCat.ids.newEventID())
        }
        if event["event_timestamp_ms"] == nil {
            event["event_timestamp_ms"] = .integer(now.milliseconds)
        }
        services.revenueCat.apply(RevenueCatEventWriter.body(event))
        services.revenueCat.outbox.add(event)
        return ["event": .object(event)]
    }
}

extension StoreAction {
    /// The names of all actions, with their descriptions for users.
    package static let pathValues = Kind.allCases.map { ControlPathValue($0.rawValue, $0.summary) }

    private static func member(
        _ name: String,
        _ kind: ControlMember.Kind,
        _ summary: String,
        of kinds: [Kind]
    ) -> ControlMember {
        ControlMember(name, kind, summary, of: kinds.map(\.rawValue))
    }

    /// The members that the request body of an action may contain.
    package static let members = [
        ControlMember("user", .text, "The customer's ID."),
        member(
            "from",
            .text,
            "the ID of the customer who owns the purchase, or who logs in.",
            of: [.transfer, .restore, .familyShare, .redeem, .logIn]
        ),
        member(
            "product",
            .text,
            "The ID of the product.",
            of: purchaseCreatingKinds + purchaseChangingKinds + [.familyShare]
        ),
        member("newProduct", .text, "the ID of the new product.", of: [.changeProduct]),
        member(
            "store",
            .openChoice(EventSpec.stores),
            "the store of the purchase.",
            of: purchaseCreatingKinds
        ),
        member(
            "environment",
            .openChoice(environments),
            "the environment of the purchase.",
            of: purchaseCreatingKinds
        ),
        member(
            "period",
            .openChoice(periods),
            "the type of the first period.",
            of: purchaseCreatingKinds
        ),
        member("reason", .text, "the reason that the event states.", of: [.cancel, .expire]),
        member(
            "offering",
            .text,
            "the ID of the offering that was shown.",
            of: purchaseCreatingKinds
        ),
        member("offerCode", .text, "the offer code that was redeemed.", of: purchaseCreatingKinds),
        member("entitlement", .text, "the name of the entitlement.", of: [.grant, .revoke]),
        member("duration", .text, "the duration of the grant, for example weekly.", of: [.grant]),
        member(
            "grace",
            .text,
            "the length of the grace period, for example 16d.",
            of: [.billingIssue]
        ),
        member(
            "by",
            .text,
            "the duration, for example 3d.",
            of: [.extend, .pause, .temporaryGrant]
        ),
        member(
            "when",
            .openChoice(effectTimes),
            "the time of the product change.",
            of: [.changeProduct]
        ),
        member("approved", .flag, "whether the customer consents.", of: [.priceConsent]),
        member("amount", .integer, "the amount of virtual currency.", of: [.currency]),
        member("variant", .text, "the arm of the experiment.", of: [.enroll]),
        member("type", .text, "the event's type.", of: [.paywall]),
        member(
            "attributes",
            .object,
            "the customer attributes, strings by name.",
            of: [.setAttributes]
        ),
        member("price", .number, "the price paid.", of: purchaseCreatingKinds),
        member("currency", .text, "the currency of the price.", of: purchaseCreatingKinds),
    ]

    /// The kinds of actions that create a purchase.
    private static let purchaseCreatingKinds: [Kind] = [.purchase, .invoice, .temporaryGrant]

    /// The kinds of actions that change an existing purchase.
    private static let purchaseChangingKinds: [Kind] = [
        .renew, .cancel, .uncancel, .pause, .resume, .extend, .expire, .billingIssue, .recover,
        .changeProduct, .refund, .reverseRefund, .stopFamilyShare, .priceConsent, .currency,
    ]
}
