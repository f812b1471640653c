internal import Values

/// The control API's operations on the simulated phones of the fake Despia runtime.
enum DespiaControls {
    static let all = [
        ProviderControl(
            "device",
            "GET",
            "/device",
            "Returns the state of a device.",
            parameters: [deviceParameter],
            handler: readDevice
        ),
        ProviderControl(
            "deviceAction",
            "POST",
            "/device/{action+}",
            "Performs an action on a device.",
            parameters: [deviceParameter],
            members: [
                deviceMember,
                member("name", .text, "the name of the second device.", of: .secondDevice),
                member(
                    "items",
                    .object,
                    "the vault items, strings by key; null removes an item.",
                    of: .vault
                ),
                member(
                    "outcome",
                    .openChoice(biometricOutcomes),
                    "the outcome of the next biometric prompt.",
                    of: .biometrics
                ),
                member("product", .text, "the product that is bought.", of: .completePaywall),
                member(
                    "environment",
                    .openChoice(StoreAction.environments),
                    "the store environment, PRODUCTION or SANDBOX.",
                    of: .completePaywall
                ),
            ],
            pathValues: DespiaDevice.Action.pathValues,
            sendsEvents: true,
            handler: performDeviceAction
        ),
        ProviderControl(
            "patchDevice",
            "PATCH",
            "/device",
            "Changes the properties of a device.",
            parameters: [deviceParameter],
            members: [
                deviceMember,
                ControlMember(
                    "platform",
                    .openChoice(DespiaDevice.platforms),
                    "The platform, ios or android."
                ),
                ControlMember(
                    "uaPreset",
                    .openChoice(DespiaDevice.userAgentPresets),
                    "The kind of device in the user agent."
                ),
                ControlMember("installUuid", .text, "The ID of the app's installation."),
                ControlMember("storeAccount", .text, "The store account of the device."),
                ControlMember(
                    "vaultAccount",
                    .text,
                    "The account that syncs the device's vault."
                ),
                ControlMember("playerId", .text, "The ID of the device's push subscription."),
                ControlMember(
                    "externalId",
                    .text,
                    "The user ID that the device sends to OneSignal."
                ),
                ControlMember(
                    "pushPermission",
                    .openChoice(DespiaDevice.PushPermission.allCases.map(\.rawValue)),
                    "Whether the device may receive push notifications."
                ),
                ControlMember(
                    "biometrics",
                    .openChoice(biometricOutcomes),
                    "The outcome of biometric prompts."
                ),
            ],
            handler: patchDevice
        ),
        ProviderControl(
            "devices",
            "GET",
            "/devices",
            "Returns the state of all devices.",
            handler: listDevices
        ),
    ]

    private static let deviceMember = ControlMember(
        "device",
        .text,
        "The device's name (default main)."
    )
    private static let biometricOutcomes = DespiaDevice.BiometricOutcome.allCases.map(\.rawValue)

    private static func member(
        _ name: String,
        _ kind: ControlMember.Kind,
        _ summary: String,
        of action: DespiaDevice.Action
    ) -> ControlMember {
        ControlMember(name, kind, summary, of: [action.rawValue])
    }

    private static let deviceParameter = ControlParameter(
        "device",
        "The device's name (default main)."
    )

    private static func name(_ call: ProviderControl.Call) -> String {
        call.query.first { $0.name == "device" }?.value ?? call.body["device"]?.string ?? "main"
    }

    private static func readDevice(
        _ services: inout Services,
        _ call: ProviderControl.Call,
        _ now: Instant
    ) throws(ControlRefusal) -> JSONObject {
        let device = name(call)
        DespiaState.refreshHistory(of: device, &services, at: now)
        return services.despia.deviceStateJSON(device).object ?? JSONObject()
    }

    private static func performDeviceAction(
        _ services: inout Services,
        _ call: ProviderControl.Call,
        _ now: Instant
    ) throws(ControlRefusal) -> JSONObject {
        guard let action = DespiaDevice.Action(rawValue: call.value) else {
            throw .unknownName(call.value, "a device", among: DespiaDevice.Action.pathValues)
        }
        do throws(DespiaRefusal) {
            return try DespiaDeviceActions.perform(
                &services.despia,
                action,
                call.body,
                name(call),
                at: now
            )
        } catch {
            throw ControlRefusal(error.status, error.text)
        }
    }

    private static func patchDevice(
        _ services: inout Services,
        _ call: ProviderControl.Call,
        _ now: Instant
    ) throws(ControlRefusal) -> JSONObject {
        do throws(DespiaRefusal) {
            let nonNullMembers = call.body.members.filter { !$0.value.isNull }
            // The operation changes a copy, because a refused call must not create the device that
            // it names.
            var updatedState = services.despia
            let stateJSON = try DespiaDeviceActions.update(
                &updatedState,
                JSONObject(members: nonNullMembers),
                name(call)
            )
            services.despia = updatedState
            return stateJSON
        } catch {
            throw ControlRefusal(error.status, error.text)
        }
    }

    private static func listDevices(
        _ services: inout Services,
        _ call: ProviderControl.Call,
        _ now: Instant
    ) throws(ControlRefusal) -> JSONObject {
        var stateJSON: [JSONValue] = []
        for name in services.despia.devices.keys.sorted() {
            DespiaState.refreshHistory(of: name, &services, at: now)
            stateJSON.append(services.despia.deviceStateJSON(name))
        }
        return ["devices": .array(stateJSON)]
    }
}
