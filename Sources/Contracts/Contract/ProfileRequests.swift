internal import Grammar
package import Providers

extension Profile {
    /// The requests that the profile defines.
    package var requests: ProfileRequests { ProfileRequests(profile: self) }
}

/// The requests that a profile defines, with the proofs of identity that they carry.
package struct ProfileRequests: Sendable {
    fileprivate let profile: Profile

    /// Whether the backend receives Firebase ID tokens, on its endpoint `protected` or in another
    /// request.
    package var useIDTokens: Bool {
        let idToken = TemplateScope.ProfileSlot.idTokenName
        let acceptsIDTokens = Feature.ofContractGroups.contains {
            $0.roles.contains(.idTokens) && profile.skipReason(to: $0) == nil
        }
        return acceptsIDTokens
            || credentials.contains { $0.actor != nil || $0.templateNames.contains(idToken) }
            || endpoints.contains { $0.templateNames.contains(idToken) }
    }

    /// Whether a login proves the identity of the account with a Firebase ID token.
    package var loginTakesIDToken: Bool {
        guard let login = profile.endpoints[Call.Route.login.rawValue] else { return false }
        let actorNames = login.credentials?.actor.map { Template($0).names } ?? []
        return actorNames.contains("account")
            || login.templateNames.contains(TemplateScope.ProfileSlot.idTokenName)
    }

    /// The form of the IDs of accounts; nil: email addresses.
    package var accountIDForm: AccountIDForm? { loginTakesIDToken ? .uid : nil }

    /// All requests except for the login of `session` and the probes.
    private var endpoints: [Profile.Endpoint] {
        let setupActions = [
            profile.creation, profile.accountCreation, profile.fault?.breakAction,
            profile.fault?.repairAction, profile.clock,
        ]
        return Array(profile.endpoints.values)
            + setupActions.compactMap { action in
                if case .request(let endpoint) = action { endpoint } else { nil }
            }
    }

    /// The credentials of all requests.
    package var credentials: [Profile.Credentials] {
        endpoints.compactMap(\.credentials) + profile.probes.compactMap(\.credentials)
            + profile.effectSources.compactMap(\.probe.credentials)
            + [profile.session, profile.userSession?.login].compactMap(\.?.endpoint.credentials)
    }
}
