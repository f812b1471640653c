internal import Values

/// The fake's implementation of RevenueCat's REST v2 (RevenueCat fact sheet, section 4.4; API
/// description of REST v2).
///
/// It uses the same customers and purchases as REST v1, webhooks and devices. All times are in
/// milliseconds.
extension RevenueCatState {
    /// A call of REST v2, with the values of its path parameters and its body.
    struct CallV2 {
        let request: HTTPMessage.Request
        let values: PathParameterValues
        let body: JSONObject
        let now: Instant

        var project: String { values["project_id"] ?? "" }

        /// The path of the call's project.
        ///
        /// The paths of all resources in the project begin with it.
        var projectPath: String { "/v2/projects/\(project)" }

        /// The App User ID in the call's path; an empty string when the path contains none.
        var customerID: String { named("customer_id") }

        /// The path of the customer in the call's path.
        var customerPath: String { "\(projectPath)/customers/\(customerID.percentEncoded)" }

        /// Returns the value of a path parameter; an empty string when the path has no such
        /// parameter.
        func named(_ name: String) -> String { values[name] ?? "" }

        /// Returns the value of a query parameter; nil when the query does not contain it.
        func query(_ name: String) -> String? {
            let query = request.target.cut(at: "?")?.after ?? ""
            return FormText.pairs(query).first { $0.name == name }?.value
        }

        /// Returns the names of the additional members that the response must contain, from the
        /// query parameter `expand`.
        ///
        /// The parameter may occur several times.
        ///
        /// - Parameter names: The names that are valid for the operation.
        /// - Returns: The requested names, without the prefix `items.`
        /// - Throws: 400 for a name that is not valid for the operation.
        func requestedExpansions(_ names: String...) throws(RevenueCatError) -> Set<String> {
            let query = request.query.filter { $0.name == "expand" }.flatMap {
                $0.value.split(separator: ",").map(String.init)
            }
            let allowedNames = Set(names + names.map { "items." + $0 })
            guard let unknownExpansion = query.first(where: { !allowedNames.contains($0) }) else {
                return Set(query.map { $0.hasPrefix("items.") ? String($0.dropFirst(6)) : $0 })
            }
            throw RevenueCatError(
                v2: 400,
                "parameter_error",
                "expand does not know \(unknownExpansion.prefix(100)) here.",
                param: "expand"
            )
        }

        /// Whether a purchase is from the environment (sandbox or production) that the query asks
        /// for.
        ///
        /// True for every purchase if the query names no environment.
        func matchesEnvironmentFilter(_ purchase: Purchase) throws(RevenueCatError) -> Bool {
            guard let wanted = query("environment") else { return true }
            guard ["sandbox", "production"].contains(wanted) else {
                throw RevenueCatError(
                    v2: 400,
                    "parameter_error",
                    "environment must be sandbox or production.",
                    param: "environment"
                )
            }
            return purchase.environment.lowercased() == wanted
        }

        /// Returns a required string member of the request body; throws when it is missing or
        /// empty.
        func text(_ name: String) throws(RevenueCatError) -> String {
            guard let text = body[name]?.string, !text.isEmpty else {
                throw RevenueCatError(
                    v2: 400,
                    "parameter_error",
                    "\(name) is required.",
                    param: name
                )
            }
            return text
        }
    }

    mutating func handleV2Call(
        _ request: HTTPMessage.Request,
        _ path: [String],
        at now: Instant
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        guard
            let (matchedOperation, values) = V2Operation.table.findOperation(request.method, path)
        else {
            guard V2Operation.table.isKnown(path) else { throw .missingResource("resource") }
            throw RevenueCatError(
                v2: 400,
                "invalid_request",
                "\(request.method) is not described for this resource."
            )
        }
        if let project = values["project_id"] {
            let isKnown = project == settings.project || settings.knowsItsProjectAlone != true
            guard isKnown else { throw .missingResource("project") }
        }
        guard let operation = matchedOperation else {
            throw RevenueCatError(
                v2: 403,
                "authorization_error",
                "The API key has no permission for this resource."
            )
        }
        var body = JSONObject()
        if request.method == "POST", !request.body.isEmpty {
            guard let object = request.jsonObject().object else {
                throw RevenueCatError(v2: 400, "invalid_request", "The body is no JSON object.")
            }
            body = object
        }
        let call = CallV2(request: request, values: values, body: body, now: now)
        return try operation.handle(&self, call)
    }

    // MARK: Lists

    /// The number of items on a page of a list when the call sets no `limit`.
    ///
    /// `pageSizeMax` is the largest number (API description of REST v2).
    private static let defaultPageSize = 20
    private static let pageSizeMax = 1000

    /// Returns the response with one page of a list.
    ///
    /// The query parameter `starting_after` contains the ID of the last item on the previous page.
    func pageResponse(
        _ items: [(id: String, value: JSONValue)],
        _ path: String,
        _ call: CallV2
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        var limit = Self.defaultPageSize
        if let text = call.query("limit") {
            guard let number = Int(text), (1...Self.pageSizeMax).contains(number) else {
                throw RevenueCatError(
                    v2: 400,
                    "parameter_error",
                    "limit must be between 1 and \(Self.pageSizeMax).",
                    param: "limit"
                )
            }
            limit = number
        }
        var remainingItems = items[...]
        if let last = call.query("starting_after") {
            guard let index = items.firstIndex(where: { $0.id == last }) else {
                throw RevenueCatError(
                    v2: 400,
                    "parameter_error",
                    "starting_after names nothing of this list.",
                    param: "starting_after"
                )
            }
            remainingItems = items[(index + 1)...]
        }
        let visibleItems = remainingItems.prefix(limit)
        var nextPageURL: String?
        if visibleItems.count < remainingItems.count, let last = visibleItems.last {
            nextPageURL = "\(path)?starting_after=\(last.id.percentEncoded)&limit=\(limit)"
        }
        return HTTPMessage.Response(
            200,
            json: Self.listJSON(visibleItems.map(\.value), path, nextPageURL: nextPageURL)
        )
    }

    static func listJSON(_ items: [JSONValue], _ url: String, nextPageURL: String? = nil)
        -> JSONValue
    {
        [
            "object": "list", "items": .array(items),
            "next_page": nextPageURL.map(JSONValue.string) ?? .null, "url": .string(url),
        ]
    }

    // MARK: RevenueCat's own IDs

    /// Returns RevenueCat's own ID of a resource.
    ///
    /// This ID differs from the lookup key and from the store's ID of the resource.
    static func objectID(_ prefix: String, _ text: String) -> String {
        prefix + Digest.sha256(Array(text.utf8)).dropFirst(7).prefix(10)
    }

    static func entitlementID(_ name: String) -> String { objectID("entl", name) }
    static func productID(_ name: String) -> String { objectID("prod", name) }
    static func offeringID(_ name: String) -> String { objectID("ofrng", name) }
    static func packageID(_ name: String) -> String { objectID("pkge", name) }

    static func time(_ instant: Instant?) -> JSONValue {
        instant.map { .integer($0.milliseconds) } ?? .null
    }
}

extension RevenueCatError {
    /// Returns the 404 error of REST v2 for a resource that does not exist.
    static func missingResource(_ resource: String) -> RevenueCatError {
        RevenueCatError(v2: 404, "resource_missing", "The \(resource) was not found.")
    }

    /// Creates the error of REST v2 for an action that the store model refuses.
    init(v2 refusal: StoreAction.Refusal) {
        self.init(v2: 422, "unprocessable_entity_error", refusal.description)
    }
}
