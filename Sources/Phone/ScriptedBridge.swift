internal import Contracts
internal import Providers
internal import Values

/// The scripted app's commands to the bridge and calls to the app's backend.
extension ScriptedApp {
    func key(_ role: PhoneChange.VaultRole) -> String { policy.key(role, keys) }

    /// Returns the vault key for a role.
    ///
    /// The profile must not use the name of a window property as a vault key (C-35).
    static func key(
        _ role: PhoneChange.VaultRole,
        of keys: [PhoneChange.VaultRole: String]
    ) -> String {
        keys[role] ?? role.rawValue
    }

    /// Percent-encodes a value exactly once, because user IDs may contain characters with a meaning
    /// in bridge commands (C-21).
    static func encoded(_ text: String) -> String { text.percentEncoded }

    /// Returns the percent-decoded form of a vault value.
    ///
    /// A value that the native side has already decoded is returned unchanged (Despia fact sheet,
    /// section 5; C-22).
    static func decoded(_ text: String) -> String {
        let decodedText = FormText.decoded(text, decodesPlusAsSpace: false)
        return decodedText.percentEncoded == text ? decodedText : text
    }

    func readVaultCommand(_ role: PhoneChange.VaultRole) -> String {
        "readvault://?key=" + key(role).percentEncoded
    }

    mutating func sendCommand(_ command: String, at now: Int64) {
        lastCommandTime = max(now, lastCommandTime &+ 1)
        output.append(.command(command, at: lastCommandTime))
    }

    /// Sends a bridge command, clears the global variable of its reply and starts to poll the
    /// variable, in this order.
    mutating func sendCommandAndWait(
        _ command: String,
        _ name: String,
        at now: Int64,
        for time: Int64
    ) -> Wait {
        sendCommand(command, at: now)
        globals[name] = nil
        return .global(name, since: now, until: now + time)
    }

    mutating func write(
        _ role: PhoneChange.VaultRole,
        _ value: String,
        at now: Int64
    ) {
        let key = key(role).percentEncoded
        sendCommand("setvault://?key=\(key)&value=\(policy.encoded(value))&locked=false", at: now)
    }

    mutating func call(
        _ route: String,
        _ values: [String: String],
        at now: Int64
    ) -> Wait {
        callCount += 1
        output.append(.call(callCount, route: route, values: values))
        return .response(callCount, until: now + policy.callTimeoutMilliseconds)
    }
}
