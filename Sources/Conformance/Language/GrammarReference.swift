/// What a grammar says to people: `assay explain KEY` and the reference page.
package struct GrammarReference: Sendable {
    package let root: ConstructShape

    package init(_ root: ConstructShape) {
        self.root = root
    }

    /// A key and the way to it from the top of the file: `steps.deliver.along`.
    package struct Place: Hashable, Sendable {
        package let path: [String]
        package let key: KeyShape

        package var text: String { path.joined(separator: ".") }
    }

    /// Every key, each after the one that it stands below.
    package var places: [Place] { Self.places(in: root, below: [], 0) }

    private static func places(
        in construct: ConstructShape,
        below path: [String],
        _ depth: Int
    ) -> [Place] {
        construct.keys.flatMap { key -> [Place] in
            // The leading key of a step is the step: what stands beside it belongs to it.
            let own = path + [key.key]
            let nested = key.shape.direct.flatMap { direct -> [Place] in
                guard key.shape.isSteps, let lead = direct.keys.first else {
                    return places(in: direct, below: own, depth + 1)
                }
                let step = own + [lead.key]
                return [Place(path: step, key: lead)]
                    + lead.shape.direct.flatMap { places(in: $0, below: step, depth + 1) }
                    + direct.keys.dropFirst().flatMap { beside -> [Place] in
                        let place = step + [beside.key]
                        return [Place(path: place, key: beside)]
                            + beside.shape.direct.flatMap {
                                places(in: $0, below: place, depth + 1)
                            }
                    }
            }
            return [Place(path: own, key: key)] + nested
        }
    }

    /// The places that a person may mean: `lose-answers`, `deliver.along`, `steps.deliver.along`.
    ///
    /// What stands in `given` stands in `steps` too, and is told once.
    package func places(named text: String) -> [Place] {
        let wanted = text.split(separator: ".").map(String.init)
        let all = places.filter { $0.path.suffix(wanted.count) == wanted[...] }
        let isGiven = wanted.first == "given"
        return all.filter { isGiven || $0.path.first != "given" || $0.path.count == 1 }
    }

    /// Every key's name, for suggestions.
    package var names: [String] {
        var seen: Set<String> = []
        return places.compactMap(\.path.last).filter { seen.insert($0).inserted }
    }

    // MARK: One key

    /// What `assay explain` says of a place.
    package func explanation(of place: Place) -> [(label: String, text: String)] {
        let key = place.key
        var parts = [(label: "meaning", text: key.doc), (label: "value", text: key.shape.kind)]
        if key.isRequired { parts.append(("needed", "always")) }
        if let fallback = key.fallback { parts.append(("left out", fallback)) }
        let below = key.shape.isSteps ? [] : key.shape.direct.flatMap(\.keys)
        if !below.isEmpty {
            parts.append(("keys", below.map(\.key).joined(separator: ", ")))
        }
        parts.append(("since", key.since))
        return parts.map { ($0.label, $0.text.replacing("`", with: "")) }
    }

    // MARK: The page

    /// A table for every construct, in DocC's Markdown.
    package func page(title: String, introduction: String) -> String {
        var seen: Set<String> = []
        let constructs = [root] + root.keys.flatMap(\.shape.constructs)
        let sections = constructs.filter { seen.insert($0.name).inserted }.map(section)
        return "# \(title)\n\n\(introduction)\n\n" + sections.joined(separator: "\n")
    }

    private func section(_ construct: ConstructShape) -> String {
        var lines = ["## \(construct.name)", "", construct.doc, ""]
        lines += ["| key | value | left out | meaning |", "| --- | --- | --- | --- |"]
        for key in construct.keys {
            let fallback = key.isRequired ? "*needed*" : key.fallback ?? ""
            let since = key.since == KeyShape.firstVersion ? "" : " Since \(key.since)."
            let cells = ["`\(key.key)`", key.shape.kind, fallback, key.doc + since]
            lines.append("| " + cells.map(Self.cell).joined(separator: " | ") + " |")
        }
        if !construct.oneOf.isEmpty {
            let keys = construct.oneOf.map { "`\($0)`" }.joined(separator: ", ")
            lines += ["", "Exactly one of \(keys) stands there."]
        }
        for (key, others) in construct.beside.sorted(by: { $0.key < $1.key }) {
            let keys = others.map { "`\($0)`" }.joined(separator: " or ")
            lines += ["", "`\(key)` stands beside \(keys) only."]
        }
        for group in construct.exclusive {
            let keys = group.map { "`\($0)`" }.joined(separator: ", ")
            lines += ["", "One of \(keys) at most."]
        }
        return lines.joined(separator: "\n") + "\n"
    }

    private static func cell(_ text: String) -> String { text.replacing("|", with: "\\|") }
}

extension Shape {
    /// A list of steps, each of which is led by its first key.
    var isSteps: Bool {
        guard case .list(.either(let shapes), _) = self else { return false }
        return shapes.count > 5
    }
}
