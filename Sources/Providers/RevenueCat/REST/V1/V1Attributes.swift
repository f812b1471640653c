internal import Values

/// The operations of REST v1 on the attributes of customers.
enum V1Attributes {
    /// Returns an empty response to attribution data; records only the customer's activity.
    static func acceptAttribution(
        _ state: inout RevenueCatState,
        _ call: V1Call
    ) -> HTTPMessage.Response {
        _ = state.customers.recordActivity(of: call.appUserID, at: call.now)
        return HTTPMessage.Response(200, json: [:])
    }

    static func set(
        _ state: inout RevenueCatState,
        _ call: V1Call
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        try set(&state, of: call.appUserID, call)
    }

    /// Sets the attributes in a request for a customer, or throws and sets none.
    static func set(
        _ state: inout RevenueCatState,
        of id: String,
        _ call: V1Call
    ) throws(RevenueCatError) -> HTTPMessage.Response {
        guard let attributes = call.body["attributes"]?.object else {
            throw RevenueCatError(
                400,
                7264,
                "Some subscriber attributes keys were unable to saved."
            )
        }
        let errors = try errors(in: attributes)
        guard errors.isEmpty else {
            throw RevenueCatError(
                400,
                7263,
                "Some subscriber attributes keys were unable to saved.",
                errors
            )
        }
        let customerNumber = state.customers.findOrCreate([id], originalID: id, at: call.now)
        for member in attributes.members {
            let time = member.value["updated_at_ms"]?.int64 ?? call.now.milliseconds
            let lastUpdateMilliseconds = state.customers[customerNumber]?.attributes[member.key]?[
                "updated_at_ms"
            ]?.int64
            // An older write of an attribute does not overwrite a newer one.
            guard lastUpdateMilliseconds.map({ $0 <= time }) ?? true else { continue }
            let text = member.value["value"]?.string ?? ""
            state.customers[customerNumber]?.attributes[member.key] =
                text.isEmpty
                ? nil : ["value": .string(text), "updated_at_ms": .integer(time)]
        }
        return V1Customers.response(&state, customerNumber, 200, call)
    }

    /// Returns the problems of single customer attributes, in the format of the response's
    /// `attribute_errors`.
    private static func errors(
        in attributes: JSONObject
    ) throws(RevenueCatError) -> [JSONValue] {
        var errors: [JSONValue] = []
        func addError(_ key: String, _ text: String) {
            errors.append(["key_name": .string(key), "message": .string(text)])
        }
        for member in attributes.members {
            let value = member.value["value"]
            guard member.value.object != nil, value?.string != nil || value?.isNull ?? true else {
                throw RevenueCatError(400, 7264, "Attributes must be objects with a value.")
            }
            let text = value?.string ?? ""
            let time = member.value["updated_at_ms"]?.int64 ?? 0
            if RequestDate(milliseconds: time) == nil {
                addError(
                    member.key,
                    "updated_at_ms must lie within \(RequestDate.acceptedRangeText)."
                )
            } else if !Customer.isValidAttributeKey(member.key) {
                addError(member.key, "Key name format is not valid.")
            } else if text.count > 500 {
                addError(member.key, "Attribute value is too long.")
            } else if member.key == "$email", !text.isEmpty, !text.contains("@") {
                addError(member.key, "Email address is not a valid email.")
            }
        }
        return errors
    }
}

extension Customer {
    /// Whether the name of a customer attribute is valid: letters, digits, `-` and `_`, at most
    /// fifty characters.
    ///
    /// Names that RevenueCat reserves begin with `$`.
    static func isValidAttributeKey(_ key: String) -> Bool {
        let name = key.hasPrefix("$") ? key.dropFirst() : key[...]
        return (1...50).contains(key.utf8.count) && !name.isEmpty
            && name.utf8.allSatisfy { byte in
                byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
                    || (48...57).contains(byte) || (65...90).contains(byte)
                    || (97...122).contains(byte)
            }
    }
}
