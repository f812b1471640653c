internal import Values

/// An option, a flag or a positional argument of a command, as a parameter of a tool.
struct MCPOption: Sendable {
    enum Kind: String {
        case option, flag, positional
    }

    let name: String
    let kind: Kind
    /// The help text of `--help`.
    let help: String
    let isRequired: Bool
    private let isRepeating: Bool
    private let allowedValues: [String]

    /// The options whose value is a path that the command writes.
    ///
    /// A run writes the list of its failed cases next to the profile.
    static let writtenPaths: Set<String> = [
        "baseline", "found", "profile", "report", "save", "write",
    ]

    /// Creates a parameter from the description of an argument in the table of ArgumentParser.
    ///
    /// - Returns: Nil for an argument that `--help` hides.
    init?(_ argument: JSONValue) {
        guard argument["shouldDisplay"]?.bool == true,
            let kind = argument["kind"]?.string.flatMap(Kind.init),
            let name = argument["preferredName"]?["name"]?.string ?? argument["valueName"]?.string
        else { return nil }
        (self.name, self.kind) = (name, kind)
        help = argument["abstract"]?.string ?? ""
        isRequired = argument["isOptional"]?.bool == false
        isRepeating = argument["isRepeating"]?.bool == true
        allowedValues = argument["allValues"]?.array?.compactMap(\.string) ?? []
    }

    /// The JSON Schema of the parameter.
    var schema: JSONValue {
        var schema: JSONObject = [:]
        var value: JSONObject = ["type": kind == .flag ? "boolean" : "string"]
        if !allowedValues.isEmpty { value["enum"] = .strings(allowedValues) }
        if isRepeating {
            schema["type"] = "array"
            schema["items"] = .object(value)
        } else {
            schema = value
        }
        schema["description"] = .string(help)
        return .object(schema)
    }

    /// Returns the values of the parameter as text.
    ///
    /// A flag that is true has one empty value. A number counts as its text, because a model may
    /// pass a seed as a number.
    ///
    /// - Throws: `ArgumentError` for a value of a wrong type or a path outside the folder.
    func values(
        _ value: JSONValue,
        in folder: WritableFolder
    ) throws(MCPTool.ArgumentError) -> [String] {
        if kind == .flag {
            guard let isOn = value.bool else {
                throw MCPTool.ArgumentError("'\(name)' takes true or false, not \(value.kind)")
            }
            return isOn ? [""] : []
        }
        let elements = isRepeating ? value.array ?? [value] : [value]
        var texts: [String] = []
        for element in elements {
            guard let text = Self.text(element) else {
                throw MCPTool.ArgumentError("'\(name)' takes a string, not \(element.kind)")
            }
            guard !text.utf8.contains(0) else {
                throw MCPTool.ArgumentError("'\(name)' contains a null character")
            }
            if Self.writtenPaths.contains(name) { try checkPath(text, in: folder) }
            texts.append(text)
        }
        return texts
    }

    private static func text(_ value: JSONValue) -> String? {
        if case .number(let number) = value { return number.description }
        return value.string
    }

    private func checkPath(
        _ text: String,
        in folder: WritableFolder
    ) throws(MCPTool.ArgumentError) {
        let path =
            name == "report" ? text.split(separator: "=", maxSplits: 1).last.map(String.init) : text
        guard let path, name == "report" ? path != "-" : !path.isEmpty else {
            throw MCPTool.ArgumentError(
                name == "report"
                    ? "'report' takes FORMAT=PATH; the tool itself uses standard output"
                    : "'\(name)' is empty"
            )
        }
        guard folder.contains(path) else {
            throw MCPTool.ArgumentError(
                "'\(name)': '\(path)' is outside the working folder '\(folder.path)'"
            )
        }
    }
}
