/// A contract or profile that cannot be understood, reported at the place to edit.
package struct ContractError: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Problem: Hashable, Sendable {
        case yaml(String)
        case tooLarge
        case duplicateKey(String)
        case unknownKey(String, allowed: [String])
        case missingKey(String, of: String)
        case wrongKind(expected: String, found: String)
        case unknownValue(String, what: String, allowed: [String])
        /// A template without quotation marks, which YAML takes for a mapping.
        case bareTemplate(String)
        case duration(String)
        case template(String, known: [String], nearest: String? = nil)
        case unknownName(String, what: String, known: [String])
        case unknownDelivery(String, known: [String])
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
        case .yaml(let text): "this is not YAML: \(text)"
        case .tooLarge: "the file has more than \(LocatedNode.nodeCountMax) values"
        case .duplicateKey(let key): "the key '\(key)' appears twice"
        case .unknownKey(let key, _): "unknown key '\(key)'"
        case .missingKey(let key, let owner): "\(owner) needs the key '\(key)'"
        case .wrongKind(let expected, let found): "expected \(expected), found \(found)"
        case .unknownValue(let text, let what, _): "'\(text)' is not a known \(what)"
        case .bareTemplate(let name): "{{\(name)}} without quotation marks is a mapping"
        case .duration(let text): "'\(text)' is not a duration"
        case .template(let name, _, _): "nothing is called {{\(name)}} here"
        case .unknownName(let name, let what, _): "no \(what) is called '\(name)' here"
        case .unknownDelivery(let name, _): "no earlier delivery is called '\(name)'"
        case .duplicateDelivery(let name): "two deliveries are called '\(name)'"
        case .wrongID(let id, _): "the contract is called '\(id)', but its file is not"
        case .environment(let name): "the environment variable \(name) is not set"
        case .conflict(let text, _): text
        case .unreadable(let text): text
        }
    }

    package var remedy: String {
        switch problem {
        case .yaml: "Mend the line above the mark first; indentation is by spaces."
        case .tooLarge: "Split it, and do not multiply values by aliases."
        case .duplicateKey: "Keep one of the two."
        case .unknownKey(let key, let allowed): Self.suggestion(key, allowed, "Use one of")
        case .missingKey(let key, _): "Add '\(key): …'."
        case .wrongKind: "Change the value to that kind."
        case .bareTemplate(let name): "Quote it: \"{{\(name)}}\"."
        case .unknownValue(let text, _, let allowed): Self.suggestion(text, allowed, "Use one of")
        case .duration(let text):
            "Write a number and a unit: '\(Self.number(text))s', '\(Self.number(text))m', "
                + "'\(Self.number(text))ms', h or d."
        case .template(let name, let known, let nearest):
            Self.suggestion(name, known, "Known are", nearest)
        case .unknownName(let name, let what, let known):
            (known.isEmpty
                ? "No step names one." : Self.suggestion(name, known, "Known are"))
                + (what == "phone" ? "" : " If it is meant, add 'strangers: [\(name)]'.")
        case .unknownDelivery(let name, let known): Self.suggestion(name, known, "Earlier ones are")
        case .duplicateDelivery: "Give one of them another name."
        case .wrongID(_, let expected): "Write 'contract: \(expected)', or move the file."
        case .environment(let name): "Set it, or give a default: ${\(name):-value}."
        case .conflict(_, let remedy): remedy
        case .unreadable: "Check the path and the permissions."
        }
    }

    /// Place, problem, the line with a caret, and what to do.
    package var description: String {
        "\(location): error: \(message)\n\(location.excerpt)\n\(remedy)"
    }

    /// Whether it complains of a key that stands in this mapping.
    package func isUnknownKey(in node: LocatedNode) -> Bool {
        guard case .unknownKey(let key, _) = problem, case .mapping(let entries) = node.content
        else { return false }
        return entries.contains { $0.key == key && $0.keyLocation == location }
    }

    private static func number(_ text: String) -> String {
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
        let list = "\(lead): \(allowed.joined(separator: ", "))."
        guard let near = nearest ?? Suggestion.nearest(to: word, among: allowed) else {
            return list
        }
        return "Did you mean '\(near)'?" + (allowed.count > 12 ? "" : " " + list)
    }
}

/// Every error of one file.
package struct ContractErrors: Error, Hashable, Sendable, CustomStringConvertible {
    package let errors: [ContractError]

    package init(_ errors: [ContractError]) {
        self.errors = errors.sorted {
            ($0.location.line, $0.location.column) < ($1.location.line, $1.location.column)
        }
    }

    package var description: String { errors.map(\.description).joined(separator: "\n\n") }
}
