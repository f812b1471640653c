internal import Conformance

/// Turns located nodes into values and collects every error, so that one look shows them all.
struct NodeReader {
    var errors: [ContractError] = []
    /// The file's lines, so that a caret may stand inside a text of several of them.
    var lines: [String] = []

    mutating func fail(_ problem: ContractError.Problem, at location: SourceLocation) {
        errors.append(ContractError(problem, at: location))
    }

    /// The entries by key; unknown keys are errors.
    mutating func mapping(_ node: LocatedNode, allowed: [String]) -> [String: LocatedNode] {
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

    mutating func entries(_ node: LocatedNode) -> [LocatedNode.Entry]? {
        guard case .mapping(let entries) = node.content else {
            fail(.wrongKind(expected: "a mapping", found: node.kind), at: node.location)
            return nil
        }
        return entries
    }

    mutating func sequence(_ node: LocatedNode) -> [LocatedNode] {
        guard case .sequence(let elements) = node.content else {
            fail(.wrongKind(expected: "a list", found: node.kind), at: node.location)
            return []
        }
        return elements
    }

    mutating func text(_ node: LocatedNode) -> String? {
        guard case .scalar(let text, let isPlain) = node.content, !(isPlain && text.isEmpty) else {
            fail(.wrongKind(expected: "a text", found: node.kind), at: node.location)
            return nil
        }
        return text
    }

    mutating func flag(_ node: LocatedNode) -> Bool {
        guard case .bool(let flag) = node.json else {
            fail(.wrongKind(expected: "true or false", found: node.kind), at: node.location)
            return false
        }
        return flag
    }

    mutating func count(_ node: LocatedNode, in range: ClosedRange<Int>) -> Int {
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

    mutating func duration(_ node: LocatedNode) -> Duration? {
        guard let text = text(node) else { return nil }
        guard let duration = Duration(contractText: text) else {
            fail(.duration(text), at: node.location)
            return nil
        }
        return duration
    }

    mutating func choice<Choice: RawRepresentable & CaseIterable>(
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

    mutating func word(_ node: LocatedNode, _ what: String, among allowed: [String]) -> String? {
        guard let text = text(node) else { return nil }
        guard allowed.contains(text) else {
            fail(.unknownValue(text, what: what, allowed: allowed), at: node.location)
            return nil
        }
        return text
    }

    mutating func pointer(_ node: LocatedNode) -> JSONPointer? {
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
}
