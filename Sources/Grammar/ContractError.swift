package import Values

/// An error in a contract or profile, reported at the location to edit.
package struct ContractError: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Problem: Hashable, Sendable {
        case yaml(String)
        case tooManyNodes
        case duplicateKey(String)
        case unknownKey(String, allowed: [String])
        case missingKey(String, of: String)
        case wrongValueKind(expected: String, found: String)
        case unknownValue(String, valueKind: String, allowed: [String])
        /// A template, such as `{{id}}`, without quotation marks, which YAML reads as a mapping.
        case unquotedTemplate(String)
        case duration(String)
        case template(String, knownNames: [String], nearest: String? = nil)
        case unknownName(String, valueKind: String, knownNames: [String])
        case unknownDelivery(String, knownNames: [String])
        case duplicateDelivery(String)
        case wrongID(String, expected: String)
        case environment(String)
        case conflict(String, remedy: String)
        case unreadable(String)
    }

    package let problem: Problem
    package let location: SourceLocation

    package init(_ problem: Problem, at location: SourceLocation) {
        self.problem = problem
        self.location = location
    }

    package var message: String {
        switch problem {
        case .yaml(let text): "invalid YAML: \(text)"
        case .tooManyNodes: "the file has more than \(LocatedNode.nodeCountMax) values"
        case .duplicateKey(let key): "the key '\(key)' appears twice"
        case .unknownKey(let key, _): "unknown key '\(key)'"
        case .missingKey(let key, let owner): "\(owner) needs the key '\(key)'"
        case .wrongValueKind(let expected, let found): "expected \(expected), found \(found)"
        case .unknownValue(let text, let valueKind, _): "'\(text)' is not a known \(valueKind)"
        case .unquotedTemplate(let name): "{{\(name)}} is not in quotation marks"
        case .duration(let text): "'\(text)' is not a duration"
        case .template(let name, _, _): "unknown template {{\(name)}}"
        case .unknownName(let name, let valueKind, _): "unknown \(valueKind) '\(name)'"
        case .unknownDelivery(let name, _): "no earlier delivery has the name '\(name)'"
        case .duplicateDelivery(let name): "the name '\(name)' is used twice"
        case .wrongID(let id, _): "the contract's ID '\(id)' does not match its file path"
        case .environment(let name): "the environment variable \(name) is not set"
        case .conflict(let text, _): text
        case .unreadable(let text): text
        }
    }

    package var remedy: String {
        switch problem {
        case .yaml: "Check the marked line and the line above it; indent with spaces, not tabs."
        case .tooManyNodes: "Split the file, and do not use aliases that multiply its values."
        case .duplicateKey: "Remove one of them."
        case .unknownKey(let key, let allowed): Self.suggestion(key, allowed, "Use one of")
        case .missingKey(let key, _): "Add '\(key): …'."
        case .wrongValueKind(let expected, _): "Replace the value with \(expected)."
        case .unquotedTemplate(let name):
            "Write \"{{\(name)}}\": without quotes it is a YAML mapping."
        case .unknownValue(let text, _, let allowed): Self.suggestion(text, allowed, "Use one of")
        case .duration(let text):
            "Write a number and a unit (ms, s, m, h or d), for example '\(Self.digitsOrExample(text))s' "
                + "or '\(Self.digitsOrExample(text))m'."
        case .template(let name, let knownNames, let nearest):
            Self.suggestion(name, knownNames, "Available templates", nearest)
        case .unknownName(let name, let valueKind, let knownNames):
            (knownNames.isEmpty
                ? "No step introduces any \(valueKind)."
                : Self.suggestion(name, knownNames, "Known names"))
                + (valueKind == "phone"
                    ? ""
                    : " If the name is correct, add 'unknown-users: [\(name)]'.")
        case .unknownDelivery(let name, let knownNames):
            Self.suggestion(name, knownNames, "Known names")
        case .duplicateDelivery: "Give one of them another name."
        case .wrongID(_, let expected): "Write 'contract: \(expected)', or move the file."
        case .environment(let name): "Set the variable, or give it a default: ${\(name):-value}."
        case .conflict(_, let remedy): remedy
        case .unreadable: "Check the path and the permissions."
        }
    }

    /// The complete message for the user: the location, the problem, the line with a caret, and the
    /// remedy.
    package var description: String {
        "\(location): error: \(message)\n\(location.excerpt)\n\(remedy)"
    }

    /// Whether the error reports an unknown key that is directly in this mapping.
    package func isUnknownKey(in node: LocatedNode) -> Bool {
        guard case .unknownKey(let key, _) = problem, case .mapping(let entries) = node.content
        else { return false }
        return entries.contains { $0.key == key && $0.keyLocation == location }
    }

    private static func digitsOrExample(_ text: String) -> String {
        let digits = text.filter { $0.isASCII && $0.isNumber }
        return digits.isEmpty ? "5" : digits
    }

    private static func suggestion(
        _ word: String,
        _ allowed: [String],
        _ lead: String,
        _ nearest: String? = nil
    ) -> String {
        guard !allowed.isEmpty else { return "Remove it." }
        if let name = RenamedWord.name(of: word, among: allowed) {
            return "'\(word)' was renamed: write '\(name)'."
        }
        let allowedList = "\(lead): \(allowed.joined(separator: ", "))."
        guard let similarNames = nearest ?? Suggestion.nearest(to: word, among: allowed) else {
            return allowedList
        }
        return "Did you mean '\(similarNames)'?" + (allowed.count > 12 ? "" : " " + allowedList)
    }
}

/// All errors in one contract or profile file, sorted by location.
package struct ContractErrors: Error, Hashable, Sendable, CustomStringConvertible {
    package let errors: [ContractError]

    package init(_ errors: [ContractError]) {
        self.errors = errors.sorted {
            ($0.location.line, $0.location.column) < ($1.location.line, $1.location.column)
        }
    }

    package var description: String { errors.map(\.description).joined(separator: "\n\n") }
}
