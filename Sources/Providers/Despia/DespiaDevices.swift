internal import Values

/// Operations with which users and tests read and change simulated phones: `GET`, `PATCH` and
/// `POST /device/…`.
extension DespiaState {
    mutating func device(_ name: String) -> DespiaDevice {
        if let existingDevice = devices[name] { return existingDevice }
        let defaultAccount = "account-" + name
        let newDevice = DespiaDevice(
            name: name,
            installUUID: ids.uuid().uppercased(),
            storeAccount: defaultAccount,
            vaultAccount: defaultAccount,
            playerID: ids.uuid(),
            revenueCatID: "$RCAnonymousID:" + ids.hex(32)
        )
        devices[name] = newDevice
        return newDevice
    }

    func deviceJSON(_ device: DespiaDevice) -> JSONObject {
        func items(_ items: [String: DespiaDevice.VaultItem]) -> JSONValue {
            .object(
                JSONObject(
                    members: items.sorted { $0.key < $1.key }.map {
                        .init(
                            key: $0.key,
                            value: [
                                "value": .string($0.value.value),
                                "locked": .bool($0.value.isLocked),
                            ]
                        )
                    }
                )
            )
        }
        let paywall: JSONValue =
            device.paywall.map {
                .object(
                    .present([
                        ("open", true), ("externalId", $0.externalID.map(JSONValue.string)),
                        ("offering", $0.offering.map(JSONValue.string)),
                        ("product", $0.product.map(JSONValue.string)),
                        ("presentedAt", .integer($0.presented.milliseconds)),
                    ])
                )
            } ?? ["open": false]
        return [
            "device": .string(device.name), "platform": .string(device.platform),
            "uaPreset": .string(device.uaPreset), "userAgent": .string(device.userAgent),
            "installUuid": device.installUUID.map(JSONValue.string) ?? .null,
            "storeAccount": .string(device.storeAccount),
            "vaultAccount": .string(device.vaultAccount),
            "pushPermission": .string(device.pushPermission.rawValue),
            "playerId": .string(device.playerID),
            "externalId": device.externalID.map(JSONValue.string) ?? .null,
            "biometrics": .string(device.biometrics.rawValue),
            "vaultLocal": items(device.vaultLocal),
            "vaultCloud": items(cloud[device.vaultAccount] ?? [:]),
            "history": .array((history[device.storeAccount] ?? []).map(JSONValue.object)),
            "paywall": paywall,
            "globals": .object(pageGlobals(device)),
            "globalDelays": [
                "uuid": .integer(settings.uuidDelay),
                "onesignalplayerid": .integer(settings.playerIDDelay),
            ],
        ]
    }

    /// Returns the variables that the runtime sets before any script of the page runs (Despia fact
    /// sheet, section 1.5).
    func pageGlobals(_ device: DespiaDevice) -> JSONObject {
        guard device.uaPreset != "browser" else { return JSONObject() }
        let hasRuntimeFlags = settings.hasRuntimeFlags
        return .present([
            ("uuid", faults.uuidMissing ? nil : device.installUUID.map(JSONValue.string)),
            (
                "onesignalplayerid",
                device.pushPermission == .granted ? .string(device.playerID) : nil
            ),
            ("native_runtime", hasRuntimeFlags ? "despia" : nil),
            // The runtime has no name yet for the platform of the preset `unknown`.
            (
                "native_os",
                hasRuntimeFlags && device.uaPreset != "unknown" ? .string(device.platform) : nil
            ),
        ])
    }

    /// Changes the properties of a simulated phone that the request body names, and returns the
    /// phone's new state.
    mutating func updateDevice(_ body: JSONObject, _ name: String) throws(Refusal) -> JSONObject {
        var device = device(name)
        for member in body.members where member.key != "device" {
            try Self.setProperty(member.key, to: member.value.string, of: &device)
        }
        devices[name] = device
        return deviceJSON(device)
    }

    static let platforms = ["ios", "android"]
    static let userAgentPresets = [
        "iphone", "ipad", "ipad-no-token", "ipad-desktop", "android", "unknown", "browser",
    ]

    private static func setProperty(
        _ field: String,
        to text: String?,
        of device: inout DespiaDevice
    ) throws(Refusal) {
        switch field {
        case "platform":
            guard let text, platforms.contains(text) else {
                throw Refusal(400, "'platform' must be ios or android")
            }
            device.platform = text
            if text == "android" { device.uaPreset = "android" }
        case "uaPreset":
            guard let text, userAgentPresets.contains(text) else {
                throw Refusal(
                    400,
                    "'uaPreset' must be one of \(userAgentPresets.joined(separator: ", "))"
                )
            }
            device.uaPreset = text
        case "installUuid": device.installUUID = text
        case "storeAccount": device.storeAccount = text ?? device.storeAccount
        case "vaultAccount": device.vaultAccount = text ?? device.vaultAccount
        case "playerId": device.playerID = text ?? device.playerID
        case "externalId": device.externalID = text
        case "pushPermission":
            guard let value = text.flatMap(DespiaDevice.PushPermission.init(rawValue:)) else {
                throw Refusal(400, "'pushPermission' must be granted, denied or undetermined")
            }
            device.pushPermission = value
        case "biometrics":
            guard let value = text.flatMap(DespiaDevice.BiometricOutcome.init(rawValue:)) else {
                throw Refusal(400, "'biometrics' must be success, failure or unavailable")
            }
            device.biometrics = value
        default: throw Refusal(400, "a device has no property '\(field)' that can be changed")
        }
    }

    // MARK: Actions

    /// Performs an action on a simulated phone, as a user, a store or a test does.
    ///
    /// Returns the phone's new state.
    mutating func performAction(
        _ action: DespiaDevice.Action,
        _ body: JSONObject,
        _ name: String,
        at now: Instant
    ) throws(Refusal) -> JSONObject {
        var device = device(name)
        var callbackReplies: [JSONValue] = []
        switch action {
        case .reset: return eraseData(device)
        case .newInstall, .reinstall: reinstallApp(&device)
        case .secondDevice: return try addDevice(device, body)
        case .vault: fillVault(of: &device, body)
        case .cloudPush:
            cloud[device.vaultAccount, default: [:]].merge(device.vaultLocal) { $1 }
        case .cloudPull: device.vaultLocal.merge(cloud[device.vaultAccount] ?? [:]) { $1 }
        case .cloudHold: device.syncsVault = false
        case .cloudRelease: device.syncsVault = true
        case .biometrics:
            guard let value = body["outcome"]?.string.flatMap(DespiaDevice.BiometricOutcome.init)
            else {
                throw Refusal(400, "'outcome' must be success, failure or unavailable")
            }
            device.biometricQueue.append(value)
        case .restore: callbackReplies = restore(device)
        case .completePaywall:
            callbackReplies = try closeOpenPaywall(.complete, &device, body, at: now)
        case .cancelPaywall: callbackReplies = try closeOpenPaywall(.cancel, &device, body, at: now)
        case .failPaywall: callbackReplies = try closeOpenPaywall(.fail, &device, body, at: now)
        }
        devices[name] = device
        return deviceStateWithReplies(callbackReplies, to: device, at: now)
    }

    private mutating func closeOpenPaywall(
        _ purchaseOutcome: DespiaDevice.Paywall.PurchaseOutcome,
        _ device: inout DespiaDevice,
        _ body: JSONObject,
        at now: Instant
    ) throws(Refusal) -> [JSONValue] {
        guard let paywall = device.paywall else {
            throw Refusal(409, "no paywall is open on the device")
        }
        return closePaywall(paywall, purchaseOutcome, &device, body, at: now)
    }

    /// Logs callbacks, and returns the device's state with these callbacks in the member `replies`.
    ///
    /// A page that is already closed misses these callbacks.
    private mutating func deviceStateWithReplies(
        _ callbackReplies: [JSONValue],
        to device: DespiaDevice,
        at now: Instant
    ) -> JSONObject {
        for callback in callbackReplies {
            let text = callback["name"]?.string ?? ""
            record(.callback, device.name, now, JSONObject(), text: text, value: callback)
        }
        var responseFields = deviceJSON(device)
        responseFields["replies"] = .array(callbackReplies)
        return responseFields
    }

    private mutating func eraseData(_ device: DespiaDevice) -> JSONObject {
        cloud[device.vaultAccount] = nil
        history[device.storeAccount] = nil
        records.removeAll { $0.device == device.name }
        recordBytes = nil
        devices[device.name] = nil
        return deviceJSON(self.device(device.name))
    }

    /// Reinstalls the app on a device, which erases the app's web storage and local vault.
    ///
    /// The store account and the vault account keep their data.
    private mutating func reinstallApp(_ device: inout DespiaDevice) {
        device.installUUID = ids.uuid().uppercased()
        device.playerID = ids.uuid()
        device.revenueCatID = "$RCAnonymousID:" + ids.hex(32)
        device.externalID = nil
        device.paywall = nil
        device.storedValue = nil
        device.vaultLocal = device.syncsVault ? cloud[device.vaultAccount] ?? [:] : [:]
    }

    /// Adds another device that uses the same store account and the same vault account.
    private mutating func addDevice(
        _ device: DespiaDevice,
        _ body: JSONObject
    ) throws(Refusal) -> JSONObject {
        guard let newDeviceName = body["name"]?.string, devices[newDeviceName] == nil else {
            throw Refusal(400, "'name' is missing, or a device with that name already exists")
        }
        var newDevice = self.device(newDeviceName)
        newDevice.storeAccount = device.storeAccount
        newDevice.vaultAccount = device.vaultAccount
        newDevice.vaultLocal = cloud[device.vaultAccount] ?? [:]
        devices[newDeviceName] = newDevice
        return deviceJSON(newDevice)
    }

    /// Fills the device's vault with items, as if an earlier version of the app had left them
    /// there.
    private mutating func fillVault(of device: inout DespiaDevice, _ body: JSONObject) {
        for member in body["items"]?.object?.members ?? [] {
            let item = member.value.string.map {
                DespiaDevice.VaultItem(value: $0, isLocked: false)
            }
            device.vaultLocal[member.key] = item
            cloud[device.vaultAccount, default: [:]][member.key] = item
        }
    }

    /// Restores the purchases of the device's store account.
    ///
    /// The Customer Center sends the account's receipt to RevenueCat, which transfers the purchases
    /// to the current user.
    private mutating func restore(_ device: DespiaDevice) -> [JSONValue] {
        let owner = history[device.storeAccount]?.first?["externalUserId"]?.string ?? ""
        if !owner.isEmpty, owner != device.revenueCatID {
            var action = StoreAction(.restore, user: device.revenueCatID)
            action.from = owner
            actions.append(action)
        }
        let event: JSONValue = ["event": "restoreCompleted"]
        return [Self.callbackReply("onRevenueCatCenter", [event], settings.latencyMilliseconds)]
    }
}
