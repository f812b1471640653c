internal import Values

/// Operations with which users and tests change simulated phones: `PATCH` and `POST /device/…`.
enum DespiaDeviceActions {
    /// Changes the properties of a simulated phone that the request body names, and returns the
    /// phone's new state.
    static func update(
        _ state: inout DespiaState,
        _ body: JSONObject,
        _ name: String
    ) throws(DespiaRefusal) -> JSONObject {
        var device = state.device(name)
        for member in body.members where member.key != "device" {
            try device.setProperty(member.key, to: member.value.string)
        }
        state.devices[name] = device
        return state.deviceJSON(device)
    }

    /// Performs an action on a simulated phone, as a user, a store or a test does.
    ///
    /// Returns the phone's new state.
    static func perform(
        _ state: inout DespiaState,
        _ action: DespiaDevice.Action,
        _ body: JSONObject,
        _ name: String,
        at now: Instant
    ) throws(DespiaRefusal) -> JSONObject {
        var device = state.device(name)
        var callbackReplies: [JSONValue] = []
        switch action {
        case .reset: return eraseData(&state, device)
        case .newInstall, .reinstall: device.reinstallApp(state.accounts, &state.ids)
        case .secondDevice: return try addDevice(&state, device, body)
        case .vault: fillVault(&state, of: &device, body)
        case .cloudPush:
            state.accounts.pushVault(of: device)
        case .cloudPull: device.vaultLocal.merge(state.accounts.cloudItems(of: device)) { $1 }
        case .cloudHold: device.syncsVault = false
        case .cloudRelease: device.syncsVault = true
        case .biometrics:
            guard let value = body["outcome"]?.string.flatMap(DespiaDevice.BiometricOutcome.init)
            else {
                throw DespiaRefusal(400, "'outcome' must be success, failure or unavailable")
            }
            device.biometricQueue.append(value)
        case .restore: callbackReplies = restore(&state, device)
        case .completePaywall:
            callbackReplies = try closeOpenPaywall(&state, .complete, &device, body, at: now)
        case .cancelPaywall:
            callbackReplies = try closeOpenPaywall(&state, .cancel, &device, body, at: now)
        case .failPaywall:
            callbackReplies = try closeOpenPaywall(&state, .fail, &device, body, at: now)
        }
        state.devices[name] = device
        return deviceStateWithReplies(&state, callbackReplies, to: device, at: now)
    }

    private static func closeOpenPaywall(
        _ state: inout DespiaState,
        _ purchaseOutcome: DespiaDevice.Paywall.PurchaseOutcome,
        _ device: inout DespiaDevice,
        _ body: JSONObject,
        at now: Instant
    ) throws(DespiaRefusal) -> [JSONValue] {
        guard let paywall = device.paywall else {
            throw DespiaRefusal(409, "no paywall is open on the device")
        }
        return DespiaPaywalls.close(&state, paywall, purchaseOutcome, &device, body, at: now)
    }

    /// Logs callbacks, and returns the device's state with these callbacks in the member `replies`.
    ///
    /// A page that is already closed misses these callbacks.
    private static func deviceStateWithReplies(
        _ state: inout DespiaState,
        _ callbackReplies: [JSONValue],
        to device: DespiaDevice,
        at now: Instant
    ) -> JSONObject {
        for callback in callbackReplies {
            let text = callback["name"]?.string ?? ""
            state.log.record(.callback, device.name, now, JSONObject(), text: text, value: callback)
        }
        var responseFields = state.deviceJSON(device)
        responseFields["replies"] = .array(callbackReplies)
        return responseFields
    }

    private static func eraseData(_ state: inout DespiaState, _ device: DespiaDevice) -> JSONObject
    {
        state.accounts.erase(device)
        state.log.removeEntries(of: device.name)
        state.devices[device.name] = nil
        return state.deviceJSON(state.device(device.name))
    }

    /// Adds another device that uses the same store account and the same vault account.
    private static func addDevice(
        _ state: inout DespiaState,
        _ device: DespiaDevice,
        _ body: JSONObject
    ) throws(DespiaRefusal) -> JSONObject {
        guard let newDeviceName = body["name"]?.string, state.devices[newDeviceName] == nil else {
            throw DespiaRefusal(400, "'name' is missing, or a device with that name already exists")
        }
        var newDevice = state.device(newDeviceName)
        newDevice.storeAccount = device.storeAccount
        newDevice.vaultAccount = device.vaultAccount
        newDevice.vaultLocal = state.accounts.cloudItems(of: newDevice)
        state.devices[newDeviceName] = newDevice
        return state.deviceJSON(newDevice)
    }

    /// Fills the device's vault with items, as if an earlier version of the app had left them
    /// there.
    private static func fillVault(
        _ state: inout DespiaState,
        of device: inout DespiaDevice,
        _ body: JSONObject
    ) {
        for member in body["items"]?.object?.members ?? [] {
            let item = member.value.string.map {
                DespiaDevice.VaultItem(value: $0, isLocked: false)
            }
            device.vaultLocal[member.key] = item
            state.accounts.setCloudItem(member.key, to: item, of: device)
        }
    }

    /// Restores the purchases of the device's store account.
    ///
    /// The Customer Center sends the account's receipt to RevenueCat, which transfers the purchases
    /// to the current user.
    private static func restore(_ state: inout DespiaState, _ device: DespiaDevice) -> [JSONValue] {
        let owner = state.accounts.history(of: device).first?["externalUserId"]?.string ?? ""
        if !owner.isEmpty, owner != device.revenueCatID {
            var action = StoreAction(.restore, user: device.revenueCatID)
            action.from = owner
            state.outbox.add(action)
        }
        let event: JSONValue = ["event": "restoreCompleted"]
        return [
            DespiaReply.callback(
                "onRevenueCatCenter",
                [event],
                state.settings.latencyMilliseconds
            )
        ]
    }
}
