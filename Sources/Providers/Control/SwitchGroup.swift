package import Conformance

/// Switches under one name: shown whole, changed one by one, without knowing their type.
package struct SwitchGroup: Sendable {
    package let name: String
    /// All of them as JSON, those without a value included.
    package let shown: @Sendable (Services) -> JSONValue
    /// Changes what is given; an unknown name, or a value of the wrong kind, changes nothing.
    package let change: @Sendable (inout Services, JSONValue) throws(ControlRefusal) -> Void

    package init<Settings: Codable & SendableMetatype>(
        _ name: String,
        read: @escaping @Sendable (Services) -> Settings,
        write: @escaping @Sendable (inout Services, Settings) -> Void
    ) {
        self.name = name
        shown = { Switches.shown(read($0)) }
        change = { (services, value) throws(ControlRefusal) in
            var settings = read(services)
            try Switches.merge(&settings, value, name)
            write(&services, settings)
        }
    }
}

/// Settings by the names of their members.
package enum Switches {
    /// The numbers that a switch takes: counts, and up to 68 years in seconds.
    private static let numbers: ClosedRange<Int64> = 0...Int64(Int32.max)

    private static func names(_ settings: some Any) -> [String] {
        Mirror(reflecting: settings).children.compactMap(\.label)
    }

    /// A switch without a value is there to be found, too.
    package static func shown(_ settings: some Encodable) -> JSONValue {
        var object = (try? JSONValue(encoding: settings))?.object ?? JSONObject()
        for name in names(settings) where object[name] == nil { object[name] = .null }
        return .object(object)
    }

    /// Changes what is given; an unknown name, or a value of the wrong kind, changes nothing.
    package static func merge<Settings: Codable>(
        _ settings: inout Settings,
        _ value: JSONValue,
        _ owner: String
    ) throws(ControlRefusal) {
        guard let changes = value.object else {
            throw ControlRefusal(400, "'\(owner)' takes an object, not \(value.kind)")
        }
        let names = names(settings)
        guard var object = (try? JSONValue(encoding: settings))?.object else {
            throw ControlRefusal(500, "the switches of '\(owner)' cannot be written")
        }
        for change in changes.members {
            guard names.contains(change.key) else {
                let near = Suggestion.nearest(to: change.key, among: names)
                throw ControlRefusal(
                    400,
                    "\(owner) has no switch '\(change.key)'",
                    hint: (near.map { "did you mean '\($0)'? " } ?? "")
                        + "there are " + names.joined(separator: ", ")
                )
            }
            if let number = change.value.int64, !numbers.contains(number) {
                throw ControlRefusal(
                    400,
                    "\(owner): '\(change.key)' is \(number), which is not within "
                        + "\(numbers.lowerBound) to \(numbers.upperBound)"
                )
            }
            object[change.key] = change.value.isNull ? nil : change.value
        }
        do {
            settings = try JSONValue.object(object).decoded()
        } catch {
            throw ControlRefusal(400, "\(owner): \(problem(error, changes))")
        }
    }

    private static func problem(_ error: any Error, _ changes: JSONObject) -> String {
        guard let error = error as? DecodingError else { return "\(error)" }
        switch error {
        case .dataCorrupted(let context):
            guard let key = context.codingPath.last else { return words(context) }
            return "'\(key.stringValue)' does not take "
                + (changes[key.stringValue]?.text ?? "this")
        case .typeMismatch(_, let context), .valueNotFound(_, let context),
            .keyNotFound(_, let context):
            return words(context)
        @unknown default: return "\(error)"
        }
    }

    private static func words(_ context: DecodingError.Context) -> String {
        "'" + context.codingPath.map(\.stringValue).joined(separator: ".") + "': "
            + context.debugDescription
    }
}
