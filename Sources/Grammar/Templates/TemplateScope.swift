/// The template names that are available at one place of a contract or profile.
///
/// The code that reads a file calls `problems(in:)` for every string that may contain templates. An
/// unknown name is therefore an error in the file, and never reaches a backend.
package struct TemplateScope: Hashable, Sendable {
    /// The template words that are available at this place, such as `user` in `{{user.ada}}`.
    package let words: [TemplateWord]
    /// The contract's names for its users, deliveries, calls, accounts and axes.
    package let names: TemplateNames

    package init(_ words: [TemplateWord], names: TemplateNames = TemplateNames()) {
        self.words = words
        self.names = names
    }

    // MARK: Lookup

    /// Returns the unknown template names and unclosed braces of a string, in order.
    package func problems(in text: String) -> [TemplateProblem] {
        guard text.contains("{{") else { return [] }
        return Template.tokens(in: text).compactMap { token in
            let name: String
            switch token.kind {
            case .text: return nil
            case .name(let text):
                if allows(text) { return nil }
                name = text
            case .unclosedBraces: name = ""
            }
            let knownNames = self.knownNames
            return TemplateProblem(
                name: name,
                offset: text[..<token.range.lowerBound].count,
                length: text[token.range].count,
                isUnclosed: { if case .unclosedBraces = token.kind { true } else { false } }(),
                knownNames: knownNames,
                nearest: nearest(to: name, among: knownNames)
            )
        }
    }

    /// Whether a template name, such as `user.ada`, is available at this place.
    package func allows(_ name: String) -> Bool {
        names.axes.contains { $0.allows(name) } || words.contains { $0.allows(name, names) }
    }

    /// All available template names as written in a file; `NAME` is a placeholder for a freely
    /// chosen name.
    package var knownNames: [String] {
        names.axes.map(\.name) + words.flatMap { $0.examples(names) }
    }

    /// Returns the available template name that the author probably meant; nil when no name is
    /// similar.
    private func nearest(to name: String, among knownNames: [String]) -> String? {
        // Suggests the same offset for the time word that is available here, for example seconds in
        // place of milliseconds.
        for word in TemplateWord.timeWords where word.allows(name, names) {
            let rest = name.dropFirst(word.word.count)
            if let other = words.first(where: { $0.form == .timeOffset }) {
                return other.word + rest
            }
        }
        // The offset does not count when names are compared.
        let characters = Array(name)
        let offsetStart = characters.indices.dropLast().first {
            "+-".contains(characters[$0]) && characters[$0 + 1].isNumber
        }
        let nameWithoutOffset = String(characters[..<(offsetStart ?? characters.endIndex)])
        let similarName = Suggestion.nearest(to: nameWithoutOffset, among: knownNames).map {
            $0 + name.dropFirst(nameWithoutOffset.count)
        }
        return similarName == name ? nil : similarName
    }
}

/// An unknown template name, or an unclosed template, in a string.
package struct TemplateProblem: Hashable, Sendable {
    /// The template name between the braces; empty when the template is not closed.
    package let name: String
    /// The number of characters from the start of the string to the opening braces.
    package let offset: Int
    /// The number of characters from the opening to the closing braces, including both.
    package let length: Int
    /// Whether the opening braces of the template are never closed.
    package let isUnclosed: Bool
    /// The template names that are available at the place of the string.
    package let knownNames: [String]
    /// The available template name that the author probably meant; nil when no name is similar.
    package let nearest: String?
}

/// The names that a contract defines, which its templates may contain.
package struct TemplateNames: Hashable, Sendable {
    /// One axis of a contract's key `variants`: a name with its list of values.
    ///
    /// Templates with this name, such as `{{copies}}`, are replaced when the file is read.
    package struct Axis: Hashable, Sendable {
        package let name: String
        package let values: [String]

        package init(name: String, values: [String]) {
            self.name = name
            self.values = values
        }

        /// Whether a template name belongs to the axis: `copies`, and also `copies-1` when all
        /// values are whole numbers.
        package func allows(_ text: String) -> Bool {
            if text == name { return true }
            return !values.isEmpty
                && values.allSatisfy { Self.value(of: text, name, $0) != nil }
        }

        /// Returns the value of a template name, such as `copies-1`, when the axis has the given
        /// value; nil when the name does not belong to the axis.
        package static func value(of text: String, _ axis: String, _ value: String) -> String? {
            if text == axis { return value }
            let rest = text.dropFirst(axis.count)
            guard text.hasPrefix(axis), rest.hasPrefix("+") || rest.hasPrefix("-"),
                let number = Int(value), let offset = Int(rest)
            else { return nil }
            let (sum, hasOverflowed) = number.addingReportingOverflow(offset)
            return hasOverflowed ? nil : String(sum)
        }
    }

    package var users: [String] = []
    package var deliveries: [String] = []
    /// The names of the contract's calls and literal requests.
    package var calls: [String] = []
    package var accounts: [String] = []
    package var axes: [Axis] = []

    package init() {}
}
