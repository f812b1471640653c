internal import DequeModule
package import Values

/// The fake Despia runtime: simulated phones, the accounts that they share, and the commands of the
/// bridge over HTTP.
///
/// A page sends `POST /bridge` and carries out the replies. A user or a test operates a phone with
/// `POST /device/…`. Source: Despia fact sheet, sections 3 to 7.
///
/// The state is composed of values, each of which keeps its own invariants: the phones
/// (`DespiaDevice`), the data of their accounts (`DespiaAccounts`), the log (`DespiaLog`), and the
/// pending messages to other fakes (`DespiaOutbox`). A value also renders its own JSON.
///
/// The operations are functions outside the state, in one namespace for each subject:
/// `DespiaBridge`, `DespiaRevenueCatCommands`, `DespiaPaywalls` and `DespiaDeviceActions`. They
/// take the state first. `DespiaRequests` finds the operation of an HTTP request.
package struct DespiaState: Hashable, Codable, Sendable {
    package var settings = DespiaSettings()
    package var faults = DespiaFaults()
    package internal(set) var devices: SharedTable<String, DespiaDevice> = [:]
    package internal(set) var log = DespiaLog()
    package var outbox = DespiaOutbox()
    var accounts = DespiaAccounts()
    var ids: IDSource

    package init(seed: UInt64 = 0) {
        ids = IDSource(seed: seed, text: "despia")
    }

    /// Returns a device; creates the device if it does not exist.
    mutating func device(_ name: String) -> DespiaDevice {
        if let existingDevice = devices[name] { return existingDevice }
        let newDevice = DespiaDevice(name: name, &ids)
        devices[name] = newDevice
        return newDevice
    }

    func deviceJSON(_ device: DespiaDevice) -> JSONObject {
        device.stateJSON(accounts, settings, faults)
    }

    // MARK: In this process

    /// An operation on a simulated phone that code in the same process performs without HTTP.
    package enum Operation: Hashable, Sendable {
        case reinstall
        /// Adds another device that uses the same store account and the same vault account.
        case addDevice(String)
        /// Sets items of the vault, both on the device and in the cloud.
        ///
        /// A nil value removes an item.
        case fillVault([String: String?])
        /// Sets the purchases of the device's store account, newest first, in the format of section
        /// 4 of the Despia fact sheet.
        case setHistory([JSONObject])
        case setPlatform(String, userAgent: String)
        case setInstallID(String?)
        /// Ends the paywall or purchase sheet that is open on the device.
        case closePaywallSheet(
            DespiaDevice.Paywall.PurchaseOutcome,
            product: String?,
            environment: String?
        )
    }

    /// Carries out an operation on a device.
    ///
    /// It has the effects of the corresponding HTTP request, such as `POST /device/…`.
    ///
    /// - Returns: The callbacks for the page. The list is empty when the device refuses the
    ///   operation, for example because no sheet is open.
    @discardableResult
    package mutating func carryOut(
        _ operation: Operation,
        on name: String,
        at now: Instant
    ) -> [JSONValue] {
        do throws(DespiaRefusal) {
            switch operation {
            case .reinstall:
                _ = try DespiaDeviceActions.perform(&self, .reinstall, [:], name, at: now)
            case .addDevice(let newDeviceName):
                let body: JSONObject = ["name": .string(newDeviceName)]
                _ = try DespiaDeviceActions.perform(&self, .secondDevice, body, name, at: now)
            case .fillVault(let items):
                let members = items.sorted { $0.key < $1.key }.map { key, value in
                    JSONObject.Member(key: key, value: value.map(JSONValue.string) ?? .null)
                }
                let body: JSONObject = ["items": .object(JSONObject(members: members))]
                _ = try DespiaDeviceActions.perform(&self, .vault, body, name, at: now)
            case .setHistory(let historyEntries):
                let device = device(name)
                accounts.setHistory(historyEntries, of: device)
            case .setPlatform(let platform, let userAgent):
                _ = try DespiaDeviceActions.update(&self, ["platform": .string(platform)], name)
                _ = try DespiaDeviceActions.update(&self, ["uaPreset": .string(userAgent)], name)
            case .setInstallID(let id):
                let body: JSONObject = ["installUuid": id.map(JSONValue.string) ?? .null]
                _ = try DespiaDeviceActions.update(&self, body, name)
            case .closePaywallSheet(let purchaseOutcome, let product, let environment):
                let body: JSONObject = .present([
                    ("product", product.map(JSONValue.string)),
                    ("environment", environment.map(JSONValue.string)),
                ])
                let action: DespiaDevice.Action =
                    switch purchaseOutcome {
                    case .complete: .completePaywall
                    case .cancel: .cancelPaywall
                    case .fail: .failPaywall
                    }
                let stateJSON = try DespiaDeviceActions.perform(&self, action, body, name, at: now)
                return stateJSON["replies"]?.array ?? []
            }
        } catch {
            return []
        }
        return []
    }

    /// Returns the state of a device; creates the device if it does not exist.
    package mutating func deviceStateJSON(_ name: String) -> JSONValue {
        .object(deviceJSON(device(name)))
    }

    /// Carries out a command that a page assigned to the bridge's setter, as `POST /bridge` does.
    ///
    /// - Parameters:
    ///   - body: The members `command`, `device`, `load` and `page` of the request.
    ///   - now: The current time.
    /// - Returns: The native side's response: the member `replies`, and `throws` if the setter
    ///   throws an error.
    package mutating func take(_ body: JSONObject, at now: Instant) -> JSONValue {
        do throws(DespiaRefusal) {
            let name = body["device"]?.string ?? "main"
            return .object(try DespiaBridge.carryOut(&self, body, on: name, at: now))
        } catch {
            return ["replies": []]
        }
    }

    /// Applies the switches and faults that a contract defines for the Despia runtime.
    ///
    /// - Parameters:
    ///   - plan: The switches by their names, and the faults by command.
    ///   - keys: The names of the app's vault keys, by role.
    package mutating func apply(_ plan: BridgePlan, keys: [VaultRole: String]) {
        // The grammar of contracts accepts only the switches and values of `DespiaSettings`, so the
        // conversions to JSON and back succeed.
        if let known = try? JSONValue(encoding: settings), var settingsFields = known.object {
            for (name, value) in plan.switches { settingsFields[name] = value }
            if let changedSettings = try? JSONValue.object(settingsFields).decoded(
                as: DespiaSettings.self
            ) {
                settings = changedSettings
            }
        }
        faults.matching += plan.faults.map { fault in
            DespiaFaults.MatchingFault(
                kind: fault.kind,
                scheme: fault.scheme,
                key: fault.role.map { keys[$0] ?? $0.rawValue },
                times: fault.times
            )
        }
    }

    /// Updates the purchase history of a device with the current state of the purchases in the
    /// store model.
    package mutating func refreshHistory(
        of device: String,
        _ findPurchase: (String) -> Purchase?,
        isActive: (Purchase) -> Bool
    ) {
        guard let device = devices[device] else { return }
        accounts.refreshHistory(of: device, findPurchase, isActive: isActive)
    }

    // MARK: HTTP

    package mutating func respond(
        to request: HTTPMessage.Request,
        at now: Instant,
        plannedResponse _: ProviderPlan.PlannedResponse
    ) -> Reply {
        var response: HTTPMessage.Response
        if request.method == "OPTIONS" {
            response = HTTPMessage.Response(
                204,
                fields: [
                    HTTPMessage.Field("Access-Control-Allow-Methods", "GET, POST, PUT, PATCH"),
                    HTTPMessage.Field(
                        "Access-Control-Allow-Headers",
                        request[field: "access-control-request-headers"] ?? "content-type"
                    ),
                ]
            )
        } else {
            do throws(DespiaRefusal) {
                let body = try DespiaRequests.response(&self, to: request, at: now)
                response = HTTPMessage.Response(200, json: body)
            } catch {
                response = HTTPMessage.Response(error.status, json: ["error": .string(error.text)])
            }
        }
        // The bridge has a different origin from the page, and every page of the device may use the
        // bridge.
        if let origin = request[field: "origin"] {
            response.fields.append(HTTPMessage.Field("Access-Control-Allow-Origin", origin))
        }
        return Reply(response, .inferred, of: "despia")
    }
}
