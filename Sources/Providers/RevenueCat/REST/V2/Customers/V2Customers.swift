internal import Values

extension V2Operation {
    static let customerRows: [Row] = [
        .init(
            "GET",
            "/projects/{project_id}/customers",
            .init(V2Customers.list)
        ),
        .init(
            "POST",
            "/projects/{project_id}/customers",
            .init(V2Customers.create)
        ),
        .init(
            "DELETE",
            "/projects/{project_id}/customers/{customer_id}",
            .init(V2Customers.delete)
        ),
        .init(
            "GET",
            "/projects/{project_id}/customers/{customer_id}",
            .init(V2Customers.get)
        ),
        .init(
            "POST",
            "/projects/{project_id}/customers/{customer_id}/actions/assign_offering",
            .init(V2Customers.assignOffering)
        ),
        .init(
            "POST",
            "/projects/{project_id}/customers/{customer_id}/actions/grant_entitlement",
            .init(V2CustomerEntitlements.grant)
        ),
        .init(
            "POST",
            "/projects/{project_id}/customers/{customer_id}/actions/revoke_granted_entitlement",
            .init(V2CustomerEntitlements.revoke)
        ),
        .init(
            "POST",
            "/projects/{project_id}/customers/{customer_id}/actions/transfer",
            .init(V2Customers.transfer)
        ),
        .init(
            "GET",
            "/projects/{project_id}/customers/{customer_id}/active_entitlements",
            .init(V2CustomerEntitlements.listActive)
        ),
        .init(
            "GET",
            "/projects/{project_id}/customers/{customer_id}/aliases",
            .init(V2Customers.listAliases)
        ),
        .init(
            "GET",
            "/projects/{project_id}/customers/{customer_id}/attributes",
            .init(V2CustomerAttributes.list)
        ),
        .init(
            "POST",
            "/projects/{project_id}/customers/{customer_id}/attributes",
            .init(V2CustomerAttributes.set)
        ),
        .init(
            "GET",
            "/projects/{project_id}/customers/{customer_id}/invoices",
            .init(V2Invoices.list)
        ),
        .init(
            "GET",
            "/projects/{project_id}/customers/{customer_id}/invoices/{invoice_id}/file",
            .init(V2Invoices.get)
        ),
        .init(
            "GET",
            "/projects/{project_id}/customers/{customer_id}/purchases",
            .init(V2Purchases.list)
        ),
        .init(
            "GET",
            "/projects/{project_id}/customers/{customer_id}/subscriptions",
            .init(V2Subscriptions.list)
        ),
        .init(
            "GET",
            "/projects/{project_id}/customers/{customer_id}/virtual_currencies",
            .init(V2Balances.list)
        ),
        .init(
            "POST",
            "/projects/{project_id}/customers/{customer_id}/virtual_currencies/transactions",
            .init(V2Balances.createTransaction)
        ),
        .init(
            "POST",
            "/projects/{project_id}/customers/{customer_id}/virtual_currencies/update_balance",
            .init(V2Balances.update)
        ),
    ]
}

/// The operations of REST v2 on customers.
enum V2Customers {
    static func list(
        _ state: inout RevenueCatState,
        _ call: V2Call
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        // The search term is an App User ID, or the email address in a customer's attributes.
        let searchText = call.query("search")
        let matchingCustomers = state.customers.all.filter { customer in
            guard let searchText else { return true }
            return customer.ids.contains(searchText)
                || customer.attributes["$email"]?["value"]?.string == searchText
        }
        .sorted { ($0.firstSeen, $0.originalID) < ($1.firstSeen, $1.originalID) }
        let items = matchingCustomers.map {
            ($0.originalID, $0.json(id: $0.originalID, project: call.project))
        }
        return try V2List.response(items, call.projectPath + "/customers", call)
    }

    static func create(
        _ state: inout RevenueCatState,
        _ call: V2Call
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        let id = try call.text("id")
        guard !AppUserID.isBlocked(id), !id.contains("/"), id.utf8.count <= 1500 else {
            throw RevenueCatError(v2: 400, "parameter_error", "id is not valid.", param: "id")
        }
        guard state.customers.number(of: id) == nil else {
            throw RevenueCatError(
                v2: 409,
                "resource_already_exists",
                "The customer exists already."
            )
        }
        state.saveLaggedState(at: call.now)
        let customerNumber = state.customers.recordActivity(of: id, at: call.now)
        if call.body["attributes"] != nil {
            try V2CustomerAttributes.setAttributes(&state, of: customerNumber, call)
        }
        return try response(state, customerNumber, id, 201, call)
    }

    static func delete(
        _ state: inout RevenueCatState,
        _ call: V2Call
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        let id = call.customerID
        let customerNumber = try state.customers.requiredNumber(of: id)
        state.saveLaggedState(at: call.now)
        state.customers.remove(customerNumber)
        return HTTPMessage.Response(
            200,
            json: [
                "object": "customer", "id": .string(id),
                "deleted_at": .integer(call.now.milliseconds),
            ]
        )
    }

    static func get(
        _ state: inout RevenueCatState,
        _ call: V2Call
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        let id = call.customerID
        let customerNumber = try state.customers.requiredNumber(of: id)
        guard let customer = state.customers.visibleCustomer(customerNumber, at: call.now) else {
            throw .missingResource("customer")
        }
        var body = customer.json(id: id, project: call.project).object ?? JSONObject()
        let entitlements = customer.activeEntitlementItems(at: call.now).map(\.value)
        body["active_entitlements"] = V2List.json(
            entitlements,
            call.customerPath + "/active_entitlements"
        )
        if try call.requestedExpansions("attributes").contains("attributes") {
            body["attributes"] = V2List.json(
                customer.attributeItems.map(\.value),
                call.customerPath + "/attributes"
            )
        }
        return HTTPMessage.Response(200, json: .object(body))
    }

    static func assignOffering(
        _ state: inout RevenueCatState,
        _ call: V2Call
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        let id = call.customerID
        let customerNumber = try state.customers.requiredNumber(of: id)
        guard let offeringIDValue = call.body["offering_id"] else {
            throw RevenueCatError(
                v2: 400,
                "parameter_error",
                "offering_id is required.",
                param: "offering_id"
            )
        }
        if offeringIDValue.isNull {
            state.customers[customerNumber]?.offeringOverride = nil
        } else {
            let isDefault = offeringIDValue.string == V2Offerings.standardID
            guard isDefault else { throw .missingResource("offering") }
            state.customers[customerNumber]?.offeringOverride = "default"
        }
        return try response(state, customerNumber, id, 200, call)
    }

    static func transfer(
        _ state: inout RevenueCatState,
        _ call: V2Call
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        let id = call.customerID
        let sourceCustomerNumber = try state.customers.requiredNumber(of: id)
        let targetCustomerID = try call.text("target_customer_id")
        let targetCustomerNumber = try state.customers.requiredNumber(of: targetCustomerID)
        guard sourceCustomerNumber != targetCustomerNumber else {
            throw RevenueCatError(
                v2: 400,
                "parameter_error",
                "The target is the same customer.",
                param: "target_customer_id"
            )
        }
        state.saveLaggedState(at: call.now)
        Ownership.announceTransfer(&state, sourceCustomerNumber, targetCustomerNumber, call.now)
        let sourceCustomer = try state.customers.requiredCustomer(id, call)
        let targetCustomer = try state.customers.requiredCustomer(targetCustomerID, call)
        return HTTPMessage.Response(
            200,
            json: [
                "source_customer": sourceCustomer.json(id: id, project: call.project),
                "target_customer": targetCustomer.json(
                    id: targetCustomerID,
                    project: call.project
                ),
            ]
        )
    }

    static func listAliases(
        _ state: inout RevenueCatState,
        _ call: V2Call
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        let id = call.customerID
        let customer = try state.customers.requiredCustomer(id, call)
        let items = customer.ids.map { alias -> V2List.Item in
            (
                alias,
                [
                    "object": "customer.alias", "id": .string(alias),
                    "created_at": .integer(customer.firstSeen.milliseconds),
                ]
            )
        }
        return try V2List.response(items, call.customerPath + "/aliases", call)
    }

    /// Returns the response with the current state of a customer.
    static func response(
        _ state: RevenueCatState,
        _ customerNumber: Int,
        _ id: String,
        _ status: Int,
        _ call: V2Call
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        guard let customer = state.customers[customerNumber] else {
            throw .missingResource("customer")
        }
        return HTTPMessage.Response(status, json: customer.json(id: id, project: call.project))
    }
}

extension CustomerDirectory {
    /// Returns the number of the customer with this ID.
    ///
    /// In contrast to REST v1, an unknown ID creates no customer: the function throws 404.
    func requiredNumber(of id: String) throws(RevenueCatError) -> Int {
        guard let number = number(of: id) else { throw .missingResource("customer") }
        return number
    }

    /// Returns the customer with this ID in the state that REST shows; throws 404 when there is
    /// none.
    mutating func requiredCustomer(
        _ id: String,
        _ call: V2Call
    ) throws(RevenueCatError) -> Customer {
        guard let customer = visibleCustomer(try requiredNumber(of: id), at: call.now) else {
            throw .missingResource("customer")
        }
        return customer
    }
}

extension Customer {
    /// Returns the customer as REST v2 shows it to a caller who named it by this ID.
    fileprivate func json(id: String, project: String) -> JSONValue {
        [
            "object": "customer", "id": .string(id), "project_id": .string(project),
            "first_seen_at": .integer(firstSeen.milliseconds),
            "last_seen_at": .integer(lastSeen.milliseconds),
            "last_seen_app_version": .null, "last_seen_country": .null,
            "last_seen_platform": lastPlatform.map(JSONValue.string) ?? .null,
            "last_seen_platform_version": .null,
        ]
    }
}
