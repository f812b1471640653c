internal import Contracts
internal import Values

/// The bridge between a web page and the fake Despia runtime: commands, replies and planned faults
/// (Despia fact sheet, sections 1 and 3).
extension DespiaState {
    static func variable(_ name: String, _ value: JSONValue, _ delayMilliseconds: Int64)
        -> JSONValue
    {
        [
            "kind": "variable", "name": .string(name), "value": value,
            "delay": .integer(delayMilliseconds),
        ]
    }

    /// Returns a reply that makes the page call its function of this name.
    ///
    /// The delay is in milliseconds.
    static func callbackReply(_ name: String, _ arguments: [JSONValue], _ delayMilliseconds: Int64)
        -> JSONValue
    {
        [
            "kind": "callback", "name": .string(name), "arguments": .array(arguments),
            "delay": .integer(delayMilliseconds),
        ]
    }

    mutating func bridge(
        _ body: JSONObject,
        _ name: String,
        at now: Instant
    ) throws(Refusal) -> JSONObject {
        guard let text = body["command"]?.string else {
            throw Refusal(
                400,
                "'command' is missing; it is the string that the page assigned to window.despia"
            )
        }
        let command = BridgeCommand(text, decoding: settings.vaultDecode)
        var device = device(name)
        device.commandCount += 1
        let number = device.commandCount
        let pageTimeMilliseconds = (body["page"] ?? body["tPage"])?.int64
        let millisecondsSinceLastCommand = pageTimeMilliseconds.flatMap { time in
            device.lastCommandAt.map { time.subtractingSaturated($0) }
        }
        device.lastCommandAt = pageTimeMilliseconds
        devices[name] = device
        record(.bridge, name, now, body, text: text, command: command)
        // An ordinary browser has no native side, so the page receives no reply.
        if device.uaPreset == "browser" { return ["sequence": .integer(number), "replies": []] }
        if faults.setterThrows.contains(number) {
            return ["sequence": .integer(number), "throws": true, "replies": []]
        }
        let isCommandDropped = faults.coalescingMilliseconds.map { limit in
            millisecondsSinceLastCommand.map { $0 < limit } ?? false
        }
        let fault = takeFault(for: command)
        guard !faults.drop.contains(number), fault != .drop, isCommandDropped != true else {
            return ["sequence": .integer(number), "dropped": true, "replies": []]
        }
        var replies = performCommand(command, &device, at: now)
        devices[name] = device
        replies = replies.map { applyFault($0, number, command, fault) }
        if faults.duplicate.contains(number) || fault == .duplicate { replies += replies }
        for reply in replies {
            let kind: DespiaLogEntry.Kind = reply["kind"] == "callback" ? .callback : .reply
            record(kind, name, now, body, text: reply["name"]?.string ?? "", value: reply)
        }
        return .present([
            ("sequence", .integer(number)), ("replies", .array(replies)),
            ("killPage", faults.killPageAfter == number ? true : nil),
        ])
    }

    /// Returns the kind of the planned fault that matches the command, and counts one use of that
    /// fault.
    ///
    /// Returns nil when no planned fault matches.
    mutating func takeFault(for command: BridgeCommand) -> BridgePlan.Fault.Kind? {
        let index = faults.matching.firstIndex {
            $0.times > 0 && $0.scheme == command.scheme
                && ($0.key == nil || $0.key == command["key"])
        }
        guard let index else { return nil }
        faults.matching[index].times -= 1
        return faults.matching[index].kind
    }

    func applyFault(
        _ reply: JSONValue,
        _ number: Int64,
        _ command: BridgeCommand,
        _ fault: BridgePlan.Fault.Kind?
    ) -> JSONValue {
        var fields = reply.object ?? JSONObject()
        switch faults.reply[command.scheme] {
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
        if faults.late.contains(number) || fault == .late {
            fields["delay"] = .integer(settings.lateMilliseconds)
        }
        if faults.early.contains(number) { fields["early"] = true }
        return .object(fields)
    }

    /// Carries out a command of the page and returns the native side's replies to it.
    private mutating func performCommand(
        _ command: BridgeCommand,
        _ device: inout DespiaDevice,
        at now: Instant
    ) -> [JSONValue] {
        let delayMilliseconds =
            settings.latencyByScheme[command.scheme] ?? settings.latencyMilliseconds
        switch command.scheme {
        case "readvault":
            guard let key = command["key"], !key.isEmpty else { return [] }
            return readVault(key, &device).map { [Self.variable(key, $0, delayMilliseconds)] } ?? []
        case "setvault":
            setVault(command, &device)
            return []
        case "writevalue":
            device.storedValue = FormText.decoded(command.path, decodesPlusAsSpace: false)
            return []
        case "readvalue":
            let value = device.storedValue.map(JSONValue.string) ?? .null
            return [Self.variable("storedValues", value, delayMilliseconds)]
        case "getpurchasehistory": return historyReplies(device, delayMilliseconds)
        case "revenuecat":
            return handleRevenueCatCommand(command, &device, delayMilliseconds, at: now)
        case "setonesignalplayerid":
            device.externalID = command["user_id"]
            enqueueRegistration(device)
            return []
        case "registerpush":
            if device.pushPermission == .undetermined { device.pushPermission = .granted }
            enqueueRegistration(device)
            return []
        case "bioauth": return [Self.biometricReply(biometricOutcome(&device), delayMilliseconds)]
        case "stripe":
            return [
                Self.callbackReply(
                    "stripeEvent",
                    [["method": "payment", "status": "completed"]],
                    delayMilliseconds
                )
            ]
        case "location":
            let vaultLocation: JSONValue = [
                "latitude": .number(JSONNumber(52.52)), "longitude": .number(JSONNumber(13.4)),
            ]
            return [Self.callbackReply("onLocationChange", [vaultLocation], delayMilliseconds)]
        // Commands that only read a value. The runtime ignores all commands that it does not know.
        default:
            return variableValues(command, device).map {
                Self.variable($0.name, $0.value, delayMilliseconds)
            }
        }
    }

    /// Returns the variables that a command requests, with their values.
    ///
    /// The list is empty for a command that this runtime does not know.
    private func variableValues(
        _ command: BridgeCommand,
        _ device: DespiaDevice
    ) -> [(name: String, value: JSONValue)] {
        let hasPush = device.pushPermission == .granted
        switch command.scheme {
        case "getonesignalplayerid":
            return [("onesignalplayerid", hasPush ? .string(device.playerID) : "")]
        case "checkNativePushPermissions": return [("nativePushEnabled", .bool(hasPush))]
        case "get-uuid":
            let uuid = faults.uuidMissing ? nil : device.installUUID
            return [("uuid", uuid.map(JSONValue.string) ?? .null)]
        case "getappversion": return [("versionNumber", "1.0.0"), ("bundleNumber", "1")]
        case "getstorelocation": return [("storeLocation", "US")]
        case "user-disable-tracking": return [("trackingDisabled", true)]
        case "getclipboard": return [("clipboarddata", "")]
        case "readcontacts": return [("contacts", [])]
        case "readhealthkit": return [("healthkitResponse", [:])]
        case "localcdn": return command.path == "query" ? [("cdnItems", [])] : []
        default: return []
        }
    }

    private mutating func setVault(_ command: BridgeCommand, _ device: inout DespiaDevice) {
        guard let key = command["key"], !key.isEmpty else { return }
        let item = DespiaDevice.VaultItem(
            value: command["value"] ?? "",
            isLocked: command["locked"] == "true"
        )
        device.vaultLocal[key] = item
        if device.syncsVault { cloud[device.vaultAccount, default: [:]][key] = item }
    }

    private static func biometricReply(
        _ outcome: DespiaDevice.BiometricOutcome,
        _ delayMilliseconds: Int64
    )
        -> JSONValue
    {
        switch outcome {
        case .success: callbackReply("onBioAuthSuccess", [], delayMilliseconds)
        case .failure:
            callbackReply("onBioAuthFailure", ["-1", "authentication failed"], delayMilliseconds)
        case .unavailable: callbackReply("onBioAuthUnavailable", [], delayMilliseconds)
        }
    }

    mutating func enqueueRegistration(_ device: DespiaDevice) {
        registrations.append(
            Registration(
                playerID: device.playerID,
                externalID: device.externalID.flatMap { $0.isEmpty ? nil : $0 },
                isAndroid: device.platform == "android"
            )
        )
    }

    func biometricOutcome(_ device: inout DespiaDevice) -> DespiaDevice.BiometricOutcome {
        device.biometricQueue.isEmpty ? device.biometrics : device.biometricQueue.removeFirst()
    }

    /// Returns the value that the native side sends for a key of the vault.
    ///
    /// Returns nil when the native side sends nothing, and the page waits for its timeout of 30 s.
    func readVault(_ key: String, _ device: inout DespiaDevice) -> JSONValue? {
        func missingValueReply(_ kind: DespiaSettings.MissingValueReply) -> JSONValue? {
            switch kind {
            case .null: .null
            case .silent: nil
            case .empty: ""
            case .na: "n/a"
            }
        }
        guard let item = device.vaultLocal[key] else {
            return missingValueReply(settings.vaultMissing)
        }
        if item.isLocked, biometricOutcome(&device) != .success {
            return missingValueReply(settings.vaultLockedFailure)
        }
        return .string(item.value)
    }

    func historyReplies(_ device: DespiaDevice, _ delayMilliseconds: Int64) -> [JSONValue] {
        let historyJSON = JSONValue.array(
            (history[device.storeAccount] ?? []).map(JSONValue.object)
        )
        switch settings.history {
        case .array: return [Self.variable("restoredData", historyJSON, delayMilliseconds)]
        case .string:
            return [Self.variable("restoredData", .string(historyJSON.text), delayMilliseconds)]
        // The native side sends null when its code fails (Despia fact sheet, section 1.3).
        case .null: return [Self.variable("restoredData", .null, delayMilliseconds)]
        case .silent: return []
        }
    }
}
