internal import Values

extension DespiaDevice {
    /// Returns the device with the data of its accounts, in the format of the control API.
    func stateJSON(
        _ accounts: DespiaAccounts,
        _ settings: DespiaSettings,
        _ faults: DespiaFaults
    ) -> JSONObject {
        func items(_ items: [String: VaultItem]) -> JSONValue {
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
        let paywallJSON: JSONValue =
            paywall.map {
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
            "device": .string(name), "platform": .string(platform),
            "uaPreset": .string(uaPreset), "userAgent": .string(userAgent),
            "installUuid": installUUID.map(JSONValue.string) ?? .null,
            "storeAccount": .string(storeAccount),
            "vaultAccount": .string(vaultAccount),
            "pushPermission": .string(pushPermission.rawValue),
            "playerId": .string(playerID),
            "externalId": externalID.map(JSONValue.string) ?? .null,
            "biometrics": .string(biometrics.rawValue),
            "vaultLocal": items(vaultLocal),
            "vaultCloud": items(accounts.cloudItems(of: self)),
            "history": .array(accounts.history(of: self).map(JSONValue.object)),
            "paywall": paywallJSON,
            "globals": .object(pageGlobals(settings, faults)),
            "globalDelays": [
                "uuid": .integer(settings.uuidDelay),
                "onesignalplayerid": .integer(settings.playerIDDelay),
            ],
        ]
    }

    /// Returns the variables that the runtime sets before any script of the page runs (Despia fact
    /// sheet, section 1.5).
    private func pageGlobals(
        _ settings: DespiaSettings,
        _ faults: DespiaFaults
    ) -> JSONObject {
        guard uaPreset != "browser" else { return JSONObject() }
        let hasRuntimeFlags = settings.hasRuntimeFlags
        return .present([
            ("uuid", faults.uuidMissing ? nil : installUUID.map(JSONValue.string)),
            (
                "onesignalplayerid",
                pushPermission == .granted ? .string(playerID) : nil
            ),
            ("native_runtime", hasRuntimeFlags ? "despia" : nil),
            // The runtime has no name yet for the platform of the preset `unknown`.
            (
                "native_os",
                hasRuntimeFlags && uaPreset != "unknown" ? .string(platform) : nil
            ),
        ])
    }
}
