package import Contracts
package import DequeModule
internal import Grammar
package import Values

/// The fake Despia runtime: simulated phones, the accounts that they share, and the commands of the
/// bridge over HTTP.
///
/// A page sends `POST /bridge` and carries out the replies. A user or a test operates a phone with
/// `POST /device/…`. Source: Despia fact sheet, sections 3 to 7.
package struct DespiaState: Hashable, Codable, Sendable {
    /// The maximum number of entries in the log of the simulated phones.
    package static let recordCountMax = 20_000
    /// The maximum size of the strings and values in the log of the simulated phones, in bytes.
    ///
    /// The oldest entries are removed first, which leaves a gap in the sequence numbers. The latest
    /// entry is never removed.
    package static let recordByteCountMax = 16 << 20

    package var settings = DespiaSettings()
    package var faults = DespiaFaults()
    package internal(set) var devices: SharedTable<String, DespiaDevice> = [:]
    /// The vault items that are stored in the cloud, by vault account.
    var cloud: SharedTable<String, [String: DespiaDevice.VaultItem]> = [:]
    /// The purchases of each store account, newest first, in the format of section 4 of the Despia
    /// fact sheet.
    var history: SharedTable<String, [JSONObject]> = [:]
    package internal(set) var records: Deque<DespiaLogEntry> = []
    /// The size of the log in bytes.
    ///
    /// Nil when the entries must be counted again, because some were removed or the log was read
    /// from a file.
    var recordBytes: Int?
    @JSONSafeInteger var nextSequence: Int64 = 1
    var ids: IDSource
    var actions: [StoreAction] = []
    var registrations: [Registration] = []

    /// A device that OneSignal's SDK registers, or to which the SDK assigns an external ID (Despia
    /// fact sheet, section 6.3).
    package struct Registration: Hashable, Codable, Sendable {
        package let playerID: String
        package let externalID: String?
        package let isAndroid: Bool
    }

    package init(seed: UInt64 = 0) {
        ids = IDSource(seed: seed, text: "despia")
    }

    /// Returns the purchases made on the devices since the last call.
    ///
    /// The caller passes them to the store model.
    package mutating func takePendingStoreActions() -> [StoreAction] {
        defer { actions = [] }
        return actions
    }

    /// Returns the registrations that the devices sent to OneSignal since the last call.
    package mutating func takePendingRegistrations() -> [Registration] {
        defer { registrations = [] }
        return registrations
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
        do throws(Refusal) {
            switch operation {
            case .reinstall: _ = try performAction(.reinstall, [:], name, at: now)
            case .addDevice(let newDeviceName):
                _ = try performAction(
                    .secondDevice,
                    ["name": .string(newDeviceName)],
                    name,
                    at: now
                )
            case .fillVault(let items):
                let members = items.sorted { $0.key < $1.key }.map { key, value in
                    JSONObject.Member(key: key, value: value.map(JSONValue.string) ?? .null)
                }
                let body: JSONObject = ["items": .object(JSONObject(members: members))]
                _ = try performAction(.vault, body, name, at: now)
            case .setHistory(let historyEntries):
                history[device(name).storeAccount] = historyEntries
            case .setPlatform(let platform, let userAgent):
                _ = try updateDevice(["platform": .string(platform)], name)
                _ = try updateDevice(["uaPreset": .string(userAgent)], name)
            case .setInstallID(let id):
                _ = try updateDevice(["installUuid": id.map(JSONValue.string) ?? .null], name)
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
                return try performAction(action, body, name, at: now)["replies"]?.array ?? []
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
        do throws(Refusal) {
            return .object(try bridge(body, body["device"]?.string ?? "main", at: now))
        } catch {
            return ["replies": []]
        }
    }

    /// Applies the switches and faults that a contract defines for the Despia runtime.
    ///
    /// - Parameters:
    ///   - plan: The switches by their names, and the faults by command.
    ///   - keys: The names of the app's vault keys, by role.
    package mutating func apply(_ plan: BridgePlan, keys: [PhoneChange.VaultRole: String]) {
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
        guard let account = devices[device]?.storeAccount, let known = history[account] else {
            return
        }
        history[account] = known.map { entry in
            guard let id = entry["originalTransactionId"]?.string, let purchase = findPurchase(id)
            else {
                return entry
            }
            var entry = entry
            entry["transactionId"] = .string(purchase.transactionID)
            entry["purchaseDate"] = .string(purchase.purchased.description)
            entry["expirationDate"] =
                purchase.expires.map { .string($0.description) } ?? .null
            entry["isActive"] = .bool(isActive(purchase))
            entry["willRenew"] = .bool(purchase.willRenew)
            return entry
        }
    }

    /// Returns the name of the device that a request addresses: `main` when the request names none.
    static func device(in request: HTTPMessage.Request) -> String {
        device(request.jsonObject().0, request)
    }

    private static func device(_ body: JSONObject?, _ request: HTTPMessage.Request) -> String {
        body?["device"]?.string ?? request.query("device") ?? "main"
    }

    /// The error for a request that the fake cannot carry out, with a message for the user who sent
    /// it.
    struct Refusal: Error {
        let status: Int
        let text: String

        init(_ status: Int, _ text: String) {
            self.status = status
            self.text = text
        }
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
            do throws(Refusal) {
                response = HTTPMessage.Response(200, json: try routedResponse(request, at: now))
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

    private mutating func routedResponse(
        _ request: HTTPMessage.Request,
        at now: Instant
    ) throws(Refusal) -> JSONValue {
        let path = request.pathSegments ?? []
        let (object, problem) = request.jsonObject()
        let body = object ?? JSONObject()
        guard object != nil || request.method == "GET" else {
            throw Refusal(400, "the body is not a JSON object: \(problem)")
        }
        let name = Self.device(body, request)
        switch (request.method, path) {
        case ("GET", []):
            return ["despia": ["ready": true, "devices": .strings(devices.keys.sorted())]]
        case ("POST", ["bridge"]): return .object(try bridge(body, name, at: now))
        case ("GET", ["device"]): return .object(deviceJSON(device(name)))
        case ("PATCH", ["device"]): return .object(try updateDevice(body, name))
        case ("GET", ["log"]):
            let afterSequence = request.query("after").flatMap { Int64($0) } ?? 0
            let limit = request.query("limit").flatMap { Int($0) } ?? 1000
            let matchingEntries = records(afterSequence: afterSequence).prefix(max(1, limit))
            return ["records": .array(matchingEntries.compactMap { try? JSONValue(encoding: $0) })]
        case ("PUT", ["device", "history"]):
            guard let historyEntries = body["history"]?.array else {
                throw Refusal(400, "'history' must be a list of purchases")
            }
            history[device(name).storeAccount] = historyEntries.compactMap(\.object)
            return .object(deviceJSON(device(name)))
        case ("POST", ["http"]):
            // The page's shim reports the page's own HTTP calls, so that one log contains
            // everything in order.
            record(.http, name, now, body, text: body["text"]?.string ?? "")
            return ["ok": true]
        case ("POST", let path) where path.count >= 2 && path[0] == "device":
            let actionName = path.dropFirst().joined(separator: "/")
            guard let action = DespiaDevice.Action(rawValue: actionName) else { fallthrough }
            return .object(try performAction(action, body, name, at: now))
        default:
            let actions = DespiaDevice.Action.allCases.map(\.rawValue)
            throw Refusal(
                404,
                "unknown path: use POST /bridge, GET /device, PATCH /device, PUT /device/history, "
                    + "GET /log, and POST /device/{\(actions.joined(separator: ", "))}"
            )
        }
    }

    // MARK: The log

    mutating func record(
        _ kind: DespiaLogEntry.Kind,
        _ device: String,
        _ now: Instant,
        _ body: JSONObject,
        text: String,
        command: BridgeCommand? = nil,
        value: JSONValue? = nil
    ) {
        records.append(
            DespiaLogEntry(
                sequence: nextSequence,
                device: device,
                kind: kind,
                at: now,
                page: (body["page"] ?? body["tPage"])?.int64,
                load: body["load"]?.string,
                text: text,
                command: command,
                value: value
            )
        )
        nextSequence += 1
        var recordByteCount = (recordBytes ?? 0) + (records.last?.storedByteCount ?? 0)
        if recordBytes == nil { recordByteCount = records.reduce(0) { $0 + $1.storedByteCount } }
        while records.count > Self.recordCountMax
            || (recordByteCount > Self.recordByteCountMax && records.count > 1)
        {
            recordByteCount -= records.removeFirst().storedByteCount
        }
        recordBytes = recordByteCount
    }

    /// Returns the log entries with a higher sequence number than this one, in order.
    private func records(afterSequence number: Int64) -> Deque<DespiaLogEntry>.SubSequence {
        var (low, high) = (0, records.count)
        while low < high {
            let middle = (low + high) / 2
            if records[middle].sequence > number { high = middle } else { low = middle + 1 }
        }
        return records[low...]
    }
}
