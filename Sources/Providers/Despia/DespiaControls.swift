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
                ControlMember("device", .text, "The device's name (default main)."),
                ControlMember("name", .text, "second-device: the name of the other one."),
                ControlMember("items", .object, "vault: texts by key; null takes one away."),
                ControlMember("outcome", .text, "biometrics: success, failure or unavailable."),
                ControlMember("product", .text, "paywall/complete: what is bought."),
                ControlMember("environment", .text, "paywall/complete: PRODUCTION or SANDBOX."),
            ],
            tells: true,
            work: move
        ),
    ]

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
        let path = call.value.split(separator: "/").map(String.init)
        do throws(Refusal) {
            return try services.despia.operate(path, call.body, name(call), at: now)
        } catch {
            throw ControlRefusal(error.status, error.text)
        }
    }
}
