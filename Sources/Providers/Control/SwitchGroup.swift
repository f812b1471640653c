internal import Grammar
package import Values

/// A group of a fake's switches (settings).
///
/// The control API shows and changes them by name, without knowing their Swift type.
package struct SwitchGroup: Sendable {
    package let name: String
    /// Returns all switches of the group as JSON; a switch without a value is null.
    package let settingsJSON: @Sendable (Services) -> JSONValue
    /// Changes the switches that a JSON object names.
    ///
    /// Throws for an unknown name or a value of the wrong kind, and then changes no switch.
    package let change: @Sendable (inout Services, JSONValue) throws(ControlRefusal) -> Void

    package init<Settings: Codable & SendableMetatype>(
        _ name: String,
        read: @escaping @Sendable (Services) -> Settings,
        write: @escaping @Sendable (inout Services, Settings) -> Void
    ) {
        self.name = name
        settingsJSON = { Switches.settingsJSON(read($0)) }
        change = { (services, value) throws(ControlRefusal) in
            var settings = read(services)
            try Switches.merge(&settings, value, name)
            write(&services, settings)
        }
    }
}

/// Functions that show and change settings by the names of their stored properties.
package enum Switches {
    /// The range of the numbers that a switch accepts.
    ///
    /// A number is a count, or seconds up to 68 years.
    private static let allowedNumbers: ClosedRange<Int64> = 0...Int64(Int32.max)

    private static func switchNames(_ settings: some Any) -> [String] {
        Mirror(reflecting: settings).children.compactMap(\.label)
    }

    /// Returns all settings as JSON.
    ///
    /// A setting without a value is included as null, so that users can find its name.
    package static func settingsJSON(_ settings: some Encodable) -> JSONValue {
        // Settings are plain values, which always encode.
        var object = (try? JSONValue(encoding: settings))?.object ?? JSONObject()
        for name in switchNames(settings) where object[name] == nil { object[name] = .null }
        return .object(object)
    }

    /// Changes the settings that a JSON object names.
    ///
    /// Throws for an unknown name or a value of the wrong kind, and then changes no setting.
    package static func merge<Settings: Codable>(
        _ settings: inout Settings,
        _ value: JSONValue,
        _ groupName: String
    ) throws(ControlRefusal) {
        guard let changes = value.object else {
            throw ControlRefusal(400, "'\(groupName)' takes an object, not \(value.kind)")
        }
        let switchNames = switchNames(settings)
        // The refusal below reports settings that cannot be encoded.
        guard var object = (try? JSONValue(encoding: settings))?.object else {
            throw ControlRefusal(500, "the switches of '\(groupName)' cannot be encoded")
        }
        for change in changes.members {
            guard switchNames.contains(change.key) else {
                let suggestion = Suggestion.nearest(to: change.key, among: switchNames)
                throw ControlRefusal(
                    400,
                    "\(groupName) has no switch '\(change.key)'",
                    hint: (suggestion.map { "did you mean '\($0)'? " } ?? "")
                        + "the valid names are " + switchNames.joined(separator: ", ")
                )
            }
            if let number = change.value.int64, !allowedNumbers.contains(number) {
                throw ControlRefusal(
                    400,
                    "\(groupName): '\(change.key)' is \(number), which is not within "
                        + "\(allowedNumbers.lowerBound) to \(allowedNumbers.upperBound)"
                )
            }
            object[change.key] = change.value.isNull ? nil : change.value
        }
        do {
            settings = try JSONValue.object(object).decoded()
        } catch {
            throw ControlRefusal(400, "\(groupName): \(problemText(error, changes))")
        }
    }

    private static func problemText(_ error: any Error, _ changes: JSONObject) -> String {
        guard let error = error as? DecodingError else { return "\(error)" }
        switch error {
        case .dataCorrupted(let context):
            guard let key = context.codingPath.last else { return decodingErrorText(context) }
            return "'\(key.stringValue)' does not accept "
                + (changes[key.stringValue]?.text ?? "this")
        case .typeMismatch(_, let context), .valueNotFound(_, let context),
            .keyNotFound(_, let context):
            return decodingErrorText(context)
        @unknown default: return "\(error)"
        }
    }

    private static func decodingErrorText(_ context: DecodingError.Context) -> String {
        "'" + context.codingPath.map(\.stringValue).joined(separator: ".") + "': "
            + context.debugDescription
    }
}
