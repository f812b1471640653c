internal import Values

/// A call of REST v2, with the values of its path parameters and its body.
struct V2Call {
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

    /// Returns a required query parameter; throws when it is missing or empty.
    func requiredQuery(_ name: String) throws(RevenueCatError) -> String {
        guard let text = query(name), !text.isEmpty else {
            throw .invalidParameter("\(name) is required.", name)
        }
        return text
    }
}
