/// Turns located nodes into values and collects every error, so that one look shows them all.
package struct NodeReader: Sendable {
    package var errors: [ContractError] = []
    /// What the file names, and what gave the names.
    package var names = Names()
    /// Where each step of a contract stands.
    package var places: [SourceLocation] = []
    /// Stops in the middle of a delivery, by its name.
    package var crashes: [String: Crash] = [:]
    /// Whose webhook each delivery goes to, for those that repeat it.
    package var webhooks: [String: Exchange.Party] = [:]
    /// What `${NAME}` stands for in a profile's secrets.
    package var environment: [String: String] = [:]
    /// The profile names the route by which an app announces its user.
    package var namesRegister = false

    package init() {}

    package mutating func fail(_ problem: ContractError.Problem, at location: SourceLocation) {
        errors.append(ContractError(problem, at: location))
    }

    /// The entries by key; unknown keys are errors.
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
            fail(.wrongKind(expected: "a mapping", found: node.kind), at: node.location)
            return nil
        }
        return entries
    }

    package mutating func sequence(_ node: LocatedNode) -> [LocatedNode] {
        guard case .sequence(let elements) = node.content else {
            fail(.wrongKind(expected: "a list", found: node.kind), at: node.location)
            return []
        }
        return elements
    }

    package mutating func text(_ node: LocatedNode) -> String? {
        guard case .scalar(let text, let isPlain) = node.content, !(isPlain && text.isEmpty) else {
            fail(.wrongKind(expected: "a text", found: node.kind), at: node.location)
            return nil
        }
        return text
    }

    package mutating func flag(_ node: LocatedNode) -> Bool {
        guard case .bool(let flag) = node.json else {
            fail(.wrongKind(expected: "true or false", found: node.kind), at: node.location)
            return false
        }
        return flag
    }

    package mutating func count(_ node: LocatedNode, in range: ClosedRange<Int>) -> Int {
        guard let number = node.json.int64, let count = Int(exactly: number),
            range.contains(count)
        else {
            fail(
                .wrongKind(
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
        _ what: String
    ) -> Choice? where Choice.RawValue == String {
        guard let text = text(node) else { return nil }
        guard let choice = Choice(rawValue: text) else {
            let allowed = Choice.allCases.map(\.rawValue)
            fail(.unknownValue(text, what: what, allowed: allowed), at: node.location)
            return nil
        }
        return choice
    }

    package mutating func word(_ node: LocatedNode, _ what: String, among allowed: [String])
        -> String?
    {
        guard let text = text(node) else { return nil }
        guard allowed.contains(text) else {
            fail(.unknownValue(text, what: what, allowed: allowed), at: node.location)
            return nil
        }
        return text
    }

    package mutating func pointer(_ node: LocatedNode) -> JSONPointer? {
        guard let text = text(node) else { return nil }
        guard let pointer = JSONPointer(text) else {
            fail(
                .wrongKind(expected: "a JSON pointer such as /event/price", found: node.kind),
                at: node.location
            )
            return nil
        }
        return pointer
    }

    /// A text that may be empty, as a header or a body may be.
    package mutating func anyText(_ node: LocatedNode) -> String? {
        guard case .scalar(let text, _) = node.content else {
            fail(.wrongKind(expected: "a text", found: node.kind), at: node.location)
            return nil
        }
        return text
    }

    /// A name of letters and digits, noted with what this place does with it.
    package mutating func name(
        _ node: LocatedNode,
        _ kind: Names.Kind,
        _ role: Names.Role
    ) -> String? {
        guard let text = text(node), isName(text, at: node.location) else { return nil }
        names.note(kind, role, text, at: node.location)
        return text
    }

    /// Names that stand as a key, `ada` or `ada|ben`.
    package mutating func names(
        _ entry: LocatedNode.Entry,
        _ kind: Names.Kind,
        _ role: Names.Role
    ) {
        for part in entry.key.split(separator: "|", omittingEmptySubsequences: false)
        where isName(String(part), at: entry.keyLocation) {
            names.note(kind, role, String(part), at: entry.keyLocation)
        }
    }

    private mutating func isName(_ text: String, at location: SourceLocation) -> Bool {
        let isName = text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber) }
        guard isName, !text.isEmpty else {
            fail(
                .wrongKind(expected: "a name of letters and digits", found: "'\(text)'"),
                at: location
            )
            return false
        }
        return true
    }
}
