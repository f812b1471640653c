package import Conformance

/// An error of REST v1 or v2 (fact sheet, sections 4.3 and 4.4).
struct RevenueCatError: Error, Hashable, Sendable {
    let response: HTTPMessage.Response

    /// v1: a code and a message.
    init(_ status: Int, _ code: Int64, _ message: String, _ attributes: [JSONValue] = []) {
        var body: JSONObject = ["code": .integer(code), "message": .string(message)]
        if !attributes.isEmpty { body["attribute_errors"] = .array(attributes) }
        response = HTTPMessage.Response(status, json: .object(body))
    }

    /// v2: a type, and what to do about it.
    init(v2 status: Int, _ type: String, _ message: String, param: String? = nil) {
        let body = JSONObject.present([
            ("type", .string(type)), ("param", param.map(JSONValue.string)),
            ("message", .string(message)), ("retryable", .bool(status >= 500 || status == 429)),
            (
                "doc_url",
                .string(
                    "https://errors.rev.cat/"
                        + type.split(separator: "_").joined(separator: "-")
                )
            ),
            ("backoff_ms", status == 429 ? 1000 : nil), ("object", "error"),
        ])
        response = HTTPMessage.Response(status, json: .object(body))
    }

    init(_ response: HTTPMessage.Response) {
        self.response = response
    }
}

/// REST v1 (fact sheet, sections 4.1 to 4.3).
extension RevenueCatState {
    private enum KeyKind { case secret, publicKey, any }

    private struct Call {
        let request: HTTPMessage.Request
        let body: JSONObject
        let now: Instant
        let isSecret: Bool

        var platform: String? { request[field: "x-platform"] }
    }

    private static let platforms: Set<String> = [
        "ios", "android", "amazon", "macos", "uikitformac", "stripe",
    ]

    /// Ids that the service refuses (section 5.1).
    static let blockedIDs: Set<String> = [
        "no_user", "null", "none", "nil", "(null)", "NaN", "\\x00", "\u{0}", "unidentified",
        "undefined", "unknown", "anonymous", "guest", "-1", "0", "[]", "{}", "[object Object]",
        "\"\"",
    ]

    package mutating func respond(to request: HTTPMessage.Request, at now: Instant) -> Reply {
        do throws(RevenueCatError) {
            let response = try answer(request, at: now)
            return Reply(response, .documented, of: "revenuecat")
        } catch {
            return Reply(error.response, .inferred, of: "revenuecat")
        }
    }

    /// A failure in the shape of the version that was called.
    package func failure(_ status: Int, path: String) -> HTTPMessage.Response {
        let isV2 = path.hasPrefix("/v2/")
        var response: HTTPMessage.Response
        switch status {
        case 429 where isV2:
            response = RevenueCatError(v2: 429, "rate_limit_error", "Rate limit exceeded").response
        case 429:
            response = HTTPMessage.Response(
                429,
                json: ["message": "Rate limit exceeded", "backoff_ms": 1000]
            )
        case _ where isV2:
            response = RevenueCatError(v2: status, "server_error", "Internal error.").response
        default: response = RevenueCatError(status, 7110, "Internal error.").response
        }
        if status == 429 {
            let wait = settings.retryAfterUnit == .milliseconds ? "1000" : "1"
            response.fields.append(HTTPMessage.Field("Retry-After", wait))
        }
        return response
    }

    private mutating func answer(
        _ request: HTTPMessage.Request,
        at now: Instant
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        guard let segments = request.pathSegments, let version = segments.first else {
            throw RevenueCatError(404, 7226, "The request path is not valid.")
        }
        try countCall(request.path, at: now)
        let isSecret = try authorize(request, version)
        advance(to: now)
        if version == "v2" {
            guard isSecret else {
                throw RevenueCatError(v2: 403, "authorization_error", "A secret key is required.")
            }
            return limited(
                try answerV2(request, Array(segments.dropFirst()), at: now),
                max: settings.callsPerMinuteMax ?? 480
            )
        }
        guard version == "v1" else { throw RevenueCatError(404, 7226, "Not found.") }
        var body = JSONObject()
        if request.method == "POST" {
            guard let object = request.jsonObject().object else {
                throw RevenueCatError(400, 7226, "The request body is not a JSON object.")
            }
            body = object
        }
        let call = Call(request: request, body: body, now: now, isSecret: isSecret)
        return limited(try answerV1(Array(segments.dropFirst()), call))
    }

    // MARK: Keys and limits

    /// Whether the caller holds a secret key; a caller without any key counts as one when none is
    /// demanded.
    private func authorize(
        _ request: HTTPMessage.Request,
        _ version: String
    ) throws(RevenueCatError) -> Bool {
        let sent = request.authorization
        let isPublic = ["appl_", "goog_", "amzn_", "test_", "strp_", "rcb_", "mac_"].contains {
            sent?.credential.hasPrefix($0) ?? false
        }
        guard let key else { return !isPublic }
        guard let sent, sent.scheme == "bearer" else {
            throw version == "v2"
                ? RevenueCatError(v2: 401, "authentication_error", "Invalid API key.")
                : RevenueCatError(401, 7224, "Invalid auth token.")
        }
        guard isPublic || sent.credential == key.exposed else {
            throw version == "v2"
                ? RevenueCatError(v2: 401, "authentication_error", "Invalid API key.")
                : RevenueCatError(401, 7225, "Invalid API Key.")
        }
        return !isPublic
    }

    private func demand(_ kind: KeyKind, _ call: Call) throws(RevenueCatError) {
        switch kind {
        case .any: break
        case .secret:
            guard call.isSecret else { throw RevenueCatError(401, 7225, "Invalid API Key.") }
        case .publicKey:
            let hasSecretKey = call.request.authorization?.credential.hasPrefix("sk_") ?? false
            guard !hasSecretKey else {
                throw RevenueCatError(
                    403,
                    7243,
                    "Secret API keys should not be used in your app."
                )
            }
        }
    }

    private mutating func countCall(_ path: String, at now: Instant) throws(RevenueCatError) {
        guard let max = settings.callsPerMinuteMax else { return }
        recentCalls.removeAll { now - $0 >= .seconds(60) }
        guard recentCalls.count < max else {
            throw RevenueCatError(failure(429, path: path))
        }
        recentCalls.append(now)
    }

    private func limited(
        _ response: HTTPMessage.Response,
        max: Int? = nil
    ) -> HTTPMessage.Response {
        guard let max = max ?? settings.callsPerMinuteMax else { return response }
        var response = response
        response.fields.append(
            HTTPMessage.Field(
                "RevenueCat-Rate-Limit-Current-Usage",
                String(recentCalls.isEmpty ? 1 : recentCalls.count)
            )
        )
        response.fields.append(
            HTTPMessage.Field("RevenueCat-Rate-Limit-Current-Limit", String(max))
        )
        return response
    }

    // MARK: Routes

    private mutating func answerV1(
        _ path: [String],
        _ call: Call
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        let method = call.request.method
        if path == ["receipts"], method == "POST" { return try receipt(call) }
        guard path.first == "subscribers", path.count >= 2 else {
            throw RevenueCatError(404, 7226, "Not found.")
        }
        if path == ["subscribers", "identify"], method == "POST" { return try logIn(call) }
        let id = try Self.checked(path[1])
        switch (method, Array(path.dropFirst(2))) {
        case ("GET", []): return read(id, call)
        case ("DELETE", []):
            try demand(.secret, call)
            guard let number = customerByID[id] else {
                throw RevenueCatError(404, 7259, "Subscriber not found.")
            }
            remember(at: call.now)
            forget(number)
            return HTTPMessage.Response(
                200,
                json: ["app_user_id": .string(id), "deleted": true]
            )
        case ("POST", ["attributes"]): return try setAttributes(id, call)
        case ("POST", ["attribution"]):
            _ = see(id, call.now)
            return HTTPMessage.Response(200, json: [:])
        case ("POST", ["restore_behavior"]):
            try demand(.secret, call)
            let name = call.body["restore_behavior"]?.string ?? ""
            guard let behavior = RevenueCatSettings.RestoreBehavior(rawValue: name),
                behavior != .share
            else { throw RevenueCatError(400, 7226, "restore_behavior is not valid.") }
            let number = see(id, call.now)
            customers[number]?.restoreBehavior = behavior
            return info(number, 200, call)
        case ("GET", ["offerings"]): return try offerings(id, call)
        case (_, let rest) where rest.first == "offerings" && rest.last == "override":
            try demand(.secret, call)
            let number = see(id, call.now)
            switch method {
            case "POST" where rest.count == 3: customers[number]?.offeringOverride = rest[1]
            case "DELETE": customers[number]?.offeringOverride = nil
            default: throw RevenueCatError(404, 7226, "Not found.")
            }
            return info(number, 201, call)
        case ("POST", let rest) where rest.first == "entitlements" && rest.count == 3:
            return try promotional(id, rest[1], rest[2], call)
        case ("POST", let rest) where ["subscriptions", "transactions"].contains(rest.first):
            return try playAction(id, rest, call)
        default: throw RevenueCatError(404, 7226, "Not found.")
        }
    }

    static func checked(_ id: String) throws(RevenueCatError) -> String {
        guard !id.isEmpty else { throw RevenueCatError(400, 7220, "The App User ID is empty.") }
        guard !blockedIDs.contains(id), !id.contains("/"), id.utf8.count <= 1500 else {
            throw RevenueCatError(400, 7256, "The App User ID is not valid.")
        }
        return id
    }

    private mutating func info(
        _ number: Int,
        _ status: Int,
        _ call: Call,
        extra: JSONObject = JSONObject()
    ) -> HTTPMessage.Response {
        guard let customer = shownCustomer(number, at: call.now) ?? customers[number] else {
            return RevenueCatError(404, 7259, "Subscriber not found.").response
        }
        var body =
            customer.info(at: call.now, showsAttributes: call.isSecret).object ?? JSONObject()
        for member in extra.members { body[member.key] = member.value }
        return HTTPMessage.Response(status, json: .object(body))
    }

    // MARK: Reading and naming

    /// A read creates the customer when it is unknown.
    private mutating func read(_ id: String, _ call: Call) -> HTTPMessage.Response {
        let isNew = customerByID[id] == nil
        let number = customer(named: [id], original: id, call.now)
        // Only a device's read updates `last_seen`; backends leave `X-Platform` out.
        if let platform = call.platform { _ = see(id, call.now, platform: platform) }
        return info(number, isNew ? settings.createdByReadStatus : 200, call)
    }

    private mutating func logIn(_ call: Call) throws(RevenueCatError) -> HTTPMessage.Response {
        let current = try Self.checked(call.body["app_user_id"]?.string ?? "")
        let wanted = try Self.checked(call.body["new_app_user_id"]?.string ?? "")
        remember(at: call.now)
        let isNew = identify(current, as: wanted, call.now)
        return info(customerByID[wanted] ?? 0, isNew ? 201 : 200, call)
    }

    private mutating func setAttributes(
        _ id: String,
        _ call: Call
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        guard let attributes = call.body["attributes"]?.object else {
            throw RevenueCatError(
                400,
                7264,
                "Some subscriber attributes keys were unable to saved."
            )
        }
        var errors: [JSONValue] = []
        func complain(_ key: String, _ text: String) {
            errors.append(["key_name": .string(key), "message": .string(text)])
        }
        for member in attributes.members {
            let value = member.value["value"]
            guard member.value.object != nil, value?.string != nil || value?.isNull ?? true else {
                throw RevenueCatError(400, 7264, "Attributes must be objects with a value.")
            }
            let text = value?.string ?? ""
            if member.key.isEmpty || member.key.count > 40 {
                complain(member.key, "Attribute key name is not valid.")
            } else if text.count > 500 {
                complain(member.key, "Attribute value is too long.")
            } else if member.key == "$email", !text.isEmpty, !text.contains("@") {
                complain(member.key, "Email address is not a valid email.")
            }
        }
        guard errors.isEmpty else {
            throw RevenueCatError(
                400,
                7263,
                "Some subscriber attributes keys were unable to saved.",
                errors
            )
        }
        let number = customer(named: [id], original: id, call.now)
        for member in attributes.members {
            let time = member.value["updated_at_ms"]?.int64 ?? call.now.milliseconds
            let known = customers[number]?.attributes[member.key]?["updated_at_ms"]?.int64
            // The older write loses.
            guard known.map({ $0 <= time }) ?? true else { continue }
            let text = member.value["value"]?.string ?? ""
            customers[number]?.attributes[member.key] =
                text.isEmpty
                ? nil : ["value": .string(text), "updated_at_ms": .integer(time)]
        }
        return info(number, 200, call)
    }

    private mutating func offerings(
        _ id: String,
        _ call: Call
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        try demand(.publicKey, call)
        try demandPlatform(call)
        let override = customerByID[id].flatMap { customers[$0]?.offeringOverride }
        let known =
            catalog.products.isEmpty
            ? ["premium_monthly", "premium_yearly"] : catalog.products.keys.sorted()
        let packages: [JSONValue] = known.map { product in
            let days = catalog.product(product).days
            let name =
                switch days {
                case 7: "$rc_weekly"
                case 365: "$rc_annual"
                case nil: "$rc_lifetime"
                default: "$rc_monthly"
                }
            return [
                "identifier": .string(name), "platform_product_identifier": .string(product),
            ]
        }
        return HTTPMessage.Response(
            200,
            json: [
                "current_offering_id": .string(override ?? "default"),
                "offerings": [
                    [
                        "identifier": "default", "description": "The standard offering",
                        "packages": .array(packages),
                    ]
                ],
            ]
        )
    }

    private func demandPlatform(_ call: Call) throws(RevenueCatError) {
        guard let platform = call.platform, Self.platforms.contains(platform.lowercased()) else {
            throw RevenueCatError(400, 7000, "Invalid platform.")
        }
    }

    // MARK: Receipts

    private mutating func receipt(_ call: Call) throws(RevenueCatError) -> HTTPMessage.Response {
        try demand(.publicKey, call)
        try demandPlatform(call)
        let body = call.body
        let user = try Self.checked(body["app_user_id"]?.string ?? "")
        guard let token = body["fetch_token"]?.string, !token.isEmpty,
            !token.hasPrefix("invalid")
        else { throw RevenueCatError(400, 7103, "The receipt is not valid.") }
        let store = Self.store(call.platform ?? "ios")
        guard store != "PLAY_STORE" || body["product_id"]?.string != nil else {
            throw RevenueCatError(400, 7106, "product_id is required for Google purchases.")
        }
        guard (body["price"] == nil) == (body["currency"] == nil) else {
            throw RevenueCatError(400, 7226, "price and currency go together.")
        }
        remember(at: call.now)
        if body["attributes"]?.object != nil { _ = try setAttributes(user, call) }
        let owner = customers.values.first { customer in
            customer.purchases.contains { $0.originalTransactionID == token }
        }
        do throws(StoreAction.Refusal) {
            if let owner {
                let isPurchase = body["is_restore"]?.bool != true
                try restore(
                    receiptOf: owner.originalID,
                    by: user,
                    isPurchase: isPurchase,
                    call.now
                )
            } else if let product = body["product_id"]?.string {
                var action = StoreAction(.purchase, user: user)
                action.product = product
                action.store = store
                action.offering = body["presented_offering_identifier"]?.string
                action.currency = body["currency"]?.string
                if case .number(let price)? = body["price"] { action.price = price.double }
                if call.request[field: "x-is-sandbox"]?.lowercased() == "true" {
                    action.environment = "SANDBOX"
                }
                let before = takeEvents()
                try carryOut(action, at: call.now)
                adopt(token, user, body)
                if body["create_events"]?.bool == false { _ = takeEvents() }
                for event in before.reversed() { putFirst(event) }
            } else {
                _ = see(user, call.now, platform: call.platform)
            }
        } catch {
            if error.description.hasPrefix("7102") {
                throw RevenueCatError(
                    422,
                    7102,
                    "The receipt is already in use by another subscriber."
                )
            }
            throw RevenueCatError(400, 7772, error.description)
        }
        let number = see(user, call.now, platform: call.platform)
        var bought = JSONObject()
        for purchase in customers[number]?.purchases ?? [] {
            bought[purchase.productID] = [
                "should_consume": .bool(purchase.isOneTime && purchase.entitlements.isEmpty)
            ]
        }
        return info(number, 200, call, extra: ["purchased_products": .object(bought)])
    }

    /// The receipt's token names the transaction from now on, so that another user's receipt with
    /// the same token is recognised.
    private mutating func adopt(_ token: String, _ user: String, _ body: JSONObject) {
        guard let number = customerByID[user], let product = body["product_id"]?.string else {
            return
        }
        let id = product.split(separator: ":").first.map(String.init) ?? product
        if var purchase = customers[number]?.subscriptions[id] {
            purchase.originalTransactionID = token
            customers[number]?.put(purchase)
        } else if var purchase = customers[number]?.oneTime[id]?.last {
            customers[number]?.remove(purchase)
            purchase.originalTransactionID = token
            customers[number]?.put(purchase)
        }
    }

    private static func store(_ platform: String) -> String {
        switch platform.lowercased() {
        case "android": "PLAY_STORE"
        case "amazon": "AMAZON"
        case "macos", "uikitformac": "MAC_APP_STORE"
        case "stripe": "STRIPE"
        default: "APP_STORE"
        }
    }

    // MARK: Grants and Play's actions

    private mutating func promotional(
        _ id: String,
        _ entitlement: String,
        _ verb: String,
        _ call: Call
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        try demand(.secret, call)
        guard ["promotional", "revoke_promotionals"].contains(verb) else {
            throw RevenueCatError(404, 7226, "Not found.")
        }
        remember(at: call.now)
        do throws(StoreAction.Refusal) {
            if verb == "promotional" {
                var action = StoreAction(.grant, user: id)
                action.entitlement = entitlement
                action.duration = call.body["duration"]?.string
                let end = call.body["end_time_ms"]?.int64.map(Instant.init(milliseconds:))
                guard action.duration != nil || end != nil else {
                    throw StoreAction.Refusal("duration or end_time_ms is required.")
                }
                if let end, end <= call.now {
                    throw StoreAction.Refusal("end_time_ms must lie in the future.")
                }
                try grant(action, until: end, call.now)
                return info(customerByID[id] ?? 0, 201, call)
            }
            let number = see(id, call.now)
            try revoke(id, entitlement, call.now)
            return info(number, 200, call)
        } catch {
            throw RevenueCatError(400, 7226, error.description)
        }
    }

    /// `subscriptions/{product}/defer`, `…/revoke`, `subscriptions/{txn}/cancel`,
    /// `transactions/{txn}/refund`: Play only.
    private mutating func playAction(
        _ id: String,
        _ rest: [String],
        _ call: Call
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        try demand(.secret, call)
        // `…/subscriptions/{product}/{txn}/cancel` names the transaction in front of the verb.
        guard rest.count == 3 || (rest.count == 4 && rest[3] == "cancel") else {
            throw RevenueCatError(404, 7226, "Not found.")
        }
        let (wanted, verb) = (rest[rest.count - 2], rest[rest.count - 1])
        guard let number = customerByID[id] else {
            throw RevenueCatError(404, 7259, "Subscriber not found.")
        }
        let found = customers[number]?.purchases.first {
            $0.productID == wanted.split(separator: ":").first.map(String.init)
                || $0.transactionID == wanted || $0.originalTransactionID == wanted
                || wanted.hasPrefix($0.originalTransactionID + "..")
        }
        guard let found else { throw RevenueCatError(404, 7259, "Purchase not found.") }
        guard found.store == "PLAY_STORE" else {
            throw RevenueCatError(400, 7231, "Only Google Play purchases can be changed here.")
        }
        var action = StoreAction(.extend, user: id)
        action.product = found.productID
        // The refund of an earlier period says nothing and takes nothing (row 13b).
        let isEarlier =
            rest[0] == "transactions" && wanted != found.transactionID
            && wanted != found.productID
        guard !isEarlier else { return info(number, 200, call) }
        switch verb {
        case "defer":
            if let time = call.body["expiry_time_ms"]?.int64, let end = found.expires {
                action.by = Instant(milliseconds: time) - end
            } else if let days = call.body["extend_by_days"]?.int64, (1...365).contains(days) {
                action.by = .seconds(days * 86_400)
            } else {
                throw RevenueCatError(400, 7226, "expiry_time_ms or extend_by_days is required.")
            }
        case "cancel": action.kind = .cancel
        case "revoke", "refund": action.kind = .refund
        default: throw RevenueCatError(404, 7226, "Not found.")
        }
        do throws(StoreAction.Refusal) {
            try carryOut(action, at: call.now)
        } catch {
            throw RevenueCatError(400, 7226, error.description)
        }
        return info(number, 200, call)
    }
}
