package import Values

/// The fake Firebase Authentication: Identity Toolkit v1 and v3, the secure token service, the
/// published keys, and the endpoints of the Firebase emulator.
///
/// The defaults are the behavior of the emulator; see `FirebaseSettings`. Source: Firebase fact
/// sheet.
///
/// The state consists of values, each with its own invariants: the projects and tenants
/// (`FirebaseProject`) with their users and sent codes, the signing keys (`FirebaseKeys`), and the
/// source of IDs. The operations of the service are not members of the state. They are static
/// functions of namespaces (enumerations without cases), one namespace for each resource, for
/// example `FirebaseSignUp`. Such a function takes the state and a call, and returns the fields of
/// the response. The rows of `FirebaseOperation.table` refer to these functions.
package struct FirebaseState: Hashable, Codable, Sendable {
    static let projectNumber = "12345"

    package var settings: FirebaseSettings {
        didSet {
            // A switch changes the setting of all projects at once. The `config` endpoint of a
            // project changes only that project.
            for id in projects.keys {
                if settings.enumerationProtection != oldValue.enumerationProtection {
                    projects[id]?.configuration.enumerationProtection =
                        settings.enumerationProtection
                }
                if settings.allowDuplicateEmails != oldValue.allowDuplicateEmails {
                    projects[id]?.configuration.allowsDuplicateEmails =
                        settings.allowDuplicateEmails
                }
            }
        }
    }
    /// The projects and tenants, by the key of a call (`FirebaseCall.key`).
    var projects: [String: FirebaseProject] = [:]
    package var keys = FirebaseKeys()
    var ids: IDSource

    package init(settings: FirebaseSettings = FirebaseSettings(), seed: UInt64 = 0) {
        self.settings = settings
        ids = IDSource(seed: seed, text: "firebase")
    }

    // MARK: Projects

    /// Changes the project or tenant of a call.
    ///
    /// A project that does not exist is created.
    mutating func editProject<Result>(
        _ call: FirebaseCall,
        _ body: (inout FirebaseProject) -> Result
    ) -> Result {
        var project = project(call)
        projects[call.key] = nil
        defer { projects[call.key] = project }
        return body(&project)
    }

    /// Returns the project or tenant of a call.
    ///
    /// A project that does not exist is returned empty.
    func project(_ call: FirebaseCall) -> FirebaseProject {
        projects[call.key]
            ?? FirebaseProject(
                projectID: call.projectID,
                tenantID: call.tenantID,
                settings: settings
            )
    }

    /// The number of accounts in all projects and tenants.
    package var userCount: Int { projects.values.reduce(0) { $0 + $1.users.count } }

    // MARK: Changes without a call

    /// Adds a user to a Firebase project, so that lookups find the user.
    ///
    /// An existing user with the same ID stays unchanged.
    package mutating func seed(_ user: FirebaseUser, project: String) {
        var projectState =
            projects[project]
            ?? FirebaseProject(projectID: project, tenantID: nil, settings: settings)
        projectState.users.save(projectState.users[user.localID] ?? user)
        projects[project] = projectState
    }

    /// Disables the user with this ID, or revokes the tokens that were issued to the user before
    /// the second of `now`.
    package mutating func change(
        _ id: String,
        _ change: AccountChange,
        project: String,
        at now: Instant
    ) {
        guard var user = projects[project]?.users[id] else { return }
        switch change {
        case .revoke: user.validSince = now.seconds
        case .disable: user.isDisabled = true
        }
        projects[project]?.users.save(user)
    }

    /// Returns the current keys for ID tokens and for session cookies, and the latest withdrawn
    /// key.
    ///
    /// The current keys are nil when tokens are unsigned.
    package mutating func currentKeys(
        at now: Instant
    ) -> (token: SigningKey?, cookie: SigningKey?, withdrawnKey: SigningKey?) {
        (
            keys.tokenKey(settings.tokens, at: now), keys.cookieKey(settings.tokens, at: now),
            keys.withdrawnKey
        )
    }
}
