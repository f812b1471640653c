package import Values

/// The key of a value that one part of a file format leaves in the reader for another part.
package protocol ReaderNote {
    associatedtype Value: Sendable

    /// The value before a part of the file has set one.
    static var initialValue: Value { get }
}

/// Reads values from the YAML nodes of a file, and collects all errors instead of stopping at the
/// first error.
package struct NodeReader: Sendable {
    package var errors: [ContractError] = []
    /// All uses of names in the file, for finding misspelled names.
    package var names = NameUses()
    /// The location in the file of each step of a contract.
    package var sourceLocations: [SourceLocation] = []
    /// The environment variables that replace `${NAME}` in a profile.
    package var environment: [String: String] = [:]
    /// Notes of the grammars of a file format, made while they read the file.
    private var notes: [ObjectIdentifier: any Sendable] = [:]

    package init() {}

    /// A value that one part of a file format leaves for another part.
    package subscript<Note: ReaderNote>(_ note: Note.Type) -> Note.Value {
        get { notes[ObjectIdentifier(note)] as? Note.Value ?? note.initialValue }
        set { notes[ObjectIdentifier(note)] = newValue }
    }

    package mutating func fail(_ problem: ContractError.Problem, at location: SourceLocation) {
        errors.append(ContractError(problem, at: location))
    }

    /// Returns the values of a mapping by key, and reports an error for each unknown key.
    package mutating func mapping(_ node: LocatedNode, allowed: [String]) -> [String: LocatedNode] {
        guard let entries = entries(node) else { return [:] }
        var result: [String: LocatedNode] = [:]
        for entry in entries {
            if allowed.contains(entry.key) {
                result[entry.key] = entry.value
            } else {
                fail(.unknownKey(entry.key, allowed: allowed), at: entry.keyLocation)
            }
        }
        return result
    }

    package mutating func entries(_ node: LocatedNode) -> [LocatedNode.Entry]? {
        guard case .mapping(let entries) = node.content else {
            fail(.wrongValueKind(expected: "a mapping", found: node.kind), at: node.location)
            return nil
        }
        return entries
    }

    package mutating func sequence(_ node: LocatedNode) -> [LocatedNode] {
        guard case .sequence(let elements) = node.content else {
            fail(.wrongValueKind(expected: "a list", found: node.kind), at: node.location)
            return []
        }
        return elements
    }

    package mutating func text(_ node: LocatedNode) -> String? {
        guard case .scalar(let text, let isPlain) = node.content, !(isPlain && text.isEmpty) else {
            fail(.wrongValueKind(expected: "a string", found: node.kind), at: node.location)
            return nil
        }
        return text
    }

    package mutating func flag(_ node: LocatedNode) -> Bool {
        guard case .bool(let flag) = node.json else {
            fail(.wrongValueKind(expected: "true or false", found: node.kind), at: node.location)
            return false
        }
        return flag
    }

    package mutating func count(_ node: LocatedNode, in range: ClosedRange<Int>) -> Int {
        guard let number = node.json.int64, let count = Int(exactly: number),
            range.contains(count)
        else {
            fail(
                .wrongValueKind(
                    expected: "a whole number from \(range.lowerBound) to \(range.upperBound)",
                    found: node.kind
                ),
                at: node.location
            )
            return range.lowerBound
        }
        return count
    }

    package mutating func duration(_ node: LocatedNode) -> Duration? {
        guard let text = text(node) else { return nil }
        guard let duration = Duration(contractText: text) else {
            fail(.duration(text), at: node.location)
            return nil
        }
        return duration
    }

    package mutating func choice<Choice: RawRepresentable & CaseIterable>(
        _ node: LocatedNode,
        _ valueKind: String
    ) -> Choice? where Choice.RawValue == String {
        guard let text = text(node) else { return nil }
        guard let choice = Choice(rawValue: text) else {
            let allowed = Choice.allCases.map(\.rawValue)
            fail(.unknownValue(text, valueKind: valueKind, allowed: allowed), at: node.location)
            return nil
        }
        return choice
    }

    package mutating func word(_ node: LocatedNode, _ valueKind: String, among allowed: [String])
        -> String?
    {
        guard let text = text(node) else { return nil }
        guard allowed.contains(text) else {
            fail(.unknownValue(text, valueKind: valueKind, allowed: allowed), at: node.location)
            return nil
        }
        return text
    }

    package mutating func pointer(_ node: LocatedNode) -> JSONPointer? {
        guard let text = text(node) else { return nil }
        guard let pointer = JSONPointer(text) else {
            fail(
                .wrongValueKind(expected: "a JSON pointer such as /event/price", found: node.kind),
                at: node.location
            )
            return nil
        }
        return pointer
    }

    /// Reads a string that may be empty, such as a header or a body.
    package mutating func possiblyEmptyText(_ node: LocatedNode) -> String? {
        guard case .scalar(let text, _) = node.content else {
            fail(.wrongValueKind(expected: "a string", found: node.kind), at: node.location)
            return nil
        }
        return text
    }

    /// Reads a name of letters and digits, and records its use with the given role.
    package mutating func name(
        _ node: LocatedNode,
        _ kind: NameUses.Kind,
        _ role: NameUses.Role
    ) -> String? {
        guard let text = text(node), isName(text, at: node.location) else { return nil }
        names.recordUse(kind, role, text, at: node.location)
        return text
    }

    /// Records the uses of the names in a mapping key, such as `ada` or `ada|ben`.
    package mutating func names(
        _ entry: LocatedNode.Entry,
        _ kind: NameUses.Kind,
        _ role: NameUses.Role
    ) {
        for part in entry.key.split(separator: "|", omittingEmptySubsequences: false)
        where isName(String(part), at: entry.keyLocation) {
            names.recordUse(kind, role, String(part), at: entry.keyLocation)
        }
    }

    private mutating func isName(_ text: String, at location: SourceLocation) -> Bool {
        let isName = text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber) }
        guard isName, !text.isEmpty else {
            fail(
                .wrongValueKind(expected: "a name of letters and digits", found: "'\(text)'"),
                at: location
            )
            return false
        }
        return true
    }
}
