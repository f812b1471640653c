internal import Contracts
internal import Foundation
internal import Providers
internal import Redaction
internal import ReferenceBackend
internal import Values

/// The profile (the description for Assay) of the reference backend, which is part of this program.
enum ReferenceProfile {
    /// Returns the profile of a reference backend.
    ///
    /// - Parameters:
    ///   - defects: The names of the defects that the backend has.
    ///   - style: The source of the subscription state that the backend stores: the event or
    ///     RevenueCat's REST API.
    ///   - loginProof: The proof of identity that logins require.
    ///   - setsClock: Whether Assay can set the backend's clock. Cases about time then run one at a
    ///     time.
    /// - Returns: The profile, as `assay.yaml` would declare it.
    static func make(
        defects: [String],
        style: ReferenceBackend.StateSource = .body,
        loginProof: ReferenceBackend.LoginProof = .password,
        setsClock: Bool = false
    ) -> Profile {
        var profile = Profile()
        addRoutes(to: &profile)
        let commandFlags =
            defects.map { " --defect \($0)" }.joined()
            + (style == .body ? "" : " --style \(style.rawValue)")
            + (loginProof == .password ? "" : " --login-proof \(loginProof.rawValue)")
        profile.start = Profile.StartSettings(
            command:
                "exec '\(executable)' backend --port {{port}} --data '{{data}}'\(commandFlags)",
            ready: Profile.ReadinessCheck(method: "GET", path: "/healthz")
        )
        profile.secrets[.revenueCatSigning] = Secret("whsec_assay")
        profile.secrets[.purchaselySigning] = Secret("purchasely-assay")
        if setsClock {
            profile.clock = .request(
                Profile.Endpoint(method: "POST", path: "/test/clock", body: ["ahead": "{{ahead}}"])
            )
        }
        switch style {
        // With this style, the backend takes the state from the event. It neither reads the state
        // from RevenueCat's REST API nor compares the two.
        case .body: profile.unsupportedFeatures.formUnion([.readsSubscriberOnEvent, .reconcile])
        case .sync:
            profile.endpoints["reconcile"] = Profile.Endpoint(
                method: "POST",
                path: "/admin/reconcile"
            )
        }
        if loginProof == .idToken {
            profile.accountCreation = nil
            profile.endpoints["login"]?.body = [
                "currentAppUserId": "{{id}}", "deviceToken": "{{proof}}",
            ]
            profile.endpoints["login"]?.credentials = Profile.Credentials(actor: "{{account}}")
        }
        profile.probes = probes
        return profile
    }

    /// Adds the routes of the reference backend that do not depend on its options.
    private static func addRoutes(to profile: inout Profile) {
        profile.endpoints["purchasely-webhook"] = Profile.Endpoint(
            method: "POST",
            path: "/api/webhooks/purchasely"
        )
        var currentUserEndpoint = Profile.Endpoint(method: "GET", path: "/api/me")
        currentUserEndpoint.responseIDPointer = JSONPointer("/appUserId")
        profile.endpoints["protected"] = currentUserEndpoint
        profile.endpoints["delete-account"] = Profile.Endpoint(method: "DELETE", path: "/api/me")
        profile.app.isAccessSetInFile = true
        profile.app.access = Profile.Endpoint(
            method: "GET",
            path: "/test/subscriptions/{{id}}",
            body: ["access": "{{access}}"]
        )
        profile.accountCreation = .request(
            Profile.Endpoint(
                method: "POST",
                path: "/test/accounts",
                body: ["accountId": "{{account}}", "password": "{{password}}"]
            )
        )
        profile.fault = Profile.Fault(
            breakAction: .request(Profile.Endpoint(method: "POST", path: "/test/fault")),
            repairAction: .request(Profile.Endpoint(method: "DELETE", path: "/test/fault"))
        )
    }

    /// The test routes of the reference backend that show its state.
    private static var probes: [Profile.Probe] {
        [
            Profile.Probe(
                name: "user",
                source: .get("/test/users/{{id}}"),
                readings: [
                    "anonymous": "/isAnonymous", "account": "/accountId", "source": "/source",
                ].compactMapValues { JSONPointer($0) }
                    .mapValues { Profile.FieldReading(pointer: $0, meaning: .value) },
                ignoredPointers: []
            ),
            Profile.Probe(
                name: "subscription",
                source: .get("/test/subscriptions/{{id}}"),
                readings: [
                    "access": "/access", "product": "/product_id", "expires": "/expiration_at_ms",
                    "billing-issue": "/billing_issue", "will-renew": "/will_renew",
                    "refunded": "/refunded", "pending-product": "/pending_product_id",
                    "environment": "/environment",
                ].compactMapValues { JSONPointer($0) }
                    .mapValues { Profile.FieldReading(pointer: $0, meaning: .value) },
                ignoredPointers: []
            ),
        ]
    }
    /// The path of this program.
    private static var executable: String {
        Bundle.main.executablePath ?? CommandLine.arguments[0]
    }
}
