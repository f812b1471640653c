package import Conformance
package import DequeModule

/// The fake Despia runtime: devices, their shared accounts, and the bridge's commands over HTTP.
///
/// Facts: Despia fact sheet, sections 3 to 7. A page sends `POST /bridge` and carries out the
/// replies it gets; a person or a test moves the device with `POST /device/…`.
package struct DespiaState: Hashable, Codable, Sendable {
    /// How much of the record is kept.
    package static let recordMax = 20_000
    /// How many bytes of texts and values the record keeps; the oldest lines go, which the gap in the
    /// numbers shows, but never the last one.
    package static let recordBytesMax = 16 << 20

    package var settings = DespiaSettings()
    package var faults = DespiaFaults()
    package internal(set) var devices: SharedTable<String, DespiaDevice> = [:]
    /// The copy of the vault that an account holds, by account.
    var cloud: SharedTable<String, [String: DespiaDevice.VaultItem]> = [:]
    /// Purchases of a store account, newest first, in the shape of section 4.
    var history: SharedTable<String, [JSONObject]> = [:]
    package internal(set) var records: Deque<DespiaRecord> = []
    /// How many bytes the record has; nil: not counted since lines were removed or read from a file.
    var recordBytes: Int?
    @StoredCount var nextSequence: Int64 = 1
    var ids: IDSource
    var actions: [StoreAction] = []
    var registrations: [Registration] = []

    /// A device that OneSignal's SDK registers, or gives an external id (section 6.3).
    package struct Registration: Hashable, Codable, Sendable {
        package let playerID: String
        package let externalID: String?
        package let isAndroid: Bool
    }

    package init(seed: UInt64 = 0) {
        ids = IDSource(seed: seed, text: "despia")
    }

    /// What the devices bought since the last call; the store carries it out.
    package mutating func takeActions() -> [StoreAction] {
        defer { actions = [] }
        return actions
    }

    /// What the devices told OneSignal since the last call.
    package mutating func takeRegistrations() -> [Registration] {
        defer { registrations = [] }
        return registrations
    }

    // MARK: In this process

    /// What somebody who holds the device in this process does with it.
    package enum Operation: Hashable, Sendable {
        case reinstall
        /// Another device with the same accounts.
        case addDevice(String)
        /// Items of the vault, here and in the cloud; nil removes.
        case fillVault([String: String?])
        /// The store account's purchases, newest first, in the shape of section 4.
        case setHistory([JSONObject])
        case setPlatform(String, userAgent: String)
        case setInstallID(String?)
        /// The sheet that is open ends.
        case closeSheet(DespiaDevice.Paywall.Ending, product: String?, environment: String?)
    }

    /// Carries out what `POST /device/…` and its likes do.
    ///
    /// - Returns: What the page is told of it; nothing when the device refuses, for example because
    ///   no sheet is open.
    @discardableResult
    package mutating func carryOut(
        _ operation: Operation,
        on name: String,
        at now: Instant
    ) -> [JSONValue] {
        do throws(Refusal) {
            switch operation {
            case .reinstall: _ = try operate(.reinstall, [:], name, at: now)
            case .addDevice(let second):
                _ = try operate(.secondDevice, ["name": .string(second)], name, at: now)
            case .fillVault(let items):
                let members = items.sorted { $0.key < $1.key }.map { key, value in
                    JSONObject.Member(key: key, value: value.map(JSONValue.string) ?? .null)
                }
                let body: JSONObject = ["items": .object(JSONObject(members: members))]
                _ = try operate(.vault, body, name, at: now)
            case .setHistory(let list): history[device(name).storeAccount] = list
            case .setPlatform(let platform, let userAgent):
                _ = try patch(["platform": .string(platform)], name)
                _ = try patch(["uaPreset": .string(userAgent)], name)
            case .setInstallID(let id):
                _ = try patch(["installUuid": id.map(JSONValue.string) ?? .null], name)
            case .closeSheet(let ending, let product, let environment):
                let body: JSONObject = .present([
                    ("product", product.map(JSONValue.string)),
                    ("environment", environment.map(JSONValue.string)),
                ])
                let action: DespiaDevice.Action =
                    switch ending {
                    case .complete: .completePaywall
                    case .cancel: .cancelPaywall
                    case .fail: .failPaywall
                    }
                return try operate(action, body, name, at: now)["replies"]?.array ?? []
            }
        } catch {
            return []
        }
        return []
    }

    /// What the fake shows of a device, which is made when nobody has used it yet.
    package mutating func show(_ name: String) -> JSONValue { .object(shown(device(name))) }

    /// A command that a page's setter took, as `POST /bridge` carries it.
    ///
    /// - Parameters:
    ///   - body: `command`, `device`, `load` and `page`.
    ///   - now: The time.
    /// - Returns: What the native side answers: `replies`, and perhaps `throws`.
    package mutating func take(_ body: JSONObject, at now: Instant) -> JSONValue {
        do throws(Refusal) {
            return .object(try bridge(body, body["device"]?.string ?? "main", at: now))
        } catch {
            return ["replies": []]
        }
    }

    /// Sets switches and faults as a contract says them.
    ///
    /// - Parameters:
    ///   - plan: Switches by the name of their setting, and faults by command.
    ///   - keys: The keys of the app's vault, by role.
    package mutating func apply(_ plan: BridgePlan, keys: [PhoneChange.VaultRole: String]) {
        if let known = try? JSONValue(encoding: settings), var all = known.object {
            for (name, value) in plan.switches { all[name] = value }
            if let changed = try? JSONValue.object(all).decoded(as: DespiaSettings.self) {
                settings = changed
            }
        }
        faults.matching += plan.faults.map { fault in
            DespiaFaults.Matching(
                kind: fault.kind,
                scheme: fault.scheme,
                key: fault.role.map { keys[$0] ?? $0.rawValue },
                times: fault.times
            )
        }
    }

    /// Brings the purchases that a device shows up to what the store knows.
    package mutating func refreshHistory(
        of device: String,
        _ find: (String) -> Purchase?,
        isActive: (Purchase) -> Bool
    ) {
        guard let account = devices[device]?.storeAccount, let known = history[account] else {
            return
        }
        history[account] = known.map { entry in
            guard let id = entry["originalTransactionId"]?.string, let purchase = find(id) else {
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

    /// The device that a request is about.
    static func device(in request: HTTPMessage.Request) -> String {
        device(request.jsonObject().0, request)
    }

    private static func device(_ body: JSONObject?, _ request: HTTPMessage.Request) -> String {
        body?["device"]?.string ?? request.query("device") ?? "main"
    }

    /// A request that cannot be carried out, with words for the person who made it.
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
        planned _: ProviderPlan.Answer
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
                response = HTTPMessage.Response(200, json: try answer(request, at: now))
            } catch {
                response = HTTPMessage.Response(error.status, json: ["error": .string(error.text)])
            }
        }
        // The page is on its own origin; the bridge belongs to every page of the device.
        if let origin = request[field: "origin"] {
            response.fields.append(HTTPMessage.Field("Access-Control-Allow-Origin", origin))
        }
        return Reply(response, .inferred, of: "despia")
    }

    private mutating func answer(
        _ request: HTTPMessage.Request,
        at now: Instant
    ) throws(Refusal) -> JSONValue {
        let path = request.pathSegments ?? []
        let (object, problem) = request.jsonObject()
        let body = object ?? JSONObject()
        guard object != nil || request.method == "GET" else {
            throw Refusal(400, "the body is no JSON object: \(problem)")
        }
        let name = Self.device(body, request)
        switch (request.method, path) {
        case ("GET", []):
            return ["despia": ["ready": true, "devices": .strings(devices.keys.sorted())]]
        case ("POST", ["bridge"]): return .object(try bridge(body, name, at: now))
        case ("GET", ["device"]): return .object(shown(device(name)))
        case ("PATCH", ["device"]): return .object(try patch(body, name))
        case ("GET", ["log"]):
            let after = request.query("after").flatMap { Int64($0) } ?? 0
            let limit = request.query("limit").flatMap { Int($0) } ?? 1000
            let found = records(after: after).prefix(max(1, limit))
            return ["records": .array(found.compactMap { try? JSONValue(encoding: $0) })]
        case ("PUT", ["device", "history"]):
            guard let list = body["history"]?.array else {
                throw Refusal(400, "'history' takes a list")
            }
            history[device(name).storeAccount] = list.compactMap(\.object)
            return .object(shown(device(name)))
        case ("POST", ["http"]):
            // The shim tells of the page's own calls, so that one stream orders everything.
            record(.http, name, now, body, text: body["text"]?.string ?? "")
            return ["ok": true]
        case ("POST", let path) where path.count >= 2 && path[0] == "device":
            let word = path.dropFirst().joined(separator: "/")
            guard let action = DespiaDevice.Action(rawValue: word) else { fallthrough }
            return .object(try operate(action, body, name, at: now))
        default:
            let actions = DespiaDevice.Action.allCases.map(\.rawValue)
            throw Refusal(
                404,
                "there is POST /bridge, GET /device, PATCH /device, PUT /device/history, "
                    + "GET /log, and POST /device/{\(actions.joined(separator: ", "))}"
            )
        }
    }

    // MARK: The record

    mutating func record(
        _ kind: DespiaRecord.Kind,
        _ device: String,
        _ now: Instant,
        _ body: JSONObject,
        text: String,
        command: BridgeCommand? = nil,
        value: JSONValue? = nil
    ) {
        records.append(
            DespiaRecord(
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
        var bytes = (recordBytes ?? 0) + (records.last?.storedByteCount ?? 0)
        if recordBytes == nil { bytes = records.reduce(0) { $0 + $1.storedByteCount } }
        while records.count > Self.recordMax || (bytes > Self.recordBytesMax && records.count > 1) {
            bytes -= records.removeFirst().storedByteCount
        }
        recordBytes = bytes
    }

    /// The lines behind that number, which are in order.
    private func records(after number: Int64) -> Deque<DespiaRecord>.SubSequence {
        var (low, high) = (0, records.count)
        while low < high {
            let middle = (low + high) / 2
            if records[middle].sequence > number { high = middle } else { low = middle + 1 }
        }
        return records[low...]
    }
}
