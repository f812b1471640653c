package import Contracts
internal import FakeServers
internal import Providers
internal import Redaction
internal import Values

/// Discovers how to test an unknown backend, for `assay init`.
///
/// Guesses from the backend's files are tried on the running backend. The confirmed guesses become
/// a profile.
///
/// A feature that was merely not observed stays on in the profile. Unresolved questions are
/// reported.
package struct BackendDiscovery: Sendable {
    /// The profile of the backend, with everything that was discovered so far.
    package internal(set) var profile: Profile
    /// The discoveries and the unresolved questions, as text for the user.
    package internal(set) var notes: [ProfileNote] = []
    /// The result of the checks of `assay doctor` with the discovered profile.
    package private(set) var doctorChecks = DoctorChecks()

    /// A message to the user about a discovery or an unresolved question.
    package struct ProfileNote: Hashable, Sendable {
        /// The profile key that the note is about.
        package let key: String
        package let text: String
        package let isUnresolved: Bool
    }

    /// Opens the fakes and a backend with the given profile, and returns the session.
    package typealias SessionOpener =
        @Sendable (Profile) async throws(ReplaySession.OpenError) -> ReplaySession

    let survey: SourceSurvey
    /// The environment variables that the owner of the backend has set.
    let own: OwnVariables
    /// Prints a request that was sent and the one that is tried next.
    let onProgress: @Sendable (String) -> Void
    /// Whether a route was found that returns a 2xx status for a purchase event.
    var acceptsEvents = false
    /// The status with which the webhook route responded to an event; nil without a response.
    var webhookStatus: Int?
    /// The variable from which the backend seems to read the secret of webhooks; nil if none was
    /// found.
    private(set) var sharedVariable: String?
    /// Whether the backend does not respond to requests that create a user.
    var isUnresponsive = false
    let name: String

    /// The token with which Assay, as the sender of webhooks, authenticates to the backend.
    static let token = "assay-test-token"
    /// The key with which Assay signs webhooks for a backend that verifies signatures.
    static let signingKey = "assay-test-signing-key"

    private init(
        _ profile: Profile,
        _ survey: SourceSurvey,
        _ own: OwnVariables,
        name: String,
        onProgress: @escaping @Sendable (String) -> Void
    ) {
        self.profile = profile
        self.survey = survey
        self.own = own
        self.name = name
        self.onProgress = onProgress
    }

    /// Discovers how to test a backend.
    ///
    /// - Parameters:
    ///   - profile: A profile with the backend's address or its start command. Its other settings
    ///     are kept.
    ///   - survey: The facts found in the backend's files.
    ///   - own: The environment variables that the owner of the backend has set.
    ///   - name: The prefix of the names of all namespaces that the discovery uses.
    ///   - onProgress: Prints a request that was sent and the one that is tried next.
    ///   - open: Opens a backend with a profile. It is called again for each environment that is
    ///     tried.
    /// - Returns: The discovery, and the session with the backend, which is still open.
    /// - Throws: An error when the backend cannot be opened at all.
    package static func discover(
        _ profile: Profile,
        _ survey: SourceSurvey,
        own: OwnVariables = OwnVariables(),
        name: String,
        onProgress: @escaping @Sendable (String) -> Void = { _ in },
        open: SessionOpener
    ) async throws(ReplaySession.OpenError) -> (discovery: BackendDiscovery, session: ReplaySession)
    {
        var discovery = BackendDiscovery(
            profile,
            survey,
            own,
            name: name,
            onProgress: onProgress
        )
        if let file = discovery.profile.start?.environmentFile {
            discovery.note("start: env-file", "the code does not load \(file), so Assay does")
        }
        let session = try await discovery.open(open)
        await discovery.findSignedInProbe(session)
        await discovery.findUsers(session)
        await UserSessionSearch.addSessions(to: &discovery, session)
        await ProbeSearch.addProbes(to: &discovery, session)
        UserSessionSearch.conclude(&discovery)
        await discovery.findOtherEndpoints(session)
        let executor = discovery.executor(session)
        discovery.doctorChecks = await DoctorChecks.checkBackend(executor, name: name + "-x")
        discovery.noteMissingEffects(session)
        discovery.noteDatabases()
        let revocation = RevocationCheck(profile: discovery.profile)
        if let doubt = revocation.doubt {
            discovery.note("features", "\(doubt). \(revocation.remedy)", isUnresolved: true)
        }
        discovery.noteCallsToFixedHosts(session)
        return (discovery, session)
    }

    mutating func note(_ key: String, _ text: String, isUnresolved: Bool = false) {
        notes.append(ProfileNote(key: key, text: text, isUnresolved: isUnresolved))
    }

    /// Returns an executor for the backend of a session, with the profile as discovered so far.
    package func executor(_ session: ReplaySession, _ change: (inout Profile) -> Void = { _ in })
        -> RunExecutor
    {
        var profile = profile
        change(&profile)
        return RunExecutor(
            backend: session.backend,
            fakes: session.fakes,
            profile: profile,
            base: session.executor.base,
            clock: session.executor.clock
        )
    }

    // MARK: Start

    /// A way in which the sender of webhooks and the backend share the same token.
    private struct SharedSecretOption {
        /// The value of the environment variable from which the backend reads the token.
        let variable: String
        /// The value of the Authorization header that the sender of webhooks uses.
        let header: String
        /// Whether the variable holds the key with which the sender signs webhooks.
        var isSigned = false
    }

    /// Opens the backend with the environment variables that its files seem to require.
    ///
    /// If the webhook route rejects the sender, other ways to share the token are tried.
    private mutating func open(
        _ open: SessionOpener
    ) async throws(ReplaySession.OpenError) -> ReplaySession {
        let standardNames = ReplaySession.standardNames(profile)
        let guess = EnvironmentGuess(survey, own: own, standardNames: standardNames)
        if let entitlement = guess.entitlement ?? survey.entitlementUses.mostFrequentName {
            profile.entitlement = entitlement
            note("entitlement", "the backend's files ask for the entitlement '\(entitlement)'")
        }
        if survey.usesTokens, !survey.readsKeyAddresses { adoptIDTokens() }
        guard profile.start != nil else {
            let session = try await open(profile)
            await findWebhook(session)
            return session
        }
        if !hardcodedProviderHosts.isEmpty {
            profile.start?.intercept = Profile.InterceptionSettings(isOn: true)
        }
        for (name, value) in guess.values where profile.start?.environment[name] == nil {
            profile.start?.environment[name] = value
        }
        for variable in guess.open {
            note(
                "start: env",
                "\(variable.location) reads \(variable.name); set it so that tests use separate data",
                isUnresolved: true
            )
        }
        sharedVariable = guess.authorization
        let sharedSecretOptions = sharedSecretOptions(guess)
        for (index, sharedSecretOption) in sharedSecretOptions.enumerated() {
            if let variable = guess.authorization {
                profile.start?.environment[variable] = sharedSecretOption.variable
            }
            if let variable = guess.signing, let signingSecretName {
                profile.start?.environment[variable] =
                    "{{secret.\(signingSecretName.rawValue)}}"
            }
            if let sharedSecretName {
                profile.secrets[sharedSecretName] = Secret(sharedSecretOption.header)
            }
            if let signingSecretName {
                profile.secrets[signingSecretName] =
                    sharedSecretOption.isSigned ? Secret(Self.signingKey) : nil
            }
            let session = try await openWithGuessedVariables(open, standardNames)
            let isTokenAccepted = await findWebhook(session)
            if isTokenAccepted || index == sharedSecretOptions.count - 1 {
                await findReadiness(session)
                return session
            }
            onProgress("the route refuses this secret; trying another way to share it")
            let webhookNoteKey = webhookNoteKey
            notes.removeAll { $0.key == webhookNoteKey }
            await session.close()
        }
        return try await open(profile)
    }

    /// Sets the profile of a backend whose users authenticate with ID tokens.
    private mutating func adoptIDTokens() {
        profile.idForm = .firebase
        let project =
            survey.tokenProject ?? own.tokenProject ?? TokenProject.id(in: survey.variables)
        if let project {
            profile.tokenProject = project
            note(
                TokenProject.profileKey,
                "the backend accepts ID tokens of the project '\(project)'"
            )
        }
        // A backend that verifies tokens has a route that requires one, and it needs the address of
        // the token issuer when it starts.
        if profile.endpoints["protected"] == nil {
            profile.endpoints["protected"] = Profile.Endpoint(
                method: "GET",
                path: ownDataRoutes.first ?? "/me"
            )
        }
        // The fake of the token issuer signs tokens only for a backend that calls the real host of
        // the issuer.
        if !survey.verifiesTokensItself {
            profile.unsupportedFeatures.insert(.signedTokens)
            note("features", "the backend accepts the unsigned tokens of the Firebase emulator")
        }
    }

    /// Returns the ways to share the token with the backend, in the order in which they are tried.
    private func sharedSecretOptions(_ guess: EnvironmentGuess) -> [SharedSecretOption] {
        let bareToken = Self.token
        let bearerToken = "Bearer " + bareToken
        // If no environment variable holds the token, there is only one way to share it.
        guard guess.authorization != nil else {
            return [SharedSecretOption(variable: "", header: bearerToken)]
        }
        var options = [
            SharedSecretOption(variable: bearerToken, header: bearerToken),
            SharedSecretOption(variable: bareToken, header: bearerToken),
            SharedSecretOption(variable: bareToken, header: bareToken),
        ]
        if survey.prependsBearer { options.swapAt(0, 1) }
        if guess.signing != nil, signingSecretName != nil {
            for index in options.indices { options[index].isSigned = true }
        } else if let signingSecretName, survey.usesHMAC || guess.isAuthorizationSigned {
            let signed = SharedSecretOption(
                variable: "{{secret.\(signingSecretName.rawValue)}}",
                header: bearerToken,
                isSigned: true
            )
            options.insert(signed, at: guess.isAuthorizationSigned ? 0 : options.count)
        }
        return options
    }

    /// The largest number of missing variables that are set one after the other until the backend
    /// starts.
    private static let missingVariableMax = 20

    /// Opens the backend, and sets environment variables that it reports as missing.
    ///
    /// If the backend exits and its output names a missing variable, the variable is set and the
    /// backend is started again.
    private mutating func openWithGuessedVariables(
        _ open: SessionOpener,
        _ standardNames: Set<String>
    ) async throws(ReplaySession.OpenError) -> ReplaySession {
        for _ in 0..<Self.missingVariableMax {
            do throws(ReplaySession.OpenError) {
                return try await open(profile)
            } catch {
                if let port = error.fixedPort(profile) {
                    profile.target = "http://127.0.0.1:\(port)"
                    onProgress("the backend listens on port \(port); trying this port")
                    note(
                        "target",
                        "the backend does not read PORT and listens on port \(port), so only one "
                            + "instance of it can run at a time"
                    )
                    continue
                }
                // Only an exit shows that a variable is required. A backend that keeps running may
                // warn about a variable that it does not need.
                guard error.hasEnded else { throw error }
                let givenNames = Set((profile.start?.environment ?? [:]).keys).union(standardNames)
                let variables = MissingVariables.named(in: error.description)
                    .filter { !givenNames.contains($0.name) }
                let guess = EnvironmentGuess(
                    survey,
                    own: own,
                    standardNames: standardNames,
                    variables: variables
                )
                let sharedSecretEntry = guess.authorization.map {
                    ($0, sharedSecretName.flatMap { profile.secrets[$0] }?.exposed ?? Self.token)
                }
                guard
                    let (name, value) = sharedSecretEntry
                        ?? guess.values.min(by: { $0.key < $1.key })
                else {
                    guard adoptExampleValues(besides: givenNames) else { throw error }
                    continue
                }
                profile.start?.environment[name] = value
                note(
                    "start: env",
                    "the backend does not start without \(name), which is set to '\(value)'"
                )
            }
        }
        return try await open(profile)
    }

    /// Sets the example values of the variables that have no value, and returns whether there are
    /// any.
    private mutating func adoptExampleValues(besides givenNames: Set<String>) -> Bool {
        let values = survey.exampleValues.filter { name, value in
            !givenNames.contains(name) && !own.names.contains(name) && !value.contains("{{")
                && !value.contains("$")
        }
        guard !values.isEmpty else { return false }
        profile.start?.environment.merge(values) { own, _ in own }
        onProgress("the backend exited; trying the values of its example file")
        note(
            "start: env",
            "the backend does not start without \(values.count) values of its example file"
        )
        return true
    }

    // MARK: Unresolved questions

    /// Adds notes about pushes and reads of subscribers that a purchase did not cause.
    private mutating func noteMissingEffects(_ session: ReplaySession) {
        if acceptsEvents, let refusal = RefusedRequests(session: session).purchase {
            doctorChecks.refusedPurchase = refusal
            note(
                webhookNoteKey,
                "the purchase of a user gets \(refusal.bodyExcerpt), although a test event is "
                    + "accepted",
                isUnresolved: true
            )
        }
        if !doctorChecks.observability.arePushesObservable, acceptsEvents, survey.hasCode,
            survey.mentionedProviders.isDisjoint(
                with: ProviderTable.all.pushServices.map { $0.party }
            )
        {
            profile.unsupportedFeatures.insert(.push)
            let titles = ProviderTable.all.pushServices.map { $0.title }.joined(separator: " or ")
            note(
                "features",
                "the backend sends no push: a purchase led to none, and no file mentions \(titles)"
            )
        } else if !doctorChecks.observability.arePushesObservable,
            let refusal = RefusedRequests(session: session).push
        {
            note("features", refusal, isUnresolved: true)
        } else if !doctorChecks.observability.arePushesObservable {
            note(
                "features",
                "a purchase led to no push; if the backend sends none by design, write "
                    + "'features: {except: [push]}'",
                isUnresolved: true
            )
        }
        if !doctorChecks.observability.readsSubscribersOverREST,
            doctorChecks.observability.areProbeChangesObservable,
            survey.hasCode,
            !readsPurchaseState
        {
            profile.unsupportedFeatures.insert(.readsSubscriberOnEvent)
            note(
                "features",
                "an event makes the backend read no subscriber: no file contains the API's host"
            )
        }
        for provider in Services.providers {
            guard let endpoint = provider.sender?.webhookEndpoint,
                profile.endpoints[endpoint] == nil,
                let route = survey.routes.first(where: {
                    $0.path.lowercased().contains(provider.party.description)
                })
            else { continue }
            note(
                "endpoints: \(endpoint)",
                "\(route.location) seems to receive webhooks of \(provider.title): POST \(route.path)",
                isUnresolved: true
            )
        }
    }

    /// The hosts that are fixed in the backend's files and belong to a service for which Assay has
    /// a fake.
    private var hardcodedProviderHosts: [(fixedHost: SourceSurvey.FixedHost, title: String)] {
        survey.fixedHosts.compactMap { fixedHost in
            Services.providers.first { $0.exclusiveHosts.contains(fixedHost.host) }.map {
                (fixedHost, $0.title)
            }
        }
    }

    /// Adds notes about calls to hosts that are fixed in the backend's code, and about refused
    /// calls.
    private mutating func noteCallsToFixedHosts(_ session: ReplaySession) {
        let isIntercepted = profile.start?.isIntercepted == true
        for (fixedHost, title) in hardcodedProviderHosts {
            let names = "\(fixedHost.location) contains the fixed host \(fixedHost.host)"
            if isIntercepted {
                note("start: intercept", "\(names); Assay redirects its calls to the fake \(title)")
            } else {
                note(
                    "start: env",
                    "\(names); its calls reach the real service: let Assay start the backend with "
                        + "'intercept: true', or let the code read the address from a variable",
                    isUnresolved: true
                )
            }
        }
        for line in session.interception?.refusals.lines ?? [] {
            note("start: intercept", line, isUnresolved: true)
        }
    }
}

extension ReplaySession.OpenError {
    /// The fixed port on which the backend listens instead of the one that Assay chose; nil if it
    /// listens on none, or if the profile or the start command decides about the port.
    fileprivate func fixedPort(_ profile: Profile) -> Int? {
        profile.target == nil && profile.start?.command.contains("{{port}}") == false
            ? otherPorts.first : nil
    }
}
