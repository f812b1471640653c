/// How to reach one backend and how to look at it: the file `assay.yaml`, read.
package struct Profile: Hashable, Sendable {
    package struct Endpoint: Hashable, Codable, Sendable {
        package var method: String
        /// A path, with `{{id}}` where a user id belongs.
        package var path: String
        /// What is sent, with the templates of `Call.valueNames`; a field whose value is left out
        /// is left out.
        package var body: JSONValue?
        /// Where the answer names the user's id.
        package var answerID: JSONPointer?
        /// Where the answer holds what proves later that the id is the device's own.
        package var answerProof: JSONPointer?
        /// What proves who asks; nil: nothing.
        package var credentials: Credentials?

        package init(method: String, path: String, body: JSONValue? = nil) {
            self.method = method
            self.path = path
            self.body = body
        }
    }

    /// What a request carries to prove who asks.
    ///
    /// None of it is saved with a run: judging needs no secret.
    package struct Credentials: Hashable, Sendable, Codable {
        /// Header fields, by name; the values may hold templates.
        package var headers: [String: Secret] = [:]
        /// The uid of the fake Firebase's user whose ID token is the bearer's, with templates.
        package var actor: String?

        package init(headers: [String: Secret] = [:], actor: String? = nil) {
            self.headers = headers
            self.actor = actor
        }

        private enum CodingKeys: CodingKey {}
    }

    /// A login that is made once, and what of its answer later requests carry as `{{session}}`.
    package struct Session: Hashable, Codable, Sendable {
        package var endpoint: Endpoint
        /// Where the answer holds it.
        package var token: JSONPointer

        package init(endpoint: Endpoint, token: JSONPointer) {
            self.endpoint = endpoint
            self.token = token
        }
    }

    package struct Start: Hashable, Codable, Sendable {
        package var command: String
        /// Nil: any answer says that it is ready.
        package var ready: Ready?
        /// Texts with templates, and with `${NAME}` for variables of our environment.
        package var environment: [String: String]
        /// The values of those variables; they are never saved.
        package var variables: [String: Secret] = [:]
        /// How long it may take until it is ready; nil: `usualTimeout`.
        package var timeout: Duration?
        /// Where the command runs, from the profile's folder; nil: where Assay does.
        package var folder: String?
        package var stop: Stop?
        package var intercept: Intercept?

        /// Whether each backend that Assay starts keeps its data in a new folder.
        ///
        /// The command or a variable names `{{data}}` then. Any other store may outlive a run and be
        /// shared.
        package var hasOwnData: Bool {
            ([command] + environment.values).contains { $0.contains("{{data}}") }
        }

        /// Whether its calls to the services' own hosts are caught.
        package var isIntercepted: Bool { intercept?.isOn == true }

        package static let usualTimeout: Duration = .seconds(30)

        package init(command: String, ready: Ready? = nil, environment: [String: String] = [:]) {
            self.command = command
            self.ready = ready
            self.environment = environment
        }

        private enum CodingKeys: String, CodingKey {
            case command, ready, environment, timeout, folder, stop, intercept
        }

        /// A text of `environment` with the values of its variables.
        package func expanded(_ text: String) -> String {
            VariableText.expanded(text, value: { variables[$0]?.exposed }, missing: { _ in })
        }
    }

    /// When a backend that Assay started is ready.
    package struct Ready: Hashable, Codable, Sendable {
        package var method: String
        package var path: String
        /// What it has to answer; nil: anything below 400.
        package var status: Int?

        package init(method: String, path: String, status: Int? = nil) {
            self.method = method
            self.path = path
            self.status = status
        }
    }

    /// Whether what a started backend calls by the services' own names reaches the fakes, and nobody
    /// else is called.
    package struct Intercept: Hashable, Codable, Sendable {
        package var isOn: Bool
        /// Hosts that it may call all the same.
        package var allowed: [String] = []

        package init(isOn: Bool = false) { self.isOn = isOn }
    }

    /// How a backend that Assay started is asked to end, before it is killed.
    package struct Stop: Hashable, Codable, Sendable {
        package enum Signal: String, Hashable, Codable, Sendable, CaseIterable {
            case terminate = "SIGTERM"
            case interrupt = "SIGINT"
            case quit = "SIGQUIT"
            case hangUp = "SIGHUP"
        }

        package var signal = Signal.terminate
        /// How long it may take.
        package var within: Duration = usualWithin

        package static let usualWithin: Duration = .seconds(10)

        package init() {}
    }

    package enum SecretName: String, Hashable, Codable, Sendable, CaseIterable {
        case revenueCatAuthorization = "revenuecat-authorization"
        case revenueCatSigning = "revenuecat-signing"
        case revenueCatKey = "revenuecat-key"
        case oneSignalKey = "onesignal-key"
        case purchaselySigning = "purchasely-signing"
    }

    /// The form of user ids that the backend accepts.
    package enum IDForm: String, Hashable, Codable, Sendable, CaseIterable {
        case string, uuid, integer, firebase
    }

    /// How a user comes to exist before a case.
    package enum UserCreation: Hashable, Codable, Sendable {
        /// The guide's register endpoint with the guide's body.
        case register
        /// A request of the backend's own; the id may come out of its answer.
        case request(Endpoint)
        /// A program of the user's own, run with `{{id}}` filled in; the id may come out of what it
        /// prints.
        case command([String], id: JSONPointer? = nil)
    }

    /// How the backend's store is made to fail, and how it is mended: both may be repeated.
    package struct Fault: Hashable, Codable, Sendable {
        package var breaking: UserCreation
        package var healing: UserCreation

        package init(breaking: UserCreation, healing: UserCreation) {
            self.breaking = breaking
            self.healing = healing
        }
    }

    /// A read-only look at one user's state.
    package struct Probe: Hashable, Codable, Sendable {
        package enum Source: Hashable, Codable, Sendable {
            /// A path, or a whole address.
            case get(String)
            case command([String])
        }

        package var name: String
        package var source: Source
        package var readings: [String: Reading]
        /// Places that no comparison looks at.
        package var ignored: [JSONPointer]
        /// What proves who asks; nil: nothing.
        package var credentials: Credentials?

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
    package struct Reading: Hashable, Codable, Sendable {
        package enum Meaning: Hashable, Codable, Sendable {
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
        /// What it means, in the contract's terms, when an answer has no such place; nil: an answer
        /// has it, unless there is nothing to tell.
        package var absent: JSONValue?
        /// What has to be so as well, all of it; nil: nothing.
        package var and: [Reading]?
        /// What is enough instead, any of it; nil: nothing.
        package var or: [Reading]?

        package init(pointer: JSONPointer, meaning: Meaning, absent: JSONValue? = nil) {
            self.pointer = pointer
            self.meaning = meaning
            self.absent = absent
        }

        /// Whether it rests on several conditions.
        package var isCombined: Bool { and != nil || or != nil }

        /// Each of its conditions, without what is combined with it.
        package var conditions: [Reading] {
            let own = Reading(pointer: pointer, meaning: meaning, absent: absent)
            return [own] + ((and ?? []) + (or ?? [])).flatMap(\.conditions)
        }

        /// The names that a profile may map, as the architecture lists them.
        package static let names = [
            "access", "product", "expires", "billing-issue", "will-renew", "refunded",
            "pending-product", "environment", "anonymous", "account", "source",
        ]

        /// Fields that an answer about a plain purchase has to have.
        package static let ofEveryPurchase = ["access", "product", "expires"]

        /// Fields that are true or false.
        package static let flags = [
            "access", "billing-issue", "will-renew", "refunded", "anonymous",
        ]
    }

    /// The web app that a person uses, and where it can be tapped and read (`assay app`).
    package struct App: Hashable, Codable, Sendable {
        /// The page that a launch opens.
        package var url: String?
        /// Under which keys the app keeps its ids in the vault.
        package var vaultKeys: [PhoneChange.VaultRole: String] = [
            .id: "app_user_id", .lock: "identity_locked",
        ]
        /// How long a start may take when the native side says nothing (C-05).
        package var startup: Duration = .seconds(5)
        /// CSS selectors of what is tapped one after the other, by the gesture's name.
        package var taps: [String: [String]] = [:]
        /// CSS selectors of what is filled in before a login: `account`, `password`.
        package var inputs: [String: String] = [:]
        /// CSS selectors of what the page shows.
        package var shows: [AppExpectation.Screen.Element: String] = [:]
        /// Words by which the page's status says that a subscription is `active`, or that there is
        /// `none`; any other text means that it is not known.
        package var statusWords: [String: [String]] = [
            "active": ["active"], "none": ["free", "none", "not subscribed", "no subscription"],
        ]
        /// What the page calls a product, by the product's id.
        package var productNames: [String: String] = [:]
        /// Where a login can be agreed to, when the app asks.
        package var agree: String?
        /// How the app asks its backend for access; the body is what it is told.
        package var access: Endpoint? = Endpoint(
            method: "GET",
            path: "/api/user/access/{{id}}",
            body: ["access": "{{access}}", "product": "{{product}}"]
        )
        /// The profile itself says so, and it is not the usual route.
        package var declaresAccess = false
        /// The page's own backend answers; without this, a model of a correct one does.
        package var usesOwnBackend = false
        /// Other keys that the app may write to the vault.
        package var otherKeys: [String] = []

        package init() {}
    }

    package var app = App()
    package var target: String?
    /// Where its commands run, when it was found elsewhere than where Assay runs; nil: there.
    package var folder: String?
    package var start: Start?
    package var endpoints: [String: Endpoint]
    /// The login whose answer is reused; nil: there is none.
    package var session: Session?
    /// The endpoints whose paths nobody named: those of the identity guide.
    package var guessed: Set<String> = []
    /// The secrets whose values nobody gave.
    package var guessedSecrets: Set<SecretName> = []
    package var secrets: [SecretName: Secret] = [:]
    package var idForm: IDForm
    package var creation: UserCreation
    package var probes: [Probe]
    /// How an account comes to exist that a login can use.
    package var accountCreation: UserCreation?
    /// Nil: nobody but the backend itself can make its store fail.
    package var fault: Fault?
    /// How the backend's clock is set; nil: it goes as the machine's does.
    package var clock: UserCreation?
    /// The Firebase project whose tokens the protected route accepts.
    package var firebaseProject = "assay-project"
    /// Store product ids by the names that contracts use; a name without one stands for itself.
    package var products: [String: String]
    /// The entitlement identifier that the products unlock.
    package var entitlement: String
    package var unsupported: Set<Feature>
    package var knownFailingPath: String?
    /// Who signed the backend's certificate, where the system does not trust them: a file in PEM.
    package var authorityPath: String?
    /// Names of headers, members and parameters of this backend that hold secrets, for recordings.
    package var secretNames: [String] = []

    /// Whether tokens of Firebase reach the backend.
    package var usesFirebase: Bool {
        obstacle(to: .firebase) == nil || allCredentials.contains { $0.actor != nil }
    }

    /// Everything that requests of the profile's own carry as credentials.
    package var allCredentials: [Credentials] {
        func credentials(_ act: UserCreation?) -> Credentials? {
            if case .request(let endpoint) = act { endpoint.credentials } else { nil }
        }
        let acts = [creation, accountCreation, fault?.breaking, fault?.healing, clock]
        return endpoints.values.compactMap(\.credentials) + probes.compactMap(\.credentials)
            + acts.compactMap(credentials) + [session?.endpoint.credentials].compactMap(\.self)
    }

    /// Those names, and what the endpoints' templates say of this backend's own: where a request
    /// holds a device, a password or a proof.
    package var allSecretNames: [String] {
        let secret = ["device", "password", "proof"]
        let bodies = endpoints.values.compactMap(\.body?.object)
        let sent = bodies.flatMap(\.members).filter { secret.contains($0.value.templateName ?? "") }
        let answered = endpoints.values.compactMap { $0.answerProof?.tokens.last }
        return (secretNames + sent.map(\.key) + answered).sorted()
    }
    /// How long an effect or a state may take that has to come, in real time.
    package var patience: Duration

    /// The paths of the identity guide, no probes, and a test token.
    package init() {
        endpoints = [
            "revenuecat-webhook": Endpoint(method: "POST", path: "/api/webhooks/revenuecat"),
            "register": Endpoint(
                method: "POST",
                path: "/api/user/register",
                body: [
                    "appUserId": "{{id}}", "deviceId": "{{device}}", "platform": "{{platform}}",
                    "source": "{{source}}", "timestamp": "{{timestamp}}",
                ]
            ),
            "login": Endpoint(
                method: "POST",
                path: "/api/user/login",
                body: [
                    "accountId": "{{account}}", "currentAppUserId": "{{id}}",
                    "credentials": ["password": "{{password}}"], "deviceToken": "{{proof}}",
                ]
            ),
        ]
        guessed = Set(endpoints.keys)
        endpoints["register"]?.answerProof = JSONPointer("/deviceToken")
        endpoints["login"]?.answerID = JSONPointer("/appUserId")
        secrets = [
            .revenueCatAuthorization: Secret("Bearer assay-test-token"),
            .oneSignalKey: Secret("os_v2_app_assay"),
            .revenueCatKey: Secret("sk_assay"),
        ]
        guessedSecrets = Set(secrets.keys)
        idForm = .string
        creation = .register
        probes = []
        products = [:]
        entitlement = "premium"
        unsupported = []
        patience = .seconds(10)
    }

    /// What a caller of a service has to show; nil: any key.
    ///
    /// A backend that runs already was told of no key of ours, and has one of its own.
    package func demandedKey(_ name: SecretName) -> Secret? {
        start == nil && guessedSecrets.contains(name) ? nil : secrets[name]
    }

    /// The first probe that maps the named field.
    package func probe(reading field: String) -> (probe: Probe, reading: Reading)? {
        for probe in probes {
            if let reading = probe.readings[field] { return (probe, reading) }
        }
        return nil
    }

    /// Whether a user who is created is given an id by the backend.
    package var choosesIDs: Bool {
        switch creation {
        case .register: false
        case .request(let endpoint): endpoint.answerID != nil
        case .command(_, let id): id != nil
        }
    }

    /// The endpoint `register`, if an id can be registered there.
    package var endpointTakingIDs: Endpoint? {
        guard let endpoint = endpoints["register"] else { return nil }
        let takesID = endpoint.path.contains("{{id}}") || places(in: "register")["id"] != nil
        return takesID ? endpoint : nil
    }

    /// Why a feature cannot be judged here; nil when it can.
    package func obstacle(to feature: Feature) -> String? {
        if unsupported.contains(feature) {
            return "the profile declares '\(feature.rawValue)' unsupported"
        }
        func missing(_ endpoint: String) -> String? {
            endpoints[endpoint] == nil
                ? "the profile names no endpoint '\(endpoint)'" : nil
        }
        switch feature {
        case .authorization where secrets[.revenueCatAuthorization]?.isEmpty ?? true:
            return "the profile gives no secret 'revenuecat-authorization'"
        case .signature where secrets[.revenueCatSigning]?.isEmpty ?? true:
            return "the profile gives no secret 'revenuecat-signing'"
        case .purchaselySignature where secrets[.purchaselySigning]?.isEmpty ?? true:
            return "the profile gives no secret 'purchasely-signing'"
        case .purchaselyPush where unsupported.contains(.push):
            return "the profile declares 'push' unsupported"
        case .purchasely, .purchaselySignature, .purchaselyPush:
            return missing("purchasely-webhook")
        case .firebase, .signedTokens, .revocation, .realAccounts: return missing("protected")
        case .textIDs where idForm != .string:
            return "the profile's users have ids of the form '\(idForm.rawValue)'"
        case .reconcile: return missing("reconcile")
        case .fault where fault == nil:
            return "the profile does not say under 'fault: {break: …, heal: …}' how the store is "
                + "made to fail"
        case .clock where clock == nil:
            return "the profile does not say under 'clock' how the backend's clock is set"
        case .deletion: return missing("delete-account")
        case .accessRoute where !app.declaresAccess:
            return
                "the profile does not say how the app asks whether it may unlock ('app: {access: …}')"
        case .accountApp where idForm == .uuid || idForm == .integer:
            return "the profile's users have ids of the form '\(idForm.rawValue)'"
        case .accountApp where creation != .register:
            return "the profile's users are not created by the register endpoint"
        case .register: return missing("register")
        case .login:
            return missing("login")
                ?? (accountCreation == nil
                    ? "the profile does not say how 'accounts' are created" : nil)
        default: return nil
        }
    }
}

extension Profile: Codable {
    /// Secrets stay outside: judging needs none of them.
    private enum CodingKeys: String, CodingKey {
        case app, target, start, endpoints, idForm, creation, probes, accountCreation,
            firebaseProject
        case products, entitlement, unsupported, knownFailingPath, patience
    }
}
