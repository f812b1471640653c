internal import Conformance
internal import Foundation

/// The profile of the reference backend, started from this very binary.
enum ReferenceProfile {
    static func make(defects: [String]) -> Profile {
        var profile = Profile()
        let flags = defects.map { " --defect \($0)" }.joined()
        profile.start = Profile.Start(
            command: "exec '\(executable)' backend --port {{port}} --data '{{data}}'\(flags)",
            ready: Profile.Endpoint(method: "GET", path: "/healthz"),
            environment: [:]
        )
        profile.secrets[.revenueCatSigning] = Secret("whsec_assay")
        profile.probes = [
            Profile.Probe(
                name: "user",
                source: .get("/test/users/{{id}}"),
                readings: [:],
                ignored: []
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
                    .mapValues { Profile.Reading(pointer: $0, meaning: .value) },
                ignored: []
            ),
        ]
        return profile
    }

    /// This binary, wherever it was started from.
    private static var executable: String {
        Bundle.main.executablePath ?? CommandLine.arguments[0]
    }
}
