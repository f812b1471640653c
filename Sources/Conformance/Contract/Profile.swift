/// How to reach one backend and how to look at it: the file `assay.yaml`, read.
package struct Profile: Hashable, Sendable {
    package struct Endpoint: Hashable, Sendable {
        package var method: String
        /// A path, with `{{id}}` where a user id belongs.
        package var path: String

        package init(method: String, path: String) {
            self.method = method
            self.path = path
        }
    }

    package struct Start: Hashable, Sendable {
        package var command: String
        package var ready: Endpoint
        package var environment: [String: String]

        package init(command: String, ready: Endpoint, environment: [String: String]) {
            self.command = command
            self.ready = ready
            self.environment = environment
        }
    }

    package enum SecretName: String, Hashable, Sendable, CaseIterable {
        case revenueCatAuthorization = "revenuecat-authorization"
        case revenueCatSigning = "revenuecat-signing"
        case revenueCatKey = "revenuecat-key"
        case oneSignalKey = "onesignal-key"
        case purchaselySigning = "purchasely-signing"
    }

    /// The form of user ids that the backend accepts.
    package enum IDForm: String, Hashable, Sendable, CaseIterable {
        case string, uuid, integer, firebase
    }

    /// How a user comes to exist before a case.
    package enum UserCreation: Hashable, Sendable {
        /// The guide's register endpoint with the guide's body.
        case register
        /// A request of the backend's own; the id may come out of its answer.
        case request(Endpoint, body: JSONValue?, id: JSONPointer?)
        /// A program of the user's own, run with `{{id}}` filled in.
        case command([String])
    }

    /// A read-only look at one user's state.
    package struct Probe: Hashable, Sendable {
        package enum Source: Hashable, Sendable {
            case get(String)
            case command([String])
        }

        package var name: String
        package var source: Source
        package var readings: [String: Reading]
        /// Places that no comparison looks at.
        package var ignored: [JSONPointer]

        package init(
            name: String,
            source: Source,
            readings: [String: Reading],
            ignored: [JSONPointer]
        ) {
            self.name = name
            self.source = source
            self.readings = readings
            self.ignored = ignored
        }
    }

    /// Where a probe's answer holds a field, and what its value means there.
    package struct Reading: Hashable, Sendable {
        package enum Meaning: Hashable, Sendable {
            /// The value itself.
            case value
            /// True when the value is one of these.
            case isAny([JSONValue])
            /// True when the value is none of these.
            case isNone([JSONValue])
            /// True when the value is a time in the future.
            case isFuture
        }

        package var pointer: JSONPointer
        package var meaning: Meaning

        package init(pointer: JSONPointer, meaning: Meaning) {
            self.pointer = pointer
            self.meaning = meaning
        }

        /// The names that a profile may map, as the architecture lists them.
        package static let names = [
            "access", "product", "expires", "billing-issue", "will-renew", "refunded",
            "pending-product", "environment",
        ]
    }

    package var target: String?
    package var start: Start?
    package var endpoints: [String: Endpoint]
    package var secrets: [SecretName: Secret]
    package var idForm: IDForm
    package var creation: UserCreation
    package var probes: [Probe]
    /// Store product ids by the names that contracts use; a name without one stands for itself.
    package var products: [String: String]
    /// The entitlement identifier that the products unlock.
    package var entitlement: String
    package var unsupported: Set<Feature>
    package var knownFailingPath: String?
    /// How long an effect or a state may take that has to come, in real time.
    package var patience: Duration

    /// The paths of the identity guide, no probes, and a test token.
    package init() {
        endpoints = [
            "revenuecat-webhook": Endpoint(method: "POST", path: "/api/webhooks/revenuecat"),
            "purchasely-webhook": Endpoint(method: "POST", path: "/api/webhooks/purchasely"),
            "register": Endpoint(method: "POST", path: "/api/user/register"),
            "login": Endpoint(method: "POST", path: "/api/user/login"),
        ]
        secrets = [
            .revenueCatAuthorization: Secret("Bearer assay-test-token"),
            .oneSignalKey: Secret("os_v2_app_assay"),
            .revenueCatKey: Secret("sk_assay"),
        ]
        idForm = .string
        creation = .register
        probes = []
        products = [:]
        entitlement = "premium"
        unsupported = [.firebase, .purchasely]
        patience = .seconds(10)
    }

    /// The first probe that maps the named field.
    package func probe(reading field: String) -> (probe: Probe, reading: Reading)? {
        for probe in probes {
            if let reading = probe.readings[field] { return (probe, reading) }
        }
        return nil
    }

    /// Why a feature cannot be judged here; nil when it can.
    package func obstacle(to feature: Feature) -> String? {
        if unsupported.contains(feature) {
            return "the profile declares '\(feature.rawValue)' unsupported"
        }
        switch feature {
        case .authorization where secrets[.revenueCatAuthorization]?.isEmpty ?? true:
            return "the profile gives no secret 'revenuecat-authorization'"
        case .signature where secrets[.revenueCatSigning]?.isEmpty ?? true:
            return "the profile gives no secret 'revenuecat-signing'"
        default: return nil
        }
    }
}
