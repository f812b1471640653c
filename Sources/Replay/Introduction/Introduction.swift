package import Conformance
internal import FakeServers
internal import Providers

/// A backend that nobody has described yet, looked at: what its files say is tried on it while it runs,
/// and what answered stands in a profile.
///
/// Nothing is switched off because it was not seen; what stayed open is told.
package struct Introduction: Sendable {
    /// The profile, as far as it was found.
    package internal(set) var profile: Profile
    /// What was found, and what stayed open, for people.
    package private(set) var notes: [Note] = []
    /// What a plain purchase showed with that profile, and what else was looked at.
    package private(set) var examination = Examination()

    /// One thing that was found, or not.
    package struct Note: Hashable, Sendable {
        /// The key of the profile that it is about.
        package let key: String
        package let text: String
        package let isOpen: Bool
    }

    /// Opens the fakes and a backend by a profile.
    package typealias Opening =
        @Sendable (Profile) async throws(ReplaySession.OpenError) -> ReplaySession

    let survey: SourceSurvey
    /// Whether a route was found that answers an event as a sender wants it.
    var takesEvents = false
    /// Whether a call to make a user was not answered.
    var isHanging = false
    let name: String

    /// What tokens are called that senders prove themselves by.
    static let token = "assay-test-token"

    private init(_ profile: Profile, _ survey: SourceSurvey, name: String) {
        self.profile = profile
        self.survey = survey
        self.name = name
    }

    /// - Parameters:
    ///   - profile: Where the backend is, or how it is started; what it says more is kept.
    ///   - survey: What the files say.
    ///   - name: What namespaces are called.
    ///   - open: Opens a backend by a profile; it is called again where an environment has to be tried.
    /// - Returns: What was found, and the session that is open still, with the backend in it.
    /// - Throws: When the backend cannot be opened at all.
    package static func meet(
        _ profile: Profile,
        _ survey: SourceSurvey,
        name: String,
        open: Opening
    ) async throws(ReplaySession.OpenError) -> (introduction: Introduction, session: ReplaySession)
    {
        var introduction = Introduction(profile, survey, name: name)
        let session = try await introduction.open(open)
        await introduction.findProtected(session)
        await introduction.findUsers(session)
        await introduction.findProbes(session)
        let executor = introduction.executor(session)
        introduction.examination = await Examination.examine(executor, name: name + "-x")
        introduction.judgeExamination()
        introduction.noteCallsElsewhere(session)
        return (introduction, session)
    }

    mutating func note(_ key: String, _ text: String, isOpen: Bool = false) {
        notes.append(Note(key: key, text: text, isOpen: isOpen))
    }

    /// The runner of the same backend by what is known so far.
    package func executor(_ session: ReplaySession, _ change: (inout Profile) -> Void = { _ in })
        -> RunExecutor
    {
        var profile = profile
        change(&profile)
        return RunExecutor(
            backend: session.backend,
            world: session.world,
            profile: profile,
            base: session.executor.base,
            clock: session.executor.clock
        )
    }

    // MARK: Start

    /// A way in which sender and backend share one token.
    private struct Sharing {
        /// What the backend's variable holds.
        let variable: String
        /// What the sender sends.
        let header: String
    }

    /// Opens the backend with the environment that its files ask for; where the webhook refuses the
    /// sender, other ways of sharing the token are tried.
    private mutating func open(
        _ open: Opening
    ) async throws(ReplaySession.OpenError) -> ReplaySession {
        let standard = ReplaySession.standardNames(profile)
        let guess = EnvironmentGuess(survey, standard: standard)
        if let entitlement = guess.entitlement { profile.entitlement = entitlement }
        if survey.usesTokens, !survey.readsKeyAddresses {
            profile.idForm = .firebase
            // Whoever verifies tokens has a route that demands one, and needs their issuer from the start.
            if profile.endpoints["protected"] == nil {
                profile.endpoints["protected"] = Profile.Endpoint(
                    method: "GET",
                    path: ownRoutes.first ?? "/me"
                )
            }
            // Under its own name the issuer's fake signs.
            if !survey.verifiesByHand {
                profile.unsupported.insert(.signedTokens)
                note(
                    "features",
                    "its tokens are those of the emulator, whose signatures nobody checks"
                )
            }
        }
        guard profile.start != nil else {
            let session = try await open(profile)
            await findWebhook(session)
            return session
        }
        if !namedServices.isEmpty { profile.start?.intercept = Profile.Intercept(isOn: true) }
        for (name, value) in guess.values where profile.start?.environment[name] == nil {
            profile.start?.environment[name] = value
        }
        for variable in guess.open {
            note("start: env", "\(variable.place) reads \(variable.name)", isOpen: true)
        }
        let bare = Self.token
        let bearer = "Bearer " + bare
        var sharings = [
            Sharing(variable: bearer, header: bearer), Sharing(variable: bare, header: bearer),
            Sharing(variable: bare, header: bare),
        ]
        if survey.writesBearer { sharings.swapAt(0, 1) }
        // Without a variable there is nothing to share another way.
        if guess.authorization == nil { sharings = [Sharing(variable: "", header: bearer)] }
        for (index, sharing) in sharings.enumerated() {
            if let variable = guess.authorization {
                profile.start?.environment[variable] = sharing.variable
            }
            profile.secrets[Self.sharedSecret] = Secret(sharing.header)
            let session = try await opened(open, standard)
            let isTaken = await findWebhook(session)
            if isTaken || index == sharings.count - 1 {
                await findReadiness(session)
                return session
            }
            notes.removeAll { $0.key == Self.webhookKey }
            await session.close()
        }
        return try await open(profile)
    }

    /// How many variables a backend may ask for, one after the other, before it starts.
    private static let askedMax = 20

    /// Opens the backend; one that ends because a variable is missing, and says which, gets it.
    private mutating func opened(
        _ open: Opening,
        _ standard: Set<String>
    ) async throws(ReplaySession.OpenError) -> ReplaySession {
        for _ in 0..<Self.askedMax {
            do throws(ReplaySession.OpenError) {
                return try await open(profile)
            } catch {
                // One that is there, or hangs, may warn of what it can do without.
                guard error.hasEnded else { throw error }
                let given = Set((profile.start?.environment ?? [:]).keys).union(standard)
                let variables = MissingVariables.named(in: error.description)
                    .filter { !given.contains($0.name) }
                let guess = EnvironmentGuess(survey, standard: standard, variables: variables)
                let shared = guess.authorization.map {
                    ($0, profile.secrets[Self.sharedSecret]?.exposed ?? Self.token)
                }
                guard let (name, value) = shared ?? guess.values.min(by: { $0.key < $1.key })
                else { throw error }
                profile.start?.environment[name] = value
                note("start: env", "it does not start without \(name), which is set to '\(value)'")
            }
        }
        return try await open(profile)
    }

    // MARK: What stayed open

    /// Notes about what a purchase did not show.
    private mutating func judgeExamination() {
        if !examination.sight.seesEffects, takesEvents, survey.hasCode,
            !survey.mentioned.contains(.oneSignal)
        {
            profile.unsupported.insert(.push)
            note(
                "features",
                "it sends no push: none was seen, and none of its files names who sends them"
            )
        } else if !examination.sight.seesEffects {
            note(
                "features",
                "a purchase led to no push; if it sends none by design, write "
                    + "'features: {except: [push]}'",
                isOpen: true
            )
        }
        if !examination.sight.readsSubscribers, examination.sight.seesState, survey.hasCode,
            !mayAskForState
        {
            profile.unsupported.insert(.subscriberReads)
            note(
                "features",
                "an event makes it ask nobody: none of its files names the host of the REST API"
            )
        }
        for provider in Services.providers {
            guard let endpoint = provider.webhookEndpoint, profile.endpoints[endpoint] == nil,
                let route = survey.routes.first(where: {
                    $0.path.lowercased().contains(provider.party.description)
                })
            else { continue }
            note(
                "endpoints: \(endpoint)",
                "\(route.place) seems to take events of \(provider.title): POST \(route.path)",
                isOpen: true
            )
        }
    }
    /// Places in its files that name a host of a service which has a fake.
    private var namedServices: [(fixed: SourceSurvey.FixedHost, title: String)] {
        survey.fixedHosts.compactMap { fixed in
            Services.providers.first { $0.ownHosts.contains(fixed.host) }.map { (fixed, $0.title) }
        }
    }

    /// Notes about calls that go to a host which the code names itself, and about what was refused.
    private mutating func noteCallsElsewhere(_ session: ReplaySession) {
        let isIntercepted = profile.start?.isIntercepted == true
        for (fixed, title) in namedServices {
            let names = "\(fixed.place) names \(fixed.host) itself"
            if isIntercepted {
                note("start: intercept", "\(names): its calls go to the fake of \(title)")
            } else {
                note(
                    "start: env",
                    "\(names): those calls reach the service; let Assay start the backend, with "
                        + "'intercept: true', or read the address from the environment",
                    isOpen: true
                )
            }
        }
        for line in session.interception?.refusals.lines ?? [] {
            note("start: intercept", line, isOpen: true)
        }
    }
}
