package import Values

/// The documentation of all keys in a grammar, for `assay explain KEY` and the reference page.
package struct GrammarReference: Sendable {
    package let root: ConstructShape
    /// The keys that begin every example of a file; nil for a grammar without examples.
    package let exampleHeader: JSONObject?

    package init(_ root: ConstructShape, exampleHeader: JSONObject? = nil) {
        self.root = root
        self.exampleHeader = exampleHeader
    }

    /// A key of the grammar, and its path from the top of the file, for example
    /// `steps.deliver.retry`.
    package struct KeyLocation: Hashable, Sendable {
        package let path: [String]
        package let key: KeyShape

        package var text: String { path.joined(separator: ".") }
    }

    /// All keys of the grammar, each after the key that contains it.
    package var keyLocations: [KeyLocation] { Self.keyLocations(in: root, below: [], 0) }

    private static func keyLocations(
        in construct: ConstructShape,
        below path: [String],
        _ depth: Int
    ) -> [KeyLocation] {
        construct.keys.flatMap { key -> [KeyLocation] in
            // The first key of a step identifies the step, so its other keys are listed below it.
            let pathOfKey = path + [key.key]
            let nestedLocations = key.shape.directConstructs.flatMap {
                directConstructs -> [KeyLocation] in
                guard key.shape.isStepList, let firstKey = directConstructs.keys.first else {
                    return keyLocations(in: directConstructs, below: pathOfKey, depth + 1)
                }
                let firstKeyPath = pathOfKey + [firstKey.key]
                return [KeyLocation(path: firstKeyPath, key: firstKey)]
                    + firstKey.shape.directConstructs.flatMap {
                        keyLocations(in: $0, below: firstKeyPath, depth + 1)
                    }
                    + directConstructs.keys.dropFirst().flatMap { companionKeys -> [KeyLocation] in
                        let location = firstKeyPath + [companionKeys.key]
                        return [KeyLocation(path: location, key: companionKeys)]
                            + companionKeys.shape.directConstructs.flatMap {
                                keyLocations(in: $0, below: location, depth + 1)
                            }
                    }
            }
            return [KeyLocation(path: pathOfKey, key: key)] + nestedLocations
        }
    }

    /// Returns the keys whose path ends with the text, such as `lost-responses`, `deliver.retry` or
    /// `steps.deliver.retry`.
    ///
    /// Steps exist under `given` and under `steps`; the keys of a step are returned only once,
    /// under `steps`.
    package func keyLocations(named text: String) -> [KeyLocation] {
        let pathSuffix = text.split(separator: ".").map(String.init)
        let matchingLocations = keyLocations.filter {
            $0.path.suffix(pathSuffix.count) == pathSuffix[...]
        }
        let isInGiven = pathSuffix.first == "given"
        return matchingLocations.filter {
            isInGiven || $0.path.first != "given" || $0.path.count == 1
        }
    }

    /// The names of all keys, to suggest a name when the user misspells one.
    package var names: [String] {
        var seenNames: Set<String> = []
        return keyLocations.compactMap(\.path.last).filter { seenNames.insert($0).inserted }
    }

    // MARK: One key

    /// Returns the labeled lines that `assay explain` prints for a key.
    package func explanation(of location: KeyLocation) -> [(label: String, text: String)] {
        let key = location.key
        var labeledLines = [
            (label: "meaning", text: key.doc), (label: "value", text: key.shape.kind),
        ]
        if key.isRequired { labeledLines.append(("required", "yes")) }
        if let fallback = key.fallback { labeledLines.append(("default", fallback)) }
        let below = key.shape.isStepList ? [] : key.shape.directConstructs.flatMap(\.keys)
        if !below.isEmpty {
            var seenNames: Set<String> = []
            let names = below.map(\.key).filter { seenNames.insert($0).inserted }
            labeledLines.append(("keys", names.joined(separator: ", ")))
        }
        labeledLines.append(("since", key.sinceVersion))
        return labeledLines.map { ($0.label, $0.text.replacing("`", with: "")) }
    }

    /// Returns the templates that the value of a key may contain, each with its meaning.
    ///
    /// Templates with the same meaning differ only in a name, such as `fake.NAME`.
    package func templates(of location: KeyLocation) -> [(name: String, meaning: String)] {
        var templates: [(name: String, meaning: String)] = []
        let words = location.key.shape.templateWords
        for word in words where !templates.contains(where: { $0.meaning.hasPrefix(word.meaning) }) {
            let names = words.filter { $0.meaning == word.meaning }.map {
                String($0.word.drop { $0 != "." }.dropFirst().prefix { $0 != "." })
            }
            let group = word.word.prefix { $0 != "." }
            let suffix = word.word.dropFirst(group.count + 1).drop { $0 != "." }
            templates.append(
                names.count > 1
                    ? (
                        "{{\(group).NAME\(suffix)}}",
                        word.meaning + "; NAME is " + names.joined(separator: ", ")
                    ) : ("{{\(word.word)}}", word.meaning)
            )
        }
        return templates
    }

    // MARK: The page

    /// Returns the reference page in DocC's Markdown, with a table of keys for every mapping.
    package func page(title: String, introductionText: String) -> String {
        var seenNames: Set<String> = []
        let constructs = [root] + root.keys.flatMap(\.shape.constructs)
        let sections = constructs.filter { seenNames.insert($0.name).inserted }.map(section)
        return "# \(title)\n\n\(introductionText)\n\n" + sections.joined(separator: "\n")
    }

    private func section(_ construct: ConstructShape) -> String {
        var lines = ["## \(construct.name)", "", construct.doc, ""]
        lines += ["| key | value | default | meaning |", "| --- | --- | --- | --- |"]
        for key in construct.keys {
            let fallback = key.isRequired ? "*required*" : key.fallback ?? ""
            let sinceVersion =
                key.sinceVersion == KeyShape.firstVersion ? "" : " Since \(key.sinceVersion)."
            let cells = ["`\(key.key)`", key.shape.kind, fallback, key.doc + sinceVersion]
            lines.append("| " + cells.map(Self.escapedCell).joined(separator: " | ") + " |")
        }
        if !construct.alternativeKeys.isEmpty {
            let keys = construct.alternativeKeys.map { "`\($0)`" }.joined(separator: ", ")
            lines += ["", "Exactly one of \(keys) is required."]
        }
        for (key, otherKeys) in construct.companionKeys.sorted(by: { $0.key < $1.key }) {
            let keys = otherKeys.map { "`\($0)`" }.joined(separator: ", ")
            lines += ["", "`\(key)` requires \(otherKeys.count > 1 ? "one of " : "")\(keys)."]
        }
        for group in construct.mutuallyExclusiveKeys {
            let keys = group.map { "`\($0)`" }.joined(separator: ", ")
            lines += ["", "At most one of \(keys) is allowed."]
        }
        if let example = exampleLines(of: construct) {
            lines += ["", "```yaml"] + example + ["```"]
        }
        return lines.joined(separator: "\n") + "\n"
    }

    /// Returns the first example that contains a mapping with these keys.
    private func exampleLines(of construct: ConstructShape) -> [String]? {
        keyLocations.lazy.filter {
            $0.key.shape.directConstructs.contains { $0.name == construct.name }
        }
        .compactMap { location -> [String]? in
            guard location.key.example?.object != nil else { return nil }
            return exampleLines(of: location)
        }.first
    }

    private static func escapedCell(_ text: String) -> String { text.replacing("|", with: "\\|") }
}

extension Shape {
    /// Whether the shape is a list of steps; the first key of a step identifies the kind of the
    /// step.
    var isStepList: Bool {
        guard case .list(.either(let shapes), _) = self else { return false }
        return shapes.count > 5
    }
}
