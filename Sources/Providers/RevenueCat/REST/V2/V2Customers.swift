internal import Contracts
internal import Values

extension V2Operation {
    static let customerRows: [Row] = [
        .init(
            "GET",
            "/projects/{project_id}/customers",
            .init { state, call throws(RevenueCatError) in try state.listCustomers(call) }
        ),
        .init(
            "POST",
            "/projects/{project_id}/customers",
            .init { state, call throws(RevenueCatError) in try state.createCustomer(call) }
        ),
        .init(
            "DELETE",
            "/projects/{project_id}/customers/{customer_id}",
            .init { state, call throws(RevenueCatError) in try state.deleteCustomer(call) }
        ),
        .init(
            "GET",
            "/projects/{project_id}/customers/{customer_id}",
            .init { state, call throws(RevenueCatError) in try state.getCustomer(call) }
        ),
        .init(
            "POST",
            "/projects/{project_id}/customers/{customer_id}/actions/assign_offering",
            .init { state, call throws(RevenueCatError) in try state.assignCustomerOffering(call) }
        ),
        .init(
            "POST",
            "/projects/{project_id}/customers/{customer_id}/actions/grant_entitlement",
            .init { state, call throws(RevenueCatError) in
                try state.grantCustomerEntitlement(call)
            }
        ),
        .init(
            "POST",
            "/projects/{project_id}/customers/{customer_id}/actions/revoke_granted_entitlement",
            .init { state, call throws(RevenueCatError) in
                try state.revokeCustomerGrantedEntitlement(call)
            }
        ),
        .init(
            "POST",
            "/projects/{project_id}/customers/{customer_id}/actions/transfer",
            .init { state, call throws(RevenueCatError) in try state.transferCustomerData(call) }
        ),
        .init(
            "GET",
            "/projects/{project_id}/customers/{customer_id}/active_entitlements",
            .init { state, call throws(RevenueCatError) in
                try state.listCustomerActiveEntitlements(call)
            }
        ),
        .init(
            "GET",
            "/projects/{project_id}/customers/{customer_id}/aliases",
            .init { state, call throws(RevenueCatError) in try state.listCustomerAliases(call) }
        ),
        .init(
            "GET",
            "/projects/{project_id}/customers/{customer_id}/attributes",
            .init { state, call throws(RevenueCatError) in try state.listCustomerAttributes(call) }
        ),
        .init(
            "POST",
            "/projects/{project_id}/customers/{customer_id}/attributes",
            .init { state, call throws(RevenueCatError) in try state.setCustomerAttributes(call) }
        ),
        .init(
            "GET",
            "/projects/{project_id}/customers/{customer_id}/invoices",
            .init { state, call throws(RevenueCatError) in try state.listCustomerInvoices(call) }
        ),
        .init(
            "GET",
            "/projects/{project_id}/customers/{customer_id}/invoices/{invoice_id}/file",
            .init { state, call throws(RevenueCatError) in try state.getInvoice(call) }
        ),
        .init(
            "GET",
            "/projects/{project_id}/customers/{customer_id}/purchases",
            .init { state, call throws(RevenueCatError) in try state.listPurchases(call) }
        ),
        .init(
            "GET",
            "/projects/{project_id}/customers/{customer_id}/subscriptions",
            .init { state, call throws(RevenueCatError) in try state.listSubscriptions(call) }
        ),
        .init(
            "GET",
            "/projects/{project_id}/customers/{customer_id}/virtual_currencies",
            .init { state, call throws(RevenueCatError) in
                try state.listVirtualCurrenciesBalances(call)
            }
        ),
        .init(
            "POST",
            "/projects/{project_id}/customers/{customer_id}/virtual_currencies/transactions",
            .init { state, call throws(RevenueCatError) in
                try state.createVirtualCurrenciesTransaction(call)
            }
        ),
        .init(
            "POST",
            "/projects/{project_id}/customers/{customer_id}/virtual_currencies/update_balance",
            .init { state, call throws(RevenueCatError) in
                try state.updateVirtualCurrenciesBalance(call)
            }
        ),
    ]
}

/// The operations of REST v2 on customers.
extension RevenueCatState {
    func listCustomers(_ call: CallV2) throws(RevenueCatError) -> HTTPMessage.Response {
        // The search term is an App User ID, or the email address in a customer's attributes.
        let searchText = call.query("search")
        let matchingCustomers = customers.all.filter { customer in
            guard let searchText else { return true }
            return customer.ids.contains(searchText)
                || customer.attributes["$email"]?["value"]?.string == searchText
        }
        .sorted { ($0.firstSeen, $0.originalID) < ($1.firstSeen, $1.originalID) }
        let items = matchingCustomers.map {
            ($0.originalID, customerJSON($0, as: $0.originalID, call))
        }
        return try pageResponse(items, call.projectPath + "/customers", call)
    }

    mutating func createCustomer(_ call: CallV2) throws(RevenueCatError) -> HTTPMessage.Response {
        let id = try call.text("id")
        guard !AppUserID.isBlocked(id), !id.contains("/"), id.utf8.count <= 1500 else {
            throw RevenueCatError(v2: 400, "parameter_error", "id is not valid.", param: "id")
        }
        guard customerByID[id] == nil else {
            throw RevenueCatError(
                v2: 409,
                "resource_already_exists",
                "The customer exists already."
            )
        }
        saveLaggedState(at: call.now)
        let customerNumber = recordActivity(id, call.now)
        if call.body["attributes"] != nil { try setAttributes(of: customerNumber, call) }
        return try customer(customerNumber, id, 201, call)
    }

    mutating func deleteCustomer(_ call: CallV2) throws(RevenueCatError) -> HTTPMessage.Response {
        let id = call.customerID
        let customerNumber = try customerNumber(of: id)
        saveLaggedState(at: call.now)
        removeCustomer(customerNumber)
        return HTTPMessage.Response(
            200,
            json: [
                "object": "customer", "id": .string(id),
                "deleted_at": .integer(call.now.milliseconds),
            ]
        )
    }

    mutating func getCustomer(_ call: CallV2) throws(RevenueCatError) -> HTTPMessage.Response {
        let id = call.customerID
        let customerNumber = try customerNumber(of: id)
        guard let customer = laggedCustomer(customerNumber, at: call.now) else {
            throw .missingResource("customer")
        }
        var body = customerJSON(customer, as: id, call).object ?? JSONObject()
        let entitlements = activeEntitlements(customer, at: call.now).map(\.value)
        body["active_entitlements"] = Self.listJSON(
            entitlements,
            call.customerPath + "/active_entitlements"
        )
        if try call.requestedExpansions("attributes").contains("attributes") {
            body["attributes"] = Self.listJSON(
                attributes(customer).map(\.value),
                call.customerPath + "/attributes"
            )
        }
        return HTTPMessage.Response(200, json: .object(body))
    }

    mutating func assignCustomerOffering(
        _ call: CallV2
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        let id = call.customerID
        let customerNumber = try customerNumber(of: id)
        guard let offeringIDValue = call.body["offering_id"] else {
            throw RevenueCatError(
                v2: 400,
                "parameter_error",
                "offering_id is required.",
                param: "offering_id"
            )
        }
        if offeringIDValue.isNull {
            customers[customerNumber]?.offeringOverride = nil
        } else {
            let isDefault = offeringIDValue.string == Self.offeringID("default")
            guard isDefault else { throw .missingResource("offering") }
            customers[customerNumber]?.offeringOverride = "default"
        }
        return try customer(customerNumber, id, 200, call)
    }

    mutating func grantCustomerEntitlement(
        _ call: CallV2
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        let id = call.customerID
        let customerNumber = try customerNumber(of: id)
        let entitlementID = try call.text("entitlement_id")
        var action = StoreAction(.grant, user: id)
        action.entitlement = try entitlement(entitlementID)
        let end = call.body["expires_at"]?.int64.flatMap { RequestDate(milliseconds: $0) }
        guard let end = end?.instant, end > call.now else {
            throw RevenueCatError(
                v2: 400,
                "parameter_error",
                "expires_at must lie in the future, before 2100-01-01.",
                param: "expires_at"
            )
        }
        saveLaggedState(at: call.now)
        do throws(StoreAction.Refusal) {
            try grant(action, until: end, call.now)
        } catch {
            throw RevenueCatError(v2: error)
        }
        return try customer(customerNumber, id, 201, call)
    }

    mutating func revokeCustomerGrantedEntitlement(
        _ call: CallV2
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        let id = call.customerID
        let customerNumber = try customerNumber(of: id)
        let entitlement = try entitlement(try call.text("entitlement_id"))
        saveLaggedState(at: call.now)
        do throws(StoreAction.Refusal) {
            try revoke(id, entitlement, call.now)
        } catch {
            throw RevenueCatError(v2: error)
        }
        return try customer(customerNumber, id, 200, call)
    }

    mutating func transferCustomerData(
        _ call: CallV2
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        let id = call.customerID
        let sourceCustomerNumber = try customerNumber(of: id)
        let targetCustomerID = try call.text("target_customer_id")
        let targetCustomerNumber = try customerNumber(of: targetCustomerID)
        guard sourceCustomerNumber != targetCustomerNumber else {
            throw RevenueCatError(
                v2: 400,
                "parameter_error",
                "The target is the same customer.",
                param: "target_customer_id"
            )
        }
        saveLaggedState(at: call.now)
        announceTransfer(sourceCustomerNumber, targetCustomerNumber, call.now)
        return HTTPMessage.Response(
            200,
            json: [
                "source_customer": customerJSON(try existingCustomer(id, call), as: id, call),
                "target_customer": customerJSON(
                    try existingCustomer(targetCustomerID, call),
                    as: targetCustomerID,
                    call
                ),
            ]
        )
    }

    mutating func listCustomerActiveEntitlements(
        _ call: CallV2
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        let id = call.customerID
        let items = activeEntitlements(try existingCustomer(id, call), at: call.now)
        return try pageResponse(items, call.customerPath + "/active_entitlements", call)
    }

    mutating func listCustomerAliases(
        _ call: CallV2
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        let id = call.customerID
        let customer = try existingCustomer(id, call)
        let items = customer.ids.map { alias -> (id: String, value: JSONValue) in
            (
                alias,
                [
                    "object": "customer.alias", "id": .string(alias),
                    "created_at": .integer(customer.firstSeen.milliseconds),
                ]
            )
        }
        return try pageResponse(items, call.customerPath + "/aliases", call)
    }

    mutating func listCustomerAttributes(
        _ call: CallV2
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        let id = call.customerID
        return try pageResponse(
            attributes(try existingCustomer(id, call)),
            call.customerPath + "/attributes",
            call
        )
    }

    mutating func setCustomerAttributes(
        _ call: CallV2
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        let id = call.customerID
        let customerNumber = try customerNumber(of: id)
        try setAttributes(of: customerNumber, call)
        return try pageResponse(
            attributes(try existingCustomer(id, call)),
            call.customerPath + "/attributes",
            call
        )
    }

    // MARK: Lookup

    /// Returns the fake's internal number of the customer with this ID.
    ///
    /// In contrast to REST v1, an unknown ID creates no customer: the function throws 404.
    func customerNumber(of id: String) throws(RevenueCatError) -> Int {
        guard let customerNumber = customerByID[id] else { throw .missingResource("customer") }
        return customerNumber
    }

    mutating func existingCustomer(_ id: String, _ call: CallV2) throws(RevenueCatError) -> Customer
    {
        guard let customer = laggedCustomer(try customerNumber(of: id), at: call.now) else {
            throw .missingResource("customer")
        }
        return customer
    }

    private func customer(
        _ customerNumber: Int,
        _ id: String,
        _ status: Int,
        _ call: CallV2
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        guard let customer = customers[customerNumber] else { throw .missingResource("customer") }
        return HTTPMessage.Response(status, json: customerJSON(customer, as: id, call))
    }

    // MARK: JSON of resources

    private func customerJSON(_ customer: Customer, as id: String, _ call: CallV2) -> JSONValue {
        [
            "object": "customer", "id": .string(id), "project_id": .string(call.project),
            "first_seen_at": .integer(customer.firstSeen.milliseconds),
            "last_seen_at": .integer(customer.lastSeen.milliseconds),
            "last_seen_app_version": .null, "last_seen_country": .null,
            "last_seen_platform": customer.lastPlatform.map(JSONValue.string) ?? .null,
            "last_seen_platform_version": .null,
        ]
    }

    private func attributes(_ customer: Customer) -> [(id: String, value: JSONValue)] {
        customer.attributes.members.map { member in
            (
                member.key,
                [
                    "object": "customer.attribute", "name": .string(member.key),
                    "value": member.value["value"] ?? .null,
                    "updated_at": member.value["updated_at_ms"] ?? .integer(0),
                ]
            )
        }
    }

    private mutating func setAttributes(
        of customerNumber: Int,
        _ call: CallV2
    ) throws(RevenueCatError) {
        func parameterError(_ text: String) -> RevenueCatError {
            RevenueCatError(v2: 400, "parameter_error", text, param: "attributes")
        }
        guard let listJSON = call.body["attributes"]?.array else {
            throw parameterError("attributes must be a list.")
        }
        for attribute in listJSON {
            guard let name = attribute["name"]?.string, Self.isValidAttributeKey(name) else {
                throw parameterError("The name of an attribute is not valid.")
            }
            guard let value = attribute["value"], value.isNull || value.string != nil else {
                throw parameterError("The value of \(name) is neither a text nor null.")
            }
        }
        for attribute in listJSON {
            let text = attribute["value"]?.string ?? ""
            customers[customerNumber]?.attributes[attribute["name"]?.string ?? ""] =
                text.isEmpty
                ? nil
                : [
                    "value": .string(text), "updated_at_ms": .integer(call.now.milliseconds),
                ]
        }
    }

    private func activeEntitlements(
        _ customer: Customer,
        at now: Instant
    ) -> [(id: String, value: JSONValue)] {
        var entitlementEnds: [(name: String, end: Instant?)] = []
        for purchase in customer.purchases where purchase.isActive(at: now) {
            for name in purchase.entitlements {
                guard let index = entitlementEnds.firstIndex(where: { $0.name == name }) else {
                    entitlementEnds.append((name, purchase.effectiveEnd))
                    continue
                }
                guard let existingCustomer = entitlementEnds[index].end else { continue }
                entitlementEnds[index].end = purchase.effectiveEnd.map { max($0, existingCustomer) }
            }
        }
        return entitlementEnds.map { name, end in
            let id = Self.entitlementID(name)
            return (
                id,
                [
                    "object": "customer.active_entitlement", "entitlement_id": .string(id),
                    "expires_at": Self.time(end),
                ]
            )
        }
    }
}

extension Customer {
    /// All one-time purchases of the customer, including refunded ones.
    var oneTimePurchases: [Purchase] {
        oneTime.sorted { $0.key < $1.key }.flatMap(\.value) + (refundedOneTime ?? [])
    }
}
