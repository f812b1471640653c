internal import Values

/// Faults of the bridge between page and native side.
///
/// Most of them apply to certain commands of a device, which are counted from 1 (Despia fact sheet,
/// section 7.2).
package struct DespiaFaults: Hashable, Codable, Sendable {
    package enum FaultyReply: String, Hashable, Codable, Sendable {
        case null, empty, na
        case wrongType = "wrong-type"
        case wrongKey = "wrong-key"
    }

    /// The numbers of the commands that are lost: they have no effect and get no reply.
    package var drop: [Int64] = []
    /// Wrong values that replace the real values in replies, by the URL scheme of the command.
    package var reply: [String: FaultyReply] = [:]
    /// The numbers of the commands whose reply is sent twice.
    package var duplicate: [Int64] = []
    /// The numbers of the commands whose reply arrives after the page's timeout of 30 s.
    package var late: [Int64] = []
    /// The numbers of the commands whose reply arrives before the page's setter returns (a trap
    /// described in section 1.4 of the Despia fact sheet).
    package var early: [Int64] = []
    /// The numbers of the commands for which the page's setter throws an error.
    package var setterThrows: [Int64] = []
    /// The number of the command after which the runtime kills the page.
    package var killPageAfter: Int64?
    package var uuidMissing = false
    /// Faults that apply to commands by their URL scheme and vault key instead of their number.
    package var matching: [MatchingFault] = []

    /// A bridge fault for the next commands with a certain URL scheme, regardless of their number.
    package struct MatchingFault: Hashable, Codable, Sendable {
        package var kind: BridgePlan.Fault.Kind
        package var scheme: String
        /// The vault key of the commands to which the fault applies.
        ///
        /// If nil, the fault applies to any key.
        package var key: String?
        package var times: Int

        package init(kind: BridgePlan.Fault.Kind, scheme: String, key: String?, times: Int) {
            self.kind = kind
            self.scheme = scheme
            self.key = key
            self.times = times
        }
    }

    package init() {}
}

extension DespiaFaults {
    /// Returns the kind of the planned fault that matches the command, and counts one use of that
    /// fault.
    ///
    /// Returns nil when no planned fault matches.
    mutating func takeFault(for command: BridgeCommand) -> BridgePlan.Fault.Kind? {
        let index = matching.firstIndex {
            $0.times > 0 && $0.scheme == command.scheme
                && ($0.key == nil || $0.key == command["key"])
        }
        guard let index else { return nil }
        matching[index].times -= 1
        return matching[index].kind
    }

    /// Returns a reply as the faults change it.
    ///
    /// - Parameters:
    ///   - reply: The reply without faults.
    ///   - number: The number of the command.
    ///   - command: The command to which the native side replies.
    ///   - fault: The planned fault that matches the command.
    ///   - lateMilliseconds: The delay of a reply that a fault delays.
    /// - Returns: The changed reply.
    func changedReply(
        _ reply: JSONValue,
        _ number: Int64,
        _ command: BridgeCommand,
        _ fault: BridgePlan.Fault.Kind?,
        lateMilliseconds: Int64
    ) -> JSONValue {
        var fields = reply.object ?? JSONObject()
        switch self.reply[command.scheme] {
        case .null: fields["value"] = .null
        case .empty: fields["value"] = ""
        case .na: fields["value"] = "n/a"
        case .wrongType: fields["value"] = 42
        case .wrongKey: fields["name"] = .string((fields["name"]?.string ?? "") + "_")
        case nil: break
        }
        switch fault {
        case .wrongType: fields["value"] = 42
        case .wrongKey: fields["name"] = .string((fields["name"]?.string ?? "") + "_")
        case .drop, .late, .duplicate, nil: break
        }
        if late.contains(number) || fault == .late {
            fields["delay"] = .integer(lateMilliseconds)
        }
        if early.contains(number) { fields["early"] = true }
        return .object(fields)
    }
}
