internal import Redaction
internal import Values

/// The control API's operations on the fake Purchasely.
enum PurchaselyControls {
    static let all = [
        ProviderControl(
            "purchaselyAction",
            "POST",
            "/purchasely/{action}",
            "Performs an action of a user or a store at Purchasely.",
            members: members,
            pathValues: PurchaselyAction.pathValues,
            sendsEvents: true,
            handler: carryOutAction
        ),
        ProviderControl(
            "purchaselyWebhook",
            "PUT",
            "/purchasely/webhook",
            "Sets the URL to which Purchasely sends its events.",
            members: [
                ControlMember("url", .address, "The URL that receives the events."),
                ControlMember("signing-secret", .text, "The secret that signs the events."),
            ],
            handler: setWebhook
        ),
    ]

    /// The members that the request body of an action may contain.
    static let members = [
        ControlMember("user", .text, "The ID of the signed-in user."),
        ControlMember("anonymous", .text, "The anonymous ID of the app's installation."),
        ControlMember("from", .text, "log-in, transfer: the ID that loses its purchases."),
        ControlMember("plan", .text, "The plan that is bought or changed."),
        ControlMember("product", .text, "The product that the plan belongs to."),
        ControlMember("storeProduct", .text, "The ID of the product in the store."),
        ControlMember("type", .choice(PurchaselySpec.purchaseTypes), "The type of purchase."),
        ControlMember(
            "offer",
            .choice(["NONE", "FREE_TRIAL", "INTRO_OFFER", "PROMO_CODE", "PROMOTIONAL_OFFER"]),
            "The offer for the first period of the purchase."
        ),
        ControlMember("store", .choice(PurchaselySpec.stores), "The store of the purchase."),
        ControlMember(
            "environment",
            .choice(["PRODUCTION", "SANDBOX"]),
            "The environment of the purchase."
        ),
        ControlMember(
            "way",
            .choice(["upgrade", "downgrade", "crossgrade"]),
            "change-plan: the kind of change."
        ),
    ]

    private static func carryOutAction(
        _ services: inout Services,
        _ call: ProviderControl.Call,
        _ now: Instant
    ) throws(ControlRefusal) -> JSONObject {
        guard let action = PurchaselyAction(rawValue: call.value) else {
            throw .unknownName(call.value, "Purchasely", among: PurchaselyAction.pathValues)
        }
        var body = call.body
        body["settle"] = nil
        do throws(StoreAction.Refusal) {
            try services.purchasely.carryOut(action, body, at: now)
        } catch {
            throw ControlRefusal(409, error.description)
        }
        return ["events": .array(services.purchasely.outbox.events.map { .object($0.body) })]
    }

    private static func setWebhook(
        _ services: inout Services,
        _ call: ProviderControl.Call,
        _ now: Instant
    ) throws(ControlRefusal) -> JSONObject {
        guard let url = call.text("url") else { throw ControlRefusal(400, "'url' is missing") }
        services.purchasely.setWebhookTarget(
            WebhookTarget(url: url, signingSecret: call.text("signing-secret").map(Secret.init))
        )
        return [
            "url": .string(url), "signed": .bool(services.purchasely.webhook?.secret != nil),
        ]
    }
}

extension PurchaselyAction {
    /// The names of all actions, with their descriptions for users.
    fileprivate static let pathValues = allCases.map { ControlPathValue($0.rawValue, $0.summary) }
}
