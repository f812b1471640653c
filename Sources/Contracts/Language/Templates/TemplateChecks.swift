package import Grammar
package import Values

/// Finds all unknown templates in a contract or profile.
///
/// A contract is checked before the values of its `variants` (axes) replace their templates, so
/// that the caret in an error points at the template itself. At every place that uses an axis, all
/// values of the axis are checked.
package struct TemplateChecks {
    private let errorFinder: TemplateErrorFinder
    private var names = TemplateNames()
    private var axisNodes: [String: [LocatedNode]] = [:]
    package private(set) var errors: [ContractError] = []
    /// The locations of the strings that contain an unknown template.
    package private(set) var sourceLocations: Set<SourceLocation> = []

    /// - Parameters:
    ///   - root: The tree of a contract file, before the values of `variants` replace their
    ///     templates.
    ///   - lines: The lines of the file; empty when the tree does not come from a file.
    package init(contract root: LocatedNode, lines: [String]) {
        errorFinder = TemplateErrorFinder(lines: lines)
        let collector = ContractNames(root)
        names = collector.names
        axisNodes = collector.axisNodes
        check(root, Contract.grammar.shape, ignoring: ["variants"])
    }

    /// - Parameters:
    ///   - root: The tree of a profile.
    ///   - lines: The lines of the file.
    package init(profile root: LocatedNode, lines: [String]) {
        errorFinder = TemplateErrorFinder(lines: lines)
        check(root, Profile.grammar.shape, ignoring: [])
    }

    private mutating func check(
        _ root: LocatedNode,
        _ construct: ConstructShape,
        ignoring ignoredKeys: [String]
    ) {
        let entries = root.entries.filter { !ignoredKeys.contains($0.key) }
        let rest = LocatedNode(.mapping(entries), root.location)
        for shapedNode in GrammarWalk(rest, .construct(construct)).shapedNodes {
            let scope = TemplateScope(shapedNode.place?.words ?? [], names: names)
            check(shapedNode.node, scope)
            for axis in names.axes
            where Template(shapedNode.node.scalar ?? "").names.contains(where: axis.allows) {
                // The values of one `variants` key cannot contain templates of another key.
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
        let found = errorFinder.errors(in: text, at: node.location, scope)
        guard !found.isEmpty else { return }
        sourceLocations.insert(node.location)
        for error in found where !errors.contains(error) { errors.append(error) }
    }
}

/// Finds the locations of unknown templates in a file.
struct TemplateErrorFinder {
    /// The lines of the file; when empty, the caret in an error points at the whole string instead
    /// of the template.
    var lines: [String] = []

    /// Returns an error for each unknown or unclosed template in a string, at the location of the
    /// template.
    func errors(
        in text: String,
        at location: SourceLocation,
        _ scope: TemplateScope
    ) -> [ContractError] {
        scope.problems(in: text).map { problem in
            let place = self.place(of: problem, in: text, at: location)
            guard !problem.isUnclosed else {
                return ContractError(
                    .conflict(
                        "'{{' opens a template that is never closed",
                        remedy: "Add '}}' after the name, or write '{{{{' for two literal braces."
                    ),
                    at: place
                )
            }
            return ContractError(
                .template(problem.name, knownNames: problem.knownNames, nearest: problem.nearest),
                at: place
            )
        }
    }

    /// Returns the location in the file where the template occurs literally, or the location of the
    /// string when the template is not found.
    ///
    /// The search begins at the location of the string, and skips earlier occurrences of the
    /// template in that string.
    private func place(
        of problem: TemplateProblem,
        in text: String,
        at location: SourceLocation
    ) -> SourceLocation {
        let problemText = String(text.dropFirst(problem.offset).prefix(problem.length))
        var occurrencesToSkip = Self.count(of: problemText, in: text.prefix(problem.offset))
        let lines = self.lines.isEmpty ? [] : self.lines[min(location.line, self.lines.count)...]
        for (index, line) in ([location.text] + lines).enumerated() {
            var rest = line.dropFirst(index == 0 ? location.column - 1 : 0)
            while let found = rest.firstRange(of: problemText) {
                rest = rest[found.upperBound...]
                if occurrencesToSkip == 0 {
                    return SourceLocation(
                        path: location.path,
                        line: location.line + index,
                        column: line[..<found.lowerBound].count + 1,
                        text: line,
                        length: problem.length
                    )
                }
                occurrencesToSkip -= 1
            }
        }
        return location
    }

    private static func count(of problemText: String, in text: Substring) -> Int {
        var count = 0
        var rest = text
        while let found = rest.firstRange(of: problemText) {
            count += 1
            rest = rest[found.upperBound...]
        }
        return count
    }
}
