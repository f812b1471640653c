package import Grammar
internal import Providers

extension TemplateScope {
    /// Creates the scope of a place in a contract.
    package init(_ slot: ContractSlot, names: TemplateNames) {
        self.init(slot.words, names: names)
    }

    /// Creates the scope of a place in a profile.
    package init(_ slot: ProfileSlot) { self.init(slot.words) }

    /// A place in a contract where strings may contain templates.
    package enum ContractSlot: String, Hashable, Sendable, CaseIterable {
        /// A path, body or string that is sent to the backend (keys `send`, `body`, `text`, `raw`,
        /// `set`).
        case request
        /// The value of a request header that is sent to the backend.
        case header
        /// A template value in a call to one of the backend's own routes (key `with`).
        case call
        /// A claim of a token, or a literal token (keys `claims` and `raw` under `token`).
        case claim
        /// The expected content of a response or an effect (keys `response` and `content`).
        case answer
        /// A field of a user's expected state (key `state`).
        case state
        /// The state of a phone, or the expected commands and screen of an app.
        case phone
        /// The ID that a user gets (key `name`).
        case userID = "user-id"
        /// A fixed value for the template `{{some.NAME}}` (key `values`).
        case value
        /// Every other string of a contract.
        ///
        /// Only templates for the values of `variants` are replaced there.
        case none

        package var words: [TemplateWord] {
            let commonWords: [TemplateWord] = [
                .user, .anonymous, .device, .eventID, .account, .password, .now, .date,
            ]
            switch self {
            case .request: return commonWords + [.some, .long]
            case .header: return commonWords + [.some, .long, .idToken]
            case .call: return commonWords + [.some, .long, .proof]
            case .claim:
                return [
                    .user, .anonymous, .device, .eventID, .account, .password, .seconds, .some,
                    .long, .proof,
                ]
            case .answer: return commonWords + [.some, .long] + TemplateWord.matchers
            case .state: return commonWords + [.eventField]
            case .userID: return commonWords + [.long, .returnedID]
            case .phone, .value: return commonWords + [.long]
            case .none: return []
            }
        }
    }

    /// A place in a profile where strings may contain templates.
    package enum ProfileSlot: String, Hashable, Sendable, CaseIterable {
        /// The values of the profile keys `target`, `start.command` and `start.env`.
        case start
        /// The path and body of an endpoint.
        case endpoint
        /// The path and body of the login request under the key `session`; later requests use a
        /// value from the login response.
        case login
        /// The path and body of the login of one user, under the key `users`.
        case userLogin
        /// The path, body or command of the action that creates a user.
        case creation
        /// The path, body or command of the action that creates an account.
        case account
        /// The path, body or command of the action that sets the backend's clock.
        case clock
        /// The path or command of a probe, which shows a user's state.
        case probe
        /// The credentials of an endpoint.
        case endpointCredential
        /// The credentials of the request that creates a user.
        case creationCredential
        /// The credentials of the request that creates an account.
        case accountCredential
        /// The credentials of the request that sets the backend's clock.
        case clockCredential
        /// The credentials of a probe.
        case probeCredential
        /// The credentials of a request that concerns no user.
        case operatorCredential
        /// The path of the request by which the app asks whether the user has access.
        case accessPath
        /// The response to the request by which the app asks whether the user has access.
        case accessAnswer
        /// No templates are filled: the string is sent unchanged. This applies to all strings of a
        /// profile that no other case of this type names.
        case none

        package var words: [TemplateWord] {
            names.map { TemplateWord($0, .exactWord, .text, Self.meaning(of: $0)) }
        }

        /// The template that examples of this place show; nil if the place has no template for a
        /// user or an account.
        package var exampleTemplate: String? {
            ["account", "id", "ahead"].first {
                names.contains($0) && ($0 != "account" || !names.contains("id"))
            }
            .map { "{{\($0)}}" }
        }

        /// Returns the meaning of a template, without a period at the end.
        private static func meaning(of name: String) -> String {
            name.hasSuffix(hostSuffix)
                ? "the host and port of a fake, without `http://`"
                : meanings[String(name.prefix { $0 != "." })] ?? ""
        }

        /// The end of the name of a template for the host and port of a fake.
        package static let hostSuffix = ".host"

        private static let meanings = [
            "fake": "the URL of a fake",
            "secret": "a secret of the profile, or its default test value",
            "port": "the free port on which the backend must listen",
            "data": "the folder of the backend's data, new and empty in each run",
            "id": "the ID of the user",
            "device": "the ID of the app's installation on the user's phone",
            "platform": "the platform of the phone: ios or android",
            "source": "the cause of the registration, such as 'new' or 'login'",
            "timestamp": "the current time, in ISO 8601",
            "password": "the password of the account",
            "proof": "the proof that an earlier registration returned for this phone",
            "account": "the name of the account: an email address, or a uid",
            idTokenName: "an ID token of the account, or else of the user",
            "session": "in headers: the value that the login under 'session' returned",
            userSessionName:
                "in headers: the session of the user, from the login or the creation under 'users'",
            "now": "the time to set, in ISO 8601",
            "now-ms": "the time to set, in milliseconds since 1970",
            "ahead": "the whole seconds ahead of the machine's clock; 0 resets the clock",
            "access": "true if the user has access, else false",
            "product": "the ID of the product that grants access",
        ]

        /// The name of the template for the ID token of the account, or else of the user, for which
        /// a request acts.
        package static let idTokenName = "id-token"

        /// The name of the template for the user's session with the backend's own login.
        package static let userSessionName = "user-session"

        /// The names of the templates that belong to one backend process that Assay starts.
        package static let instanceNames = ["port", "data"]

        /// The names of the templates at this place.
        ///
        /// The credentials of a request have the names of its path and body, and `session`.
        private var names: [String] {
            switch self {
            case .start:
                Self.instanceNames
                    + ProviderTable.all.backendProviders.flatMap {
                        ["fake.\($0.party)", "fake.\($0.party)" + Self.hostSuffix]
                    }
                    + ProviderTable.all.profileSecrets.map {
                        "secret.\($0.name.rawValue)"
                    }
            case .endpoint: Call.valueNames + ["account", Self.idTokenName]
            case .login: []
            case .userLogin: ["id", "device", "platform"]
            case .creation:
                ["id", "device", "platform", "source", "timestamp", Self.idTokenName]
            case .account: ["account", "password", Self.idTokenName]
            case .clock: ["now", "now-ms", "ahead"]
            case .probe, .accessPath: ["id"]
            case .endpointCredential: Self.endpoint.names + [Self.userSessionName, "session"]
            case .creationCredential: Self.creation.names + ["session"]
            case .accountCredential: Self.account.names + ["session"]
            case .clockCredential: Self.clock.names + ["session"]
            case .probeCredential:
                Self.probe.names + [Self.idTokenName, Self.userSessionName, "session"]
            case .operatorCredential: ["session"]
            case .accessAnswer: ["access", "product"]
            case .none: []
            }
        }
    }
}

extension TemplateSlot {
    /// Returns a place in a contract.
    package static func contract(_ slot: TemplateScope.ContractSlot) -> TemplateSlot {
        TemplateSlot(name: "contract-\(slot.rawValue)", words: slot.words)
    }

    /// Returns a place in a profile.
    package static func profile(_ slot: TemplateScope.ProfileSlot) -> TemplateSlot {
        TemplateSlot(name: "profile-\(slot.rawValue)", words: slot.words)
    }

    /// Returns the place of a command in a profile.
    ///
    /// A command knows the port and the data folder of the backend, in addition to the templates of
    /// a request at its place.
    package static func command(_ slot: TemplateScope.ProfileSlot) -> TemplateSlot {
        let words = TemplateScope.ProfileSlot.start.words.filter {
            TemplateScope.ProfileSlot.instanceNames.contains($0.word)
        }
        return TemplateSlot(name: "profile-\(slot.rawValue)-command", words: slot.words + words)
    }
}

extension Syntax {
    /// Returns a copy of the syntax whose strings may contain the templates of a place in a
    /// contract.
    package func templated(_ slot: TemplateScope.ContractSlot) -> Syntax {
        templated(TemplateSlot.contract(slot))
    }

    /// Returns a copy of the syntax whose strings may contain the templates of a place in a
    /// profile.
    package func templated(_ slot: TemplateScope.ProfileSlot) -> Syntax {
        templated(TemplateSlot.profile(slot))
    }
}
