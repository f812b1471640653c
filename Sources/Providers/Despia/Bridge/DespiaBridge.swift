internal import Values

/// The bridge between a web page and the fake Despia runtime: commands, replies and planned faults
/// (Despia fact sheet, sections 1 and 3).
enum DespiaBridge {
    /// Carries out a command that a page assigned to the bridge's setter.
    ///
    /// Returns the replies of the native side, as the planned faults change them.
    static func carryOut(
        _ state: inout DespiaState,
        _ body: JSONObject,
        on name: String,
        at now: Instant
    ) throws(DespiaRefusal) -> JSONObject {
        guard let text = body["command"]?.string else {
            throw DespiaRefusal(
                400,
                "'command' is missing; it is the string that the page assigned to window.despia"
            )
        }
        let command = BridgeCommand(text, decoding: state.settings.vaultDecode)
        var device = state.device(name)
        device.commandCount += 1
        let number = device.commandCount
        let pageTimeMilliseconds = (body["page"] ?? body["tPage"])?.int64
        let task = pageTimeMilliseconds.map {
            DespiaDevice.PageTask(load: body["load"]?.string ?? "", milliseconds: $0)
        }
        let isInTaskOfLastCommand = task != nil && task == device.lastCommandTask
        device.lastCommandTask = task
        state.devices[name] = device
        state.log.record(.bridge, name, now, body, text: text, command: command)
        // An ordinary browser has no native side, so the page receives no reply.
        if device.uaPreset == "browser" { return ["sequence": .integer(number), "replies": []] }
        if state.faults.setterThrows.contains(number) {
            return ["sequence": .integer(number), "throws": true, "replies": []]
        }
        if state.settings.coalescesCommands, isInTaskOfLastCommand {
            return [
                "sequence": .integer(number), "dropped": true, "sameTask": true, "replies": [],
            ]
        }
        let fault = state.faults.takeFault(for: command)
        guard !state.faults.drop.contains(number), fault != .drop else {
            return ["sequence": .integer(number), "dropped": true, "replies": []]
        }
        var replies = performCommand(&state, command, &device, at: now)
        state.devices[name] = device
        replies = replies.map {
            state.faults.changedReply(
                $0,
                number,
                command,
                fault,
                lateMilliseconds: state.settings.lateMilliseconds
            )
        }
        if state.faults.duplicate.contains(number) || fault == .duplicate { replies += replies }
        for reply in replies {
            let kind: DespiaLogEntry.Kind = reply["kind"] == "callback" ? .callback : .reply
            state.log.record(kind, name, now, body, text: reply["name"]?.string ?? "", value: reply)
        }
        return .present([
            ("sequence", .integer(number)), ("replies", .array(replies)),
            ("sameTask", isInTaskOfLastCommand ? true : nil),
            ("killPage", state.faults.killPageAfter == number ? true : nil),
        ])
    }

    /// Carries out a command of the page and returns the native side's replies to it.
    private static func performCommand(
        _ state: inout DespiaState,
        _ command: BridgeCommand,
        _ device: inout DespiaDevice,
        at now: Instant
    ) -> [JSONValue] {
        let delayMilliseconds =
            state.settings.latencyByScheme[command.scheme] ?? state.settings.latencyMilliseconds
        switch command.scheme {
        case "readvault":
            guard let key = command["key"], !key.isEmpty else { return [] }
            let value = device.readVault(key, state.settings)
            return value.map { [DespiaReply.variable(key, $0, delayMilliseconds)] } ?? []
        case "setvault":
            setVault(&state, command, &device)
            return []
        case "writevalue":
            device.storedValue = FormText.decoded(command.path, decodesPlusAsSpace: false)
            return []
        case "readvalue":
            let value = device.storedValue.map(JSONValue.string) ?? .null
            return [DespiaReply.variable("storedValues", value, delayMilliseconds)]
        case "getpurchasehistory": return historyReplies(state, device, delayMilliseconds)
        case "revenuecat":
            return DespiaRevenueCatCommands.carryOut(
                &state,
                command,
                &device,
                delayMilliseconds,
                at: now
            )
        case "setonesignalplayerid":
            device.externalID = command["user_id"]
            state.outbox.addRegistration(of: device)
            return []
        case "registerpush":
            if device.pushPermission == .undetermined { device.pushPermission = .granted }
            state.outbox.addRegistration(of: device)
            return []
        case "bioauth": return [biometricReply(device.takeBiometricOutcome(), delayMilliseconds)]
        case "stripe":
            return [
                DespiaReply.callback(
                    "stripeEvent",
                    [["method": "payment", "status": "completed"]],
                    delayMilliseconds
                )
            ]
        case "location":
            let vaultLocation: JSONValue = [
                "latitude": .number(JSONNumber(52.52)), "longitude": .number(JSONNumber(13.4)),
            ]
            return [DespiaReply.callback("onLocationChange", [vaultLocation], delayMilliseconds)]
        // Commands that only read a value. The runtime ignores all commands that it does not know.
        default:
            return variableValues(command, device, state.faults).map {
                DespiaReply.variable($0.name, $0.value, delayMilliseconds)
            }
        }
    }

    /// Returns the variables that a command requests, with their values.
    ///
    /// The list is empty for a command that this runtime does not know.
    private static func variableValues(
        _ command: BridgeCommand,
        _ device: DespiaDevice,
        _ faults: DespiaFaults
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

    private static func setVault(
        _ state: inout DespiaState,
        _ command: BridgeCommand,
        _ device: inout DespiaDevice
    ) {
        guard let key = command["key"], !key.isEmpty else { return }
        let item = DespiaDevice.VaultItem(
            value: command["value"] ?? "",
            isLocked: command["locked"] == "true"
        )
        device.vaultLocal[key] = item
        if device.syncsVault { state.accounts.setCloudItem(key, to: item, of: device) }
    }

    private static func biometricReply(
        _ outcome: DespiaDevice.BiometricOutcome,
        _ delayMilliseconds: Int64
    ) -> JSONValue {
        switch outcome {
        case .success: DespiaReply.callback("onBioAuthSuccess", [], delayMilliseconds)
        case .failure:
            DespiaReply.callback(
                "onBioAuthFailure",
                ["-1", "authentication failed"],
                delayMilliseconds
            )
        case .unavailable: DespiaReply.callback("onBioAuthUnavailable", [], delayMilliseconds)
        }
    }

    private static func historyReplies(
        _ state: DespiaState,
        _ device: DespiaDevice,
        _ delayMilliseconds: Int64
    ) -> [JSONValue] {
        let historyJSON = JSONValue.array(
            state.accounts.history(of: device).map(JSONValue.object)
        )
        switch state.settings.history {
        case .array: return [DespiaReply.variable("restoredData", historyJSON, delayMilliseconds)]
        case .string:
            return [
                DespiaReply.variable("restoredData", .string(historyJSON.text), delayMilliseconds)
            ]
        // The native side sends null when its code fails (Despia fact sheet, section 1.3).
        case .null: return [DespiaReply.variable("restoredData", .null, delayMilliseconds)]
        case .silent: return []
        }
    }
}
