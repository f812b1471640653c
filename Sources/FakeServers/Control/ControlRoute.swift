internal import Providers
internal import Values

/// An operation of the control API.
///
/// The router, the validation of calls and the OpenAPI document are generated from the list of all
/// operations.
struct ControlRoute: Sendable {
    /// The implementation of an operation of the control API.
    enum RequestHandler: Sendable {
        typealias JSONHandler =
            @Sendable (ControlAPI, ControlAPI.Call) async throws(ControlRefusal) -> JSONValue
        typealias StreamHandler =
            @Sendable (ControlAPI, ControlAPI.Call) throws(ControlRefusal) -> AsyncStream<String>

        case response(JSONHandler)
        /// The operation responds with a stream of lines.
        case lines(StreamHandler)
    }

    /// The operation ID in the OpenAPI document.
    let id: String
    let method: String
    /// The path of the operation after `/assay/v1`.
    ///
    /// A name in braces is a variable for one path segment; `{name+}` is a variable for one or two
    /// segments.
    let path: String
    let summary: String
    /// The query parameters in addition to `namespace`, which every operation accepts.
    let parameters: [ControlParameter]
    /// The members of the JSON body of the request; an operation without members has no body.
    let members: [ControlMember]
    /// The allowed values of the path variable; if the list is empty, any string is allowed.
    let pathValues: [ControlPathValue]
    /// Whether the operation applies to one namespace, which must exist.
    let takesNamespace: Bool
    let handler: RequestHandler

    init(
        _ id: String,
        _ method: String,
        _ path: String,
        _ summary: String,
        parameters: [ControlParameter] = [],
        members: [ControlMember] = [],
        pathValues: [ControlPathValue] = [],
        takesNamespace: Bool = true,
        handler: RequestHandler
    ) {
        self.id = id
        self.method = method
        self.path = path
        self.summary = summary
        self.parameters = parameters
        self.members = members
        self.pathValues = pathValues
        self.takesNamespace = takesNamespace
        self.handler = handler
    }

    /// Creates an operation that the fake of a provider adds to the control API.
    init(_ control: ProviderControl) {
        self.init(
            control.id,
            control.method,
            control.path,
            control.summary,
            parameters: control.parameters,
            members: control.members,
            pathValues: control.pathValues,
            handler: .response { (api, call) async throws(ControlRefusal) in
                try await api.runProviderControl(control, call)
            }
        )
    }

    /// Returns all operations of the control API: the general ones and those of each provider's
    /// fake.
    static func all(_ providers: ProviderTable) -> [ControlRoute] {
        [.root, .health, .openapi] + namespaceRoutes + journalRoutes + clockRoutes
            + faultRoutes(providers)
            + switchRoutes(providers) + deliveryRoutes + subscriberRoutes
            + providers.sortedEntries.flatMap(\.controls).map(ControlRoute.init)
            + snapshotRoutes + stateRoutes
    }

    /// The method and path of the operation, for error messages.
    var methodAndPath: String { "\(method) /assay/v1\(displayPath)" }

    /// The path of the operation as the OpenAPI document contains it.
    var displayPath: String {
        path.split(separator: "/").map { "/" + $0.filter { $0 != "+" } }.joined()
    }

    // MARK: Matching

    private var pathParts: [Substring] { path.split(separator: "/") }

    var hasPathParameter: Bool { path.contains("{") }

    /// Compares the path of a request, split into segments, with the path of this operation.
    ///
    /// - Returns: The value of the path variable, which is empty if the operation's path has no
    ///   variable; nil if the paths do not match.
    func matchPath(_ segments: [String]) -> String? {
        let pathParts = pathParts
        // An action may have two segments, such as `paywall/complete`.
        let lastPartTakesTwoSegments =
            pathParts.last?.hasSuffix("+}") == true && segments.count == pathParts.count + 1
        guard pathParts.count == segments.count || lastPartTakesTwoSegments else { return nil }
        var pathVariableValues: [String] = []
        for (part, segment) in zip(pathParts, segments) {
            if part.hasPrefix("{") {
                pathVariableValues.append(segment)
            } else if part != segment {
                return nil
            }
        }
        if lastPartTakesTwoSegments, let last = segments.last { pathVariableValues.append(last) }
        return pathVariableValues.joined(separator: "/")
    }
}

extension [ControlRoute] {
    /// Returns the operation that a request calls, and the value of its path variable.
    ///
    /// Paths without a variable are tried first, because they are better matches.
    func matchPath(_ method: String, _ segments: [String]) -> (route: ControlRoute, value: String)?
    {
        for hasPathParameter in [false, true] {
            for route in self
            where route.hasPathParameter == hasPathParameter && route.method == method {
                if let value = route.matchPath(segments) { return (route, value) }
            }
        }
        return nil
    }

    /// Returns the methods of all operations that match the path of a request, in the order of the
    /// list.
    func methods(of segments: [String]) -> [String] {
        var allowedMethods: [String] = []
        for route in self
        where route.matchPath(segments) != nil && !allowedMethods.contains(route.method) {
            allowedMethods.append(route.method)
        }
        return allowedMethods
    }
}
