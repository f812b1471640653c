internal import Contracts
internal import Grammar
internal import Reports

/// The output of `assay explain KEY`: the keys of contracts and profiles with that name.
struct ExplainKey {
    /// The name of a key, or the end of its path, such as `deliver.retry`.
    let name: String

    /// A key of one file format, and the text that explains it.
    private struct Meaning {
        /// The path of the first key.
        let path: String
        /// The paths of all keys, each with its file format.
        var locations: [String]
        let parts: [(label: String, text: String)]
        let example: [String]
        let templates: [(name: String, meaning: String)]

        /// The first sentence about the key.
        var summary: String {
            let text = parts.first?.text ?? ""
            return text.prefix { $0 != "." } + "."
        }
    }

    /// The number of meanings that are printed in full.
    private static let fullMeaningsMax = 4
    /// The number of keys that are named for one meaning.
    private static let locationsMax = 3

    /// Prints every key that has the name, each with its path from the top of the file.
    ///
    /// Keys with the same meaning are printed together. Of a name with many meanings, only one line
    /// for each meaning is printed, and the subject that prints it in full.
    ///
    /// - Returns: Whether a key has the name.
    func run() -> Bool {
        let meanings = meanings
        guard meanings.count <= Self.fullMeaningsMax else {
            printSummary(of: meanings)
            return true
        }
        for (index, meaning) in meanings.enumerated() {
            if index > 0 { Terminal.output("\n") }
            Terminal.output(meaning.locations.prefix(Self.locationsMax).map { $0 + "\n" }.joined())
            let others = meaning.locations.count - Self.locationsMax
            if others > 0 { Terminal.output("and \(others) more\n") }
            ExplainText.printParts(meaning.parts)
            ExplainText.printLines(meaning.example, label: "example")
            printTemplates(meaning.templates)
        }
        return !meanings.isEmpty
    }

    /// Prints one paragraph for each meaning of the name.
    private func printSummary(of meanings: [Meaning]) {
        let introduction =
            "\(meanings.count) keys are named '\(name)'. Add the key that contains it to see one in "
            + "full, for example 'assay explain \(meanings[0].path)'."
        for line in introduction.wrapped(80) { Terminal.output(line + "\n") }
        for meaning in meanings {
            Terminal.output("\n\(meaning.locations[0])\n")
            for line in meaning.summary.wrapped(76) { Terminal.output("  \(line)\n") }
        }
    }

    /// The meanings of the name; keys whose explanations differ only in the example have one.
    private var meanings: [Meaning] {
        var meanings: [Meaning] = []
        for language in FileFormat.allCases {
            let reference = language.reference
            for location in reference.keyLocations(named: name) {
                let meaning = Meaning(
                    path: location.text,
                    locations: ["\(location.text)  (\(language.rawValue))"],
                    parts: reference.explanation(of: location),
                    example: reference.exampleLines(of: location),
                    templates: language == .profile ? reference.templates(of: location) : []
                )
                let sameMeaningIndex = meanings.firstIndex {
                    $0.parts.elementsEqual(meaning.parts, by: ==)
                        && $0.example.isEmpty == meaning.example.isEmpty
                }
                if let sameMeaningIndex {
                    let isNew = !meanings[sameMeaningIndex].locations.contains(meaning.locations[0])
                    if isNew { meanings[sameMeaningIndex].locations += meaning.locations }
                } else {
                    meanings.append(meaning)
                }
            }
        }
        return meanings
    }

    /// Prints the templates that the value of the key may contain.
    private func printTemplates(_ templates: [(name: String, meaning: String)]) {
        let width = (templates.map(\.name.count).max() ?? 0) + 2
        let lines = templates.flatMap { name, meaning -> [String] in
            let text = meaning.wrapped(max(20, ExplainText.width - width))
            return text.enumerated().map { index, line in
                let column = index == 0 ? name : ""
                return column + String(repeating: " ", count: width - column.count) + line
            }
        }
        ExplainText.printLines(lines, label: "variables")
    }
}

/// The output of `assay explain contract` and `assay explain profile`: the keys of a file format.
struct ExplainLanguage {
    let language: FileFormat

    /// The number of levels of keys that are listed.
    private static let depthMax = 2
    private static let nameWidth = 24

    /// Prints the keys of the first two levels, each with the first sentence of its meaning.
    func run() {
        Terminal.output(
            "The keys of a \(language.rawValue). 'assay explain KEY' shows the values of a key, an\n"
                + "example, and the keys below it.\n\n"
        )
        var seenPaths: Set<[String]> = []
        for location in language.reference.keyLocations
        where location.path.count <= Self.depthMax && seenPaths.insert(location.path).inserted {
            let name =
                String(repeating: "  ", count: location.path.count) + (location.path.last ?? "")
            let doc = location.key.doc.replacing("`", with: "")
            let sentence = doc.prefix { $0 != "." && $0 != ";" }
            let padding = String(repeating: " ", count: max(2, Self.nameWidth - name.count))
            let indent = "\n" + String(repeating: " ", count: Self.nameWidth)
            let lines = String(sentence).wrapped(80 - Self.nameWidth)
            Terminal.output(name + padding + lines.joined(separator: indent) + "\n")
        }
    }
}
