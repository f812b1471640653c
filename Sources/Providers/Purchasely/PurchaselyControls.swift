internal import Conformance

/// What people and tests can do at Purchasely.
extension PurchaselyState {
    package static let controls = [
        ProviderControl(
            "purchaselyAction",
            "POST",
            "/purchasely/{action}",
            "A person or a store does something at Purchasely.",
            members: members,
            words: Action.allCases.map { ControlWord($0.rawValue, $0.summary) },
            tells: true,
            work: act
        ),
        ProviderControl(
            "purchaselyWebhook",
            "PUT",
            "/purchasely/webhook",
            "Where Purchasely sends events.",
            members: [
                ControlMember("url", .address, "Where events go."),
                ControlMember("signing-secret", .text, "The shared secret."),
            ],
            work: setWebhook
        ),
    ]

    /// What an action takes.
    package static let members = [
        ControlMember("user", .text, "The connected user's id."),
        ControlMember("anonymous", .text, "The installation's id."),
        ControlMember("from", .text, "The id that loses."),
        ControlMember("plan", .text, "The plan."),
        ControlMember("product", .text, "The product that the plan belongs to."),
        ControlMember("storeProduct", .text, "What the store calls it."),
        ControlMember("type", .choice(PurchaselySpec.purchaseTypes), "The type of purchase."),
        ControlMember(
            "offer",
            .choice(["NONE", "FREE_TRIAL", "INTRO_OFFER", "PROMO_CODE", "PROMOTIONAL_OFFER"]),
            "The offer that it begins with."
        ),
        ControlMember("store", .choice(PurchaselySpec.stores), "The store that sells."),
        ControlMember("environment", .choice(["PRODUCTION", "SANDBOX"]), "Where it is bought."),
        ControlMember("way", .choice(["upgrade", "downgrade", "crossgrade"]), "change-plan: how."),
    ]

    private static func act(
        _ services: inout Services,
        _ call: ProviderControl.Call,
        _ now: Instant
    ) throws(ControlRefusal) -> JSONObject {
        guard let action = Action(rawValue: call.value) else {
            let words = Action.allCases.map { ControlWord($0.rawValue, $0.summary) }
            throw .unknown(call.value, "Purchasely", among: words)
        }
        var body = call.body
        body["settle"] = nil
        do throws(StoreAction.Refusal) {
            try services.purchasely.carryOut(action, body, at: now)
        } catch {
            throw ControlRefusal(409, error.description)
        }
        return ["events": .array(services.purchasely.peekEvents().map { .object($0.body) })]
    }

    private static func setWebhook(
        _ services: inout Services,
        _ call: ProviderControl.Call,
        _ now: Instant
    ) throws(ControlRefusal) -> JSONObject {
        guard let url = call.text("url") else { throw ControlRefusal(400, "'url' is missing") }
        services.purchasely.connect(
            WebhookTarget(url: url, signing: call.text("signing-secret").map(Secret.init))
        )
        return [
            "url": .string(url), "signed": .bool(services.purchasely.webhook?.secret != nil),
        ]
    }
}
