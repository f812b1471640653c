package import Redaction
package import Values

/// A parsed `assay.yaml`: the settings to reach one backend and to observe its state.
package struct Profile: Hashable, Sendable {
    package struct Endpoint: Hashable, Codable, Sendable {
        package var method: String
        /// The path of the route, with the template `{{id}}` in place of a user ID.
        package var path: String
        /// The JSON request body, which may contain the templates in `Call.valueNames`.
        ///
        /// A field whose template has no value is omitted.
        package var body: JSONValue?
        /// The location of the user's ID in the response; nil: the user keeps the ID that the
        /// request contained.
        package var responseIDPointer: JSONPointer?
        /// The location, in the response, of a proof that the user's ID belongs to the device; nil:
        /// the response contains none.
        package var responseProofPointer: JSONPointer?
        /// The credentials that the request carries; nil: none.
        package var credentials: Credentials?

        package init(method: String, path: String, body: JSONValue? = nil) {
            self.method = method
            self.path = path
            self.body = body
        }
    }

    /// The credentials that a request carries.
    ///
    /// Credentials are not saved with a run, because judging needs no secrets.
    package struct Credentials: Hashable, Sendable, Codable {
        /// The header fields that authenticate a request, by name; the values may contain templates.
        package var headers: [String: Secret] = [:]
        /// The uid of the user in the fake Firebase whose ID token is sent as the bearer token;
        /// nil: no token is sent.
        ///
        /// The uid may contain templates.
        package var actor: String?

        package init(headers: [String: Secret] = [:], actor: String? = nil) {
            self.headers = headers
            self.actor = actor
        }

        private enum CodingKeys: CodingKey {}
    }

    /// A login request that is sent once.
    ///
    /// Later requests carry one value of its response in place of the template `{{session}}`.
    package struct Session: Hashable, Codable, Sendable {
        package var endpoint: Endpoint
        /// The location, in the login response, of the value for `{{session}}`.
        package var token: JSONPointer

        package init(endpoint: Endpoint, token: JSONPointer) {
            self.endpoint = endpoint
            self.token = token
        }
    }

    package struct StartSettings: Hashable, Codable, Sendable {
        package var command: String
        /// The request that shows whether the backend is ready; nil: any response to `GET /` except
        /// 502, 503 and 504 shows it.
        package var ready: ReadinessCheck?
        /// The environment variables of the backend, by name.
        ///
        /// Their values may contain templates, and `${NAME}` for a variable of Assay's own
        /// environment.
        package var environment: [String: String]
        /// The values of the `${NAME}` variables that occur in `environment`, by name; they are
        /// never saved.
        package var variables: [String: Secret] = [:]
        /// The maximum time from the start of the backend until it is ready; nil: `defaultTimeout`.
        package var timeout: Duration?
        /// The working directory of the command, relative to the profile's folder; nil: Assay's
        /// working directory.
        package var folder: String?
        package var stop: StopSettings?
        package var intercept: InterceptionSettings?

        /// Whether each backend that Assay starts keeps its data in a new folder.
        ///
        /// This is true when the command or an environment variable contains `{{data}}`, the path
        /// of that folder. Otherwise, the database may outlive a run and be shared by several runs.
        package var usesRunDataFolder: Bool {
            ([command] + environment.values).contains { $0.contains("{{data}}") }
        }

        /// Whether calls to the providers' real hosts are redirected to the fakes.
        package var isIntercepted: Bool { intercept?.isOn == true }

        package static let defaultTimeout: Duration = .seconds(30)

        package init(
            command: String,
            ready: ReadinessCheck? = nil,
            environment: [String: String] = [:]
        ) {
            self.command = command
            self.ready = ready
            self.environment = environment
        }

        private enum CodingKeys: String, CodingKey {
            case command, ready, environment, timeout, folder, stop, intercept
        }

        /// Returns a value of `environment` with its `${NAME}` variables replaced by their values.
        package func expanded(_ text: String) -> String {
            VariableText.expanded(text, value: { variables[$0]?.exposed }, missing: { _ in })
        }
    }

    /// The request that shows that a started backend is ready.
    package struct ReadinessCheck: Hashable, Codable, Sendable {
        package var method: String
        package var path: String
        /// The required status of the response; nil: any status below 400.
        package var status: Int?

        package init(method: String, path: String, status: Int? = nil) {
            self.method = method
            self.path = path
            self.status = status
        }
    }

    /// The interception of calls that a started backend makes.
    ///
    /// Calls to the providers' real hosts are redirected to the fakes, and calls to all other hosts
    /// are refused.
    package struct InterceptionSettings: Hashable, Codable, Sendable {
        package var isOn: Bool
        /// The hosts of other services, such as a database, that the backend may still call.
        package var allowed: [String] = []

        package init(isOn: Bool = false) { self.isOn = isOn }
    }

    /// The signal that asks a started backend to exit, and the time until it is killed.
    package struct StopSettings: Hashable, Codable, Sendable {
        package enum Signal: String, Hashable, Codable, Sendable, CaseIterable {
            case terminate = "SIGTERM"
            case interrupt = "SIGINT"
            case quit = "SIGQUIT"
            case hangUp = "SIGHUP"
        }

        package var signal = Signal.terminate
        /// The time that the backend has to exit after the signal, before it is killed.
        package var within: Duration = defaultTimeoutUntilKilled

        package static let defaultTimeoutUntilKilled: Duration = .seconds(10)

        package init() {}
    }

    package enum SecretName: String, Hashable, Codable, Sendable, CaseIterable {
        case revenueCatAuthorization = "revenuecat-authorization"
        case revenueCatSigning = "revenuecat-signing"
        case revenueCatKey = "revenuecat-key"
        case oneSignalKey = "onesignal-key"
        case purchaselySigning = "purchasely-signing"
    }

    /// The form of user IDs that the backend accepts.
    package enum IDForm: String, Hashable, Codable, Sendable, CaseIterable {
        case string, uuid, integer, firebase
    }

    /// A request or a command by which a user is created before a test case.
    ///
    /// The type is also used for other actions of a profile, such as creating an account or setting
    /// the clock.
    package enum SetupAction: Hashable, Codable, Sendable {
        /// A request to the endpoint `register`, as the app sends it.
        case register
        /// A request to the backend; its response may contain the new user's ID.
        case request(Endpoint)
        /// A program with its arguments, in which `{{id}}` is replaced; its output may contain the
        /// new user's ID.
        case command([String], id: JSONPointer? = nil)
    }

    /// The request or command that makes the backend's database fail (`breakAction`), and the one
    /// that repairs it (`repairAction`).
    ///
    /// Each of the two may run repeatedly.
    package struct Fault: Hashable, Codable, Sendable {
        package var breakAction: SetupAction
        package var repairAction: SetupAction

        package init(breakAction: SetupAction, repairAction: SetupAction) {
            self.breakAction = breakAction
            self.repairAction = repairAction
        }
    }

    /// A read-only query that shows one user's state in the backend.
    package struct Probe: Hashable, Codable, Sendable {
        package enum Source: Hashable, Codable, Sendable {
            /// A GET request to this path of the backend, or to this complete URL.
            case get(String)
            case command([String])
        }

        package var name: String
        package var source: Source
        package var readings: [String: FieldReading]
        /// The locations in the probe's response that comparisons between runs skip.
        package var ignoredPointers: [JSONPointer]
        /// The credentials that the probe's request carries; nil: none.
        package var credentials: Credentials?

        package init(
            name: String,
            source: Source,
            readings: [String: FieldReading],
            ignoredPointers: [JSONPointer]
        ) {
            self.name = name
            self.source = source
            self.readings = readings
            self.ignoredPointers = ignoredPointers
        }
    }

    /// The location of one state field, such as `access`, in a probe's response, and the way to
    /// interpret the JSON value there.
    package struct FieldReading: Hashable, Codable, Sendable {
        package enum Meaning: Hashable, Codable, Sendable {
            /// The field has the value that is found at the location.
            case value
            /// The field is true when the value at the location is one of these values.
            case isOneOf([JSONValue])
            /// The field is true when the value at the location is none of these values.
            case isNoneOf([JSONValue])
            /// The field is true when the value at the location is a time in the future.
            case isFuture
        }

        package var pointer: JSONPointer
        package var meaning: Meaning
        /// The field's value when the response does not contain the location; nil: the field is
        /// then inconclusive.
        package var valueIfPathAbsent: JSONValue?
        /// Further conditions on the response, all of which must hold for the field to be true;
        /// nil: none.
        package var additionalConditions: [FieldReading]?
        /// Alternative conditions on the response, any of which makes the field true; nil: none.
        package var alternativeConditions: [FieldReading]?

        package init(pointer: JSONPointer, meaning: Meaning, valueIfPathAbsent: JSONValue? = nil) {
            self.pointer = pointer
            self.meaning = meaning
            self.valueIfPathAbsent = valueIfPathAbsent
        }

        /// Whether the field is computed from several conditions on the response (`additionalConditions`, `alternativeConditions`).
        package var hasCombinedConditions: Bool {
            additionalConditions != nil || alternativeConditions != nil
        }

        /// All conditions from which the field is computed, as a flat list.
        ///
        /// In each returned condition, `additionalConditions` and `alternativeConditions` are
        /// removed.
        package var conditions: [FieldReading] {
            let directReading = FieldReading(
                pointer: pointer,
                meaning: meaning,
                valueIfPathAbsent: valueIfPathAbsent
            )
            return [directReading]
                + ((additionalConditions ?? []) + (alternativeConditions ?? [])).flatMap(
                    \.conditions
                )
        }

        /// The names of the state fields that a profile may map from probe responses (see the
        /// architecture page).
        package static let names = [
            "access", "product", "expires", "billing-issue", "will-renew", "refunded",
            "pending-product", "environment", "anonymous", "account", "source",
        ]

        /// The state fields that a probe's response must contain for every ordinary purchase.
        package static let fieldsOfEveryPurchase = ["access", "product", "expires"]

        /// The state fields whose values are true or false.
        package static let booleanFields = [
            "access", "billing-issue", "will-renew", "refunded", "anonymous",
        ]
    }

    /// The web app that `assay app` tests, and its page elements to tap, fill in and read.
    package struct App: Hashable, Codable, Sendable {
        /// The URL of the page that opens when a test launches the app.
        package var url: String?
        /// The keys under which the app stores its IDs in the vault (the phone's key-value store),
        /// by role.
        package var vaultKeys: [PhoneChange.VaultRole: String] = [
            .id: "app_user_id", .lock: "identity_locked",
        ]
        /// The maximum time that the app may take to start when the native side of the bridge does
        /// not respond (clause C-05).
        package var startupTimeout: Duration = .seconds(5)
        /// CSS selectors of the elements to tap one after the other, by user action, such as
        /// `login`.
        package var tapSelectors: [String: [String]] = [:]
        /// CSS selectors of the input fields to fill in before a login, by name: `account` and
        /// `password`.
        package var inputSelectors: [String: String] = [:]
        /// CSS selectors of the page elements that show the app's state, such as an error or the
        /// status.
        package var elementSelectors: [AppExpectation.Screen.Element: String] = [:]
        /// The words on the page that mean an `active` subscription or no subscription (`none`).
        ///
        /// Any other text means that the status is unknown.
        package var statusWords: [String: [String]] = [
            "active": ["active"], "none": ["free", "none", "not subscribed", "no subscription"],
        ]
        /// The product names on the page, by product ID.
        package var productNames: [String: String] = [:]
        /// CSS selector of the element to tap when the app asks whether to continue a login.
        package var agreementSelector: String?
        /// The request by which the app asks its backend whether the user has access.
        ///
        /// The property `body` contains the body of the response, because this request has no body.
        package var access: Endpoint? = Endpoint(
            method: "GET",
            path: "/api/user/access/{{id}}",
            body: ["access": "{{access}}", "product": "{{product}}"]
        )
        /// Whether the profile file contains the key `access`.
        package var isAccessSetInFile = false
        /// Whether the page calls its own backend, instead of Assay's model of a correct backend.
        package var usesOwnBackend = false
        /// Keys in addition to `vaultKeys` that the app may write to the vault.
        package var otherVaultKeys: [String] = []

        package init() {}
    }

    package var app = App()
    package var target: String?
    /// The folder in which the profile's commands run; nil: Assay's working directory.
    package var folder: String?
    package var start: StartSettings?
    package var endpoints: [String: Endpoint]
    /// The login request with a response value that later requests use as `{{session}}`; nil: there
    /// is no login.
    package var session: Session?
    /// The names of the endpoints that the profile file does not define.
    ///
    /// These endpoints have the paths of the identity guide.
    package var namesOfDefaultEndpoints: Set<String> = []
    /// The names of the secrets that the profile file does not define, which have default test
    /// values.
    package var namesOfDefaultSecrets: Set<SecretName> = []
    package var secrets: [SecretName: Secret] = [:]
    package var idForm: IDForm
    package var creation: SetupAction
    package var probes: [Probe]
    /// The way in which an account for logins is created; nil: accounts cannot be created.
    package var accountCreation: SetupAction?
    /// The requests or commands that make the backend's database fail and repair it; nil: not
    /// possible.
    package var fault: Fault?
    /// The request or command that sets the backend's clock; nil: the backend uses the machine's
    /// clock.
    package var clock: SetupAction?
    /// The ID of the Firebase project whose ID tokens the backend's endpoint `protected` accepts.
    package var firebaseProject = "assay-project"
    /// The store's product IDs, by the product names that contracts use.
    ///
    /// A product name without an entry is itself used as the ID.
    package var products: [String: String]
    /// The identifier of the RevenueCat entitlement that the products unlock.
    package var entitlement: String
    package var unsupportedFeatures: Set<Feature>
    package var knownFailuresPath: String?
    /// The path of a PEM file with additional CA certificates to trust for https targets.
    package var certificateAuthorityPath: String?
    /// The names of the backend's headers, JSON members and query parameters that hold secrets.
    ///
    /// Recordings redact the values under these names.
    package var secretNames: [String] = []

    /// Whether the backend receives Firebase ID tokens, on its endpoint `protected` or as
    /// credentials of another request.
    package var usesFirebase: Bool {
        skipReason(to: .firebase) == nil || allCredentials.contains { $0.actor != nil }
    }

    /// The credentials of all requests that the profile defines.
    package var allCredentials: [Credentials] {
        func credentials(_ setupAction: SetupAction?) -> Credentials? {
            if case .request(let endpoint) = setupAction { endpoint.credentials } else { nil }
        }
        let setupActions = [
            creation, accountCreation, fault?.breakAction, fault?.repairAction, clock,
        ]
        return endpoints.values.compactMap(\.credentials) + probes.compactMap(\.credentials)
            + setupActions.compactMap(credentials)
            + [session?.endpoint.credentials].compactMap(\.self)
    }

    /// All names of fields that hold secrets: those in `secretNames`, and the endpoint fields for a
    /// device, a password or a proof.
    package var allSecretNames: [String] {
        let secretTemplateNames = ["device", "password", "proof"]
        let bodies = endpoints.values.compactMap(\.body?.object)
        let secretMembers = bodies.flatMap(\.members).filter {
            secretTemplateNames.contains($0.value.templateName ?? "")
        }
        let proofMembers = endpoints.values.compactMap { $0.responseProofPointer?.tokens.last }
        return (secretNames + secretMembers.map(\.key) + proofMembers).sorted()
    }
    /// The maximum real time until an expected effect or state appears (profile key
    /// `settle-timeout`).
    package var settleTimeout: Duration

    /// Creates a profile with the paths of the identity guide, test secrets and no probes.
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
        namesOfDefaultEndpoints = Set(endpoints.keys)
        endpoints["register"]?.responseProofPointer = JSONPointer("/deviceToken")
        endpoints["login"]?.responseIDPointer = JSONPointer("/appUserId")
        secrets = [
            .revenueCatAuthorization: Secret("Bearer assay-test-token"),
            .oneSignalKey: Secret("os_v2_app_assay"),
            .revenueCatKey: Secret("sk_assay"),
        ]
        namesOfDefaultSecrets = Set(secrets.keys)
        idForm = .string
        creation = .register
        probes = []
        products = [:]
        entitlement = "premium"
        unsupportedFeatures = []
        settleTimeout = .seconds(10)
    }

    /// Returns the API key that the backend must present to a provider's fake; nil: the fake
    /// accepts any key.
    ///
    /// The key of a backend that Assay does not start is unknown, unless the profile defines it.
    package func requiredAPIKey(_ name: SecretName) -> Secret? {
        start == nil && namesOfDefaultSecrets.contains(name) ? nil : secrets[name]
    }

    /// Returns the first probe that shows a state field, such as `access`, and the field's location
    /// in the response; nil when no probe shows the field.
    package func probe(reading field: String) -> (probe: Probe, reading: FieldReading)? {
        for probe in probes {
            if let reading = probe.readings[field] { return (probe, reading) }
        }
        return nil
    }

    /// Whether the backend chooses the IDs of newly created users, so that Assay cannot choose
    /// them.
    package var backendChoosesIDs: Bool {
        switch creation {
        case .register: false
        case .request(let endpoint): endpoint.responseIDPointer != nil
        case .command(_, let id): id != nil
        }
    }

    /// The endpoint `register`; nil when the profile has none or its request does not contain the
    /// user's ID.
    package var registerEndpointAcceptingIDs: Endpoint? {
        guard let endpoint = endpoints["register"] else { return nil }
        let requestContainsUserID =
            endpoint.path.contains("{{id}}") || pointersByTemplateName(in: "register")["id"] != nil
        return requestContainsUserID ? endpoint : nil
    }

    /// Returns the reason why this profile does not allow a test of a backend feature; nil when the
    /// feature can be tested.
    package func skipReason(to feature: Feature) -> String? {
        if unsupportedFeatures.contains(feature) {
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
        case .purchaselyPush where unsupportedFeatures.contains(.push):
            return "the profile declares 'push' unsupported"
        case .purchasely, .purchaselySignature, .purchaselyPush:
            return missing("purchasely-webhook")
        case .firebase, .signedTokens, .revocation, .realAccounts: return missing("protected")
        case .stringIDs where idForm != .string:
            return "the profile's users have ids of the form '\(idForm.rawValue)'"
        case .reconcile: return missing("reconcile")
        case .fault where fault == nil:
            return "the profile does not define how to make the database fail "
                + "('fault: {break: …, heal: …}')"
        case .clock where clock == nil:
            return "the profile does not define how to set the backend's clock (key 'clock')"
        case .deletion: return missing("delete-account")
        case .accessRoute where !app.isAccessSetInFile:
            return
                "the profile does not define how the app asks for access ('app: {access: …}')"
        case .accountApp where idForm == .uuid || idForm == .integer:
            return "the profile's users have ids of the form '\(idForm.rawValue)'"
        case .accountApp where creation != .register:
            return "the profile's users are not created by the register endpoint"
        case .register: return missing("register")
        case .login:
            return missing("login")
                ?? (accountCreation == nil
                    ? "the profile does not define how to create an account ('accounts: …')" : nil)
        default: return nil
        }
    }
}

extension Profile: Codable {
    /// The properties that are saved with a run; secrets are left out, because judging needs none.
    private enum CodingKeys: String, CodingKey {
        case app, target, start, endpoints, idForm, creation, probes, accountCreation,
            firebaseProject
        case products, entitlement, unsupportedFeatures, knownFailuresPath, settleTimeout
    }
}
