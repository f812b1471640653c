internal import Grammar
package import Providers
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

    /// A login request that is sent once, or once for each user.
    ///
    /// Later requests carry one value of its response in place of the template `{{session}}` or
    /// `{{user-session}}`.
    package struct Session: Hashable, Codable, Sendable {
        package var endpoint: Endpoint
        /// The location, in the login response, of the value for `{{session}}`.
        package var token: JSONPointer

        package init(endpoint: Endpoint, token: JSONPointer) {
            self.endpoint = endpoint
            self.token = token
        }
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

    package var app = App()
    package var target: String?
    /// The folder in which the profile's commands run; nil: Assay's working directory.
    package var folder: String?
    package var start: StartSettings?
    package var endpoints: [String: Endpoint]
    /// The login request with a response value that later requests use as `{{session}}`; nil: there
    /// is no login.
    package var session: Session?
    /// The request that returns the session of one user, which requests for this user carry as
    /// `{{user-session}}`; nil: users have no sessions.
    package var userSession: UserSession?
    /// The names of the endpoints that the profile file does not define.
    ///
    /// These endpoints have the paths of the identity guide.
    package var namesOfDefaultEndpoints: Set<String> = []
    /// The names of the secrets that the profile file does not define, which have default test
    /// values.
    package var namesOfDefaultSecrets: Set<SecretName> = []
    package var secrets: [SecretName: Secret] = [:]
    package var idForm: UserIDForm
    package var creation: SetupAction
    package var probes: [Probe]
    /// The queries that list messages of the backend in place of pushes; nil in saved runs without
    /// such queries.
    private var savedEffectSources: [EffectSource]?
    /// The way in which an account for logins is created; nil: accounts cannot be created.
    package var accountCreation: SetupAction?
    /// The requests or commands that make the backend's database fail and repair it; nil: not
    /// possible.
    package var fault: Fault?
    /// The request or command that sets the backend's clock; nil: the backend uses the machine's
    /// clock.
    package var clock: SetupAction?
    /// The ID of the Firebase project whose ID tokens the backend's endpoint `protected` accepts.
    package var tokenProject = "assay-project"
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

    /// All names of fields that hold secrets: those in `secretNames`, and the endpoint fields for a
    /// device, a password or a proof.
    package var allSecretNames: [String] {
        let secretTemplateNames = [
            "device", "password", "proof", TemplateScope.ProfileSlot.idTokenName,
        ]
        let secretMembers = endpoints.values.flatMap { endpoint in
            (endpoint.body?.templatePointersInJSON ?? [:]).compactMap { name, pointer in
                secretTemplateNames.contains(name) ? pointer.tokens.last : nil
            }
        }
        let proofMembers = endpoints.values.compactMap { $0.responseProofPointer?.tokens.last }
        return (secretNames + secretMembers + proofMembers).sorted()
    }
    /// The maximum real time until an expected effect or state appears (profile key
    /// `settle-timeout`).
    package var settleTimeout: Duration

    /// Creates a profile with the paths of the identity guide, test secrets and no probes.
    package init() {
        endpoints = [
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
        for (_, sender) in ProviderTable.all.senders {
            endpoints[sender.webhookEndpoint] = sender.format.defaultPath.map {
                Endpoint(method: "POST", path: $0)
            }
        }
        namesOfDefaultEndpoints = Set(endpoints.keys)
        endpoints["register"]?.responseProofPointer = JSONPointer("/deviceToken")
        endpoints["login"]?.responseIDPointer = JSONPointer("/appUserId")
        for secret in ProviderTable.all.profileSecrets {
            secrets[secret.name] = secret.defaultValue
        }
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

    /// The queries that list messages of the backend in place of pushes.
    package var effectSources: [EffectSource] {
        get { savedEffectSources ?? [] }
        set { savedEffectSources = newValue.isEmpty ? nil : newValue }
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
        for requirement in feature.requirements {
            if let reason = reasonOfMissing(requirement) { return reason }
        }
        return switch feature {
        case .stringIDs where idForm != .string:
            "the profile's users have ids of the form '\(idForm.rawValue)'"
        case .fault where fault == nil:
            "the profile does not define how to make the database fail "
                + "('fault: {break: …, heal: …}')"
        case .clock where clock == nil:
            "the profile does not define how to set the backend's clock (key 'clock')"
        case .accessRoute where !app.isAccessSetInFile:
            "the profile does not define how the app asks for access ('app: {access: …}')"
        case .accountApp where idForm == .uuid || idForm == .integer:
            "the profile's users have ids of the form '\(idForm.rawValue)'"
        case .accountApp where creation != .register:
            "the profile's users are not created by the register endpoint"
        case .login where accountCreation == nil && !requests.loginTakesIDToken:
            "the profile does not define how to create an account ('accounts: …')"
        case .passwords where endpoints["login"]?.templateNames.contains("password") == false:
            "logins of this backend have no password"
        case .tokenLogins where !requests.loginTakesIDToken:
            "logins of this backend take no ID token ('login: {as: \"{{account}}\"}')"
        default: nil
        }
    }

    private func reasonOfMissing(_ requirement: Feature.Requirement) -> String? {
        switch requirement {
        case .endpoint(let name):
            endpoints[name] == nil ? "the profile names no endpoint '\(name)'" : nil
        case .secret(let name):
            secrets[name]?.isEmpty ?? true
                ? "the profile gives no secret '\(name.rawValue)'" : nil
        case .feature(let name):
            unsupportedFeatures.contains { $0.rawValue == name }
                ? "the profile declares '\(name)' unsupported" : nil
        }
    }
}

extension Profile: Codable {
    /// The properties that are saved with a run; secrets are left out, because judging needs none.
    private enum CodingKeys: String, CodingKey {
        case app, target, start, endpoints, idForm, creation, probes, accountCreation,
            savedEffectSources = "effectSources",
            tokenProject = "firebaseProject"
        case products, entitlement, unsupportedFeatures, knownFailuresPath, settleTimeout
    }
}
