internal import Grammar
package import Providers

/// The proofs of identity that the requests of a profile carry.
extension Profile {
    /// Whether a request of the profile carries an ID token as its credentials or in its content.
    var requestsCarryIDTokens: Bool {
        let idToken = TemplateScope.ProfileSlot.idTokenName
        return allCredentials.contains { $0.actor != nil || $0.templateNames.contains(idToken) }
            || allRequests.contains { $0.templateNames.contains(idToken) }
    }

    /// Whether a login proves the identity of the account with a Firebase ID token.
    package var loginTakesIDToken: Bool {
        guard let login = endpoints[Call.Route.login.rawValue] else { return false }
        let actorNames = login.credentials?.actor.map { Template($0).names } ?? []
        return actorNames.contains("account")
            || login.templateNames.contains(TemplateScope.ProfileSlot.idTokenName)
    }

    /// The form of the IDs of accounts; nil: email addresses.
    package var accountIDForm: AccountIDForm? { loginTakesIDToken ? .uid : nil }

    /// The requests that the profile defines, except for the login of `session` and the probes.
    private var allRequests: [Endpoint] {
        let setupActions = [
            creation, accountCreation, fault?.breakAction, fault?.repairAction, clock,
        ]
        return Array(endpoints.values)
            + setupActions.compactMap { action in
                if case .request(let endpoint) = action { endpoint } else { nil }
            }
    }

    /// The credentials of all requests that the profile defines.
    package var allCredentials: [Credentials] {
        allRequests.compactMap(\.credentials) + probes.compactMap(\.credentials)
            + effectSources.compactMap(\.probe.credentials)
            + [session?.endpoint.credentials].compactMap(\.self)
    }
}
