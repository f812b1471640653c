package import Conformance

/// The fake Despia runtime: devices, their shared accounts, and the bridge's commands over HTTP.
///
/// Facts: Despia fact sheet, sections 3 to 7. A page sends `POST /bridge` and carries out the
/// replies it gets; a person or a test moves the device with `POST /device/…`.
package struct DespiaState: Fake, Hashable, Codable {
    /// How much of the record is kept.
    package static let recordMax = 20_000

    package var settings = DespiaSettings()
    package var faults = DespiaFaults()
    package private(set) var devices: [String: DespiaDevice] = [:]
    /// The copy of the vault that an account holds, by account.
    private var cloud: [String: [String: DespiaDevice.VaultItem]] = [:]
    /// Purchases of a store account, newest first, in the shape of section 4.
    private var history: [String: [JSONObject]] = [:]
    package private(set) var records: [DespiaRecord] = []
    private var nextSequence: Int64 = 1
    private var ids: IDSource
    private var actions: [StoreAction] = []
    private var registrations: [Registration] = []

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
        /// The sheet that is open ends: `complete`, `cancel` or `fail`.
        case closeSheet(String, product: String?, environment: String?)
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
            case .reinstall: _ = try operate(["reinstall"], [:], name, at: now)
            case .addDevice(let second):
                _ = try operate(["second-device"], ["name": .string(second)], name, at: now)
            case .fillVault(let items):
                let members = items.sorted { $0.key < $1.key }.map { key, value in
                    JSONObject.Member(key: key, value: value.map(JSONValue.string) ?? .null)
                }
                let body: JSONObject = ["items": .object(JSONObject(members: members))]
                _ = try operate(["vault"], body, name, at: now)
            case .setHistory(let list): history[device(name).storeAccount] = list
            case .setPlatform(let platform, let userAgent):
                _ = try patch(["platform": .string(platform)], name)
                _ = try patch(["uaPreset": .string(userAgent)], name)
            case .setInstallID(let id):
                _ = try patch(["installUuid": id.map(JSONValue.string) ?? .null], name)
            case .closeSheet(let outcome, let product, let environment):
                let body: JSONObject = .present([
                    ("product", product.map(JSONValue.string)),
                    ("environment", environment.map(JSONValue.string)),
                ])
                return try operate(["paywall", outcome], body, name, at: now)["replies"]?.array
                    ?? []
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

    /// Brings the purchases that the devices show up to what the store knows.
    package mutating func refreshHistory(
        _ find: (String) -> Purchase?,
        isActive: (Purchase) -> Bool
    ) {
        for account in history.keys {
            history[account] = history[account]?.map { entry in
                guard let id = entry["originalTransactionId"]?.string, let purchase = find(id)
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
    }

    /// A request that cannot be carried out, with words for the person who made it.
    private struct Refusal: Error {
        let status: Int
        let text: String

        init(_ status: Int, _ text: String) {
            self.status = status
            self.text = text
        }
    }

    // MARK: HTTP

    package mutating func respond(to request: HTTPMessage.Request, at now: Instant) -> Reply {
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
        let name = body["device"]?.string ?? request.query("device") ?? "main"
        switch (request.method, path) {
        case ("GET", []):
            return ["despia": ["ready": true, "devices": .strings(devices.keys.sorted())]]
        case ("POST", ["bridge"]): return .object(try bridge(body, name, at: now))
        case ("GET", ["device"]): return .object(shown(device(name)))
        case ("PATCH", ["device"]): return .object(try patch(body, name))
        case ("GET", ["log"]):
            let after = request.query("after").flatMap { Int64($0) } ?? 0
            let limit = request.query("limit").flatMap { Int($0) } ?? 1000
            let found = records.lazy.filter { $0.sequence > after }.prefix(max(1, limit))
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
            return .object(try operate(Array(path.dropFirst()), body, name, at: now))
        default:
            throw Refusal(
                404,
                "there is POST /bridge, GET /device, PATCH /device, PUT /device/history, "
                    + "GET /log, and POST /device/{reset, new-install, reinstall, second-device, "
                    + "vault, center/restore, cloud/push, cloud/pull, cloud/hold, paywall/complete, paywall/cancel, "
                    + "paywall/fail, biometrics}"
            )
        }
    }

    // MARK: Devices

    private mutating func device(_ name: String) -> DespiaDevice {
        if let known = devices[name] { return known }
        let account = "account-" + name
        let made = DespiaDevice(
            name: name,
            installUUID: ids.uuid().uppercased(),
            storeAccount: account,
            vaultAccount: account,
            playerID: ids.uuid(),
            revenueCatID: "$RCAnonymousID:" + ids.hex(32)
        )
        devices[name] = made
        return made
    }

    private func shown(_ device: DespiaDevice) -> JSONObject {
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
            "globals": .object(globals(device)),
            "globalDelays": [
                "uuid": .integer(settings.uuidDelay),
                "onesignalplayerid": .integer(settings.playerIDDelay),
            ],
        ]
    }

    /// What the runtime injects before any page script runs (section 1.5).
    private func globals(_ device: DespiaDevice) -> JSONObject {
        guard device.uaPreset != "browser" else { return JSONObject() }
        let flags = settings.hasRuntimeFlags
        return .present([
            ("uuid", faults.uuidMissing ? nil : device.installUUID.map(JSONValue.string)),
            (
                "onesignalplayerid",
                device.pushPermission == .granted ? .string(device.playerID) : nil
            ),
            ("native_runtime", flags ? "despia" : nil),
            // Nobody has named this platform yet.
            (
                "native_os",
                flags && device.uaPreset != "unknown" ? .string(device.platform) : nil
            ),
        ])
    }

    private mutating func patch(_ body: JSONObject, _ name: String) throws(Refusal) -> JSONObject {
        var device = device(name)
        for member in body.members where member.key != "device" {
            let text = member.value.string
            switch member.key {
            case "platform":
                guard let text, ["ios", "android"].contains(text) else {
                    throw Refusal(400, "'platform' is ios or android")
                }
                device.platform = text
                if text == "android" { device.uaPreset = "android" }
            case "uaPreset":
                let presets = [
                    "iphone", "ipad", "ipad-no-token", "ipad-desktop", "android", "unknown",
                    "browser",
                ]
                guard let text, presets.contains(text) else {
                    throw Refusal(400, "'uaPreset' is one of \(presets.joined(separator: ", "))")
                }
                device.uaPreset = text
            case "installUuid": device.installUUID = text
            case "storeAccount": device.storeAccount = text ?? device.storeAccount
            case "vaultAccount": device.vaultAccount = text ?? device.vaultAccount
            case "playerId": device.playerID = text ?? device.playerID
            case "externalId": device.externalID = text
            case "pushPermission":
                guard let value = text.flatMap(DespiaDevice.Permission.init(rawValue:)) else {
                    throw Refusal(400, "'pushPermission' is granted, denied or undetermined")
                }
                device.pushPermission = value
            case "biometrics":
                guard let value = text.flatMap(DespiaDevice.Biometrics.init(rawValue:)) else {
                    throw Refusal(400, "'biometrics' is success, failure or unavailable")
                }
                device.biometrics = value
            default: throw Refusal(400, "a device has no '\(member.key)' that can be set")
            }
        }
        devices[name] = device
        return shown(device)
    }

    private mutating func operate(
        _ path: [String],
        _ body: JSONObject,
        _ name: String,
        at now: Instant
    ) throws(Refusal) -> JSONObject {
        var device = device(name)
        var callbacks: [JSONValue] = []
        switch path {
        case ["reset"]:
            cloud[device.vaultAccount] = nil
            history[device.storeAccount] = nil
            records.removeAll { $0.device == name }
            devices[name] = nil
            return shown(self.device(name))
        case ["new-install"], ["reinstall"]:
            // The web storage and the local vault go; the accounts' copies stay.
            device.installUUID = ids.uuid().uppercased()
            device.playerID = ids.uuid()
            device.revenueCatID = "$RCAnonymousID:" + ids.hex(32)
            device.externalID = nil
            device.paywall = nil
            device.storedValue = nil
            device.vaultLocal = device.syncsVault ? cloud[device.vaultAccount] ?? [:] : [:]
        case ["second-device"]:
            guard let second = body["name"]?.string, devices[second] == nil else {
                throw Refusal(400, "'name' is missing, or that device is there already")
            }
            var made = self.device(second)
            made.storeAccount = device.storeAccount
            made.vaultAccount = device.vaultAccount
            made.vaultLocal = cloud[device.vaultAccount] ?? [:]
            devices[second] = made
            return shown(made)
        case ["cloud", "push"]:
            cloud[device.vaultAccount, default: [:]].merge(device.vaultLocal) { $1 }
        case ["cloud", "pull"]: device.vaultLocal.merge(cloud[device.vaultAccount] ?? [:]) { $1 }
        case ["vault"]:
            // What earlier versions of the app left there.
            for member in body["items"]?.object?.members ?? [] {
                let item = member.value.string.map {
                    DespiaDevice.VaultItem(value: $0, isLocked: false)
                }
                device.vaultLocal[member.key] = item
                cloud[device.vaultAccount, default: [:]][member.key] = item
            }
        case ["cloud", "hold"]: device.syncsVault = false
        case ["cloud", "release"]: device.syncsVault = true
        case ["biometrics"]:
            guard let value = body["outcome"]?.string.flatMap(DespiaDevice.Biometrics.init) else {
                throw Refusal(400, "'outcome' is success, failure or unavailable")
            }
            device.biometricQueue.append(value)
        case ["center", "restore"]:
            // The Customer Center shows the store account's receipt, which moves its purchases.
            let owner = history[device.storeAccount]?.first?["externalUserId"]?.string ?? ""
            if !owner.isEmpty, owner != device.revenueCatID {
                var action = StoreAction(.restore, user: device.revenueCatID)
                action.from = owner
                actions.append(action)
            }
            let event: JSONValue = ["event": "restoreCompleted"]
            callbacks = [
                Self.call("onRevenueCatCenter", [event], settings.latencyMilliseconds)
            ]
        case let path where path.count == 2 && path[0] == "paywall":
            let outcome = path[1]
            guard let paywall = device.paywall else { throw Refusal(409, "no paywall is open") }
            callbacks = try close(paywall, outcome, &device, body, at: now)
        default: throw Refusal(404, "a device knows no '\(path.joined(separator: "/"))'")
        }
        devices[name] = device
        for callback in callbacks {
            record(
                .callback,
                name,
                now,
                JSONObject(),
                text: callback["name"]?.string ?? "",
                value: callback
            )
        }
        var answer = shown(device)
        // The shim calls these on the page; the page may have gone, then they are lost.
        answer["replies"] = .array(callbacks)
        return answer
    }

    // MARK: Purchases, sections 4 and 6

    private mutating func close(
        _ paywall: DespiaDevice.Paywall,
        _ outcome: String,
        _ device: inout DespiaDevice,
        _ body: JSONObject,
        at now: Instant
    ) throws(Refusal) -> [JSONValue] {
        let product = body["product"]?.string ?? paywall.product ?? "premium_monthly"
        let buyer = device.revenueCatID
        let isAnonymous = Customer.isAnonymous(buyer)
        let store = device.platform == "android" ? "PLAY_STORE" : "APP_STORE"
        var transaction = ""
        switch outcome {
        case "complete":
            transaction =
                store == "PLAY_STORE"
                ? "GPA." + [4, 4, 4, 5].map { ids.digits($0) }.joined(separator: "-")
                : "2000000" + ids.digits(9)
            var action = StoreAction(.purchase, user: buyer)
            action.product = product
            action.store = store
            action.environment = body["environment"]?.string ?? "SANDBOX"
            action.offering = paywall.offering
            action.transactionID = transaction
            actions.append(action)
            history[device.storeAccount, default: []].insert(
                entry(action, transaction, isAnonymous: isAnonymous, at: now),
                at: 0
            )
        case "cancel", "fail": break
        default: throw Refusal(404, "a paywall can complete, cancel or fail")
        }
        device.paywall = nil
        let isDone = outcome == "complete"
        var callbacks: [JSONValue] = []
        if isDone {
            callbacks.append(Self.call("onRevenueCatPurchase", [], settings.latencyMilliseconds))
        }
        if settings.hasResultChannel {
            let hidesDetails = device.platform == "android" && paywall.source == "paywall"
            let result: JSONValue = [
                "ok": .bool(isDone), "cancelled": .bool(outcome == "cancel"), "restored": false,
                "source": .string(paywall.source),
                "product": isDone && !hidesDetails ? .string(product) : .null,
                "transaction": isDone && !hidesDetails ? .string(transaction) : .null,
                "entitlements": isDone ? ["premium"] : [], "user": .string(buyer),
                "platform": .string(device.platform), "runtime": 3, "bridge": 2,
                "error": outcome == "fail" ? "The purchase failed." : .null,
                "code": outcome == "cancel"
                    ? "purchaseCancelledError" : outcome == "fail" ? "storeProblemError" : .null,
            ]
            callbacks.append(
                Self.variable("revenueCatResult", result, settings.latencyMilliseconds)
            )
            callbacks.append(
                Self.call("onRevenueCatResult", [result], settings.latencyMilliseconds)
            )
        }
        return callbacks
    }

    /// Ids that make the runtime fall back to an anonymous session (section 6.2).
    private static func isUsable(_ id: String) -> Bool {
        !id.isEmpty && !id.contains("/") && !RevenueCatState.blockedIDs.contains(id)
            && !id.allSatisfy(\.isNumber)
    }

    /// The inline `logIn` before paywalls, purchases and the like; ids that cannot be used leave the
    /// session as it is or make it anonymous.
    private mutating func identify(_ external: String?, _ device: inout DespiaDevice) {
        guard let external, Self.isUsable(external) else {
            if !Customer.isAnonymous(device.revenueCatID) {
                device.revenueCatID = "$RCAnonymousID:" + ids.hex(32)
            }
            return
        }
        guard external != device.revenueCatID else { return }
        var action = StoreAction(.logIn, user: external)
        action.from = device.revenueCatID
        actions.append(action)
        device.revenueCatID = external
    }

    private func entry(
        _ action: StoreAction,
        _ transaction: String,
        isAnonymous: Bool,
        at now: Instant
    ) -> JSONObject {
        let product = Catalog().product(action.product)
        let end = product.days.map { now + .seconds($0 * 86_400) }
        let entitlement =
            settings.historyEntitlementField == .entitlement
            ? product.entitlements.first ?? "" : action.product
        var entry: JSONObject = [
            "transactionId": .string(transaction), "originalTransactionId": .string(transaction),
            "type": .string(product.days == nil ? "product" : "subscription"),
            "entitlementId": .string(entitlement),
            "externalUserId": .string(isAnonymous ? "" : action.user),
            "isAnonymous": .bool(isAnonymous), "isActive": true,
            "willRenew": .bool(product.days != nil), "purchaseDate": .string(now.description),
            "originalPurchaseDate": .string(now.description),
            "expirationDate": end.map { .string($0.description) } ?? .null,
            "store": .string(action.store.lowercased()),
            "country": action.store == "APP_STORE" ? "USA" : "US",
            "environment": .string(action.environment.lowercased()), "receipt": "ZmFrZSByZWNlaXB0",
        ]
        if settings.historyProductField != .productIdentifier {
            entry["productId"] = .string(action.product)
        }
        if settings.historyProductField != .productId {
            entry["productIdentifier"] = .string(action.product)
        }
        return entry
    }

    // MARK: The bridge

    private static func variable(_ name: String, _ value: JSONValue, _ delay: Int64) -> JSONValue {
        ["kind": "variable", "name": .string(name), "value": value, "delay": .integer(delay)]
    }

    /// A call of a page's function with these arguments.
    private static func call(_ name: String, _ arguments: [JSONValue], _ delay: Int64) -> JSONValue
    {
        [
            "kind": "callback", "name": .string(name), "arguments": .array(arguments),
            "delay": .integer(delay),
        ]
    }

    private mutating func bridge(
        _ body: JSONObject,
        _ name: String,
        at now: Instant
    ) throws(Refusal) -> JSONObject {
        guard let text = body["command"]?.string else {
            throw Refusal(400, "'command' is missing: the text the page assigned")
        }
        let command = BridgeCommand(text, decoding: settings.vaultDecode)
        var device = device(name)
        device.commandCount += 1
        let number = device.commandCount
        let page = (body["page"] ?? body["tPage"])?.int64
        let gap = page.flatMap { time in device.lastCommandAt.map { time - $0 } }
        device.lastCommandAt = page
        devices[name] = device
        record(.bridge, name, now, body, text: text, command: command)
        // An ordinary browser has no native side.
        if device.uaPreset == "browser" { return ["sequence": .integer(number), "replies": []] }
        if faults.setterThrows.contains(number) {
            return ["sequence": .integer(number), "throws": true, "replies": []]
        }
        let isSwallowed = faults.coalescingMilliseconds.map { limit in
            gap.map { $0 < limit } ?? false
        }
        let fault = takeFault(for: command)
        guard !faults.drop.contains(number), fault != .drop, isSwallowed != true else {
            return ["sequence": .integer(number), "dropped": true, "replies": []]
        }
        var replies = carryOut(command, &device, at: now)
        devices[name] = device
        replies = replies.map { faulty($0, number, command, fault) }
        if faults.duplicate.contains(number) || fault == .duplicate { replies += replies }
        for reply in replies {
            let kind: DespiaRecord.Kind = reply["kind"] == "callback" ? .callback : .reply
            record(kind, name, now, body, text: reply["name"]?.string ?? "", value: reply)
        }
        return .present([
            ("sequence", .integer(number)), ("replies", .array(replies)),
            ("killPage", faults.killPageAfter == number ? true : nil),
        ])
    }

    /// The fault that waits for such a command, which is used up by it.
    private mutating func takeFault(for command: BridgeCommand) -> BridgePlan.Fault.Kind? {
        let index = faults.matching.firstIndex {
            $0.times > 0 && $0.scheme == command.scheme
                && ($0.key == nil || $0.key == command["key"])
        }
        guard let index else { return nil }
        faults.matching[index].times -= 1
        return faults.matching[index].kind
    }

    private func faulty(
        _ reply: JSONValue,
        _ number: Int64,
        _ command: BridgeCommand,
        _ fault: BridgePlan.Fault.Kind?
    ) -> JSONValue {
        var fields = reply.object ?? JSONObject()
        switch faults.reply[command.scheme] {
        case .null: fields["value"] = .null
        case .empty: fields["value"] = ""
        case .na: fields["value"] = "n/a"
        case .wrongType: fields["value"] = 42
        case .wrongKey: fields["name"] = .string((fields["name"]?.string ?? "") + "_")
        case nil: break
        }
        switch fault {
        case .wrongType: fields["value"] = 42
        case .wrongKey: fields["name"] = .string((fields["name"]?.string ?? "") + "_")
        case .drop, .late, .duplicate, nil: break
        }
        if faults.late.contains(number) || fault == .late {
            fields["delay"] = .integer(settings.lateMilliseconds)
        }
        if faults.early.contains(number) { fields["early"] = true }
        return .object(fields)
    }

    private mutating func carryOut(
        _ command: BridgeCommand,
        _ device: inout DespiaDevice,
        at now: Instant
    ) -> [JSONValue] {
        let delay = settings.latencyByScheme[command.scheme] ?? settings.latencyMilliseconds
        switch command.scheme {
        case "readvault":
            guard let key = command["key"], !key.isEmpty else { return [] }
            return readVault(key, &device).map { [Self.variable(key, $0, delay)] } ?? []
        case "setvault":
            guard let key = command["key"], !key.isEmpty else { return [] }
            let item = DespiaDevice.VaultItem(
                value: command["value"] ?? "",
                isLocked: command["locked"] == "true"
            )
            device.vaultLocal[key] = item
            if device.syncsVault { cloud[device.vaultAccount, default: [:]][key] = item }
            return []
        case "writevalue":
            device.storedValue = FormText.decoded(command.path, plusIsBlank: false)
            return []
        case "readvalue":
            return [
                Self.variable(
                    "storedValues",
                    device.storedValue.map(JSONValue.string) ?? .null,
                    delay
                )
            ]
        case "getpurchasehistory": return readHistory(device, delay)
        case "revenuecat": return revenueCat(command, &device, delay, at: now)
        case "setonesignalplayerid":
            device.externalID = command["user_id"]
            register(device)
            return []
        case "getonesignalplayerid":
            let known = device.pushPermission == .granted
            return [
                Self.variable("onesignalplayerid", known ? .string(device.playerID) : "", delay)
            ]
        case "registerpush":
            if device.pushPermission == .undetermined { device.pushPermission = .granted }
            register(device)
            return []
        case "checkNativePushPermissions":
            let isGranted = device.pushPermission == .granted
            return [Self.variable("nativePushEnabled", .bool(isGranted), delay)]
        case "get-uuid":
            let uuid = faults.uuidMissing ? nil : device.installUUID
            return [Self.variable("uuid", uuid.map(JSONValue.string) ?? .null, delay)]
        case "getappversion":
            return [
                Self.variable("versionNumber", "1.0.0", delay),
                Self.variable("bundleNumber", "1", delay),
            ]
        case "getstorelocation": return [Self.variable("storeLocation", "US", delay)]
        case "user-disable-tracking": return [Self.variable("trackingDisabled", true, delay)]
        case "getclipboard": return [Self.variable("clipboarddata", "", delay)]
        case "readcontacts": return [Self.variable("contacts", [], delay)]
        case "bioauth":
            switch prompt(&device) {
            case .success: return [Self.call("onBioAuthSuccess", [], delay)]
            case .failure:
                return [Self.call("onBioAuthFailure", ["-1", "authentication failed"], delay)]
            case .unavailable: return [Self.call("onBioAuthUnavailable", [], delay)]
            }
        case "readhealthkit": return [Self.variable("healthkitResponse", [:], delay)]
        case "localcdn":
            return command.path == "query" ? [Self.variable("cdnItems", [], delay)] : []
        case "stripe":
            return [
                Self.call("stripeEvent", [["method": "payment", "status": "completed"]], delay)
            ]
        case "location":
            let place: JSONValue = [
                "latitude": .number(JSONNumber(52.52)), "longitude": .number(JSONNumber(13.4)),
            ]
            return [Self.call("onLocationChange", [place], delay)]
        default: return []
        }
    }

    private mutating func register(_ device: DespiaDevice) {
        registrations.append(
            Registration(
                playerID: device.playerID,
                externalID: device.externalID.flatMap { $0.isEmpty ? nil : $0 },
                isAndroid: device.platform == "android"
            )
        )
    }

    private func prompt(_ device: inout DespiaDevice) -> DespiaDevice.Biometrics {
        device.biometricQueue.isEmpty ? device.biometrics : device.biometricQueue.removeFirst()
    }

    /// What is written for a key; nil for nothing at all, and the page waits for its 30 s.
    private func readVault(_ key: String, _ device: inout DespiaDevice) -> JSONValue? {
        func nothing(_ kind: DespiaSettings.Nothing) -> JSONValue? {
            switch kind {
            case .null: .null
            case .silent: nil
            case .empty: ""
            case .na: "n/a"
            }
        }
        guard let item = device.vaultLocal[key] else { return nothing(settings.vaultMissing) }
        if item.isLocked, prompt(&device) != .success {
            return nothing(settings.vaultLockedFailure)
        }
        return .string(item.value)
    }

    private func readHistory(_ device: DespiaDevice, _ delay: Int64) -> [JSONValue] {
        let list = JSONValue.array((history[device.storeAccount] ?? []).map(JSONValue.object))
        switch settings.history {
        case .array: return [Self.variable("restoredData", list, delay)]
        case .string: return [Self.variable("restoredData", .string(list.text), delay)]
        // Native code that fails writes null (section 1.3).
        case .null: return [Self.variable("restoredData", .null, delay)]
        case .silent: return []
        }
    }

    private mutating func revenueCat(
        _ command: BridgeCommand,
        _ device: inout DespiaDevice,
        _ delay: Int64,
        at now: Instant
    ) -> [JSONValue] {
        let user = command["external_id"]
        switch command.path {
        case "launchPaywall", "purchase":
            identify(user, &device)
            device.paywall = DespiaDevice.Paywall(
                externalID: user,
                offering: command["offering"].map { $0.isEmpty ? "default" : $0 },
                // Android names a subscription `group:productId`.
                product: command["product"].map {
                    $0.split(separator: ":").last.map(String.init) ?? $0
                },
                presented: now,
                source: command.path
            )
            return []
        case "center":
            identify(user ?? device.revenueCatID, &device)
            return [Self.call("onRevenueCatCenter", [["event": "dismissed"]], delay)]
        case "login":
            identify(user, &device)
            return answer("revenueCatUser", "onRevenueCatUser", identity(device), delay)
        case "logout":
            device.revenueCatID = "$RCAnonymousID:" + ids.hex(32)
            return answer("revenueCatUser", "onRevenueCatUser", identity(device), delay)
        // Only newer builds answer this one (section 3.1).
        case "whoami":
            guard settings.hasResultChannel else { return [] }
            return answer("revenueCatUser", "onRevenueCatUser", identity(device), delay)
        case "products":
            let envelope: JSONValue = [
                "ok": true, "products": Self.products, "platform": .string(device.platform),
                "runtime": 3, "bridge": 2, "error": .null, "code": .null,
            ]
            return answer("revenueCatProducts", "onRevenueCatProducts", envelope, delay)
        case "offerings":
            return [
                Self.variable(
                    "offeringsData",
                    ["current": "default", "offerings": [["identifier": "default"]]],
                    delay
                ),
                Self.call("onOfferingsData", [], delay),
            ]
        case "customer":
            if let user { identify(user, &device) }
            return answer("revenueCatCustomer", "onRevenueCatCustomer", identity(device), delay)
        case "redeem" where device.platform == "ios":
            let result: JSONValue = [
                "ok": true, "cancelled": false, "restored": false, "source": "redeem",
                "product": .null, "transaction": .null, "entitlements": [],
                "user": .string(device.revenueCatID), "platform": "ios", "runtime": 3, "bridge": 2,
                "error": .null, "code": "presented",
            ]
            return answer("revenueCatResult", "onRevenueCatResult", result, delay)
        default: return []
        }
    }

    private static let products: JSONValue = ["premium_monthly", "premium_yearly"]

    private func answer(
        _ variable: String,
        _ callback: String,
        _ envelope: JSONValue,
        _ delay: Int64
    ) -> [JSONValue] {
        [Self.variable(variable, envelope, delay), Self.call(callback, [envelope], delay)]
    }

    private func identity(_ device: DespiaDevice) -> JSONValue {
        let isAnonymous = Customer.isAnonymous(device.revenueCatID)
        return [
            "ok": true, "user": .string(device.revenueCatID), "anonymous": .bool(isAnonymous),
            "registered": .bool(!isAnonymous), "new": false,
            "entitlements": ["active": [], "all": []], "platform": .string(device.platform),
            "runtime": 3, "bridge": 2, "error": .null, "code": .null,
        ]
    }

    // MARK: The record

    private mutating func record(
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
        if records.count > Self.recordMax { records.removeFirst(records.count - Self.recordMax) }
    }
}
