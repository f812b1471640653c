internal import Conformance

/// Finds every template of a contract file that stands for nothing where it stands.
///
/// It looks at the file as it was written, before axes are replaced, so that a caret stands under
/// the template itself. Where an axis stands, each of its values is looked at in that place.
struct TemplateChecks {
    private let finder: TemplateFinder
    private var names = TemplateNames()
    private var axisNodes: [String: [LocatedNode]] = [:]
    private(set) var errors: [ContractError] = []
    /// Where the texts stand that hold a template with an error.
    private(set) var places: Set<SourceLocation> = []

    /// - Parameters:
    ///   - root: The tree of a contract file, with its axes unfilled.
    ///   - lines: The lines of the file.
    init(contract root: LocatedNode, lines: [String]) {
        finder = TemplateFinder(lines: lines)
        let collector = ContractNames(root)
        names = collector.names
        axisNodes = collector.axisNodes
        for entry in root.entries {
            checkKey(entry)
            switch entry.key {
            case "variants": break
            case "values": checkEntries(entry.value) { _ in .value }
            case "given", "steps": for step in entry.value.elements { checkStep(step) }
            case "expect": checkExpectation(entry.value)
            default: check(entry.value, .none)
            }
        }
    }

    // MARK: Steps

    private mutating func checkStep(_ step: LocatedNode) {
        let isApp = step["app"] != nil
        for entry in step.entries {
            checkKey(entry)
            switch entry.key {
            case "body", "text", "raw", "send": check(entry.value, .request)
            // Keys there are names of headers, places and values, and are sent as they are.
            case "set": checkEntries(entry.value) { _ in .request }
            case "headers": checkEntries(entry.value) { _ in .header }
            case "with": checkEntries(entry.value) { _ in isApp ? .none : .call }
            case "answer": checkAnswer(entry.value)
            case "token": checkToken(entry.value)
            case "phone": checkEntries(entry.value) { $0 == "vault" ? .phone : .none }
            case "together" where !entry.value.elements.isEmpty:
                for call in entry.value.elements { checkStep(call) }
            default: check(entry.value, .none)
            }
        }
    }

    private mutating func checkToken(_ node: LocatedNode) {
        for entry in node.entries {
            checkKey(entry)
            switch entry.key {
            case "claims": checkEntries(entry.value) { _ in .claim }
            case "raw": check(entry.value, .claim)
            default: check(entry.value, .none)
            }
        }
    }

    /// A status, or a mapping that says more.
    private mutating func checkAnswer(_ node: LocatedNode) {
        checkEntries(node) { ["headers", "body", "text"].contains($0) ? .answer : .none }
    }

    // MARK: Expectations

    private mutating func checkExpectation(_ node: LocatedNode) {
        for entry in node.entries {
            checkKey(entry)
            switch entry.key {
            case "effects":
                for effect in entry.value.elements {
                    checkEntries(effect) { $0 == "says" ? .answer : .none }
                }
            case "state":
                for user in entry.value.entries {
                    checkKey(user)
                    checkEntries(user.value) { _ in .state }
                }
            case "app": checkApp(entry.value)
            default: check(entry.value, .none)
            }
        }
    }

    private mutating func checkApp(_ node: LocatedNode) {
        for entry in node.entries {
            checkKey(entry)
            switch entry.key {
            case "commands":
                for command in entry.value.elements {
                    checkEntries(command) { $0 == "value" ? .phone : .none }
                }
            case "screen": check(entry.value, .phone)
            default: check(entry.value, .none)
            }
        }
    }

    // MARK: Places

    private mutating func checkEntries(
        _ node: LocatedNode,
        _ place: (String) -> TemplateScope.ContractPlace
    ) {
        guard case .mapping(let entries) = node.content else { return check(node, .none) }
        for entry in entries {
            checkKey(entry)
            check(entry.value, place(entry.key))
        }
    }

    private mutating func checkKey(_ entry: LocatedNode.Entry, _ scope: TemplateScope? = nil) {
        let scope = scope ?? TemplateScope(.none, names: names)
        report(finder.errors(in: entry.key, at: entry.keyLocation, scope), at: entry.keyLocation)
    }

    private mutating func check(_ node: LocatedNode, _ place: TemplateScope.ContractPlace) {
        check(node, TemplateScope(place, names: names))
    }

    private mutating func check(_ node: LocatedNode, _ scope: TemplateScope) {
        switch node.content {
        case .scalar(let text, _):
            report(finder.errors(in: text, at: node.location, scope), at: node.location)
            checkAxes(in: text, scope)
        case .sequence(let elements): for element in elements { check(element, scope) }
        case .mapping(let entries):
            for entry in entries {
                checkKey(entry, scope)
                check(entry.value, scope)
            }
        }
    }

    /// What an axis stands for is read in this place too; it holds no axis itself.
    private mutating func checkAxes(in text: String, _ scope: TemplateScope) {
        for axis in names.axes where Template(text).names.contains(where: axis.knows) {
            var names = scope.names
            names.axes = []
            for value in axisNodes[axis.name] ?? [] {
                check(value, TemplateScope(scope.words, names: names))
            }
        }
    }

    private mutating func report(_ found: [ContractError], at location: SourceLocation) {
        guard !found.isEmpty else { return }
        places.insert(location)
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

extension NodeReader {
    /// Reports every template in the tree that stands for nothing there.
    mutating func checkTemplates(_ node: LocatedNode, _ scope: TemplateScope) {
        switch node.content {
        case .scalar(let text, _):
            errors += TemplateFinder(lines: lines).errors(in: text, at: node.location, scope)
        case .sequence(let elements): for element in elements { checkTemplates(element, scope) }
        case .mapping(let entries):
            for entry in entries {
                errors += TemplateFinder(lines: lines).errors(
                    in: entry.key,
                    at: entry.keyLocation,
                    scope
                )
                checkTemplates(entry.value, scope)
            }
        }
    }
}

extension LocatedNode {
    /// The members of a mapping; none for anything else.
    var entries: [Entry] { if case .mapping(let entries) = content { entries } else { [] } }

    /// The elements of a list; none for anything else.
    var elements: [LocatedNode] {
        if case .sequence(let elements) = content { elements } else { [] }
    }

    /// The text of a scalar; nil for anything else.
    var scalar: String? { if case .scalar(let text, _) = content { text } else { nil } }

    subscript(key: String) -> LocatedNode? { entries.first { $0.key == key }?.value }
}
