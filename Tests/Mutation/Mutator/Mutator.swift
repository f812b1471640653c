import Foundation
import SwiftOperators
import SwiftParser
import SwiftSyntax

/// Writes a folder of Swift files anew with every mechanical mutant in it, asleep until its number is
/// the one in `ASSAY_MUTANT`, so that one build holds them all.
///
///     Mutator FROM INTO        prints one line of JSON for each mutant
@main
enum Mutator {
    static func main() throws {
        guard CommandLine.arguments.count == 3 else {
            FileHandle.standardError.write(Data("usage: Mutator FROM INTO\n".utf8))
            exit(2)
        }
        let from = URL(filePath: CommandLine.arguments[1], directoryHint: .isDirectory)
        let into = URL(filePath: CommandLine.arguments[2], directoryHint: .isDirectory)
        let manager = FileManager.default
        try? manager.removeItem(at: into)
        try manager.createDirectory(at: into, withIntermediateDirectories: true)
        var mutants: [Mutant] = []
        for name in try manager.contentsOfDirectory(atPath: from.path).sorted() {
            let (source, target) = (from.appending(path: name), into.appending(path: name))
            // Defects are changes already; what only the tests ask is not what is tried here.
            guard name.hasSuffix(".swift"), name != "ProbeRoutes.swift" else {
                try manager.copyItem(at: source, to: target)
                continue
            }
            var file = MutatedFile(name: name, first: mutants.count + 1)
            let text = try file.rewrite(String(contentsOf: source, encoding: .utf8))
            try text.write(to: target, atomically: true, encoding: .utf8)
            mutants += file.mutants
        }
        try chooser.write(
            to: into.appending(path: "Mutant.swift"),
            atomically: true,
            encoding: .utf8
        )
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        for mutant in mutants {
            print(String(decoding: try encoder.encode(mutant), as: UTF8.self))
        }
    }

    static let chooser = """
        internal import Foundation

        private let chosen =
            ProcessInfo.processInfo.environment["ASSAY_MUTANT"].flatMap { Int($0) } ?? 0

        /// Whether the mutant of that number is awake.
        func mutant(_ number: Int) -> Bool { number == chosen }

        """
}

/// One change of one file.
struct Mutant: Codable {
    let number: Int
    let file: String
    let line: Int
    let `operator`: String
    let function: String
    let before: String
    let after: String
}

/// One file with its mutants in it.
struct MutatedFile {
    let name: String
    let first: Int
    private(set) var mutants: [Mutant] = []
    private var lines = SourceLocationConverter(fileName: "", tree: Parser.parse(source: ""))

    init(name: String, first: Int) {
        self.name = name
        self.first = first
    }

    mutating func rewrite(_ source: String) throws -> String {
        let tree = Parser.parse(source: source)
        lines = SourceLocationConverter(fileName: name, tree: tree)
        return text(try OperatorTable.standardOperators.foldAll(tree))
    }

    // MARK: Writing

    /// The text of a node with what may stand instead of it and of its parts.
    private mutating func text(_ node: Syntax) -> String {
        if let token = node.as(TokenSyntax.self) { return token.description }
        // Patterns, types, attributes and default values take no calls.
        let isConstant =
            node.is(AttributeListSyntax.self) || node.is(FunctionParameterClauseSyntax.self)
            || node.is(TypeAnnotationSyntax.self) || node.is(EnumCaseDeclSyntax.self)
            || node.is(ImportDeclSyntax.self)
        if isConstant { return node.description }
        if let item = node.as(SwitchCaseItemSyntax.self) { return text(of: item) }
        var inner = ""
        for child in node.children(viewMode: .sourceAccurate) { inner += text(child) }
        let (lead, trail) = (node.leadingTrivia.description, node.trailingTrivia.description)
        guard inner.utf8.count >= lead.utf8.count + trail.utf8.count else { return inner }
        let core = String(inner.dropFirst(lead.count).dropLast(trail.count))
        return lead + mutated(node, core) + trail
    }

    private mutating func mutated(_ node: Syntax, _ core: String) -> String {
        var core = core
        if let item = node.as(CodeBlockItemSyntax.self), isDroppable(item) {
            core = "if !\(new("drop", node, "")) { \(core) }"
        }
        guard let expression = node.as(ExprSyntax.self) else { return core }
        core = changed(expression, core)
        if node.parent?.is(ConditionElementSyntax.self) == true
            || node.keyPathInParent == \TernaryExprSyntax.condition
        {
            core = "(\(new("negate", node, "!(…)")) != (\(core)))"
        }
        if let operation = node.parent?.as(InfixOperatorExprSyntax.self),
            node.keyPathInParent != \InfixOperatorExprSyntax.operator
        {
            switch operation.operator.trimmedDescription {
            case "&&": core = "(\(new("drop-operand", node, "true")) || (\(core)))"
            case "||": core = "(!\(new("drop-operand", node, "false")) && (\(core)))"
            default: break
            }
        }
        if isReturned(node) { core = returned(node, core) }
        return core
    }

    private static let opposites = [
        "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "-": "+",
    ]

    private mutating func changed(_ node: ExprSyntax, _ core: String) -> String {
        if let operation = node.as(InfixOperatorExprSyntax.self) {
            let name = operation.operator.trimmedDescription
            let (left, right) = (operation.leftOperand, operation.rightOperand)
            if name == "??" {
                return either("no-fallback", node, right.trimmedDescription, core)
            }
            guard let other = Self.opposites[name] else { return core }
            // A whole condition is negated already.
            let coversWholeSuite = node.parent?.is(ConditionElementSyntax.self) == true
            if name == "==" || name == "!=", coversWholeSuite { return core }
            let text = "\(left.trimmedDescription) \(other) \(right.trimmedDescription)"
            return either("compare", node, text, core)
        }
        if let literal = node.as(IntegerLiteralExprSyntax.self),
            let value = Int(literal.literal.text)
        {
            return either("constant", node, String(value + 1), core)
        }
        if let literal = node.as(BooleanLiteralExprSyntax.self) {
            let isTrue = literal.literal.tokenKind == .keyword(.true)
            return "(\(new("constant", Syntax(node), String(!isTrue))) != \(core))"
        }
        if let literal = node.as(StringLiteralExprSyntax.self) { return changed(literal, core) }
        if let call = node.as(FunctionCallExprSyntax.self) { return changed(call, core) }
        return core
    }

    /// Parts of SQL that somebody forgets, and names of what is sent and answered.
    private mutating func changed(_ node: StringLiteralExprSyntax, _ core: String) -> String {
        guard node.segments.count == 1 || node.openingQuote.tokenKind == .multilineStringQuote,
            !node.segments.contains(where: { $0.is(ExpressionSegmentSyntax.self) })
        else { return core }
        if node.keyPathInParent == \DictionaryElementSyntax.key {
            return either("drop-entry", ExprSyntax(node), "\"-\"", core)
        }
        var core = core
        let before = node.trimmedDescription
        for (pattern, other) in Self.forgotten {
            for match in before.ranges(of: pattern) {
                var after = before
                after.replaceSubrange(match, with: other)
                core = either("sql", ExprSyntax(node), after, core)
            }
        }
        return core
    }

    /// Computed, because a regular expression is not `Sendable`.
    private static var forgotten: [(Regex<Substring>, String)] {
        [
            (#/ ON CONFLICT DO NOTHING/#, ""), (#/ ORDER BY \w+/#, ""), (#/ UNIQUE/#, ""),
            (#/ AND \w+ (?:=|<=|>=|<|>) \?/#, " AND ? IS NOT NULL"),
            (#/ AND \w+ (?:=|<=|>=|<|>) \d/#, ""),
        ]
    }

    private mutating func changed(_ node: FunctionCallExprSyntax, _ core: String) -> String {
        let before = node.trimmedDescription
        if let name = node.calledExpression.as(DeclReferenceExprSyntax.self)?.baseName.text,
            name == "max" || name == "min"
        {
            let other = name == "max" ? "min" : "max"
            return either("max-min", ExprSyntax(node), other + before.dropFirst(3), core)
        }
        guard let member = node.calledExpression.as(MemberAccessExprSyntax.self),
            let base = member.base,
            ["filter", "lowercased"].contains(member.declName.baseName.text)
        else { return core }
        return either("unfilter", ExprSyntax(node), base.trimmedDescription, core)
    }

    /// A case that is not there any more; only where another takes what it leaves.
    private mutating func text(of item: SwitchCaseItemSyntax) -> String {
        let cases = item.parent?.parent?.parent?.parent?.as(SwitchCaseListSyntax.self)
        let hasDefault = cases.map { list in
            list.contains {
                $0.as(SwitchCaseSyntax.self)?.label.is(SwitchDefaultLabelSyntax.self) == true
            }
        }
        guard hasDefault == true else { return item.description }
        let awake = new("drop-case", Syntax(item), "")
        let comma = item.trailingComma?.description ?? ""
        let pattern = item.pattern.description
        let space = pattern.hasSuffix(" ") ? "" : " "
        if let clause = item.whereClause {
            return
                "\(pattern)\(space)where !\(awake) && (\(clause.condition.trimmedDescription))\(comma)"
        }
        return "\(pattern)\(space)where !\(awake)\(comma)"
    }

    private mutating func either(
        _ operator: String,
        _ node: ExprSyntax,
        _ other: String,
        _ core: String
    ) -> String {
        "(\(new(`operator`, Syntax(node), other)) ? (\(other)) : (\(core)))"
    }

    // MARK: Where

    /// Calls and assignments that stand for themselves and whose value nobody takes.
    private func isDroppable(_ item: CodeBlockItemSyntax) -> Bool {
        guard !isValue(item), !hasAncestor(Syntax(item), InitializerDeclSyntax.self) else {
            return false
        }
        guard case .expr(var expression) = item.item else { return false }
        while true {
            guard
                let inner = expression.as(TryExprSyntax.self)?.expression
                    ?? expression.as(AwaitExprSyntax.self)?.expression
            else {
                break
            }
            expression = inner
        }
        // What has to be assigned before it is used is no statement that somebody forgets.
        let isFirst =
            expression.as(InfixOperatorExprSyntax.self)?.leftOperand
            .is(DeclReferenceExprSyntax.self) == true
            && hasAncestor(Syntax(item), DoStmtSyntax.self)
        return !isFirst
            && (expression.is(FunctionCallExprSyntax.self)
                || expression.is(InfixOperatorExprSyntax.self))
    }

    /// Whether what stands alone there is the value of what it stands in.
    private func isValue(_ item: CodeBlockItemSyntax) -> Bool {
        guard let list = item.parent?.as(CodeBlockItemListSyntax.self) else { return true }
        guard list.count == 1, let owner = list.parent else { return false }
        if owner.is(ClosureExprSyntax.self) || owner.is(AccessorBlockSyntax.self) { return true }
        if owner.is(SwitchCaseSyntax.self) { return isValue(around: owner.parent?.parent) }
        guard let block = owner.as(CodeBlockSyntax.self), let holder = block.parent else {
            return false
        }
        if let function = holder.as(FunctionDeclSyntax.self) {
            return function.signature.returnClause != nil
        }
        if holder.is(AccessorDeclSyntax.self) { return true }
        return holder.is(IfExprSyntax.self) ? isValue(around: holder) : false
    }

    private func isValue(around node: Syntax?) -> Bool {
        guard let node else { return true }
        let parent = node.parent
        if let item = parent?.as(ExpressionStmtSyntax.self)?.parent?.as(CodeBlockItemSyntax.self)
            ?? parent?.as(CodeBlockItemSyntax.self)
        {
            return isValue(item)
        }
        // The other branch of a condition, or something that takes the value.
        return parent?.is(IfExprSyntax.self) == true ? isValue(around: parent) : true
    }

    /// What a function gives back: the expression after `return`, or the only one of its body.
    private func isReturned(_ node: Syntax) -> Bool {
        guard !node.is(SwitchExprSyntax.self), !node.is(IfExprSyntax.self) else { return false }
        if node.parent?.is(ReturnStmtSyntax.self) == true { return true }
        guard let item = node.parent?.as(CodeBlockItemSyntax.self) else { return false }
        return isValue(item)
    }

    private mutating func returned(_ node: Syntax, _ core: String) -> String {
        guard let type = resultType(of: node) else { return core }
        if type == "Bool", !node.is(BooleanLiteralExprSyntax.self) {
            return "\(new("negate", node, "!(…)")) != (\(core))"
        }
        if type.hasSuffix("?"), !node.is(NilLiteralExprSyntax.self) {
            return "\(new("nothing", node, "nil")) ? nil : (\(core))"
        }
        return core
    }

    /// The type of what the function around it gives back; nil in a closure.
    private func resultType(of node: Syntax) -> String? {
        var parent = node.parent
        while let next = parent {
            if next.is(ClosureExprSyntax.self) { return nil }
            if let function = next.as(FunctionDeclSyntax.self) {
                return function.signature.returnClause?.type.trimmedDescription
            }
            if let variable = next.as(PatternBindingSyntax.self) {
                guard variable.accessorBlock != nil else { return nil }
                return variable.typeAnnotation?.type.trimmedDescription
            }
            parent = next.parent
        }
        return nil
    }

    private func hasAncestor<Kind: SyntaxProtocol>(_ node: Syntax, _ kind: Kind.Type) -> Bool {
        sequence(first: node, next: \.parent).contains { $0.is(kind) }
    }

    // MARK: Keeping count

    /// The call that tells whether that mutant is awake.
    private mutating func new(_ operator: String, _ node: Syntax, _ after: String) -> String {
        let number = first + mutants.count
        let mutant = Mutant(
            number: number,
            file: name,
            line: lines.location(for: node.positionAfterSkippingLeadingTrivia).line,
            operator: `operator`,
            function: function(around: node),
            before: shortened(node.trimmedDescription),
            after: shortened(after)
        )
        mutants.append(mutant)
        return "mutant(\(number))"
    }

    private func function(around node: Syntax) -> String {
        var names: [String] = []
        for parent in sequence(first: node, next: \.parent) {
            if let function = parent.as(FunctionDeclSyntax.self) {
                names.append(function.name.text)
            }
            if let type = parent.asProtocol((any NamedDeclSyntax).self),
                !parent.is(FunctionDeclSyntax.self)
            {
                names.append(type.name.text)
            }
        }
        return names.reversed().joined(separator: ".")
    }

    private func shortened(_ text: String) -> String {
        let line = text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        return line.count <= 160 ? line : line.prefix(159) + "…"
    }
}
