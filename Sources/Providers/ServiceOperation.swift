/// An operation of a service's interface, and what its fake does about it: a line of the inventory
/// that `assay serve --coverage` prints.
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

/// The operations of one interface: which one a path names, and who answers it.
///
/// What is answered is found in the very table that the inventory is made of, so that neither can
/// say what the other does not do.
struct OperationTable<Call: Hashable & Sendable>: Sendable {
    struct Row: Sendable {
        let method: String
        /// With names in braces, below the interface's root.
        let path: String
        /// Who answers here; nil: it is refused.
        let call: Call?
        let standing: ServiceOperation.Standing
        let isDescribed: Bool
        let deviation: String?
        /// The parts of the path without its query, where it has no names.
        fileprivate let plainPath: [String]?
        fileprivate let parts: [Part]

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
            parts = path.prefix { $0 != "?" }.split(separator: "/").map(Part.init)
            let texts = parts.compactMap { part in
                if case .text(let text) = part { text } else { nil }
            }
            plainPath = texts.count == parts.count ? texts : nil
        }

        /// An operation that the description does not list.
        static func older(_ method: String, _ path: String, _ call: Call) -> Row {
            Row(method, path, call, isDescribed: false)
        }

        /// What stands in the place of the names; nil for another path.
        fileprivate func values(in segments: [String]) -> [String: String]? {
            guard parts.count == segments.count else { return nil }
            var values: [String: String] = [:]
            for (part, segment) in zip(parts, segments) {
                switch part {
                case .text(let text): guard text == segment else { return nil }
                case .name(let name, let verb):
                    guard segment.hasSuffix(verb), segment.count > verb.count else { return nil }
                    values[name] = String(segment.dropLast(verb.count))
                }
            }
            return values
        }
    }

    fileprivate enum Part: Sendable {
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
    }

    let interface: String
    /// What stands before every path: `/v2`.
    let root: String
    /// One without names is meant before one with names, and of those the first that fits.
    let rows: [Row]
    /// Rows without names, by the last part of their paths.
    private let exact: [String: [Int]]
    /// Rows with names, by how many parts their paths have.
    private let named: [Int: [Int]]

    /// Whether the service publishes a description that CI can read.
    let hasDescription: Bool

    init(_ interface: String, root: String = "", hasDescription: Bool, _ rows: [Row]) {
        self.interface = interface
        self.root = root
        self.hasDescription = hasDescription
        self.rows = rows
        var exact: [String: [Int]] = [:]
        var named: [Int: [Int]] = [:]
        for (index, row) in rows.enumerated() {
            if let last = row.plainPath?.last {
                exact[last, default: []].append(index)
            } else {
                named[row.parts.count, default: []].append(index)
            }
        }
        (self.exact, self.named) = (exact, named)
    }

    /// The operation at a path below the root, with what stands in the place of the names.
    func find(
        _ method: String,
        _ segments: [String]
    ) -> (call: Call?, values: [String: String])? {
        for index in segments.last.flatMap({ exact[$0] }) ?? []
        where rows[index].method == method && rows[index].plainPath == segments {
            return (rows[index].call, [:])
        }
        for index in named[segments.count] ?? [] where rows[index].method == method {
            if let values = rows[index].values(in: segments) { return (rows[index].call, values) }
        }
        return nil
    }

    /// Whether another method is known at the path.
    func isKnown(_ segments: [String]) -> Bool {
        rows.contains { $0.values(in: segments) != nil }
    }

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
