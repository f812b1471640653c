internal import Values

/// The operations of REST v2 on the attributes of customers.
enum V2CustomerAttributes {
    static func list(
        _ state: inout RevenueCatState,
        _ call: V2Call
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        let id = call.customerID
        return try V2List.response(
            try state.customers.requiredCustomer(id, call).attributeItems,
            call.customerPath + "/attributes",
            call
        )
    }

    static func set(
        _ state: inout RevenueCatState,
        _ call: V2Call
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        let id = call.customerID
        let customerNumber = try state.customers.requiredNumber(of: id)
        try setAttributes(&state, of: customerNumber, call)
        return try V2List.response(
            try state.customers.requiredCustomer(id, call).attributeItems,
            call.customerPath + "/attributes",
            call
        )
    }

    /// Sets the attributes in a request for a customer, or throws and sets none.
    static func setAttributes(
        _ state: inout RevenueCatState,
        of customerNumber: Int,
        _ call: V2Call
    ) throws(RevenueCatError) {
        func parameterError(_ text: String) -> RevenueCatError {
            RevenueCatError(v2: 400, "parameter_error", text, param: "attributes")
        }
        guard let listJSON = call.body["attributes"]?.array else {
            throw parameterError("attributes must be a list.")
        }
        for attribute in listJSON {
            guard let name = attribute["name"]?.string, Customer.isValidAttributeKey(name) else {
                throw parameterError("The name of an attribute is not valid.")
            }
            guard let value = attribute["value"], value.isNull || value.string != nil else {
                throw parameterError("The value of \(name) is neither a text nor null.")
            }
        }
        for attribute in listJSON {
            let text = attribute["value"]?.string ?? ""
            state.customers[customerNumber]?.attributes[attribute["name"]?.string ?? ""] =
                text.isEmpty
                ? nil
                : [
                    "value": .string(text), "updated_at_ms": .integer(call.now.milliseconds),
                ]
        }
    }
}

extension Customer {
    /// The customer's attributes as items of a list.
    var attributeItems: [V2List.Item] {
        attributes.members.map { member in
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
}
