/// Parses and expands strings with environment variables, `${NAME}` and `${NAME:-default}`, as a
/// shell does.
package enum VariableText {
    package enum Part: Hashable, Sendable {
        case plain(String)
        case variable(name: String, fallback: String?)
    }

    /// Returns the plain parts and the variables of a string, in order.
    package static func parts(of text: String) -> [Part] {
        var parts: [Part] = []
        var rest = text[...]
        while let open = rest.firstRange(of: "${"),
            let closingBrace = rest[open.upperBound...].firstIndex(of: "}")
        {
            parts.append(.plain(String(rest[..<open.lowerBound])))
            let variableExpression = rest[open.upperBound..<closingBrace]
            let separator = variableExpression.firstRange(of: ":-")
            parts.append(
                .variable(
                    name: String(
                        separator.map { variableExpression[..<$0.lowerBound] } ?? variableExpression
                    ),
                    fallback: separator.map { String(variableExpression[$0.upperBound...]) }
                )
            )
            rest = rest[rest.index(after: closingBrace)...]
        }
        return parts + [.plain(String(rest))]
    }

    /// Returns a string in which the variables are replaced by their values.
    ///
    /// - Parameters:
    ///   - text: The string to expand.
    ///   - value: Returns the value of a variable; nil or an empty string when the variable is not
    ///     set.
    ///   - missing: Called with the name of each variable that has neither a value nor a default.
    /// - Returns: The expanded string.
    package static func expanded(
        _ text: String,
        value: (String) -> String?,
        missing: (String) -> Void
    ) -> String {
        parts(of: text).map { part in
            switch part {
            case .plain(let text): return text
            case .variable(let name, let fallback):
                if let value = value(name), !value.isEmpty { return value }
                if fallback == nil { missing(name) }
                return fallback ?? ""
            }
        }.joined()
    }
}
