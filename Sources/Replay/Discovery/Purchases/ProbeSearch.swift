internal import Contracts
internal import FakeServers
internal import Judging
internal import Providers
internal import Values

/// Searches for routes that show the state of a user, which become the probes of the profile.
struct ProbeSearch {
    let discovery: BackendDiscovery
    let session: ReplaySession

    static let commonProbePaths = [
        "/users/{{id}}", "/api/users/{{id}}", "/users/{{id}}/subscription",
        "/api/users/{{id}}/subscription", "/subscriptions/{{id}}", "/api/subscriptions/{{id}}",
        "/api/user/access/{{id}}", "/test/users/{{id}}", "/test/subscriptions/{{id}}",
    ]

    /// The probes that a purchase confirmed.
    struct FoundProbes {
        /// The probe that shows the purchase.
        let subscription: Profile.Probe
        /// The mapped fields that a person should check, each with the reason; the reason for fields
        /// that are left out has no field.
        let doubtsByField: [String: String]
        /// The probes whose response shows whether a user exists.
        let existence: [Profile.Probe]
    }

    /// Finds the routes whose responses about a user change when the user makes a purchase, and stores
    /// them in the profile of a discovery.
    static func addProbes(to discovery: inout BackendDiscovery, _ session: ReplaySession) async {
        guard discovery.profile.probes.isEmpty else { return }
        let search = ProbeSearch(discovery: discovery, session: session)
        let candidates = search.candidates
        guard !candidates.isEmpty else { return }
        var found = await search.probes(among: candidates, in: discovery.name + "-s")
        if found == nil {
            let search = BuyerIDSearch(discovery: discovery, session: session)
            if let (buyer, probes) = await search.buyer(shownBy: candidates) {
                buyer.adopt(in: &discovery)
                found = probes
            }
        }
        if found == nil {
            let search = ProductSearch(discovery: discovery, session: session)
            if let (products, probes) = await search.products(shownBy: candidates) {
                (discovery.profile.products, found) = (products, probes)
                discovery.note("products", search.text(products))
            }
        }
        guard let found else {
            discovery.note(
                "probes",
                "no route in the backend's files shows the effect of a purchase",
                isUnresolved: true
            )
            return
        }
        discovery.noteAcceptedPurchase()
        let names = found.subscription.readings.keys.sorted().joined(separator: ", ")
        discovery.note("probes", "\(found.subscription.text) shows \(names)")
        for (field, doubt) in found.doubtsByField.sorted(by: { $0.key < $1.key }) {
            let key = field.isEmpty ? "probes: read" : "probes: read: \(field)"
            discovery.note(key, doubt, isUnresolved: true)
        }
        discovery.profile.probes =
            found.existence.forUsers(besides: found.subscription) + [found.subscription]
    }

    /// Returns the probes that show a purchase of a new user; nil if none of them does.
    ///
    /// - Parameters:
    ///   - candidates: The probes that are tried.
    ///   - namespace: The namespace of the user.
    /// - Returns: The probe that shows most of the purchase, and those that show a user.
    func probes(among candidates: [Profile.Probe], in namespace: String) async -> FoundProbes? {
        let executor = discovery.executor(session) { $0.probes = candidates }
        let expectedObservability = RunRecord.Observability(
            arePushesObservable: true,
            areProbeChangesObservable: true,
            latency: .zero
        )
        _ = await Sentinel(run: executor).observePurchase(
            namespace,
            wait: .seconds(3),
            expectedObservability
        )
        let exchanges = session.fakes.journal.read { $0.exchanges(in: namespace) }
        let purchaseRequest = exchanges.first { $0.purpose == .sentinel }?.request
        guard let event = purchaseRequest?.bodyJSON?["event"] else { return nil }
        let purchase = ResponseSurvey.Purchase(
            product: event["product_id"]?.string ?? "",
            periodEnd: event["expiration_at_ms"].flatMap(Instant.init(timeValue:)),
            entitlements: event["entitlement_ids"]?.array?.compactMap(\.string) ?? []
        )
        var bestMatch: (probe: Profile.Probe, doubtsByField: [String: String])?
        var existenceProbes: [Profile.Probe] = []
        // A route about something else may take an ID for its number, such as `8` of `8Kd…`.
        let sentinelID = event["app_user_id"]?.string ?? ""
        for candidate in candidates {
            let probeBodies = Self.probeBodies(of: candidate.name, in: exchanges)
            guard let after = probeBodies.after else { continue }
            // The login of an unknown user fails, which shows nothing about the route.
            if probeBodies.unknownUser == nil, candidate.credentials?.usesUserSession != true,
                candidate.isAboutUsers || after.containsText(sentinelID)
            {
                existenceProbes.append(candidate)
            }
            guard ResponseSurvey.isChanged(probeBodies.before, after) else { continue }
            let survey = ResponseSurvey(before: probeBodies.before, after: after, purchase)
            guard survey.readings.count > (bestMatch?.probe.readings.count ?? 0) else { continue }
            var probe = candidate
            probe.name = "subscription"
            probe.readings = survey.readings
            var doubts = survey.doubtsByField
            doubts[""] = survey.textAboutLists
            bestMatch = (probe, doubts)
        }
        return bestMatch.map {
            FoundProbes(
                subscription: $0.probe,
                doubtsByField: $0.doubtsByField,
                existence: existenceProbes
            )
        }
    }

    /// Returns the responses of a probe about an unknown user, and about a user before and after a
    /// purchase.
    private static func probeBodies(
        of probe: String,
        in exchanges: [Exchange]
    ) -> (unknownUser: JSONValue?, before: JSONValue?, after: JSONValue?) {
        var documentsByUser: [String: [JSONValue?]] = [:]
        for exchange in exchanges {
            guard case .probe(probe, let user) = exchange.purpose, exchange.completed != nil else {
                continue
            }
            if case .document(let document) = ObservedState(exchange),
                document.object != nil || document.array != nil
            {
                documentsByUser[user, default: []].append(document)
            } else {
                documentsByUser[user, default: []].append(nil)
            }
        }
        let (unknownUser, knownUser) = (
            documentsByUser["nobody"] ?? [], documentsByUser["sentinel"] ?? []
        )
        guard knownUser.count > 1 else { return (nil, nil, nil) }
        return (unknownUser.first ?? nil, knownUser.first ?? nil, knownUser.last ?? nil)
    }

    /// The probes that the backend's files suggest, the most likely one first.
    private var candidates: [Profile.Probe] {
        let (survey, profile) = (discovery.survey, discovery.profile)
        var paths: [(path: String, credentials: Profile.Credentials?)] = []
        let idToken = survey.usesTokens ? Profile.Credentials(actor: "{{id}}") : nil
        let sessions =
            profile.userSession != nil ? UserSessionSearch.credentials(for: survey) : []
        let signedIn = [idToken].compactMap(\.self) + sessions
        // A session may be needed to read what a user has bought, under any name.
        var otherPaths: [(path: String, credentials: Profile.Credentials?)] = []
        for route in survey.routes where ["GET", ""].contains(route.method) {
            let path = route.path
            guard !path.lowercased().contains("hook"), !path.lowercased().contains("health") else {
                continue
            }
            if route.hasID {
                paths.append((path, nil))
                paths += signedIn.map { (path, $0) }
                continue
            }
            let query = route.queryNames.first { name in
                RequestMembers.idWords.contains(name.lowercased().filter { $0.isLetter })
            }
            if let query { paths.append(("\(path)?\(query)={{id}}", nil)) }
            let parts = path.lowercased().split(separator: "/")
            let isAboutCaller =
                parts.contains("me")
                || BackendDiscovery.ownDataWords.contains { parts.last?.contains($0) == true }
            if isAboutCaller {
                paths += signedIn.map { (path, $0) }
            } else {
                otherPaths += signedIn.map { (path, $0) }
            }
        }
        paths += Self.commonProbePaths.map { ($0, nil) } + otherPaths
        let uniquePaths = paths.uniqued { path, credentials in
            "\(path) \(credentials?.templateNames.sorted() ?? []) "
                + "\(credentials?.headers.keys.sorted() ?? [])"
        }
        // A backend may have more routes than can be tried.
        let purchasePaths = uniquePaths.filter { $0.path.isAboutPurchases }
        let remainingPaths = uniquePaths.filter { !$0.path.isAboutPurchases }
        return (purchasePaths + remainingPaths).prefix(40).enumerated().map {
            var probe = Profile.Probe(
                name: "candidate-\($0)",
                source: .get($1.path),
                readings: [:],
                ignoredPointers: []
            )
            probe.credentials = $1.credentials
            return probe
        }
    }
}

extension String {
    /// Whether a path names what users have bought.
    fileprivate var isAboutPurchases: Bool {
        ["subscri", "entitle", "premium", "membership", "billing"].contains(
            where: lowercased().contains
        )
    }
}

extension [Profile.Probe] {
    /// Returns the probe that shows best whether a user exists; none if it is the given one.
    fileprivate func forUsers(besides other: Profile.Probe) -> [Profile.Probe] {
        guard var probe = first(where: { !$0.text.isAboutPurchases }) ?? first,
            probe.source != other.source
        else { return [] }
        probe.name = "user"
        return [probe]
    }
}

extension JSONValue {
    /// Whether any value in the document is the given string or number.
    fileprivate func containsText(_ text: String) -> Bool {
        valuePaths.contains { pointer in
            switch self[pointer] {
            case .string(let value): value == text
            case .number(let value): value.description == text
            default: false
            }
        }
    }
}

extension Profile.Probe {
    private static let userWords = [
        "user", "customer", "account", "member", "profile", "player", "device", "subscri", "access",
        "entitle",
    ]

    /// Whether the path of the probe names users or what they have bought.
    fileprivate var isAboutUsers: Bool {
        guard case .get(let path) = source else { return false }
        return Self.userWords.contains(where: path.lowercased().contains)
    }

    /// The request or the command of the probe, as text for the user.
    fileprivate var text: String {
        switch source {
        case .get(let path): "GET \(path)"
        case .command(let words): words.joined(separator: " ")
        }
    }
}
