package import Grammar
internal import Values
internal import Yams

/// The conversion from YAML to values with source locations. No other file uses the types of the
/// YAML library Yams.
extension LocatedNode {
    /// Parses a YAML document into values with source locations.
    package init(parsing text: String, path: String) throws(ContractError) {
        let file = YAMLFile(text: text, path: path)
        let node: Node
        do {
            guard let rootNode = try Yams.compose(yaml: text, .basic, .default, .utf8) else {
                throw ContractError(.yaml("the file is empty"), at: file.location(1, 1))
            }
            node = rootNode
        } catch let error as ContractError {
            throw error
        } catch let error as YamlError {
            throw file.contractError(error)
        } catch {
            throw ContractError(.yaml("\(error)"), at: file.location(1, 1))
        }
        var count = 0
        self = try file.locatedNode(node, depth: 0, count: &count)
    }

    /// Returns the lines of a string, including empty lines.
    package static func lines(of text: String) -> [String] {
        text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    }
}

/// A YAML file with its lines, which determines the source location of each value.
private struct YAMLFile {
    let path: String
    let lines: [String]

    init(text: String, path: String) {
        self.path = path
        lines = LocatedNode.lines(of: text)
    }

    func location(_ line: Int, _ column: Int, _ length: Int = 1) -> SourceLocation {
        SourceLocation(
            path: path,
            line: line,
            column: column,
            text: lines.indices.contains(line - 1) ? lines[line - 1] : "",
            length: length
        )
    }

    func locatedNode(
        _ node: Node,
        depth: Int,
        count: inout Int
    ) throws(ContractError) -> LocatedNode {
        let line = node.mark?.line ?? 1
        let column = node.mark?.column ?? 1
        count += 1
        guard count <= LocatedNode.nodeCountMax else {
            throw ContractError(.tooManyNodes, at: location(line, column))
        }
        guard depth < LocatedNode.depthMax else {
            throw ContractError(.yaml("nested too deeply"), at: location(line, column))
        }
        switch node {
        case .scalar(let scalar):
            let isPlain = scalar.style == .plain || scalar.style == .any
            let text = withByteOrderMark(scalar.string, (line, column))
            let quoteCount = isPlain || text.contains("\n") ? 0 : 2
            return LocatedNode(
                .scalar(text, isPlain: isPlain),
                location(line, column, max(1, text.count + quoteCount))
            )
        case .mapping(let mapping):
            let entries = try self.entries(mapping, (line, column), depth: depth, count: &count)
            return LocatedNode(.mapping(entries), location(line, column))
        case .sequence(let sequence):
            var elements: [LocatedNode] = []
            for element in sequence {
                elements.append(try locatedNode(element, depth: depth + 1, count: &count))
            }
            return LocatedNode(.sequence(elements), location(line, column))
        case .alias:
            throw ContractError(.yaml("this alias refers to no anchor"), at: location(line, column))
        }
    }

    /// Restores the byte order mark at the start of a quoted string, from which Yams removes it.
    ///
    /// Foundation, which Yams uses, treats the mark as a sign of the encoding.
    private func withByteOrderMark(_ text: String, _ start: (line: Int, column: Int)) -> String {
        guard lines.indices.contains(start.line - 1) else { return text }
        let sourceScalars = lines[start.line - 1].unicodeScalars.dropFirst(start.column - 1)
        guard let quote = sourceScalars.first, quote == "\"" || quote == "'" else { return text }
        let inner = sourceScalars.dropFirst().prefix(6)
        let hasByteOrderMark =
            inner.first == "\u{feff}"
            || quote == "\"" && String(String.UnicodeScalarView(inner)).lowercased() == "\\ufeff"
        return hasByteOrderMark && text.unicodeScalars.first != "\u{feff}"
            ? "\u{feff}" + text : text
    }

    private func entries(
        _ mapping: Node.Mapping,
        _ start: (line: Int, column: Int),
        depth: Int,
        count: inout Int
    ) throws(ContractError) -> [LocatedNode.Entry] {
        var entries: [LocatedNode.Entry] = []
        var seenKeys: Set<String> = []
        for (key, value) in mapping {
            let keySourceLocation = location(
                key.mark?.line ?? start.line,
                key.mark?.column ?? start.column,
                max(1, key.string?.count ?? 1)
            )
            guard
                let name = key.string.map({
                    withByteOrderMark($0, (keySourceLocation.line, keySourceLocation.column))
                })
            else {
                if let word = Self.unquotedTemplate(key) {
                    throw ContractError(.unquotedTemplate(word), at: keySourceLocation)
                }
                throw ContractError(
                    .wrongValueKind(expected: "a word as key", found: "a list or a mapping"),
                    at: keySourceLocation
                )
            }
            guard seenKeys.insert(name).inserted else {
                throw ContractError(.duplicateKey(name), at: keySourceLocation)
            }
            let child = try locatedNode(value, depth: depth + 1, count: &count)
            entries.append(.init(key: name, keyLocation: keySourceLocation, value: child))
        }
        return entries
    }

    /// Returns the word of an unquoted template `{{word}}` that is used as a key; nil for any other
    /// key.
    ///
    /// YAML reads such a key as a mapping.
    private static func unquotedTemplate(_ key: Node) -> String? {
        guard case .mapping(let inner) = key, inner.count == 1, let pair = inner.first,
            pair.value.null != nil
        else { return nil }
        return pair.key.string
    }

    func contractError(_ error: YamlError) -> ContractError {
        switch error {
        case .scanner(_, let problem, let mark, _), .parser(_, let problem, let mark, _),
            .composer(_, let problem, let mark, _):
            ContractError(.yaml(problem), at: location(mark.line, mark.column))
        case .duplicatedKeysInMapping(let keys, let context):
            ContractError(
                .duplicateKey(keys.first ?? ""),
                at: location(context.mark.line, context.mark.column, keys.first?.count ?? 1)
            )
        case .reader(let problem, _, _, _): ContractError(.yaml(problem), at: location(1, 1))
        default: ContractError(.yaml("\(error)"), at: location(1, 1))
        }
    }
}
