package import Values

/// An operation of a service's API, and the support for it in the fake.
///
/// `assay coverage` prints one line for each operation.
package struct ServiceOperation: Hashable, Sendable {
    /// The support for an operation in the fake.
    package enum SupportStatus: String, Hashable, Sendable, CaseIterable {
        /// The fake supports the operation and computes the response from its own model.
        case served
        /// The fake refuses the operation with the service's error for a caller without permission,
        /// because neither a backend nor an app calls it.
        case refused
        /// The fake does not support the operation: it responds with 501 and the operation's name.
        case absent
    }

    /// The name of the part of the service's API to which the operation belongs, for example `REST
    /// v2`.
    package let interface: String
    package let method: String
    /// The operation's path after the host name, with parameters in braces, for example
    /// `/v2/projects/{project_id}/customers`.
    package let path: String
    package let supportStatus: SupportStatus
    /// Whether the service's own API description lists the operation.
    ///
    /// Other operations come from older documentation or from other sources.
    package let isInAPIDescription: Bool
    /// Whether CI validates the fake's responses to this operation against the API description that
    /// the service publishes.
    package let isValidated: Bool
    /// A deliberate difference between the fake and the service's API description, with its reason
    /// or its switch.
    package let deviation: String?

    package init(
        interface: String,
        method: String,
        path: String,
        supportStatus: SupportStatus,
        isInAPIDescription: Bool,
        isValidated: Bool,
        deviation: String? = nil
    ) {
        self.interface = interface
        self.method = method
        self.path = path
        self.supportStatus = supportStatus
        self.isInAPIDescription = isInAPIDescription
        self.isValidated = isValidated
        self.deviation = deviation
    }
}

extension ProviderEntry {
    /// Whether the service's API has an operation with the method and the path of a request.
    package func hasRoute(of request: HTTPMessage.Request) -> Bool {
        guard var segments = request.pathSegments else { return false }
        // The Firebase emulator takes the host of the service as the first segment.
        if let first = segments.first, hosts.contains(where: { $0.name == first }) {
            segments.removeFirst()
        }
        return operations().contains { operation in
            operation.method == request.method && operation.matches(segments[...])
        }
    }

    /// Returns the beginning of a route's path that a request lacks, such as `/v1`.
    ///
    /// A backend with a wrong base URL makes such requests. Returns nil if no route of the service
    /// ends in the path of the request.
    package func missingPathPrefix(of request: HTTPMessage.Request) -> String? {
        guard let segments = request.pathSegments, !segments.isEmpty else { return nil }
        for operation in operations() where operation.method == request.method {
            let parts = operation.pathParts
            let prefix = parts.dropLast(segments.count).compactMap(\.text)
            guard parts.count > segments.count, prefix.count == parts.count - segments.count,
                operation.matches(prefix + segments)
            else { continue }
            return "/" + prefix.joined(separator: "/")
        }
        return nil
    }
}

extension ServiceOperation {
    fileprivate var pathParts: [PathPart] {
        path.prefix { $0 != "?" }.split(separator: "/").map(PathPart.init)
    }

    fileprivate func matches(_ segments: some Collection<String>) -> Bool {
        PathPart.match(pathParts, segments)
    }
}

/// A segment in the path of an API operation.
private enum PathPart: Sendable {
    case text(String)
    /// A parameter in the path.
    ///
    /// In Google's notation a verb may follow it in the same segment: `{project}:queryAccounts`.
    case name(String, verb: String)

    init(_ text: Substring) {
        guard text.hasPrefix("{"), let end = text.firstIndex(of: "}") else {
            self = .text(String(text))
            return
        }
        let name = text[text.index(after: text.startIndex)..<end]
        self = .name(String(name), verb: String(text[text.index(after: end)...]))
    }

    var text: String? {
        switch self {
        case .text(let text): text
        case .name: nil
        }
    }

    /// Whether the segments of a path fit the parts of an operation's path.
    static func match(_ parts: [PathPart], _ segments: some Collection<String>) -> Bool {
        guard parts.count == segments.count else { return false }
        return zip(parts, segments).allSatisfy { part, segment in
            switch part {
            case .text(let text): text == segment
            case .name(_, let verb):
                segment.utf8.count > verb.utf8.count && segment.hasSuffix(verb)
            }
        }
    }
}

/// The values of an operation's path parameters in one request.
struct PathParameterValues: Sendable {
    fileprivate let pathParts: [PathPart]
    fileprivate let segments: [String]

    /// Returns the value of a path parameter; nil when the operation's path has no such parameter.
    subscript(parameterName: String) -> String? {
        for (part, segment) in zip(pathParts, segments) {
            guard case .name(let name, let verb) = part, name == parameterName else { continue }
            return verb.isEmpty ? segment : String(segment.dropLast(verb.count))
        }
        return nil
    }
}

/// The table of the operations of one API.
///
/// It finds the operation for the path of a request.
///
/// The same table routes requests and generates the inventory of supported operations. The
/// inventory therefore cannot claim anything that the fake does not do.
struct OperationTable<Operation: Sendable>: Sendable {
    /// A row of the table, which describes one operation.
    ///
    /// It is a class, so that a search copies no rows.
    final class Row: Sendable {
        let method: String
        /// The operation's path below the root of the API, with parameters in braces.
        let path: String
        /// The operation with its handler.
        ///
        /// If nil, the fake refuses the operation.
        let operation: Operation?
        let supportStatus: ServiceOperation.SupportStatus
        let isInAPIDescription: Bool
        let deviation: String?
        fileprivate let pathParts: [PathPart]

        init(
            _ method: String,
            _ path: String,
            _ operation: Operation? = nil,
            supportStatus: ServiceOperation.SupportStatus? = nil,
            isInAPIDescription: Bool = true,
            deviation: String? = nil
        ) {
            self.method = method
            self.path = path
            self.operation = operation
            self.supportStatus = supportStatus ?? (operation == nil ? .refused : .served)
            self.isInAPIDescription = isInAPIDescription
            self.deviation = deviation
            pathParts = path.prefix { $0 != "?" }.split(separator: "/").map(PathPart.init)
        }

        /// Returns a row for an operation that the service's API description does not list.
        static func undescribed(
            _ method: String,
            _ path: String,
            _ operation: Operation
        ) -> Row {
            Row(method, path, operation, isInAPIDescription: false)
        }

        fileprivate func matches(_ segments: [String]) -> Bool {
            PathPart.match(pathParts, segments)
        }
    }

    let interface: String
    /// The common prefix of the paths of all operations, for example `/v2`.
    let root: String
    /// Whether the service publishes an API description against which CI can validate responses.
    let hasDescription: Bool
    /// The rows of the table, one for each operation.
    ///
    /// If several rows match a path, a row whose path ends in a literal segment has priority over
    /// one that ends in a parameter. Next, the row with fewer parameters has priority, and then the
    /// first row.
    let rows: [Row]
    /// The rows whose path ends in a literal segment, by that last segment.
    private let rowsByLastSegment: [String: [Row]]
    /// The rows whose path ends in a parameter, by the number of path segments.
    private let rowsBySegmentCount: [Int: [Row]]

    init(_ interface: String, root: String = "", hasDescription: Bool, _ rows: [Row]) {
        self.interface = interface
        self.root = root
        self.hasDescription = hasDescription
        self.rows = rows
        var rowsByLastSegment: [String: [Row]] = [:]
        var rowsBySegmentCount: [Int: [Row]] = [:]
        func parameterCount(_ row: Row) -> Int { row.pathParts.count { $0.text == nil } }
        let sorted = rows.enumerated()
            .sorted {
                (parameterCount($0.element), $0.offset) < (parameterCount($1.element), $1.offset)
            }
        for row in sorted.map(\.element) {
            if let last = row.pathParts.last?.text {
                rowsByLastSegment[last, default: []].append(row)
            } else {
                rowsBySegmentCount[row.pathParts.count, default: []].append(row)
            }
        }
        (self.rowsByLastSegment, self.rowsBySegmentCount) = (rowsByLastSegment, rowsBySegmentCount)
    }

    /// Finds the operation for a method and a path below the root of the API.
    ///
    /// Returns it with the values of its path parameters.
    func findOperation(
        _ method: String,
        _ segments: [String]
    ) -> (operation: Operation?, values: PathParameterValues)? {
        guard let last = segments.last else { return nil }
        for row in rowsByLastSegment[last] ?? [] where row.method == method && row.matches(segments)
        {
            return (
                row.operation, PathParameterValues(pathParts: row.pathParts, segments: segments)
            )
        }
        for row in rowsBySegmentCount[segments.count] ?? []
        where row.method == method && row.matches(segments) {
            return (
                row.operation, PathParameterValues(pathParts: row.pathParts, segments: segments)
            )
        }
        return nil
    }

    /// Whether the table has an operation at this path, with any HTTP method.
    func isKnown(_ segments: [String]) -> Bool { rows.contains { $0.matches(segments) } }

    /// The inventory of the API's operations, one entry for each row of the table.
    var operations: [ServiceOperation] {
        rows.map {
            ServiceOperation(
                interface: interface,
                method: $0.method,
                path: root + $0.path,
                supportStatus: $0.supportStatus,
                isInAPIDescription: $0.isInAPIDescription,
                isValidated: hasDescription && $0.isInAPIDescription && $0.supportStatus == .served,
                deviation: $0.deviation
            )
        }
    }
}
