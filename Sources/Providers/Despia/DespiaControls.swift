internal import Conformance

/// What people and tests can do with the fake's phones.
extension DespiaState {
    package static let controls = [
        ProviderControl(
            "device",
            "GET",
            "/device",
            "A device's state.",
            parameters: [whichDevice],
            work: look
        ),
        ProviderControl(
            "deviceAction",
            "POST",
            "/device/{action+}",
            "Something happens to a device.",
            parameters: [whichDevice],
            members: [
                named,
                member("name", .text, "the name of the other one.", of: .secondDevice),
                member("items", .object, "texts by key; null takes one away.", of: .vault),
                member("outcome", .open(outcomes), "how the next prompt ends.", of: .biometrics),
                member("product", .text, "what is bought.", of: .completePaywall),
                member(
                    "environment",
                    .open(StoreAction.environments),
                    "PRODUCTION or SANDBOX.",
                    of: .completePaywall
                ),
            ],
            words: DespiaDevice.Action.words,
            tells: true,
            work: move
        ),
        ProviderControl(
            "patchDevice",
            "PATCH",
            "/device",
            "Sets what a device is.",
            parameters: [whichDevice],
            members: [
                named,
                ControlMember("platform", .open(platforms), "ios or android."),
                ControlMember("uaPreset", .open(presets), "Which device its user agent names."),
                ControlMember("installUuid", .text, "The installation's id."),
                ControlMember("storeAccount", .text, "The store account it is signed in to."),
                ControlMember("vaultAccount", .text, "The account that syncs its vault."),
                ControlMember("playerId", .text, "Its push subscription."),
                ControlMember("externalId", .text, "The user that it tells."),
                ControlMember(
                    "pushPermission",
                    .open(DespiaDevice.Permission.allCases.map(\.rawValue)),
                    "Whether it may be sent pushes."
                ),
                ControlMember("biometrics", .open(outcomes), "How prompts end."),
            ],
            work: set
        ),
        ProviderControl("devices", "GET", "/devices", "Every device's state.", work: list),
    ]

    private static let named = ControlMember("device", .text, "The device's name (default main).")
    private static let outcomes = DespiaDevice.Biometrics.allCases.map(\.rawValue)

    private static func member(
        _ name: String,
        _ kind: ControlMember.Kind,
        _ summary: String,
        of action: DespiaDevice.Action
    ) -> ControlMember {
        ControlMember(name, kind, summary, of: [action.rawValue])
    }

    private static let whichDevice = ControlParameter(
        "device",
        "The device's name (default main)."
    )

    private static func name(_ call: ProviderControl.Call) -> String {
        call.query.first { $0.name == "device" }?.value ?? call.body["device"]?.string ?? "main"
    }

    private static func look(
        _ services: inout Services,
        _ call: ProviderControl.Call,
        _ now: Instant
    ) throws(ControlRefusal) -> JSONObject {
        let device = name(call)
        refreshHistory(of: device, &services, at: now)
        return services.despia.show(device).object ?? JSONObject()
    }

    private static func move(
        _ services: inout Services,
        _ call: ProviderControl.Call,
        _ now: Instant
    ) throws(ControlRefusal) -> JSONObject {
        guard let action = DespiaDevice.Action(rawValue: call.value) else {
            throw .unknown(call.value, "a device", among: DespiaDevice.Action.words)
        }
        do throws(Refusal) {
            return try services.despia.operate(action, call.body, name(call), at: now)
        } catch {
            throw ControlRefusal(error.status, error.text)
        }
    }

    private static func set(
        _ services: inout Services,
        _ call: ProviderControl.Call,
        _ now: Instant
    ) throws(ControlRefusal) -> JSONObject {
        do throws(Refusal) {
            let given = call.body.members.filter { !$0.value.isNull }
            // The device that is asked for is made, but not for a call that is refused.
            var changed = services.despia
            let shown = try changed.patch(JSONObject(members: given), name(call))
            services.despia = changed
            return shown
        } catch {
            throw ControlRefusal(error.status, error.text)
        }
    }

    private static func list(
        _ services: inout Services,
        _ call: ProviderControl.Call,
        _ now: Instant
    ) throws(ControlRefusal) -> JSONObject {
        var shown: [JSONValue] = []
        for name in services.despia.devices.keys.sorted() {
            refreshHistory(of: name, &services, at: now)
            shown.append(services.despia.show(name))
        }
        return ["devices": .array(shown)]
    }
}
