internal import Values

/// The replies that the native side sends to a page, in the format of the bridge.
///
/// All delays are in milliseconds.
enum DespiaReply {
    /// Returns a reply that sets a variable of the page.
    static func variable(
        _ name: String,
        _ value: JSONValue,
        _ delayMilliseconds: Int64
    ) -> JSONValue {
        [
            "kind": "variable", "name": .string(name), "value": value,
            "delay": .integer(delayMilliseconds),
        ]
    }

    /// Returns a reply that makes the page call its function of this name.
    static func callback(
        _ name: String,
        _ arguments: [JSONValue],
        _ delayMilliseconds: Int64
    ) -> JSONValue {
        [
            "kind": "callback", "name": .string(name), "arguments": .array(arguments),
            "delay": .integer(delayMilliseconds),
        ]
    }

    /// Returns the replies with a result of RevenueCat's SDK.
    ///
    /// The result is set as a variable and passed to a callback. The result `User` has the variable
    /// `revenueCatUser` and the callback `onRevenueCatUser`.
    static func revenueCatResult(
        _ name: String,
        _ envelope: JSONValue,
        _ delayMilliseconds: Int64
    ) -> [JSONValue] {
        [
            variable("revenueCat" + name, envelope, delayMilliseconds),
            callback("onRevenueCat" + name, [envelope], delayMilliseconds),
        ]
    }
}
