/// Finds every template of a file that stands for nothing where it stands.
///
/// It looks at a contract as it was written, before axes are replaced, so that a caret stands under
/// the template itself. Where an axis stands, each of its values is looked at in that place.
package struct TemplateChecks {
    private let finder: TemplateFinder
    private var names = TemplateNames()
    private var axisNodes: [String: [LocatedNode]] = [:]
    package private(set) var errors: [ContractError] = []
    /// Where the texts stand that hold a template with an error.
    package private(set) var places: Set<SourceLocation> = []

    /// - Parameters:
    ///   - root: The tree of a contract file, with its axes unfilled.
    ///   - lines: The lines of the file; none where the tree is from no file.
    package init(contract root: LocatedNode, lines: [String]) {
        finder = TemplateFinder(lines: lines)
        let collector = ContractNames(root)
        names = collector.names
        axisNodes = collector.axisNodes
        check(root, Contract.grammar.shape, but: ["variants"])
    }

    /// - Parameters:
    ///   - root: The tree of a profile.
    ///   - lines: The lines of the file.
    package init(profile root: LocatedNode, lines: [String]) {
        finder = TemplateFinder(lines: lines)
        check(root, Profile.grammar.shape, but: [])
    }

    private mutating func check(
        _ root: LocatedNode,
        _ construct: ConstructShape,
        but left: [String]
    ) {
        let entries = root.entries.filter { !left.contains($0.key) }
        let rest = LocatedNode(.mapping(entries), root.location)
        for stop in GrammarWalk(rest, .construct(construct)).stops {
            let scope = TemplateScope(stop.place?.words ?? [], names: names)
            check(stop.node, scope)
            for axis in names.axes
            where Template(stop.node.scalar ?? "").names.contains(where: axis.knows) {
                // An axis's value holds no axis itself.
                var names = names
                names.axes = []
                for value in axisNodes[axis.name] ?? [] {
                    check(value, TemplateScope(scope.words, names: names))
                }
            }
        }
    }

    private mutating func check(_ node: LocatedNode, _ scope: TemplateScope) {
        guard let text = node.scalar else { return }
        let found = finder.errors(in: text, at: node.location, scope)
        guard !found.isEmpty else { return }
        places.insert(node.location)
        for error in found where !errors.contains(error) { errors.append(error) }
    }
}

/// Where templates that stand for nothing stand in a file.
struct TemplateFinder {
    /// Without them a caret stands at the text, not at the template in it.
    var lines: [String] = []

    /// An error for each problem, at the template's own place.
    func errors(
        in text: String,
        at location: SourceLocation,
        _ scope: TemplateScope
    ) -> [ContractError] {
        scope.problems(in: text).map { problem in
            let place = self.place(of: problem, in: text, at: location)
            guard !problem.isOpen else {
                return ContractError(
                    .conflict(
                        "'{{' opens a template that never ends",
                        remedy: "Write '}}' after its name, or '{{{{' for two braces."
                    ),
                    at: place
                )
            }
            return ContractError(
                .template(problem.name, known: problem.known, nearest: problem.nearest),
                at: place
            )
        }
    }

    /// The first place at or after the text's own where the template is spelt as it was read,
    /// not counting those before it in the same text.
    private func place(
        of problem: TemplateProblem,
        in text: String,
        at location: SourceLocation
    ) -> SourceLocation {
        let spelling = String(text.dropFirst(problem.offset).prefix(problem.length))
        var before = Self.count(of: spelling, in: text.prefix(problem.offset))
        let lines = self.lines.isEmpty ? [] : self.lines[min(location.line, self.lines.count)...]
        for (index, line) in ([location.text] + lines).enumerated() {
            var rest = line.dropFirst(index == 0 ? location.column - 1 : 0)
            while let found = rest.firstRange(of: spelling) {
                rest = rest[found.upperBound...]
                if before == 0 {
                    return SourceLocation(
                        path: location.path,
                        line: location.line + index,
                        column: line[..<found.lowerBound].count + 1,
                        text: line,
                        length: problem.length
                    )
                }
                before -= 1
            }
        }
        return location
    }

    private static func count(of spelling: String, in text: Substring) -> Int {
        var count = 0
        var rest = text
        while let found = rest.firstRange(of: spelling) {
            count += 1
            rest = rest[found.upperBound...]
        }
        return count
    }
}
