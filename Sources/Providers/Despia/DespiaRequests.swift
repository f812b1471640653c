internal import Values

/// The HTTP requests to the fake Despia runtime, and the operation of each.
enum DespiaRequests {
    /// Carries out a request and returns the body of its response.
    static func response(
        _ state: inout DespiaState,
        to request: HTTPMessage.Request,
        at now: Instant
    ) throws(DespiaRefusal) -> JSONValue {
        let path = request.pathSegments ?? []
        let (object, problem) = request.jsonObject()
        let body = object ?? JSONObject()
        guard object != nil || request.method == "GET" else {
            throw DespiaRefusal(400, "the body is not a JSON object: \(problem)")
        }
        let name = deviceName(body, request)
        switch (request.method, path) {
        case ("GET", []):
            return ["despia": ["ready": true, "devices": .strings(state.devices.keys.sorted())]]
        case ("POST", ["bridge"]):
            return .object(try DespiaBridge.carryOut(&state, body, on: name, at: now))
        case ("GET", ["device"]): return .object(state.deviceJSON(state.device(name)))
        case ("PATCH", ["device"]):
            return .object(try DespiaDeviceActions.update(&state, body, name))
        case ("GET", ["log"]):
            let afterSequence = request.query("after").flatMap { Int64($0) } ?? 0
            let limit = request.query("limit").flatMap { Int($0) } ?? 1000
            let matchingEntries = state.log.entries(afterSequence: afterSequence).prefix(
                max(1, limit)
            )
            do {
                return ["records": .array(try matchingEntries.map { try JSONValue(encoding: $0) })]
            } catch {
                throw DespiaRefusal(500, "the log cannot be encoded: \(error)")
            }
        case ("PUT", ["device", "history"]):
            guard let historyEntries = body["history"]?.array else {
                throw DespiaRefusal(400, "'history' must be a list of purchases")
            }
            let device = state.device(name)
            state.accounts.setHistory(historyEntries.compactMap(\.object), of: device)
            return .object(state.deviceJSON(device))
        case ("POST", ["http"]):
            // The page's shim reports the page's own HTTP calls, so that one log contains
            // everything in order.
            state.log.record(.http, name, now, body, text: body["text"]?.string ?? "")
            return ["ok": true]
        case ("POST", let path) where path.count >= 2 && path[0] == "device":
            let actionName = path.dropFirst().joined(separator: "/")
            guard let action = DespiaDevice.Action(rawValue: actionName) else { fallthrough }
            return .object(try DespiaDeviceActions.perform(&state, action, body, name, at: now))
        default:
            let actions = DespiaDevice.Action.allCases.map(\.rawValue)
            throw DespiaRefusal(
                404,
                "unknown path: use POST /bridge, GET /device, PATCH /device, PUT /device/history, "
                    + "GET /log, and POST /device/{\(actions.joined(separator: ", "))}"
            )
        }
    }

    /// Returns the name of the device that a request addresses: `main` when the request names none.
    static func deviceName(in request: HTTPMessage.Request) -> String {
        deviceName(request.jsonObject().0, request)
    }

    private static func deviceName(_ body: JSONObject?, _ request: HTTPMessage.Request) -> String {
        body?["device"]?.string ?? request.query("device") ?? "main"
    }
}
