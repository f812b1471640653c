internal import DequeModule
internal import Values

/// A virtual currency of an app.
///
/// Products grant it, and a backend spends it (API description of REST v2).
package struct VirtualCurrency: Hashable, Codable, Sendable {
    /// The amount of a virtual currency that a purchase of certain products grants.
    package struct Grant: Hashable, Codable, Sendable {
        /// RevenueCat's own IDs of the products that grant the amount.
        let products: [String]
        let amount: Int64
        /// The amount that is granted when the purchase is a trial.
        let trialAmount: Int64
        /// Whether the granted amount expires.
        ///
        /// The fake stores and returns this value, but no amount expires.
        let expires: Bool
    }

    var name: String
    var description: String?
    let made: Instant
    var grants: [Grant] = []

    init(name: String, description: String?, made: Instant) {
        (self.name, self.description, self.made) = (name, description, made)
    }

    /// Returns the amount of this currency that a purchase of the product grants.
    func grantedAmount(by product: String, isTrial: Bool) -> Int64 {
        grants.filter { $0.products.contains(product) }
            .reduce(0) { $0.addingSaturated(isTrial ? $1.trialAmount : $1.amount) }
    }
}

/// A table of the responses to calls with an idempotency key.
///
/// A repeated call gets the stored response and changes nothing.
package struct IdempotentResults: Hashable, Codable, Sendable {
    private struct Result: Hashable, Codable {
        /// The digest of the request that was sent first with the idempotency key.
        let request: String
        let body: JSONValue
    }

    /// The largest number of stored responses.
    ///
    /// The oldest responses are removed.
    private static let resultCountMax = 10_000

    private var results: SharedTable<String, Result> = [:]
    private var keys: Deque<String> = []

    /// Returns the stored response to the first call with this idempotency key; nil when there was
    /// no such call.
    ///
    /// - Throws: 409 when the first call with this key was a different request.
    func result(of key: String, _ request: String) throws(RevenueCatError) -> JSONValue? {
        guard let savedResult = results[key] else { return nil }
        guard savedResult.request == request else {
            throw RevenueCatError(
                v2: 409,
                "idempotency_error",
                "Idempotency key already used for a different request"
            )
        }
        return savedResult.body
    }

    mutating func saveResult(_ body: JSONValue, of key: String, _ request: String) {
        if results[key] == nil { keys.append(key) }
        results[key] = Result(request: request, body: body)
        if keys.count > Self.resultCountMax { results[keys.removeFirst()] = nil }
    }
}

extension V2Operation {
    static let virtualCurrencyRows: [Row] = [
        .init(
            "GET",
            "/projects/{project_id}/virtual_currencies",
            .init { state, call throws(RevenueCatError) in try state.listVirtualCurrencies(call) }
        ),
        .init(
            "POST",
            "/projects/{project_id}/virtual_currencies",
            .init { state, call throws(RevenueCatError) in try state.createVirtualCurrency(call) }
        ),
        .init(
            "DELETE",
            "/projects/{project_id}/virtual_currencies/{virtual_currency_code}",
            .init { state, call throws(RevenueCatError) in try state.deleteVirtualCurrency(call) }
        ),
        .init(
            "GET",
            "/projects/{project_id}/virtual_currencies/{virtual_currency_code}",
            .init { state, call throws(RevenueCatError) in try state.getVirtualCurrency(call) }
        ),
        .init(
            "POST",
            "/projects/{project_id}/virtual_currencies/{virtual_currency_code}",
            .init { state, call throws(RevenueCatError) in try state.updateVirtualCurrency(call) }
        ),
    ]
}

/// The operations of REST v2 on virtual currencies.
extension RevenueCatState {
    /// Adds amounts, by currency code, to a customer's balances.
    ///
    /// A balance cannot fall below zero.
    mutating func changeBalances(_ customerNumber: Int, _ amounts: [String: Int64]) {
        for (code, amount) in amounts {
            let oldBalance = customers[customerNumber]?.balances?[code] ?? 0
            var balances = customers[customerNumber]?.balances ?? [:]
            balances[code] = max(0, oldBalance.addingSaturated(amount))
            customers[customerNumber]?.balances = balances
        }
    }

    func listVirtualCurrencies(_ call: CallV2) throws(RevenueCatError) -> HTTPMessage.Response {
        let items = (currencies ?? [:]).sorted { $0.key < $1.key }
            .map { ($0.key, Self.currencyJSON($0.value, $0.key, call)) }
        return try pageResponse(items, call.projectPath + "/virtual_currencies", call)
    }

    mutating func createVirtualCurrency(
        _ call: CallV2
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        let code = try Self.code(try call.text("code"))
        guard currencies?[code] == nil else {
            throw RevenueCatError(
                v2: 409,
                "resource_already_exists",
                "The virtual currency exists already."
            )
        }
        var currency = VirtualCurrency(name: "", description: nil, made: call.now)
        try Self.updateDetails(&currency, call)
        _ = try call.text("name")
        currency.grants = try Self.grants(call) ?? []
        currencies = (currencies ?? [:]).merging([code: currency]) { $1 }
        return HTTPMessage.Response(201, json: Self.currencyJSON(currency, code, call))
    }

    mutating func deleteVirtualCurrency(
        _ call: CallV2
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        let code = call.named("virtual_currency_code")
        _ = try currency(code)
        currencies?[code] = nil
        for customerNumber in customers.customerNumbers {
            customers[customerNumber]?.balances?[code] = nil
        }
        return HTTPMessage.Response(
            200,
            json: [
                "object": "virtual_currency", "id": .string(code),
                "deleted_at": .integer(call.now.milliseconds),
            ]
        )
    }

    func getVirtualCurrency(_ call: CallV2) throws(RevenueCatError) -> HTTPMessage.Response {
        let code = call.named("virtual_currency_code")
        return HTTPMessage.Response(
            200,
            json: Self.currencyJSON(try currency(code), code, call)
        )
    }

    mutating func updateVirtualCurrency(
        _ call: CallV2
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        let code = call.named("virtual_currency_code")
        var currency = try currency(code)
        try Self.updateDetails(&currency, call)
        if let grants = try Self.grants(call) { currency.grants = grants }
        currencies?[code] = currency
        return HTTPMessage.Response(200, json: Self.currencyJSON(currency, code, call))
    }

    private func currency(_ code: String) throws(RevenueCatError) -> VirtualCurrency {
        guard let existingCurrency = currencies?[code] else {
            throw .missingResource("virtual currency")
        }
        return existingCurrency
    }

    // MARK: Balances

    /// Returns the response with a customer's balances, which an SDK on a phone reads over REST v1
    /// (*inferred* from the published SDKs).
    mutating func virtualCurrencies(_ call: CallV1) -> HTTPMessage.Response {
        let customerNumber = recordActivity(call.appUserID, call.now)
        let balances = customers[customerNumber]?.balances ?? [:]
        let currencyJSON = (currencies ?? [:]).sorted { $0.key < $1.key }.map { code, currency in
            JSONObject.Member(
                key: code,
                value: .object(
                    .present([
                        ("balance", .integer(balances[code] ?? 0)), ("code", .string(code)),
                        ("name", .string(currency.name)),
                        ("description", currency.description.map(JSONValue.string)),
                    ])
                )
            )
        }
        return HTTPMessage.Response(
            200,
            json: ["virtual_currencies": .object(JSONObject(members: currencyJSON))]
        )
    }

    func listVirtualCurrenciesBalances(
        _ call: CallV2
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        let balances = customers[try customerNumber(of: call.customerID)]?.balances ?? [:]
        let includesZeroBalances = call.query("include_empty_balances") == "true"
        let items = (currencies ?? [:]).sorted { $0.key < $1.key }.compactMap {
            code,
            currency -> (id: String, value: JSONValue)? in
            let balance = balances[code] ?? 0
            guard balance != 0 || includesZeroBalances else { return nil }
            var currencyJSON: JSONObject = [
                "object": "virtual_currency_balance", "currency_code": .string(code),
                "balance": .integer(balance), "name": .string(currency.name),
            ]
            if let text = currency.description { currencyJSON["description"] = .string(text) }
            return (code, .object(currencyJSON))
        }
        return try pageResponse(items, call.customerPath + "/virtual_currencies", call)
    }

    mutating func createVirtualCurrenciesTransaction(
        _ call: CallV2
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        try adjustBalances(call)
    }

    mutating func updateVirtualCurrenciesBalance(
        _ call: CallV2
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        try adjustBalances(call)
    }

    /// Applies all adjustments of a customer's balances in a request, or none.
    ///
    /// No event is sent about them (RevenueCat fact sheet, section 2.2).
    private mutating func adjustBalances(
        _ call: CallV2
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        let customerNumber = try customerNumber(of: call.customerID)
        let key = call.request[field: "idempotency-key"].flatMap { $0.isEmpty ? nil : $0 }
        let requestText = call.request.target + "\n" + JSONValue.object(call.body).text
        let request = Digest.sha256(Array(requestText.utf8))
        if let key, let savedBody = try keyed?.result(of: key, request) {
            return HTTPMessage.Response(200, json: savedBody)
        }
        if let other = call.body.keys.first(where: { !["adjustments", "reference"].contains($0) }) {
            throw Self.parameterError("\(other.prefix(100)) is not known here.", "body")
        }
        guard let members = call.body["adjustments"]?.object?.members, !members.isEmpty else {
            throw Self.parameterError("adjustments must be an object of amounts.", "adjustments")
        }
        var amounts: [String: Int64] = [:]
        for member in members {
            guard currencies?[member.key] != nil else { throw .missingResource("virtual currency") }
            guard let amount = member.value.int64 else {
                throw Self.parameterError(
                    "The amount of \(member.key) is no integer.",
                    "adjustments"
                )
            }
            let currentBalance = customers[customerNumber]?.balances?[member.key] ?? 0
            guard currentBalance.addingSaturated(amount) >= 0 else {
                throw RevenueCatError(
                    v2: 422,
                    "unprocessable_entity_error",
                    "The balance of \(member.key) is not sufficient."
                )
            }
            amounts[member.key] = amount
        }
        changeBalances(customerNumber, amounts)
        let response = try listVirtualCurrenciesBalances(call)
        if let key, let body = try? JSONValue(parsing: response.body) {
            if keyed == nil { keyed = IdempotentResults() }
            keyed?.saveResult(body, of: key, request)
        }
        return response
    }

    // MARK: JSON of requests and resources

    private static func parameterError(_ text: String, _ name: String) -> RevenueCatError {
        RevenueCatError(v2: 400, "parameter_error", text, param: name)
    }

    private static func updateDetails(
        _ currency: inout VirtualCurrency,
        _ call: CallV2
    ) throws(RevenueCatError) {
        if call.body["name"] != nil {
            let name = try call.text("name")
            guard name.unicodeScalars.count <= 50 else {
                throw parameterError("name takes up to 50 characters.", "name")
            }
            currency.name = name
        }
        guard let text = call.body["description"] else { return }
        let count = text.string?.unicodeScalars.count ?? (text.isNull ? 1 : 0)
        guard (1...1500).contains(count) else {
            throw parameterError("description takes 1 to 1500 characters.", "description")
        }
        currency.description = text.string
    }

    private static func code(_ text: String) throws(RevenueCatError) -> String {
        let isValid = text.utf8.allSatisfy {
            (0x30...0x39).contains($0) || (0x41...0x5a).contains($0) || (0x61...0x7a).contains($0)
                || $0 == 0x5f
        }
        guard isValid, text.count <= 10 else {
            throw parameterError("code takes up to 10 letters, digits and underscores.", "code")
        }
        return text
    }

    /// Returns the product grants of a virtual currency from the request body; nil when the body
    /// contains none.
    private static func grants(_ call: CallV2) throws(RevenueCatError) -> [VirtualCurrency.Grant]? {
        guard let value = call.body["product_grants"] else { return nil }
        guard let grantObjects = value.isNull ? [] : value.array else {
            throw parameterError("product_grants must be a list.", "product_grants")
        }
        var grants: [VirtualCurrency.Grant] = []
        for grant in grantObjects {
            guard let products = grant["product_ids"]?.array?.compactMap(\.string),
                let amount = grant["amount"]?.int64, amount > 0, !products.isEmpty
            else {
                throw parameterError("A grant needs product_ids and an amount.", "product_grants")
            }
            let trialAmountValue = grant["trial_amount"] ?? .null
            guard trialAmountValue.isNull || trialAmountValue.int64.map({ $0 >= 0 }) == true else {
                throw parameterError("trial_amount is a number from 0 on.", "product_grants")
            }
            grants.append(
                VirtualCurrency.Grant(
                    products: products,
                    amount: amount,
                    trialAmount: trialAmountValue.int64 ?? 0,
                    expires: grant["expire_at_cycle_end"]?.bool ?? false
                )
            )
        }
        return grants
    }

    private static func currencyJSON(
        _ currency: VirtualCurrency,
        _ code: String,
        _ call: CallV2
    ) -> JSONValue {
        [
            "object": "virtual_currency", "project_id": .string(call.project),
            "code": .string(code), "name": .string(currency.name),
            "created_at": .integer(currency.made.milliseconds),
            "description": currency.description.map(JSONValue.string) ?? .null,
            "product_grants": .array(
                currency.grants.map {
                    [
                        "object": "virtual_currency.product_grant",
                        "product_ids": .strings($0.products), "amount": .integer($0.amount),
                        "trial_amount": .integer($0.trialAmount),
                        "expire_at_cycle_end": .bool($0.expires),
                    ]
                }
            ),
        ]
    }
}
