internal import Conformance

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

    /// Returns the replies with a result, which is set as a variable and passed to a callback.
    static func result(
        _ variable: String,
        _ callback: String,
        _ envelope: JSONValue,
        _ delayMilliseconds: Int64
    ) -> [JSONValue] {
        [
            self.variable(variable, envelope, delayMilliseconds),
            self.callback(callback, [envelope], delayMilliseconds),
        ]
    }
}
