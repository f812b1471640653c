internal import Contracts
package import Providers
package import Values

/// Sends the same GET requests to a live service and to its fake, and reports differences in the
/// shape of the responses.
///
/// Only operations in the service's API description are called.
package struct DriftComparison: Sendable {
    /// The result of the comparison for one operation of the service.
    package struct OperationComparison: Sendable {
        package enum Outcome: Sendable {
            case equal
            case differs([ResponseShape.Difference])
            case status(live: Int, fake: Int)
            /// The operation could not be compared; the string is the reason.
            case notComparable(String)
        }

        package let operation: ServiceOperation
        package let outcome: Outcome
    }

    /// Sends a request to one of the two sides: the live service or the fake.
    package typealias Call =
        @Sendable (HTTPMessage.Request) async -> Result<HTTPMessage.Response, UnreachableError>

    /// The error when the live service or the fake gives no response.
    package struct UnreachableError: Error, Sendable {
        package let text: String

        package init(_ text: String) { self.text = text }
    }

    private let readPlan: LiveReadPlan
    private let operations: [ServiceOperation]

    /// Selects the operations that can be compared: the GET operations that the fake supports and
    /// the API description lists.
    ///
    /// - Parameters:
    ///   - readPlan: The rules for reading the service.
    ///   - operations: All known operations of the service.
    package init(_ readPlan: LiveReadPlan, of operations: [ServiceOperation]) {
        self.readPlan = readPlan
        self.operations = operations.filter {
            $0.method == "GET" && $0.supportStatus == .served && $0.isInAPIDescription
        }
    }

    /// Compares the responses of the live service with those of the fake.
    ///
    /// - Parameters:
    ///   - suppliedParameters: The values of path parameters for the live service that the user has given.
    ///   - fakeParameterValues: The values of path parameters for the fake.
    ///   - live: Sends a request to the live service.
    ///   - fake: Sends a request to the fake.
    ///   - progress: Receives each operation before it is called.
    /// - Returns: One line for each operation.
    /// - Throws: `UnreachableError` when the live service or the fake does not respond at all.
    package func compare(
        suppliedParameters: [String: String],
        fakeParameterValues: [String: String],
        live: Call,
        fake: Call,
        progress: (ServiceOperation) -> Void = { _ in }
    ) async throws(UnreachableError) -> [OperationComparison] {
        let (liveValues, liveTypes) = try await values(suppliedParameters, live)
        let (fakeValues, _) = try await values(fakeParameterValues, ofTypes: liveTypes, fake)
        var comparisons: [OperationComparison] = []
        for operation in operations {
            progress(operation)
            comparisons.append(
                OperationComparison(
                    operation: operation,
                    outcome: try await outcome(operation, liveValues, fakeValues, live, fake)
                )
            )
        }
        return comparisons
    }

    private func outcome(
        _ operation: ServiceOperation,
        _ liveValues: [String: String],
        _ fakeValues: [String: String],
        _ live: Call,
        _ fake: Call
    ) async throws(UnreachableError) -> OperationComparison.Outcome {
        let template = operation.path + (readPlan.queryByPath[operation.path] ?? "")
        guard let target = Self.filled(template, liveValues) else {
            return .notComparable(
                "no value for a parameter of its path is known for the live service"
            )
        }
        guard let fakeTarget = Self.filled(template, fakeValues) else {
            return .notComparable("no value for a parameter of its path is known for the fake")
        }
        let liveResponse = try await live(HTTPMessage.Request("GET", target)).get()
        let fakeResponse = try await fake(HTTPMessage.Request("GET", fakeTarget)).get()
        if liveResponse.status == 429 {
            return .notComparable("the live service returned 429: too many calls")
        }
        if [401, 403].contains(liveResponse.status), liveResponse.status != fakeResponse.status {
            return .notComparable(
                "the live service returned \(liveResponse.status): the key does not permit this call"
            )
        }
        guard liveResponse.status == fakeResponse.status else {
            return .status(live: liveResponse.status, fake: fakeResponse.status)
        }
        guard let liveJSON = liveResponse.bodyJSON,
            let fakeJSON = fakeResponse.bodyJSON
        else {
            return .notComparable("the live service or the fake sent a response that is not JSON")
        }
        let open = readPlan.userNamedMembers
        let found = ResponseShape(liveJSON, userNamedMembers: open)
            .differences(
                from: ResponseShape(fakeJSON, userNamedMembers: open),
                optional: readPlan.membersOmittedWhenUnset
            )
        return found.isEmpty ? .equal : .differs(found)
    }

    /// Returns values for the path parameters of operations, such as the ID of a customer.
    ///
    /// These are the given values, and values from lists that the service returns.
    ///
    /// - Parameters:
    ///   - suppliedParameters: The given values.
    ///   - preferredTypes: The `type` of the list item to choose, by parameter name. The shape of a
    ///     resource depends on its type, so only resources of the same type are alike. Without such
    ///     an item, the first item is chosen.
    ///   - call: Sends a request to the service.
    /// - Returns: The values, and the types of the chosen items that have one.
    /// - Throws: `UnreachableError` when the service does not respond at all.
    private func values(
        _ suppliedParameters: [String: String],
        ofTypes preferredTypes: [String: String] = [:],
        _ call: Call
    ) async throws(UnreachableError) -> (values: [String: String], types: [String: String]) {
        var values = suppliedParameters
        var types: [String: String] = [:]
        for source in readPlan.parameterSources where values[source.name] == nil {
            guard let target = Self.filled(source.path, values) else { continue }
            let response = try await call(HTTPMessage.Request("GET", target)).get()
            guard response.status < 300, let body = response.bodyJSON else {
                continue
            }
            let pointers = source.responsePointers.compactMap { JSONPointer($0) }
            guard let pointer = pointers.first(where: { body[$0]?.string != nil }) else { continue }
            let candidates = Self.siblings(pointer, in: body)
            let type = preferredTypes[source.name]
            let chosen =
                candidates.first { type != nil && Self.type(of: $0, in: body) == type } ?? pointer
            values[source.name] = body[chosen]?.string
            types[source.name] = Self.type(of: chosen, in: body)
        }
        return (values, types)
    }

    /// Returns the pointers to the same member of all items of a list, given the pointer to the
    /// member of the first item.
    private static func siblings(_ pointer: JSONPointer, in body: JSONValue) -> [JSONPointer] {
        guard let index = pointer.tokens.firstIndex(of: "0"),
            let items = body[JSONPointer(tokens: Array(pointer.tokens[..<index]))]?.array
        else { return [pointer] }
        return items.indices.map { item in
            var tokens = pointer.tokens
            tokens[index] = String(item)
            return JSONPointer(tokens: tokens)
        }.filter { body[$0]?.string != nil }
    }

    /// Returns the `type` of the object that contains a value; nil if it has none.
    private static func type(of pointer: JSONPointer, in body: JSONValue) -> String? {
        body[JSONPointer(tokens: pointer.tokens.dropLast() + ["type"])]?.string
    }

    /// Returns a request path with its parameters replaced by values; nil when the value of a
    /// parameter is not known.
    private static func filled(_ template: String, _ values: [String: String]) -> String? {
        var filled = ""
        var remainingTemplate = template[...]
        while let open = remainingTemplate.firstIndex(of: "{"),
            let close = remainingTemplate.firstIndex(of: "}")
        {
            let name = String(remainingTemplate[remainingTemplate.index(after: open)..<close])
            guard let value = values[name] else { return nil }
            filled += remainingTemplate[..<open] + value.percentEncoded
            remainingTemplate = remainingTemplate[remainingTemplate.index(after: close)...]
        }
        return filled + remainingTemplate
    }
}
