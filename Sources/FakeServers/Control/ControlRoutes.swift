internal import Conformance
internal import Providers

/// The control API's operations: the router and the OpenAPI document are made from this one list.
enum ControlRoute: String, CaseIterable {
    case root, health, openapi
    case namespaces, putNamespace, deleteNamespace, reset
    case journal, journalStream
    case clock, setClock, advance
    case faults, putFault, deleteFaults
    case settings, patchSettings
    case webhooks, putWebhook, deleteWebhook
    case products, putProduct
    case storeActions, storeAction, customer
    case send
    case deliveries, flush, resend
    case purchaselyAction, purchaselyWebhook
    case device, deviceAction
    case rotateKeys
    case snapshots, takeSnapshot, restoreSnapshot, fork
    case export, importState

    /// Method and path below `/assay/v1`; a name in braces stands for one segment.
    var place: (method: String, path: String) {
        switch self {
        case .root: ("GET", "")
        case .health: ("GET", "/health")
        case .openapi: ("GET", "/openapi.json")
        case .namespaces: ("GET", "/namespaces")
        case .putNamespace: ("PUT", "/namespaces/{name}")
        case .deleteNamespace: ("DELETE", "/namespaces/{name}")
        case .reset: ("POST", "/reset")
        case .journal: ("GET", "/journal")
        case .journalStream: ("GET", "/journal/stream")
        case .clock: ("GET", "/clock")
        case .setClock: ("PUT", "/clock")
        case .advance: ("POST", "/clock/advance")
        case .faults: ("GET", "/faults")
        case .putFault: ("PUT", "/faults/{provider}")
        case .deleteFaults: ("DELETE", "/faults")
        case .settings: ("GET", "/settings")
        case .patchSettings: ("PATCH", "/settings")
        case .webhooks: ("GET", "/webhooks")
        case .putWebhook: ("PUT", "/webhooks/{id}")
        case .deleteWebhook: ("DELETE", "/webhooks/{id}")
        case .products: ("GET", "/store/products")
        case .putProduct: ("PUT", "/store/products/{id}")
        case .storeActions: ("GET", "/store")
        case .storeAction: ("POST", "/store/{action}")
        case .customer: ("GET", "/store/customers/{id}")
        case .send: ("POST", "/events")
        case .deliveries: ("GET", "/deliveries")
        case .flush: ("POST", "/deliveries/flush")
        case .resend: ("POST", "/deliveries/{event}/resend")
        case .purchaselyAction: ("POST", "/purchasely/{action}")
        case .purchaselyWebhook: ("PUT", "/purchasely/webhook")
        case .device: ("GET", "/device")
        case .deviceAction: ("POST", "/device/{action}")
        case .rotateKeys: ("POST", "/firebase/rotate-keys")
        case .snapshots: ("GET", "/snapshots")
        case .takeSnapshot: ("POST", "/snapshots/{name}")
        case .restoreSnapshot: ("POST", "/snapshots/{name}/restore")
        case .fork: ("POST", "/snapshots/{name}/fork")
        case .export: ("GET", "/export")
        case .importState: ("POST", "/import")
        }
    }

    var summary: String {
        switch self {
        case .root: "Version, addresses of the fakes, namespaces."
        case .health: "Whether the process answers."
        case .openapi: "This document."
        case .namespaces: "Names and their ids."
        case .putNamespace: "Makes a namespace and tells which ids belong to it."
        case .deleteNamespace: "Removes a namespace and everything in it."
        case .reset: "Forgets a namespace's state; webhooks and switches stay."
        case .journal: "Exchanges in order, a page at a time."
        case .journalStream: "Exchanges as they end, one JSON object a line."
        case .clock: "The namespace's time."
        case .setClock: "Moves the clock to a time, or lets it stand still or run."
        case .advance: "Moves the clock forward, delivering and renewing on the way."
        case .faults: "What happens to the next calls."
        case .putFault: "Schedules the answers to a provider's next calls."
        case .deleteFaults: "Calls are answered as usual again."
        case .settings: "Every provider's switches."
        case .patchSettings: "Changes the switches that are given."
        case .webhooks: "Where RevenueCat sends events."
        case .putWebhook: "Adds or changes a webhook configuration."
        case .deleteWebhook: "Removes a webhook configuration."
        case .products: "What the stores sell."
        case .putProduct: "Describes a product."
        case .storeActions: "The store's actions and what they do."
        case .storeAction: "A customer, a store or a developer does something."
        case .customer: "CustomerInfo, as REST v1 returns it to a secret key."
        case .send: "Sends a RevenueCat event to the webhooks as it stands, and applies it."
        case .deliveries: "Events on their way and delivered, with every attempt."
        case .flush: "Delivers what is due and waits for it."
        case .resend: "Sends an event again, at once."
        case .purchaselyAction: "A person or a store does something at Purchasely."
        case .purchaselyWebhook: "Where Purchasely sends events."
        case .device: "A device's state."
        case .deviceAction: "Something happens to a device."
        case .rotateKeys: "Firebase signs with a new key; the one before stays published."
        case .snapshots: "Names of the snapshots."
        case .takeSnapshot: "Keeps a copy of a namespace."
        case .restoreSnapshot: "Puts a copy back."
        case .fork: "Puts a copy into another namespace."
        case .export: "All state, without keys and secrets."
        case .importState: "Replaces all state."
        }
    }

    /// Query parameters beside `namespace`, which every operation on a namespace's state takes.
    var parameters: [(name: String, summary: String)] {
        switch self {
        case .journal, .journalStream:
            [
                ("after", "Only entries with a higher number."),
                ("limit", "How many entries at most (default 100, most 1000)."),
                ("party", "Only exchanges from or to this party, for example onesignal."),
                ("effects", "true: only exchanges with an effect."),
                ("all", "true: of all namespaces."),
            ]
        case .customer: []
        case .device, .deviceAction: [("device", "The device's name (default main).")]
        case .deliveries: [("state", "waiting, underway, delivered or failed.")]
        default: []
        }
    }

    var takesNamespace: Bool {
        switch self {
        case .root, .health, .openapi, .namespaces, .putNamespace, .deleteNamespace, .snapshots,
            .export, .importState:
            false
        default: true
        }
    }

    /// The body's members with their types; none: the operation takes no body.
    var body: [(name: String, type: String, summary: String)] {
        switch self {
        case .putNamespace: [("ids", "array", "Ids whose calls belong to it.")]
        case .setClock:
            [
                ("now", "string", "ISO 8601, or milliseconds as a number."),
                ("frozen", "boolean", "Whether time stands still."),
            ]
        case .advance:
            [
                ("by", "string", "A duration such as 5m or 30d."),
                ("to", "string", "ISO 8601, or milliseconds as a number."),
                ("until", "string", "settled: until no delivery waits any more."),
            ]
        case .putFault:
            [
                (
                    "answers", "array",
                    "For each next call: a status, ok, reset, lose-answer, never, half, malformed, "
                        + "no-subscribers, invalid-aliases, slow with a duration: slow 2s, or one of Firebase's "
                        + "codes: code QUOTA_EXCEEDED."
                ),
                ("permanent", "boolean", "The last answer stays in force."),
                ("refused", "boolean", "Connections are refused, for every namespace."),
                ("reads", "boolean", "Reads count too (default false: only calls that change)."),
            ]
        case .patchSettings:
            ["revenuecat", "onesignal", "firebase", "purchasely", "despia", "despia-faults"].map {
                ($0, "object", "Switches of this provider.")
            }
        case .putWebhook:
            [
                ("url", "string", "Where events go."),
                ("authorization", "string", "The whole Authorization value."),
                ("signing-secret", "string", "The HMAC secret."),
                ("environment", "string", "PRODUCTION or SANDBOX; none: both."),
                ("app", "string", "Only events of this app."),
                ("types", "array", "Only these event types."),
                ("paywall-events", "boolean", "Paywall events are sent (default true)."),
                ("temporary-grants", "boolean", "Temporary grants are sent (default true)."),
            ]
        case .putProduct:
            [
                ("days", "number", "Length of a period; none: bought once."),
                ("trialDays", "number", "Length of a trial."),
                ("price", "number", "In US dollars."),
                ("currency", "string", "What it is paid in."),
                ("exchangeRate", "number", "Units of the currency for a US dollar."),
                ("entitlements", "array", "What it grants; empty for a consumable."),
                ("basePlan", "string", "Play's base plan."),
            ]
        case .storeAction:
            [
                ("user", "string", "The customer's id."),
                ("from", "string", "The other customer of a transfer, restore, share, redemption."),
                ("product", "string", "The product."), ("store", "string", "APP_STORE and so on."),
                ("settle", "boolean", "Wait until what is due is delivered."),
            ]
        case .send:
            [
                ("event", "object", "The event as it goes out; id and time are added if missing."),
                ("settle", "boolean", "Wait until it is delivered."),
            ]
        case .resend: [("configuration", "string", "Only to this webhook.")]
        case .purchaselyAction:
            [
                ("user", "string", "The connected user's id."),
                ("anonymous", "string", "The installation's id."),
                ("from", "string", "The id that loses."), ("plan", "string", "The plan."),
                (
                    "type", "string",
                    "RENEWING_SUBSCRIPTION, NON_RENEWING_SUBSCRIPTION, CONSUMABLE, NON_CONSUMABLE."
                ),
                ("offer", "string", "FREE_TRIAL, INTRO_OFFER, PROMO_CODE or NONE."),
                ("store", "string", "APPLE_APP_STORE, GOOGLE_PLAY_STORE, STRIPE and so on."),
                ("way", "string", "upgrade, downgrade or crossgrade."),
                ("settle", "boolean", "Wait until what is due is delivered."),
            ]
        case .purchaselyWebhook:
            [
                ("url", "string", "Where events go."),
                ("signing-secret", "string", "The shared secret."),
            ]
        case .deviceAction: [("settle", "boolean", "Wait until what is due is delivered.")]
        case .fork: [("to", "string", "The namespace that gets the copy.")]
        case .importState: [("namespaces", "object", "As export wrote it.")]
        default: []
        }
    }

    var isWritten: Bool { place.method != "GET" && place.method != "DELETE" }

    /// The route that a request names, with the values of its braces.
    static func match(
        _ method: String,
        _ segments: [String]
    ) -> (route: ControlRoute, values: [String])? {
        // A fixed segment is a better match than a brace, so fixed paths are tried first.
        let candidates = allCases.sorted {
            ($0.place.path.contains("{") ? 1 : 0) < ($1.place.path.contains("{") ? 1 : 0)
        }
        for route in candidates where route.place.method == method {
            let parts = route.place.path.split(separator: "/")
            // An action may have two words: `paywall/complete`.
            let isOpen = route == .deviceAction && segments.count == 3
            guard parts.count == segments.count || isOpen else { continue }
            var values: [String] = []
            let fits = zip(parts, segments).allSatisfy { part, segment in
                guard part.hasPrefix("{") else { return part == segment }
                values.append(segment)
                return true
            }
            if isOpen, fits { values = [segments.dropFirst().joined(separator: "/")] }
            if fits { return (route, values) }
        }
        return nil
    }

    /// The OpenAPI 3.1 description of the whole API.
    static func document(version: String) -> JSONValue {
        var paths: [(String, JSONObject)] = []
        for route in allCases {
            let path = "/assay/v1" + route.place.path
            let method = route.place.method.lowercased()
            if let index = paths.firstIndex(where: { $0.0 == path }) {
                paths[index].1[method] = route.operation
            } else {
                paths.append((path, [method: route.operation]))
            }
        }
        return [
            "openapi": "3.1.0",
            "info": [
                "title": "Assay control API", "version": .string(version),
                "description": .string(
                    "Moves the fakes of `assay serve`: the store, the clock, faults, "
                        + "devices, and shows what happened."
                ),
            ],
            "paths": .object(
                JSONObject(members: paths.map { .init(key: $0.0, value: .object($0.1)) })
            ),
            "components": [
                "schemas": [
                    "Error": [
                        "type": "object", "required": ["error"],
                        "properties": [
                            "error": ["type": "string"], "hint": ["type": "string"],
                        ],
                    ]
                ]
            ],
        ]
    }

    private var operation: JSONValue {
        var parameters: [JSONValue] = []
        for part in place.path.split(separator: "/") where part.hasPrefix("{") {
            parameters.append([
                "name": .string(String(part.dropFirst().dropLast())), "in": "path",
                "required": true, "schema": ["type": "string"],
            ])
        }
        var query = self.parameters
        if takesNamespace { query.append(("namespace", "Which namespace (default: the default).")) }
        for (name, summary) in query {
            parameters.append([
                "name": .string(name), "in": "query", "description": .string(summary),
                "schema": ["type": "string"],
            ])
        }
        var operation: JSONObject = [
            "operationId": .string(rawValue), "summary": .string(summary),
            "parameters": .array(parameters),
        ]
        if isWritten, !body.isEmpty {
            let properties = JSONObject(
                members: body.map { name, type, summary in
                    // A point in time may also be a number.
                    let isTime = ["now", "to"].contains(name) && self != .fork
                    let types: JSONValue = isTime ? ["string", "number"] : .string(type)
                    return .init(
                        key: name,
                        value: ["type": types, "description": .string(summary)]
                    )
                }
            )
            operation["requestBody"] = [
                "content": [
                    "application/json": [
                        "schema": ["type": "object", "properties": .object(properties)]
                    ]
                ]
            ]
        }
        let media = self == .journalStream ? "application/x-ndjson" : "application/json"
        let content = JSONValue.object([media: ["schema": ["type": "object"]]])
        let error: JSONValue = [
            "description": "What is wrong, and what to type next.",
            "content": [
                "application/json": ["schema": ["$ref": "#/components/schemas/Error"]]
            ],
        ]
        operation["responses"] = [
            "200": ["description": .string(summary), "content": content], "400": error,
            "403": error, "404": error,
        ]
        return .object(operation)
    }
}
