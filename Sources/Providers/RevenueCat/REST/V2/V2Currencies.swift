internal import Values

extension V2Operation {
    static let virtualCurrencyRows: [Row] = [
        .init(
            "GET",
            "/projects/{project_id}/virtual_currencies",
            .init(V2Currencies.list)
        ),
        .init(
            "POST",
            "/projects/{project_id}/virtual_currencies",
            .init(V2Currencies.create)
        ),
        .init(
            "DELETE",
            "/projects/{project_id}/virtual_currencies/{virtual_currency_code}",
            .init(V2Currencies.delete)
        ),
        .init(
            "GET",
            "/projects/{project_id}/virtual_currencies/{virtual_currency_code}",
            .init(V2Currencies.get)
        ),
        .init(
            "POST",
            "/projects/{project_id}/virtual_currencies/{virtual_currency_code}",
            .init(V2Currencies.update)
        ),
    ]
}

/// The operations of REST v2 on the virtual currencies of a project.
enum V2Currencies {
    static func list(
        _ state: inout RevenueCatState,
        _ call: V2Call
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        let items = state.currencies.sorted
            .map { ($0.code, $0.currency.json(code: $0.code, project: call.project)) }
        return try V2List.response(items, call.projectPath + "/virtual_currencies", call)
    }

    static func create(
        _ state: inout RevenueCatState,
        _ call: V2Call
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        let code = try code(try call.text("code"))
        guard state.currencies[code] == nil else {
            throw RevenueCatError(
                v2: 409,
                "resource_already_exists",
                "The virtual currency exists already."
            )
        }
        var currency = VirtualCurrency(name: "", description: nil, made: call.now)
        try updateDetails(&currency, call)
        _ = try call.text("name")
        currency.grants = try grants(call) ?? []
        state.currencies[code] = currency
        return HTTPMessage.Response(201, json: currency.json(code: code, project: call.project))
    }

    static func delete(
        _ state: inout RevenueCatState,
        _ call: V2Call
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        let code = call.named("virtual_currency_code")
        _ = try currency(code, state)
        state.currencies[code] = nil
        for customerNumber in state.customers.numbers {
            state.customers[customerNumber]?.balances?[code] = nil
        }
        return HTTPMessage.Response(
            200,
            json: [
                "object": "virtual_currency", "id": .string(code),
                "deleted_at": .integer(call.now.milliseconds),
            ]
        )
    }

    static func get(
        _ state: inout RevenueCatState,
        _ call: V2Call
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        let code = call.named("virtual_currency_code")
        return HTTPMessage.Response(
            200,
            json: try currency(code, state).json(code: code, project: call.project)
        )
    }

    static func update(
        _ state: inout RevenueCatState,
        _ call: V2Call
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        let code = call.named("virtual_currency_code")
        var currency = try currency(code, state)
        try updateDetails(&currency, call)
        if let grants = try grants(call) { currency.grants = grants }
        state.currencies[code] = currency
        return HTTPMessage.Response(200, json: currency.json(code: code, project: call.project))
    }

    private static func currency(
        _ code: String,
        _ state: RevenueCatState
    ) throws(RevenueCatError) -> VirtualCurrency {
        guard let existingCurrency = state.currencies[code] else {
            throw .missingResource("virtual currency")
        }
        return existingCurrency
    }

    // MARK: Request bodies

    private static func updateDetails(
        _ currency: inout VirtualCurrency,
        _ call: V2Call
    ) throws(RevenueCatError) {
        if call.body["name"] != nil {
            let name = try call.text("name")
            guard name.unicodeScalars.count <= 50 else {
                throw .invalidParameter("name takes up to 50 characters.", "name")
            }
            currency.name = name
        }
        guard let text = call.body["description"] else { return }
        let count = text.string?.unicodeScalars.count ?? (text.isNull ? 1 : 0)
        guard (1...1500).contains(count) else {
            throw .invalidParameter("description takes 1 to 1500 characters.", "description")
        }
        currency.description = text.string
    }

    private static func code(_ text: String) throws(RevenueCatError) -> String {
        let isValid = text.utf8.allSatisfy {
            (0x30...0x39).contains($0) || (0x41...0x5a).contains($0) || (0x61...0x7a).contains($0)
                || $0 == 0x5f
        }
        guard isValid, text.count <= 10 else {
            throw .invalidParameter("code takes up to 10 letters, digits and underscores.", "code")
        }
        return text
    }

    /// Returns the product grants of a virtual currency from the request body; nil when the body
    /// contains none.
    private static func grants(_ call: V2Call) throws(RevenueCatError) -> [VirtualCurrency.Grant]? {
        guard let value = call.body["product_grants"] else { return nil }
        guard let grantObjects = value.isNull ? [] : value.array else {
            throw .invalidParameter("product_grants must be a list.", "product_grants")
        }
        var grants: [VirtualCurrency.Grant] = []
        for grant in grantObjects {
            guard let products = grant["product_ids"]?.array?.compactMap(\.string),
                let amount = grant["amount"]?.int64, amount > 0, !products.isEmpty
            else {
                throw .invalidParameter(
                    "A grant needs product_ids and an amount.",
                    "product_grants"
                )
            }
            let trialAmountValue = grant["trial_amount"] ?? .null
            guard trialAmountValue.isNull || trialAmountValue.int64.map({ $0 >= 0 }) == true else {
                throw .invalidParameter("trial_amount is a number from 0 on.", "product_grants")
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
}
