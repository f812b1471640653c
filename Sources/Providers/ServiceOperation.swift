/// An operation of a service's interface, and what its fake does about it: a line of the inventory
/// that `assay coverage` prints.
package struct ServiceOperation: Hashable, Sendable {
    package enum Standing: String, Hashable, Sendable, CaseIterable {
        /// Answered out of the fake's own model.
        case served
        /// Known, and refused as the service refuses who has no right to it: it is no part of what a
        /// backend or an app does.
        case refused
        /// Known, and answered by name that it is not there: 501.
        case absent
    }

    /// The part of the service's interface, as it is called in prose: `REST v2`.
    package let interface: String
    package let method: String
    /// From the host on, with names in braces: `/v2/projects/{project_id}/customers`.
    package let path: String
    package let standing: Standing
    /// Whether the service's own API description lists it; others are of older or other origin.
    package let isDescribed: Bool
    /// Whether CI holds its answers against the description that the service publishes.
    package let isValidated: Bool
    /// What differs from the description on purpose, with its reason or switch.
    package let deviation: String?
}

/// A part of an operation's path.
private enum PathPart: Sendable {
    case text(String)
    /// With the verb that stands behind it, as Google writes them: `{project}:queryAccounts`.
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
}

/// What stands in a path in the place of an operation's names.
struct PathValues: Sendable {
    fileprivate let parts: [PathPart]
    fileprivate let segments: [String]

    /// Nil for a name that the operation's path has not.
    subscript(wanted: String) -> String? {
        for (part, segment) in zip(parts, segments) {
            guard case .name(let name, let verb) = part, name == wanted else { continue }
            return verb.isEmpty ? segment : String(segment.dropLast(verb.count))
        }
        return nil
    }
}

/// The operations of one interface: which one a path names, and who answers it.
///
/// What is answered is found in the very table that the inventory is made of, so that neither can
/// say what the other does not do.
struct OperationTable<Call: Hashable & Sendable>: Sendable {
    /// A class, so that a search copies none.
    final class Row: Sendable {
        let method: String
        /// With names in braces, below the interface's root.
        let path: String
        /// Who answers here; nil: it is refused.
        let call: Call?
        let standing: ServiceOperation.Standing
        let isDescribed: Bool
        let deviation: String?
        fileprivate let parts: [PathPart]

        init(
            _ method: String,
            _ path: String,
            _ call: Call? = nil,
            standing: ServiceOperation.Standing? = nil,
            isDescribed: Bool = true,
            deviation: String? = nil
        ) {
            self.method = method
            self.path = path
            self.call = call
            self.standing = standing ?? (call == nil ? .refused : .served)
            self.isDescribed = isDescribed
            self.deviation = deviation
            parts = path.prefix { $0 != "?" }.split(separator: "/").map(PathPart.init)
        }

        /// An operation that the description does not list.
        static func older(_ method: String, _ path: String, _ call: Call) -> Row {
            Row(method, path, call, isDescribed: false)
        }

        fileprivate func fits(_ segments: [String]) -> Bool {
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

    let interface: String
    /// What stands before every path: `/v2`.
    let root: String
    /// Whether the service publishes a description that CI can read.
    let hasDescription: Bool
    /// One whose path ends in a text is meant before one that ends in a name, one with fewer names
    /// before one with more, and of those the first that fits.
    let rows: [Row]
    /// Rows whose paths end in a text, by that text.
    private let closed: [String: [Row]]
    /// The others, by how many parts their paths have.
    private let open: [Int: [Row]]

    init(_ interface: String, root: String = "", hasDescription: Bool, _ rows: [Row]) {
        self.interface = interface
        self.root = root
        self.hasDescription = hasDescription
        self.rows = rows
        var closed: [String: [Row]] = [:]
        var open: [Int: [Row]] = [:]
        func names(_ row: Row) -> Int { row.parts.count { $0.text == nil } }
        let sorted = rows.enumerated()
            .sorted { (names($0.element), $0.offset) < (names($1.element), $1.offset) }
        for row in sorted.map(\.element) {
            if let last = row.parts.last?.text {
                closed[last, default: []].append(row)
            } else {
                open[row.parts.count, default: []].append(row)
            }
        }
        (self.closed, self.open) = (closed, open)
    }

    /// The operation at a path below the root, with what stands in the place of the names.
    func find(
        _ method: String,
        _ segments: [String]
    ) -> (call: Call?, values: PathValues)? {
        guard let last = segments.last else { return nil }
        for row in closed[last] ?? [] where row.method == method && row.fits(segments) {
            return (row.call, PathValues(parts: row.parts, segments: segments))
        }
        for row in open[segments.count] ?? [] where row.method == method && row.fits(segments) {
            return (row.call, PathValues(parts: row.parts, segments: segments))
        }
        return nil
    }

    /// Whether another method is known at the path.
    func isKnown(_ segments: [String]) -> Bool { rows.contains { $0.fits(segments) } }

    /// The lines of the inventory.
    var operations: [ServiceOperation] {
        rows.map {
            ServiceOperation(
                interface: interface,
                method: $0.method,
                path: root + $0.path,
                standing: $0.standing,
                isDescribed: $0.isDescribed,
                isValidated: hasDescription && $0.isDescribed && $0.standing == .served,
                deviation: $0.deviation
            )
        }
    }
}
