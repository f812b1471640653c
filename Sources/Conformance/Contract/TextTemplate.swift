/// `{{name}}` in a text, replaced by a value; names and no expressions.
package enum TextTemplate {
    /// A name that nothing stands for.
    package struct UnknownName: Error, Hashable, Sendable, CustomStringConvertible {
        package let name: String
        package let known: [String]

        package var description: String {
            "nothing is called {{\(name)}} here; known: "
                + known.map { "{{\($0)}}" }.joined(separator: ", ")
        }
    }

    package static func fill(
        _ text: String,
        _ values: [String: String]
    ) throws(UnknownName) -> String {
        var output = ""
        var rest = text[...]
        while let open = rest.firstRange(of: "{{"),
            let close = rest[open.upperBound...].firstRange(of: "}}")
        {
            output += rest[..<open.lowerBound]
            let name = rest[open.upperBound..<close.lowerBound].filter { !$0.isWhitespace }
            guard let value = values[name] else {
                throw UnknownName(name: name, known: values.keys.sorted())
            }
            output += value
            rest = rest[close.upperBound...]
        }
        return output + rest
    }

    /// The value with every string leaf filled; a leaf that is one integer template keeps being text.
    package static func fill(
        _ value: JSONValue,
        _ values: [String: String]
    ) throws(UnknownName) -> JSONValue {
        var failure: UnknownName?
        let filled = value.mapLeaves { leaf in
            guard case .string(let text) = leaf else { return leaf }
            do throws(UnknownName) {
                return .string(try fill(text, values))
            } catch {
                failure = failure ?? error
                return leaf
            }
        }
        if let failure { throw failure }
        return filled
    }
}
