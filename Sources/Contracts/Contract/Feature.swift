/// An optional capability of a backend.
///
/// A profile lists the features that its backend lacks under `features`. A contract lists the
/// features that it requires under `needs`.
package enum Feature: String, Hashable, Codable, Sendable, CaseIterable {
    case push
    case authorization
    case signature
    case restart
    case fault
    case clock
    case users
    case subscription
    case createsUnknownUsers = "safety-net"
    case aliases
    case separatesSandbox = "sandbox-apart"
    case acceptsEveryStore = "every-store"
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
    case stringIDs = "string-ids"
    case register
    case login
    case readsSubscriberOnEvent = "subscriber-reads"
    case reconcile
}

extension Feature {
    /// A one-sentence description of a backend that has the feature, whose subject is the backend.
    package var meaning: String {
        switch self {
        case .push: "Sends push notifications through OneSignal."
        case .authorization: "Requires the Authorization value of RevenueCat's webhook."
        case .signature: "Requires RevenueCat's HMAC signature on webhooks."
        case .restart: "Is started by Assay, which can also stop and restart it."
        case .fault: "Has a database that Assay can make fail and repair (profile key 'fault')."
        case .clock: "Has a clock that Assay can set (profile key 'clock')."
        case .users: "Has a probe that shows whether a user exists."
        case .subscription: "Has a probe that shows the state of a subscription."
        case .createsUnknownUsers:
            "Creates a user when a webhook event names a user that it does not know."
        case .aliases: "Finds a user by every ID in an event, not only by app_user_id."
        case .separatesSandbox: "Grants no production access for sandbox purchases."
        case .acceptsEveryStore: "Accepts purchases from every store, including unknown ones."
        case .firebase: "Has a route that accepts Firebase ID tokens."
        case .signedTokens:
            "Verifies the signatures of Firebase tokens, so it does not use Firebase's emulator."
        case .revocation: "Asks Firebase whether a session was revoked."
        case .realAccounts:
            "Allows only users with an account on the protected route, not anonymous sessions."
        case .accountApp:
            "Registers users like the app of the identity guide, with IDs of any form, so that an "
                + "app with accounts can be tested against it."
        case .deletion: "Has a route that deletes an account."
        case .accessRoute: "Has a route by which an app asks whether its user has access."
        case .purchasely: "Receives Purchasely's webhook."
        case .purchaselyPush: "Sends push notifications for Purchasely events."
        case .purchaselySignature: "Requires Purchasely's signature on webhooks."
        case .stringIDs: "Accepts any string as a user ID."
        case .register: "Has a route by which an app registers its user."
        case .login: "Has accounts with which users claim and recover their user IDs."
        case .readsSubscriberOnEvent:
            "Reads RevenueCat's REST API when an event arrives. A backend that reads it only "
                + "during reconciliation has the feature 'reconcile' instead."
        case .reconcile: "Has a route that makes the backend compare its state with RevenueCat's."
        }
    }

    /// Whether only a backend that uses a certain service can have the feature.
    package var belongsToOptionalService: Bool {
        [.purchasely, .firebase, .accountApp].contains(self)
    }

    /// Whether a test of the feature signs users in with ID tokens.
    package var needsIDTokens: Bool { [.firebase, .accountApp].contains(self) }

    /// The features without which whole groups of contracts cannot run.
    package static let ofContractGroups: [Feature] = [
        .purchasely, .firebase, .login, .register, .reconcile, .restart,
    ]

    /// Whether a backend may lack the feature by design, although the clause catalogue (the list of
    /// requirements) asks for it.
    package var isOptionalByDesign: Bool {
        switch self {
        case .createsUnknownUsers, .aliases, .separatesSandbox, .acceptsEveryStore, .revocation,
            .realAccounts,
            .stringIDs, .purchaselyPush:
            true
        case .push, .authorization, .signature, .restart, .fault, .clock, .users, .subscription,
            .firebase, .signedTokens, .accountApp, .deletion, .accessRoute, .purchasely,
            .purchaselySignature, .register, .login, .readsSubscriberOnEvent, .reconcile:
            false
        }
    }

    /// A Markdown table of all features for the reference page of the profile language.
    static var table: String {
        let rows = allCases.map { feature in
            "| `\(feature.rawValue)` | \(feature.meaning) | \(feature.isOptionalByDesign ? "yes" : "") |"
        }
        let headerLines = ["| feature | a backend with this feature | may be missing by design |"]
        return (headerLines + ["| --- | --- | --- |"] + rows).joined(separator: "\n") + "\n"
    }
}
