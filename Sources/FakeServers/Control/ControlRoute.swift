internal import Conformance
internal import Providers

/// One operation of the control API: the router, the checks of what is sent and the OpenAPI
/// document are made from the list of these.
struct ControlRoute: Sendable {
    /// What an operation does with a call.
    enum Work: Sendable {
        typealias Answer =
            @Sendable (ControlAPI, ControlAPI.Call) async throws(ControlRefusal) -> JSONValue
        typealias Lines =
            @Sendable (ControlAPI, ControlAPI.Call) throws(ControlRefusal) -> AsyncStream<String>

        case answer(Answer)
        /// Lines that go on.
        case lines(Lines)
    }

    /// Its name in the description of the API.
    let id: String
    let method: String
    /// Below `/assay/v1`; a name in braces stands for one segment, `{name+}` for one or two.
    let path: String
    let summary: String
    /// Query parameters beside `namespace`, which every operation takes.
    let parameters: [ControlParameter]
    /// The body's members; none: the operation takes no body.
    let members: [ControlMember]
    /// What may stand in the place of the path's brace; empty: any text.
    let words: [ControlWord]
    /// Whether it is about one namespace, which then has to be there.
    let takesNamespace: Bool
    let work: Work

    init(
        _ id: String,
        _ method: String,
        _ path: String,
        _ summary: String,
        parameters: [ControlParameter] = [],
        members: [ControlMember] = [],
        words: [ControlWord] = [],
        takesNamespace: Bool = true,
        work: Work
    ) {
        self.id = id
        self.method = method
        self.path = path
        self.summary = summary
        self.parameters = parameters
        self.members = members
        self.words = words
        self.takesNamespace = takesNamespace
        self.work = work
    }

    /// What a provider offers, behind the same router and the same checks.
    init(_ control: ProviderControl) {
        self.init(
            control.id,
            control.method,
            control.path,
            control.summary,
            parameters: control.parameters,
            members: control.members,
            words: control.words,
            work: .answer { (api, call) async throws(ControlRefusal) in
                try await api.carryOut(control, call)
            }
        )
    }

    /// Every operation: those of the fakes together, and those of each provider.
    static func all(_ providers: ProviderTable) -> [ControlRoute] {
        [.root, .health, .openapi] + namespaceRoutes + journalRoutes + clockRoutes
            + faultRoutes(providers)
            + switchRoutes(providers) + deliveryRoutes + subscriberRoutes
            + providers.listed.flatMap(\.controls).map(ControlRoute.init)
            + snapshotRoutes + stateRoutes
    }

    /// Its method and its path, as messages name it.
    var place: String { "\(method) /assay/v1\(shownPath)" }

    /// The path as the description writes it.
    var shownPath: String {
        path.split(separator: "/").map { "/" + $0.filter { $0 != "+" } }.joined()
    }

    // MARK: Matching

    private var parts: [Substring] { path.split(separator: "/") }

    var hasBrace: Bool { path.contains("{") }

    /// The value of the path's brace when the segments are this route's; empty without a brace.
    func match(_ segments: [String]) -> String? {
        let parts = parts
        // An action may have two words: `paywall/complete`.
        let isOpen = parts.last?.hasSuffix("+}") == true && segments.count == parts.count + 1
        guard parts.count == segments.count || isOpen else { return nil }
        var values: [String] = []
        for (part, segment) in zip(parts, segments) {
            if part.hasPrefix("{") {
                values.append(segment)
            } else if part != segment {
                return nil
            }
        }
        if isOpen, let last = segments.last { values.append(last) }
        return values.joined(separator: "/")
    }
}

extension [ControlRoute] {
    /// The route that a request names, with the value of its brace.
    ///
    /// A fixed segment is a better match than a brace, so fixed paths are tried first.
    func match(_ method: String, _ segments: [String]) -> (route: ControlRoute, value: String)? {
        for hasBrace in [false, true] {
            for route in self where route.hasBrace == hasBrace && route.method == method {
                if let value = route.match(segments) { return (route, value) }
            }
        }
        return nil
    }

    /// Methods that the path takes, in the order of the list.
    func methods(of segments: [String]) -> [String] {
        var found: [String] = []
        for route in self where route.match(segments) != nil && !found.contains(route.method) {
            found.append(route.method)
        }
        return found
    }
}
