/// What a backend may or may not have; a profile says so under `features`, a contract under `needs`.
package enum Feature: String, Hashable, Codable, Sendable, CaseIterable {
    case push
    case authorization
    case signature
    case restart
    case fault
    case clock
    case users
    case subscription
    case safetyNet = "safety-net"
    case aliases
    case sandboxApart = "sandbox-apart"
    case everyStore = "every-store"
    case firebase
    case signedTokens = "signed-tokens"
    case revocation
    case realAccounts = "real-accounts"
    case accountApp = "account-app"
    case deletion
    case accessRoute = "access-route"
    case purchasely
    case purchaselyPush = "purchasely-push"
    case purchaselySignature = "purchasely-signature"
    case textIDs = "text-ids"
    case register
    case login
    case subscriberReads = "subscriber-reads"
    case reconcile
}

extension Feature {
    /// What a backend does that has it, in a sentence.
    package var meaning: String {
        switch self {
        case .push: "It sends pushes through OneSignal."
        case .authorization: "It demands RevenueCat's Authorization value."
        case .signature: "It demands RevenueCat's HMAC signature."
        case .restart: "Assay started it and can stop it and start it again."
        case .fault: "Its store can be made to fail, and mended."
        case .clock: "Its clock can be set."
        case .users: "A probe tells whether a user exists."
        case .subscription: "A probe tells the state of a subscription."
        case .safetyNet: "It creates users that only a webhook has named."
        case .aliases: "It finds a user by the other ids that an event names."
        case .sandboxApart: "Purchases in the sandbox give nothing that production ones give."
        case .everyStore: "It takes purchases of every store, those to come included."
        case .firebase: "A route of its own accepts Firebase ID tokens."
        case .signedTokens:
            "It verifies the tokens' signatures, so it does not run against the emulator."
        case .revocation: "It asks Firebase whether a session was revoked."
        case .realAccounts:
            "The protected route is for people with an account, not for anonymous sessions."
        case .accountApp:
            "Its users register as the guide's app does, with ids of any form, so that an app with "
                + "accounts can stand before it."
        case .deletion: "A route of its own deletes an account."
        case .accessRoute: "An app can ask it whether its user has access."
        case .purchasely: "It takes Purchasely's webhook."
        case .purchaselyPush: "It sends pushes when Purchasely's events come."
        case .purchaselySignature: "It demands Purchasely's signature."
        case .textIDs: "Its user ids may be any text."
        case .register: "It has a route by which an app announces its user."
        case .login: "It has accounts that claim and recover ids."
        case .subscriberReads:
            "It reads RevenueCat's REST API when an event comes. Reading it for reconciliation alone "
                + "is 'reconcile'."
        case .reconcile: "It can be told to compare its state with RevenueCat's."
        }
    }

    /// Whether a backend may do without it on purpose, though the catalogue asks for it.
    package var isPolicy: Bool {
        switch self {
        case .safetyNet, .aliases, .sandboxApart, .everyStore, .revocation, .realAccounts,
            .textIDs, .purchaselyPush:
            true
        case .push, .authorization, .signature, .restart, .fault, .clock, .users, .subscription,
            .firebase, .signedTokens, .accountApp, .deletion, .accessRoute, .purchasely,
            .purchaselySignature, .register, .login, .subscriberReads, .reconcile:
            false
        }
    }

    /// The table of all of them, in DocC's Markdown.
    static var table: String {
        let rows = allCases.map { feature in
            "| `\(feature.rawValue)` | \(feature.meaning) | \(feature.isPolicy ? "yes" : "") |"
        }
        let head = ["| feature | a backend that has it | may be left out on purpose |"]
        return (head + ["| --- | --- | --- |"] + rows).joined(separator: "\n") + "\n"
    }
}
